//! Counters on Redis: one script, one round trip.

use super::{CounterGroup, Life, MinuteCounters, Name};
use stores::remote::redis::{Argument, Placement, RECORD, Script, Value};
use stores::remote::{Cause, Redis, Transport, Visit};

static COUNT: Script = Script::new(&[RECORD, include_str!("count.lua")]);

impl MinuteCounters for Redis {
    fn by_server(&self, names: &[Name]) -> Vec<CounterGroup> {
        let places = (0..names.len()).collect();
        let keys = names.iter().map(|name| self.name(name)).collect();
        vec![CounterGroup { places, keys }]
    }

    /// Takes one round trip. Also reads each other counter alone, behind a proxy that places a
    /// script by its first key, and until such a proxy is ruled out.
    fn count(
        visit: &Visit<'_, Self>,
        keys: &[Name],
        life: Option<Life>,
    ) -> Result<Vec<u64>, Cause> {
        let life = life.iter().flat_map(|life| [life.whole, life.rest]);
        let arguments: Vec<_> = life.map(|n| Argument::Number(n.into())).collect();
        let placement = visit.store.placement();
        let together = if placement == Placement::Scattered {
            keys.chunks(1).next().unwrap_or_default()
        } else {
            keys
        };
        let mut runs = vec![(together, &arguments[..])];
        if placement != Placement::Together {
            runs.extend(keys.chunks(1).skip(1).map(|key| (key, &[][..])));
        }
        let mut alone = vec![Value::Nil; runs.len()];
        let counted = visit.run_and_look(&COUNT, &runs, |index, value| alone[index] = value)?;
        let mut counts = numbers(counted, together.len())?;
        counts.resize(keys.len(), 0);
        for (index, value) in alone.into_iter().enumerate().skip(1) {
            let [count] = numbers(visit.read(&COUNT, value)?, 1)?[..] else {
                continue;
            };
            if count > 0 && placement == Placement::Unknown {
                visit.store.note_placement(&keys[index], counts[index] > 0);
            }
            counts[index] = count;
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
