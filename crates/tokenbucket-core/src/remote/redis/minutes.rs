//! A counter a minute, on Redis.

use super::{Argument, Redis, Script, Value};
use crate::clock::Ticks;
use crate::record::minutes::Life;
use crate::remote::failure::Cause;
use std::sync::LazyLock;

static MINUTES: LazyLock<Script> = script!("minutes.lua");

impl Redis {
    /// Counts the first of some counters up, and sums all up, in one round trip.
    ///
    /// # Errors
    /// When the server did not answer; [`Cause::Record`] when one of them is no counter.
    pub fn count(&self, keys: &[Vec<u8>], life: Life, deadline: Ticks) -> Result<u64, Cause> {
        let keys: Vec<_> = keys.iter().map(Vec::as_slice).collect();
        let arguments = [life.whole, life.rest].map(|n| Argument::Number(i64::from(n)));
        match self.run(&MINUTES, &keys, &arguments, deadline)? {
            Value::Int(sum) => Ok(u64::try_from(sum).unwrap_or(0)),
            _ => Err(Cause::Answer("a sum is expected")),
        }
    }
}
