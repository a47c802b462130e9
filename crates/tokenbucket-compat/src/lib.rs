//! The limiters of other libraries, so that a fleet can change over server by server.
//!
//! A limiter is one pure step over a record: from the record and the instant to the verdict and the
//! next record. [`records::take`] runs a step on any store that implements [`records::Records`],
//! exactly. A script, or another library's lock, replaces it only where that saves a round trip or
//! where others change the same record.

pub mod charged;
pub mod json_bucket;
pub mod leaky_bucket;
pub mod minutes;
pub mod records;
pub mod throttle;

use tokenbucket_core::remote::Cause;
use tokenbucket_core::remote::redis::Value;

/// Returns the verdict that a script replies: 0 is a denial.
fn verdict(reply: &Value) -> Result<bool, Cause> {
    match reply {
        Value::Int(number @ 0..) => Ok(*number != 0),
        _ => Err(Cause::Answer("a verdict is missing")),
    }
}
