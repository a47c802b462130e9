//! Limiters with the records of other libraries, so that hosts can migrate one by one.
//!
//! A limiter is a pure function. It takes a record and the instant, and returns the verdict (true
//! for a grant) and the next record. [`records::take`] writes the next record by compare-and-swap
//! to any store that implements [`records::Records`], so no concurrent change is lost. Some
//! limiters use a script or the lock of another library instead. That saves a round trip, or is
//! needed because other programs change the same record.

pub mod charged;
pub mod json_bucket;
pub mod leaky_bucket;
pub mod lockout;
pub mod minutes;
pub mod records;
pub mod throttle;
pub mod wait;

pub use wait::Wait;

use gcra::Ticks;
use stores::remote::Cause;
use stores::remote::redis::Value;

/// Converts a number of a script's reply to a wait. The number is 0 if the request was admitted,
/// otherwise it is the wait in units of `unit` ticks. Fails for any other value.
fn wait(number: &Value, unit: Ticks) -> Result<Wait, Cause> {
    match *number {
        Value::Int(0) => Ok(Wait::NONE),
        Value::Int(units @ 1..) => Ok(Wait::denied(units.unsigned_abs().saturating_mul(unit))),
        _ => Err(Cause::Answer("a verdict is missing")),
    }
}
