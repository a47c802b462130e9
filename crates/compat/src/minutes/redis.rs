//! Counters on Redis: one script, one round trip.

use super::{CounterGroup, Life, MinuteCounters, Name};
use stores::remote::redis::{Argument, RECORD, Redis, Script, Value};
use stores::remote::{Cause, Transport, Visit};

static COUNT: Script = Script::new(&[RECORD, include_str!("count.lua")]);

impl MinuteCounters for Redis {
    fn by_server(&self, names: &[Name]) -> Vec<CounterGroup> {
        let places = (0..names.len()).collect();
        let keys = names.iter().map(|name| self.name(name)).collect();
        vec![CounterGroup { places, keys }]
    }

    fn count(
        visit: &Visit<'_, Self>,
        keys: &[Name],
        life: Option<Life>,
    ) -> Result<Vec<u64>, Cause> {
        let life = life.iter().flat_map(|life| [life.whole, life.rest]);
        let arguments: Vec<_> = life.map(|n| Argument::Number(n.into())).collect();
        let expected = || Cause::Answer("counts are expected");
        let counts = match visit.run(&COUNT, keys, &arguments)? {
            Value::Array(counts) if counts.len() == keys.len() => counts,
            _ => return Err(expected()),
        };
        let counts = counts.iter().map(|count| match *count {
            Value::Int(count @ 0..) => Ok(count.unsigned_abs()),
            _ => Err(expected()),
        });
        counts.collect()
    }
}
