//! Every interleaving of a few threads on a few slots, weak memory included.
//!
//! The tests run the production code, [`protocol::take`] and its neighbours, over slots made of
//! loom atomics (`memory`). A scenario is a short history. After each of its interleavings, the
//! tests check that no key lives twice and that nobody is blocked. They also check that the grants
//! of a key are within its bound at the instants that they state. A thread can be killed before its
//! k-th write. Each guard of the protocol has a control: without the guard, a counterexample must
//! be found.
//!
//! Plain `cargo test` limits how often a running thread is preempted. Without a limit for two
//! threads, the tests take a few hours:
//! `TOKENBUCKET_MODEL=exhaustive cargo test --release --test model -- --nocapture`.
//!
//! [`protocol::take`]: tokenbucket_core::slots::protocol::take
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod births;
mod changes;
mod deaths;
mod explore;
mod gates;
mod memory;
mod packing;
mod replay;
mod stalls;
