//! Model tests: run every interleaving of a few threads on a few slots, including the reorderings
//! of weak memory.
//!
//! The tests run the production code of [`protocol`] on slots made of loom atomics (`memory`). A
//! scenario is a short history of calls. After each interleaving, the tests check that no key has
//! two records and that no caller is blocked. They also check that a key's grants never exceed what
//! its bucket held at their instants. A thread can be killed before its k-th write. Each guard of
//! the protocol has a control test. Without the guard, loom must find a violation.
//!
//! By default, the tests limit how often a running thread is preempted. With
//! `TOKENBUCKET_MODEL=quick`, the limit is lower by one. The tests then take a few seconds, and
//! still find each planted fault. The following command removes the limit for scenarios of two
//! threads. The tests then take a few hours.
//! `TOKENBUCKET_MODEL=exhaustive cargo test --release --test model -- --nocapture`
//!
//! The permits of concurrency limits have a memory of their own (`cells`), in which processes die.
//! So have the places that a host takes ahead (`ahead`).
//!
//! [`protocol`]: segment::slots::protocol
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod ahead;
mod births;
mod blocks;
mod cells;
mod changes;
mod deaths;
mod explore;
mod gates;
mod judge;
mod memory;
mod packing;
mod permits;
mod replay;
mod stalls;
