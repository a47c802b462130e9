//! The token bucket's arithmetic, without input and output.
//!
//! A bucket is one number: the instant at which it was, or will be, empty ([`Step`] explains the
//! arithmetic). A [`Limit`] turns a capacity and a rate into whole ticks. A [`Step`] decides
//! whether the bucket grants tokens. A store keeps the number and makes the step atomic. A
//! [`Decision`] is the result that callers read: allowed or denied, with numbers in tokens and
//! ticks.
//!
//! Doubles are read only by [`Tokens`] and [`seconds`], which convert them exactly. All other
//! arithmetic is in integers.

pub mod ahead;
pub mod batch;
pub mod clock;
pub mod decision;
pub mod grain;
pub mod key;
pub mod limit;
pub mod lockout;
pub mod memory_store;
pub mod outcome;
pub mod refill;
pub mod seconds;
pub mod slice;
pub mod step;
pub mod store;
pub mod tokens;

pub use batch::{Batched, Few, Grouped, Taken, Ticket};
pub use clock::{
    EPOCH, TICKS_PER_MICROSECOND, TICKS_PER_SECOND, Ticks, Timestamp, boot_clock, unix_time,
    wall_clock,
};
pub use decision::Decision;
pub use grain::Grain;
pub use key::{Key, KeyHasher, Row};
pub use limit::{Limit, LimitError, MAX_SPAN};
pub use memory_store::MemoryStore;
pub use outcome::{Denial, Outcome, Verdict};
pub use refill::{Refill, Windows};
pub use step::{MAX_WAIT, Patience, Step};
pub use store::{Put, Refund, empty_at};
pub use tokens::{AmountError, Tokens};
