//! The client of Redis and compatible servers. Each decision is one script, on the server's clock.
//!
//! The `redis` crate encodes commands and parses replies. `script.rs` opens the connections itself,
//! because the crate's connections do not keep a deadline. This module converts steps and other
//! changes to arguments, and replies to results.

pub mod dsn;
mod script;
#[cfg(test)]
mod tests;

use super::{Ask, Cause, Reply, Server, Transport, record};
use crate::clock::{TICKS_PER_MICROSECOND, Timestamp};
use crate::store::{Put, UNKNOWN_SPAN};
use dsn::Dsn;
pub use redis::Value;
pub use script::{Argument, CLOCK, RECORD, Script};
use std::sync::{Arc, LazyLock};

static TAKE: LazyLock<Script> = LazyLock::new(|| on_buckets(include_str!("take.lua")));
static TAKE_ALL: LazyLock<Script> = LazyLock::new(|| on_buckets(include_str!("take_all.lua")));
static PUT: LazyLock<Script> = LazyLock::new(|| on_buckets(include_str!("put.lua")));

fn on_buckets(script: &str) -> Script {
    Script::new(&[RECORD, CLOCK, include_str!("bucket.lua"), script])
}

/// A Redis server.
#[derive(Debug)]
pub struct Redis {
    dsn: Arc<Dsn>,
    /// The prefix that [`Redis::under`] puts before every key. `prefix` begins with these bytes.
    root: Vec<u8>,
    prefix: Vec<u8>,
    server: Server,
}

impl Redis {
    /// Creates a client of the server at `dsn`. A bucket's key consists of `prefix` and the
    /// identifier.
    #[must_use]
    pub fn new(dsn: Dsn, prefix: &[u8]) -> Self {
        Self::under(b"", dsn, prefix)
    }

    /// Creates a client like [`Redis::new`] that puts `root` before every key. `root` is the prefix
    /// of another client, which puts it before every key, too.
    #[must_use]
    pub fn under(root: &[u8], dsn: Dsn, prefix: &[u8]) -> Self {
        let name = dsn.public_name();
        let identity = format!("redis\0{name}\0{}", dsn.user.as_deref().unwrap_or_default());
        Self {
            root: root.to_vec(),
            prefix: [root, prefix].concat(),
            server: Server::new(identity.as_bytes(), name),
            dsn: Arc::new(dsn),
        }
    }

    /// Returns the key of a record that is not a bucket. It consists of the root of
    /// [`Redis::under`] and `key`, without the storage's prefix.
    #[must_use]
    pub fn raw_name(&self, key: &[u8]) -> Vec<u8> {
        [&self.root, key].concat()
    }
}

/// Converts an age to microseconds. Rounds down, because a bucket that was empty later holds less.
fn micros_ago(age: Option<i64>) -> Argument<'static> {
    age.map_or(Argument::Word(b""), |age| {
        Argument::Number(age.div_euclid(TICKS_PER_MICROSECOND.cast_signed()))
    })
}

/// Converts the age of a state to microseconds. The state was read before its record was lost.
/// Rounds up, so that the restored state is not too late.
fn lost_ago(seen: Option<i64>) -> Argument<'static> {
    micros_ago(seen.map(|age| age + TICKS_PER_MICROSECOND.cast_signed()))
}

/// Returns a number of a reply. Fails if the number is negative or too large.
fn number(value: &Value) -> Result<u64, Cause> {
    match value {
        // Our scripts return numbers below 2^53.
        Value::Int(number @ 0..=0x001f_ffff_ffff_ffff) => Ok(number.cast_unsigned()),
        _ => Err(Cause::Answer("a number is missing")),
    }
}

/// Converts an instant of a reply, which is in microseconds.
fn instant(value: &Value) -> Result<Timestamp, Cause> {
    let micros = number(value)?;
    Ok(Timestamp(micros.saturating_mul(TICKS_PER_MICROSECOND)))
}

impl Transport for Redis {
    fn identity(&self) -> Vec<u8> {
        [&self.server.id.to_ne_bytes(), self.prefix.as_slice()].concat()
    }

    fn name(&self, identifier: &[u8]) -> Vec<u8> {
        [&self.prefix, identifier].concat()
    }

    fn server(&self, _name: &[u8]) -> &Server {
        &self.server
    }

    fn take(&self, ask: &Ask, deadline: Timestamp) -> Result<Reply, Cause> {
        let step = &ask.step;
        let arguments = [
            Argument::micros(step.cost),
            Argument::micros(step.burst),
            Argument::micros(step.tick.get().max(TICKS_PER_MICROSECOND)),
            Argument::micros(step.max_debt),
            Argument::micros(step.max_wait),
            Argument::Number(i64::from(step.dry)),
            micros_ago(ask.first),
            lost_ago(ask.seen),
        ];
        let value = self.run(&TAKE, &[&ask.name], &arguments, deadline)?;
        let Some([granted, now, empty_at, absent, healed]) = value.as_sequence() else {
            return Err(Cause::Answer("five numbers are expected"));
        };
        let yes = |value: &Value| number(value).map(|number| number != 0);
        Ok(Reply {
            absent: yes(absent)?,
            healed: yes(healed)?,
            ..Reply::new(yes(granted)?, instant(now)?, instant(empty_at)?)
        })
    }

    fn put(
        &self,
        name: &[u8],
        put: &Put,
        seen: Option<i64>,
        deadline: Timestamp,
    ) -> Result<(), Cause> {
        let arguments = match *put {
            Put::Refund { cost, burst, taken } => vec![
                Argument::Word(b"refund"),
                Argument::micros(cost),
                Argument::micros(burst),
                lost_ago(seen),
                // The greatest record is later than any state, so a refund with this value returns
                // the whole cost.
                Argument::micros(taken.0.min(record::GREATEST * TICKS_PER_MICROSECOND)),
            ],
            Put::Reset { burst } => vec![Argument::Word(b"reset"), Argument::micros(burst)],
            Put::Bootstrap { age } => vec![
                Argument::Word(b"bootstrap"),
                micros_ago(Some(age)),
                Argument::micros(UNKNOWN_SPAN),
            ],
        };
        self.run(&PUT, &[name], &arguments, deadline).map(drop)
    }

    fn joins(&self, other: &Self) -> bool {
        self.dsn == other.dsn
    }

    fn take_all(&self, asks: &[Ask], deadline: Timestamp) -> Result<Vec<Reply>, Cause> {
        let keys: Vec<_> = asks.iter().map(|ask| &ask.name).collect();
        let arguments = asks.iter().flat_map(|ask| {
            [
                Argument::micros(ask.step.cost),
                Argument::micros(ask.step.burst),
                lost_ago(ask.seen),
            ]
        });
        let arguments: Vec<_> = arguments.collect();
        let value = self.run(&TAKE_ALL, &keys, &arguments, deadline)?;
        let numbers = value
            .as_sequence()
            .filter(|numbers| numbers.len() == 2 * asks.len() + 2);
        let Some([granted, now, states @ ..]) = numbers else {
            return Err(Cause::Answer("not as many numbers as were asked for"));
        };
        let (granted, now) = (number(granted)? != 0, instant(now)?);
        let reply = |state: &[Value]| {
            Ok(Reply {
                healed: number(&state[1])? != 0,
                ..Reply::new(granted, now, instant(&state[0])?)
            })
        };
        states.chunks_exact(2).map(reply).collect()
    }
}
