//! Counters on Redis: one script, one round trip.

use super::{CounterGroup, Life, MinuteCounters, Name};
use stores::remote::redis::{Argument, RECORD, Script, Value};
use stores::remote::{Cause, Redis, Transport, Visit};

static COUNT: Script = Script::new(&[RECORD, include_str!("count.lua")]);

impl MinuteCounters for Redis {
    fn by_server(&self, names: &[Name]) -> Vec<CounterGroup> {
        let places = (0..names.len()).collect();
        let keys = names.iter().map(|name| self.name(name)).collect();
        vec![CounterGroup { places, keys }]
    }

    /// Takes one round trip. Reads each other counter alone, unless one script finds all keys.
    fn count(
        visit: &Visit<'_, Self>,
        keys: &[Name],
        life: Option<Life>,
    ) -> Result<Vec<u64>, Cause> {
        let life = life.iter().flat_map(|life| [life.whole, life.rest]);
        let arguments: Vec<_> = life.map(|n| Argument::Number(n.into())).collect();
        let together = match keys {
            [_, _, ..] if !visit.is_one_server()? => &keys[..1],
            _ => keys,
        };
        let mut runs = vec![(together, &arguments[..])];
        let others = keys[together.len()..].chunks(1);
        runs.extend(others.map(|key| (key, &[][..])));
        let mut alone = vec![Value::Nil; runs.len()];
        let counted = visit.run_and_look(&COUNT, &runs, |index, value| alone[index] = value)?;
        let mut counts = numbers(counted, together.len())?;
        for value in alone.into_iter().skip(1) {
            counts.extend(numbers(visit.read(&COUNT, value)?, 1)?);
        }
        Ok(counts)
    }
}

/// Returns the counts in a reply of `count.lua`.
fn numbers(reply: Value, length: usize) -> Result<Vec<u64>, Cause> {
    let expected = || Cause::Answer("counts are expected");
    let Value::Array(counts) = reply else {
        return Err(expected());
    };
    let counts = counts.iter().map(|count| match *count {
        Value::Int(count @ 0..) => Ok(count.unsigned_abs()),
        _ => Err(expected()),
    });
    let counts: Vec<_> = counts.collect::<Result<_, Cause>>()?;
    if counts.len() == length {
        Ok(counts)
    } else {
        Err(expected())
    }
}
