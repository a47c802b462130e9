//! The keys of a simulated Redis server, and the commands that scripts call.

use crate::plan::Plan;
use crate::sets::Set;
use std::collections::BTreeMap;

/// A bucket's record, as bucket.lua explains it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    pub state: i64,
    /// The microsecond at which it was written, if the record has it.
    pub written: Option<i64>,
    pub span: Option<i64>,
    pub ahead: Option<Ahead>,
}

/// The microseconds that were taken ahead in the period before and in this one, and the least span
/// of the steps that took them.
pub type Ahead = [i64; 3];

impl Record {
    pub const fn past(state: i64) -> Self {
        Self {
            state,
            written: None,
            span: None,
            ahead: None,
        }
    }

    fn read(text: &[u8]) -> Self {
        let mut numbers = text.split(|&byte| byte == b':').map(number);
        let (state, written) = (numbers.next().unwrap_or(0), numbers.next());
        let (span, older, newer) = (numbers.next(), numbers.next(), numbers.next());
        let least = numbers.next().or(span).unwrap_or(0);
        let ahead = older.zip(newer).map(|(older, newer)| [older, newer, least]);
        Self {
            state,
            written,
            span,
            ahead,
        }
    }

    fn text(&self) -> String {
        let [older, newer, least] = self.ahead.map_or([None; 3], |ahead| ahead.map(Some));
        let least = least.filter(|_| least < self.span);
        let others = [self.written, self.span, older, newer, least].into_iter();
        let others = others.flatten().map(|it| format!(":{it}"));
        self.state.to_string() + &others.collect::<String>()
    }
}

/// A record, and the millisecond at which it expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    pub record: Record,
    pub expires: Option<i64>,
}

/// The records of the buckets, and the time at which a script runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keys {
    /// The microsecond since the epoch.
    pub now: i64,
    items: Vec<Option<Item>>,
    /// The permits of each bucket's identifier.
    pub sets: Vec<Set>,
    /// The other records by their keys, and the milliseconds at which they expire.
    texts: BTreeMap<Vec<u8>, (String, i64)>,
    /// The number of writes.
    pub changes: u64,
}

/// The reply to a command of a script.
pub enum Value {
    Nil,
    Done,
    Number(i64),
    Text(String),
    List(Vec<String>),
    /// The seconds and microseconds of the server's time.
    Time(i64, i64),
}

/// Reads a number, or returns 0.
pub fn number(word: &[u8]) -> i64 {
    let (is_negative, digits) = match word {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let add = |sum: i64, &digit: &u8| match digit {
        b'0'..=b'9' => sum.checked_mul(10)?.checked_add(i64::from(digit - b'0')),
        _ => None,
    };
    let sum = digits.iter().try_fold(0, add).unwrap_or(0);
    if is_negative { -sum } else { sum }
}

/// Returns the bucket of a key, such as `p:b2` or `p:b2~permits`.
pub fn bucket(key: &[u8]) -> usize {
    usize::from(key[3] - b'0')
}

/// Reports whether a key is that of a bucket.
pub const fn is_bucket(key: &[u8]) -> bool {
    key.len() == 4
}

/// Reports whether a key is that of permits.
fn is_permits(key: &[u8]) -> bool {
    key.ends_with(b"~permits")
}

impl Keys {
    pub fn new(plan: &Plan) -> Self {
        let count = plan.limits.len();
        Self {
            now: 0,
            items: vec![None; count],
            sets: vec![Set::default(); count],
            texts: BTreeMap::new(),
            changes: 0,
        }
    }

    pub fn clear(&mut self) {
        self.items.fill(None);
        self.sets.fill(Set::default());
        self.texts.clear();
    }

    /// Moves a key to another server.
    pub fn migrate(&mut self, key: &[u8], to: &mut Self) {
        let bucket = bucket(key);
        if is_permits(key) {
            to.sets[bucket] = std::mem::take(&mut self.sets[bucket]);
        } else if is_bucket(key) {
            to.items[bucket] = self.items[bucket].take();
        } else if let Some((key, text)) = self.texts.remove_entry(key) {
            to.texts.insert(key, text);
        }
    }

    pub fn live(&mut self, bucket: usize) -> Option<Item> {
        let now = self.now / 1000;
        let item = &mut self.items[bucket];
        if item.as_ref()?.expires.is_some_and(|at| at <= now) {
            *item = None;
        }
        *item
    }

    /// Returns the milliseconds that a key lives; -1 without an end, and -2 without a key.
    pub fn left(&mut self, bucket: usize) -> i64 {
        let now = self.now / 1000;
        let left = |item: Item| item.expires.map_or(-1, |at| at - now);
        self.live(bucket).map_or(-2, left)
    }

    /// Writes a record that lives for so many milliseconds; without them, as long as the old one.
    pub fn set(&mut self, bucket: usize, record: Record, life: Option<i64>) {
        let expires = match life {
            Some(life) => Some(self.now / 1000 + life),
            None => self.live(bucket).and_then(|it| it.expires),
        };
        self.items[bucket] = Some(Item { record, expires });
        self.changes += 1;
    }

    /// Returns the state of a bucket, which moves back with a clock that was set back. 0 without a
    /// record, or if it is full under each limit.
    pub fn state(&mut self, bucket: usize) -> i64 {
        let now = self.now;
        self.live(bucket).map_or(0, |Item { record, .. }| {
            let written = record.written.unwrap_or(record.state);
            let ends = record.span.map_or(i64::MAX, |span| record.state + span);
            let is_full = ends <= now.max(written);
            if is_full {
                0
            } else {
                record.state - (written - now).max(0)
            }
        })
    }

    /// Executes a command on a record that is not a bucket's.
    fn text(&mut self, verb: &[u8], key: &[u8], words: &[&[u8]]) -> Value {
        let now = self.now / 1000;
        let found = self.texts.get(key).filter(|it| it.1 > now).cloned();
        match (verb, words) {
            (b"GET", []) => found.map_or(Value::Nil, |it| Value::Text(it.0)),
            (b"PTTL", []) => Value::Number(found.map_or(-2, |it| it.1 - now)),
            (b"SET", [text, life @ ..]) => {
                let kept = found.map_or(i64::MAX, |it| it.1);
                let expires = life.get(1).map_or(kept, |life| now + number(life));
                let text = String::from_utf8_lossy(text).into_owned();
                self.texts.insert(key.to_vec(), (text, expires));
                Value::Done
            }
            _ => panic!("a command of Redis: {}", String::from_utf8_lossy(verb)),
        }
    }

    /// Executes a command of a script.
    pub fn command(&mut self, words: &[&[u8]]) -> Value {
        match words {
            [b"TIME"] => Value::Time(self.now / 1_000_000, self.now % 1_000_000),
            [verb, key, rest @ ..] if is_permits(key) => {
                self.sets[bucket(key)].command(self.now / 1000, verb, rest)
            }
            [verb, key, rest @ ..] if !is_bucket(key) => self.text(verb, key, rest),
            [b"GET", key] => {
                let item = self.live(bucket(key));
                item.map_or(Value::Nil, |item| Value::Text(item.record.text()))
            }
            [b"PTTL", key] => Value::Number(self.left(bucket(key))),
            [b"SET", key, value, rest @ ..] => {
                let life = match rest {
                    [b"PX", life] => Some(number(life)),
                    _ => None,
                };
                let record = Record::read(value);
                assert_eq!(record.text().as_bytes(), *value, "a record");
                self.set(bucket(key), record, life);
                Value::Done
            }
            _ => panic!("a command of Redis: {}", String::from_utf8_lossy(words[0])),
        }
    }
}
