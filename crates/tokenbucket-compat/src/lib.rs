//! Limiters with the records of other libraries, so that hosts can migrate one by one.
//!
//! A limiter is a pure function. It takes a record and the instant, and returns the verdict (true
//! for a grant) and the next record. [`records::take`] runs this function exactly on any store that
//! implements [`records::Records`]. Some limiters use a script or the lock of another library
//! instead. That saves a round trip, or is needed because other programs change the same record.

pub mod charged;
pub mod json_bucket;
pub mod leaky_bucket;
pub mod minutes;
pub mod records;
pub mod throttle;

use tokenbucket_core::remote::Cause;
use tokenbucket_core::remote::redis::Value;

/// Returns the verdict from a script's reply. 0 means a denial, and a greater number means a grant.
/// Fails if the reply is anything else.
fn verdict(reply: &Value) -> Result<bool, Cause> {
    match reply {
        Value::Int(number @ 0..) => Ok(*number != 0),
        _ => Err(Cause::Answer("a verdict is missing")),
    }
}
