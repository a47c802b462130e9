//! Every interleaving of a few threads on a few slots, weak memory included.
//!
//! What runs is the production code, [`protocol::take`] and its neighbours, over slots made of loom
//! atomics (`memory`). A scenario is a short history; after each of its interleavings it is checked
//! that no key lives twice, that the grants of a key are within its bound at the instants that they
//! state, and that nobody is blocked afterwards. A thread can be killed before its k-th write. Each
//! of the protocol's guards has a control: without it a counterexample must be found.
//!
//! Plain `cargo test` bounds how often a running thread is preempted. Without a bound for two
//! threads, in a few hours:
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
