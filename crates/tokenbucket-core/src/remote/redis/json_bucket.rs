//! A token bucket whose record is a JSON object under a key of its own.

use super::{Argument, Redis, Script, micros, ticks};
use crate::clock::Ticks;
use crate::quota::Quota;
use crate::remote::Cause;
use crate::tokens::Tokens;
use std::sync::LazyLock;

static TAKE: LazyLock<Script> = script!("json_bucket.lua");

/// Takes one token from the bucket at `key`, which is what [`Redis::raw_name`] made.
///
/// `quota` counts in microseconds; a capacity below one token is never asked.
///
/// # Errors
/// As [`Redis::run`].
pub fn take(redis: &Redis, key: &[u8], quota: &Quota, deadline: Ticks) -> Result<bool, Cause> {
    let Some(cost) = quota.cost(Tokens::ONE) else {
        return Ok(false);
    };
    // As many digits as read back as the same double.
    let capacity = quota.capacity().to_float().to_string();
    let arguments = [
        micros(cost),
        micros(quota.burst()),
        Argument::Word(capacity.as_bytes()),
    ];
    let granted = redis.run(&TAKE, &[key], &arguments, deadline)?;
    Ok(ticks(&granted)? != 0)
}
