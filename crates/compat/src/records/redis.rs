//! Records on Redis: one script compares and swaps, on the server's clock.

use super::{Found, Next, Records, Swapped};
use gcra::{TICKS_PER_MICROSECOND, TICKS_PER_SECOND, Timestamp};
use stores::remote::redis::{Argument, CLOCK, RECORD, Script, Value};
use stores::remote::{Cause, Redis, Visit};

static SWAP: Script = Script::new(&[RECORD, CLOCK, include_str!("swap.lua")]);

/// Runs the script. Returns the current record, or `None` if the script replaced it.
fn run(visit: &Visit<'_, Redis>, key: &[u8], arguments: &[Argument<'_>]) -> Swapped {
    let reply = match visit.run(&SWAP, &[key], arguments)? {
        Value::Int(1) => return Ok(None),
        Value::Array(reply) => reply,
        _ => Vec::new(),
    };
    let (now, record) = match <[Value; 2]>::try_from(reply) {
        Ok([Value::Int(now @ 0..), Value::Nil]) => (now, None),
        Ok([Value::Int(now @ 0..), Value::BulkString(record)]) => (now, Some(record)),
        _ => return Err(Cause::Answer("a record is expected")),
    };
    Ok(Some(Found {
        record,
        now: Timestamp(now.cast_unsigned().saturating_mul(TICKS_PER_MICROSECOND)),
        item: (0, 0),
    }))
}

impl Records for Redis {
    fn read(visit: &Visit<'_, Self>, key: &[u8]) -> Result<Found, Cause> {
        run(visit, key, &[])?.ok_or(Cause::Answer("a record is expected"))
    }

    fn swap(visit: &Visit<'_, Self>, key: &[u8], found: &Found, next: &Next) -> Swapped {
        let life = next.life.div_ceil(TICKS_PER_SECOND / 1000) + 1;
        let life = Argument::Number(life.cast_signed());
        let mut arguments = vec![Argument::Word(&next.record), life];
        arguments.extend(found.record.as_deref().map(Argument::Word));
        run(visit, key, &arguments)
    }
}
