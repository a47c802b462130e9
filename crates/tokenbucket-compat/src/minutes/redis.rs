//! Counters on Redis: one script, one round trip.

use super::{Counters, Life, Name};
use std::sync::LazyLock;
use tokenbucket_core::Ticks;
use tokenbucket_core::remote::redis::{Argument, RECORD, Redis, Script, Value};
use tokenbucket_core::remote::{Cause, Transport};

static COUNT: LazyLock<Script> =
    LazyLock::new(|| Script::new(&[RECORD, include_str!("count.lua")]));

impl Counters for Redis {
    fn by_server(&self, names: &[Name]) -> Vec<Vec<Name>> {
        vec![names.iter().map(|name| self.name(name)).collect()]
    }

    fn count(&self, keys: &[Vec<u8>], life: Option<Life>, deadline: Ticks) -> Result<u64, Cause> {
        let life = life.iter().flat_map(|life| [life.whole, life.rest]);
        let arguments: Vec<_> = life.map(|n| Argument::Number(n.into())).collect();
        match self.run(&COUNT, keys, &arguments, deadline)? {
            Value::Int(sum) => Ok(u64::try_from(sum).unwrap_or(0)),
            _ => Err(Cause::Answer("a sum is expected")),
        }
    }
}
