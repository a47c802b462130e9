//! The limiters of other libraries, so that hosts can change over one by one.
//!
//! A limiter is a pure step over a record: it takes the record and the instant, and returns the
//! verdict and the next record. [`records::take`] runs a step exactly on any store that implements
//! [`records::Records`]. A script, or the lock of another library, replaces it in two cases: it
//! saves a round trip, or others change the same record.

pub mod charged;
pub mod json_bucket;
pub mod leaky_bucket;
pub mod minutes;
pub mod records;
pub mod throttle;

use tokenbucket_core::remote::Cause;
use tokenbucket_core::remote::redis::Value;

/// Returns the verdict from a script's reply. 0 is a denial.
fn verdict(reply: &Value) -> Result<bool, Cause> {
    match reply {
        Value::Int(number @ 0..) => Ok(*number != 0),
        _ => Err(Cause::Answer("a verdict is missing")),
    }
}
