//! The token bucket's engine, without PHP.
//!
//! A bucket is one number: the instant at which it was, or will be, empty ([`Step`] explains the
//! arithmetic). A [`Quota`] turns a capacity and a rate into whole ticks. A [`Step`] decides
//! whether the bucket grants tokens. A store keeps the number and makes the step atomic. A
//! [`Decision`] is the result that callers read: allowed or denied, with numbers in tokens and
//! ticks.
//!
//! Doubles are read only by [`Tokens`] and [`seconds`], which convert them exactly. All other
//! arithmetic is in integers.

pub mod batch;
pub mod clock;
pub mod decision;
mod digest;
pub mod guard;
pub mod host;
pub mod key;
pub mod memory;
mod printable;
pub mod quota;
pub mod reference;
pub mod remote;
pub mod seconds;
pub mod slots;
pub mod sql;
pub mod step;
pub mod store;
pub mod tokens;
mod worker;

pub use clock::{TICKS_PER_SECOND, Ticks, Timestamp, boot_clock};
pub use decision::Decision;
pub use key::{Key, KeyHasher};
pub use printable::printable;
pub use quota::{Grain, Quota, QuotaError};
pub use reference::MemoryStore;
pub use step::{Denial, Outcome, Step, Verdict};
pub use store::Put;
pub use tokens::{AmountError, Tokens};
