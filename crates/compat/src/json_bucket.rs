//! A token bucket whose record is a JSON object under its own key.

use crate::{Wait, wait};
use gcra::clock::TICKS_PER_MICROSECOND;
use gcra::{Quota, Timestamp, Tokens};
use stores::remote::Cause;
use stores::remote::redis::{Argument, CLOCK, RECORD, Redis, Script};

static TAKE: Script = Script::new(&[RECORD, CLOCK, include_str!("json_bucket.lua")]);

/// Takes one token from the bucket at `key`, which [`Redis::raw_name`] made. Returns the wait
/// until the bucket holds a token.
///
/// The times in `quota` are whole microseconds. If the capacity is below one token, the call is
/// denied without a round trip.
///
/// # Errors
/// Fails like [`Redis::run`].
pub fn take(redis: &Redis, key: &[u8], quota: &Quota, deadline: Timestamp) -> Result<Wait, Cause> {
    let Some(cost) = quota.cost(Tokens::ONE) else {
        return Ok(Wait::NEVER);
    };
    // The text has enough digits to read back the same double.
    let capacity = quota.capacity().to_float().to_string();
    let arguments = [
        Argument::micros(cost),
        Argument::micros(quota.span()),
        Argument::Word(capacity.as_bytes()),
    ];
    let reply = redis.run(&TAKE, &[key], &arguments, deadline)?;
    wait(&reply, TICKS_PER_MICROSECOND)
}
