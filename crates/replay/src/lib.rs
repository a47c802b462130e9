//! Access logs, replayed through the guard's rules and the bucket's arithmetic.
//!
//! A [`Replay`] splits lines by a [`Format`], brings the requests of several logs into the order of
//! time, and decides on each of them as the guard would have done at that instant. A [`Demand`]
//! computes from the same requests how much each client needed.
//!
//! This crate is pure. The command `tokenbucket advise` reads the files and writes the report.
//!
//! Invariant: memory grows with the clients, buckets and logs, but not with the lines. Texts that
//! clients choose are kept up to a fixed number, and lines wait for at most [`HORIZON`].

mod demand;
mod failure;
mod guarded;
mod instant;
mod line;
mod logs;
mod names;
mod settings;

pub use demand::{Counted, Demand, Question};
pub use failure::Failure;
pub use guarded::Row;
pub use line::Format;
pub use logs::{HORIZON, Replay};
pub use names::Names;
pub use settings::Settings;
