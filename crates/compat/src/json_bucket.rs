//! A token bucket whose record is a JSON object under its own key.

use crate::{Wait, wait};
use gcra::{Limit, TICKS_PER_MICROSECOND, Tokens};
use stores::remote::redis::{Argument, CLOCK, RECORD, Script};
use stores::remote::{Cause, Redis, Visit};

static TAKE: Script = Script::new(&[RECORD, CLOCK, include_str!("json_bucket.lua")]);

/// Takes one token from the bucket at `key`, which [`Redis::raw_name`] made. Returns the wait
/// until the bucket holds a token.
///
/// The times in `limit` are whole microseconds. If the capacity is below one token, the call is
/// denied without a round trip.
pub fn take(visit: &Visit<'_, Redis>, key: &[u8], limit: &Limit) -> Result<Wait, Cause> {
    let Some(cost) = limit.cost(Tokens::ONE) else {
        return Ok(Wait::NEVER);
    };
    // The text has enough digits to read back the same double.
    let capacity = limit.capacity().to_float().to_string();
    let arguments = [
        Argument::micros(cost),
        Argument::micros(limit.span()),
        Argument::Word(capacity.as_bytes()),
    ];
    let reply = visit.run(&TAKE, &[key], &arguments)?;
    wait(&reply, TICKS_PER_MICROSECOND)
}
