//! The stores that hosts share, and the engine's crates under one name.
//!
//! A bucket is one number: the instant at which it was, or will be, empty ([`Step`] explains the
//! arithmetic). A [`Quota`] turns a capacity and a rate into whole ticks. A [`Step`] decides
//! whether the bucket grants tokens. A store keeps the number and makes the step atomic. A
//! [`Decision`] is the result that callers read: allowed or denied, with numbers in tokens and
//! ticks.
//!
//! Doubles are read only by [`Tokens`] and [`seconds`], which convert them exactly. All other
//! arithmetic is in integers.

mod digest;
mod printable;
pub mod remote;
pub mod sql;

pub use gcra::{
    AmountError, Decision, Denial, Grain, Key, KeyHasher, MemoryStore, Outcome, Put, Quota,
    QuotaError, Step, TICKS_PER_SECOND, Ticks, Timestamp, Tokens, Verdict, batch, boot_clock,
    clock, decision, key, memory_store, quota, seconds, step, store, tokens,
};
pub use guard;
pub use printable::printable;
pub use segment::{host, memory, slots};
