//! The keys of a simulated Redis server, and the commands that scripts call.

use crate::plan::Plan;
use gcra::{Step, Timestamp};
use std::fmt::Write;

/// A record, and the millisecond at which it expires.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Item {
    text: String,
    expires: Option<u64>,
}

/// The records of the buckets, and the time at which a script runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keys {
    /// The microsecond since the epoch.
    pub now: u64,
    items: Vec<Option<Item>>,
    /// The number of writes.
    pub changes: u64,
}

/// The reply to a command of a script.
pub enum Value {
    Nil,
    Done,
    Number(i64),
    Text(String),
    /// The seconds and microseconds of the server's time.
    Time(u64, u64),
}

/// Reads a number, or returns 0.
pub fn number(word: &[u8]) -> i64 {
    let word = std::str::from_utf8(word).unwrap_or_default();
    word.parse().unwrap_or(0)
}

/// Returns the bucket of a key, such as `p:b2`.
pub fn bucket(key: &[u8]) -> usize {
    usize::from(key[key.len() - 1] - b'0')
}

impl Keys {
    pub fn new(plan: &Plan) -> Self {
        let items = vec![None; plan.limits.len()];
        Self {
            now: 0,
            items,
            changes: 0,
        }
    }

    pub fn clear(&mut self) {
        self.items.fill(None);
    }

    /// Moves a bucket to another server.
    pub fn migrate(&mut self, bucket: usize, to: &mut Self) {
        to.items[bucket] = self.items[bucket].take();
    }

    fn live(&mut self, bucket: usize) -> Option<&mut Item> {
        let (item, now) = (&mut self.items[bucket], self.now / 1000);
        if item.as_ref()?.expires.is_some_and(|at| at <= now) {
            *item = None;
        }
        item.as_mut()
    }

    /// Returns the state of a bucket, which moves back with a clock that was set back. 0 without a
    /// record.
    pub fn state(&mut self, bucket: usize) -> u64 {
        let now = self.now;
        let Some(Item { text, .. }) = self.live(bucket) else {
            return 0;
        };
        let mut numbers = text.split(':').map(|it| number(it.as_bytes()) as u64);
        let state = numbers.next().unwrap_or(0);
        let written = numbers.next().unwrap_or(state);
        state.saturating_sub(written.saturating_sub(now))
    }

    /// Executes a command of a script.
    pub fn command(&mut self, words: &[&[u8]]) -> Value {
        let now = self.now / 1000;
        match words {
            [b"TIME"] => Value::Time(self.now / 1_000_000, self.now % 1_000_000),
            [b"GET", key] => {
                let item = self.live(bucket(key));
                item.map_or(Value::Nil, |item| Value::Text(item.text.clone()))
            }
            [b"PTTL", key] => Value::Number(match self.live(bucket(key)) {
                None => -2,
                Some(item) => item.expires.map_or(-1, |at| (at - now) as i64),
            }),
            [b"SET", key, value, rest @ ..] => {
                let expires = match rest {
                    [b"PX", life] => Some(now + number(life) as u64),
                    _ => self.live(bucket(key)).and_then(|it| it.expires),
                };
                let text = String::from_utf8_lossy(value).into_owned();
                self.items[bucket(key)] = Some(Item { text, expires });
                self.changes += 1;
                Value::Done
            }
            _ => panic!("a command of Redis: {}", String::from_utf8_lossy(words[0])),
        }
    }

    /// Does what take.lua does in its usual case, by the arithmetic of the product instead of Lua.
    /// Returns `None` in other cases.
    pub fn take(&mut self, bucket: usize, [cost, span, seen]: [&[u8]; 3]) -> Option<Vec<u8>> {
        let now = self.now;
        let (text, expires) = self
            .live(bucket)
            .map(|it| (&mut it.text, &mut it.expires))?;
        let past = text.parse::<u64>().ok().filter(|&it| it > 0 && it <= now)?;
        let (span, left) = (number(span) as u64, (*expires)? - now / 1000);
        let step = Step::new(number(cost) as u64 * 1000, span * 1000);
        let outcome = step.decide(Timestamp(past * 1000), Timestamp(now * 1000));
        let mut reply = String::with_capacity(64);
        if !outcome.granted() {
            let is_shorter = !seen.is_empty() && now + left * 1000 + 10_000 < past + span;
            let (count, kind) = if is_shorter { (3, ":4\r\n") } else { (2, "") };
            write!(reply, "*{count}\r\n:{}\r\n:{now}\r\n{kind}", 2 * past).ok()?;
            return Some(reply.into_bytes());
        }
        let state = outcome.empty_at.0 / 1000;
        let life = ((state + span - now) / 1000 + 2).max(left + state / 1000 - past / 1000);
        *expires = Some(now / 1000 + life);
        text.clear();
        write!(text, "{state}").ok()?;
        self.changes += 1;
        write!(reply, "*2\r\n:{}\r\n:{now}\r\n", 2 * state + 1).ok()?;
        Some(reply.into_bytes())
    }
}
