//! The scripts on buckets once more, in Rust, because Lua takes most of the time otherwise.
//!
//! Each function does what the script of its name does, with the same names. The server compares
//! replies and records with those of Lua ([`crate::server`]). Windows and bootstraps are left to
//! Lua.

use crate::keys::{Ahead, Item, Keys, Record, bucket, is_bucket, number};
use std::fmt::Write;

/// The scripts that this module knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    Take,
    Slice,
    Put,
    TakeAll,
}

/// The scripts, as the client sends them after their heads.
const SCRIPTS: [(Known, &str); 4] = [
    (
        Known::Take,
        include_str!("../../../crates/stores/src/remote/redis/take.lua"),
    ),
    (
        Known::Slice,
        include_str!("../../../crates/stores/src/remote/redis/slice.lua"),
    ),
    (
        Known::Put,
        include_str!("../../../crates/stores/src/remote/redis/put.lua"),
    ),
    (
        Known::TakeAll,
        include_str!("../../../crates/stores/src/remote/redis/take_all.lua"),
    ),
];

/// Returns the script with this text.
pub fn known(text: &str) -> Option<Known> {
    let script = SCRIPTS.iter().find(|(_, script)| text.contains(script));
    script.map(|it| it.0)
}

const PERIOD: i64 = 2_000_000;
const ROUNDING: i64 = 10_000;
const GREATEST: i64 = 1 << 52;
const ABSENT: i64 = 1;
const RESTORED: i64 = 2;
const SET_BACK: i64 = 3;
const SHORTER: i64 = 4;

/// The numbers that a script reads of a bucket. `kind` is 0 without one.
struct Found {
    bucket: usize,
    state: Option<i64>,
    kind: i64,
    before: Option<i64>,
    kept: Option<i64>,
    ahead: Option<Ahead>,
}

impl Found {
    /// Notes that a step of this span takes microseconds ahead.
    fn take_ahead(&mut self, taken: i64, span: i64) {
        let [older, newer, least] = self.ahead.unwrap_or([0, 0, span]);
        self.ahead = Some([older, newer + taken, least.min(span)]);
    }
}

/// Divides by a thousand and rounds up.
const fn ceil(micros: i64) -> i64 {
    -(-micros).div_euclid(1000)
}

/// Returns the list of these numbers in the protocol of Redis.
fn list(numbers: &[i64]) -> Vec<u8> {
    let mut reply = String::with_capacity(20 * numbers.len() + 8);
    write!(reply, "*{}\r\n", numbers.len()).unwrap_or_default();
    for number in numbers {
        write!(reply, ":{number}\r\n").unwrap_or_default();
    }
    reply.into_bytes()
}

/// Returns the reply of step.lua, which ends before a kind that is missing.
fn stepped(state: i64, granted: bool, now: i64, kind: i64) -> Vec<u8> {
    let numbers = [2 * state + i64::from(granted), now, kind];
    list(if kind == 0 { &numbers[..2] } else { &numbers })
}

impl Keys {
    /// Runs a script. Returns `None` if Lua must run it.
    pub fn run(&mut self, script: Known, keys: &[&[u8]], arguments: &[&[u8]]) -> Option<Vec<u8>> {
        if !is_bucket(keys[0]) {
            return None;
        }
        let bucket = bucket(keys[0]);
        match (script, arguments) {
            (Known::Take, &[cost, span, seen]) => {
                let done = self.take(bucket, number(cost), number(span), seen);
                done.or_else(|| self.step(bucket, arguments))
            }
            (Known::Take, [_, _, _, _, _, _, _, _]) => self.step(bucket, arguments),
            (Known::Slice, [step @ .., extra, life]) if step.len() == 3 => {
                let done = self.slice(bucket, step, number(extra), number(life));
                done.or_else(|| self.step(bucket, step))
            }
            (Known::Put, _) => self.put(bucket, arguments),
            (Known::TakeAll, _) if arguments.len() == 4 * keys.len() => {
                Some(self.take_all(keys, arguments))
            }
            _ => None,
        }
    }

    fn read(&mut self, bucket: usize) -> Found {
        let now = self.now;
        let mut found = Found {
            bucket,
            state: None,
            kind: 0,
            before: None,
            kept: None,
            ahead: None,
        };
        let Some(Item { record, .. }) = self.live(bucket) else {
            return found;
        };
        let (state, written) = (record.state, record.written.unwrap_or(record.state));
        (found.state, found.before) = (Some(state), Some(state));
        if record
            .span
            .is_some_and(|span| state + span <= now.max(written))
        {
            (found.state, found.before) = (Some(0), Some(0));
            return found;
        }
        found.kept = record.span;
        let periods = now.div_euclid(PERIOD) - written.div_euclid(PERIOD);
        found.ahead = record.ahead.filter(|_| periods < 2);
        if periods == 1 {
            found.ahead = found.ahead.map(|[_, newer, least]| [newer, 0, least]);
        }
        if written > now {
            (found.state, found.kind) = (Some(state - (written - now)), SET_BACK);
        }
        found
    }

    fn keep(&mut self, bucket: usize, record: Record, life: i64) {
        let left = self.left(bucket);
        if left == -1 || left >= life.max(0) {
            self.set(bucket, record, None);
        } else if life > 0 {
            self.set(bucket, record, Some(life));
        }
    }

    fn write(&mut self, found: &Found, state: i64, full_at: i64) {
        let (now, bucket, ahead) = (self.now, found.bucket, found.ahead);
        let (mut life, span) = (ceil(full_at - now) + 1, full_at - state);
        let whole = |span| Record {
            written: Some(now),
            span: Some(span),
            ahead,
            ..Record::past(state)
        };
        let mut record = Record {
            written: (state > now).then_some(now),
            ..Record::past(state)
        };
        let left = found.before.map_or(-1, |_| self.left(bucket));
        let mut kept = found.kept;
        if left < 0 {
            let record = ahead.map_or(record, |_| whole(kept.unwrap_or(span).max(span)));
            return self.keep(bucket, record, life);
        }
        let is_greater = kept.is_some_and(|kept| kept > span + ROUNDING);
        let before = found.before.unwrap_or(0);
        if let Some(kept) = kept {
            life = life.max(ceil(state + kept - now) + 1);
        } else if before > 0 {
            life = life.max(left + ceil(state) - ceil(before));
            kept = Some((now + left * 1000 - before).min(GREATEST));
        }
        if left > life || is_greater || ahead.is_some() {
            record = whole(kept.unwrap_or(span).max(span));
            life = life.max(left);
        }
        self.set(bucket, record, Some(life.max(1)));
    }

    fn shorter(&mut self, found: &Found, state: i64, span: i64) -> i64 {
        let kept = found.kept.unwrap_or_else(|| match self.left(found.bucket) {
            left @ 0.. => self.now + left * 1000 - state,
            _ => span,
        });
        if kept + ROUNDING < span { SHORTER } else { 0 }
    }

    fn take(&mut self, bucket: usize, cost: i64, span: i64, seen: &[u8]) -> Option<Vec<u8>> {
        let now = self.now;
        let Item { record, expires } = self.live(bucket)?;
        let past = record.state;
        let left = expires? - now / 1000;
        if past <= 0 || past > now || record.written.is_some() {
            return None;
        }
        let state = past.max(now - span) + cost;
        if state > now {
            let is_shorter = !seen.is_empty() && now + left * 1000 + ROUNDING < past + span;
            return Some(stepped(
                past,
                false,
                now,
                if is_shorter { SHORTER } else { 0 },
            ));
        }
        let life = (state + span - now) / 1000 + 2;
        let life = life.max(left + state / 1000 - past / 1000);
        self.set(bucket, Record::past(state), Some(life));
        Some(stepped(state, true, now, 0))
    }

    fn step(&mut self, bucket: usize, arguments: &[&[u8]]) -> Option<Vec<u8>> {
        let now = self.now;
        let (cost, span, seen) = (number(arguments[0]), number(arguments[1]), arguments[2]);
        let more: [&[u8]; 5] = arguments[3..]
            .try_into()
            .unwrap_or([b"1", b"0", b"0", b"0", b""]);
        let [tick, debt, wait, dry, first] = more;
        let (wait, is_place) = (number(wait), first == b"-");
        if tick != b"1" || debt != b"0" || !(is_place || first.is_empty()) {
            return None;
        }
        let mut found = self.read(bucket);
        let mut empty_at = found.state.unwrap_or(0);
        if found.state.is_none() && !matches!(seen, b"" | b"-") {
            (empty_at, found.kind) = (now - number(seen), RESTORED);
        } else if empty_at == 0 {
            found.kind = ABSENT;
        }
        let mut state = empty_at;
        if cost > 0 {
            state = empty_at.max(now - span) + cost;
        }
        let granted = state <= now + wait;
        let takes = granted && cost > 0 && dry != b"1";
        if found.kind == 0 && !takes && !seen.is_empty() {
            found.kind = self.shorter(&found, empty_at, span);
        }
        if dry == b"1" {
            return Some(stepped(empty_at, granted, now, found.kind));
        }
        if !granted {
            state = empty_at;
        }
        if takes && is_place && state > now {
            found.take_ahead(cost, span);
        }
        if state != empty_at || found.kind == SET_BACK {
            self.write(&found, state, state + span);
        }
        Some(stepped(state, granted, now, found.kind))
    }

    fn slice(&mut self, bucket: usize, step: &[&[u8]], extra: i64, life: i64) -> Option<Vec<u8>> {
        let (now, cost, span) = (self.now, number(step[0]), number(step[1]));
        let mut found = self.read(bucket);
        let empty_at = found.state.filter(|_| found.kind == 0)?;
        let start = (empty_at.max(now - span) + cost).max(now - span + life);
        let extra = extra.min((now - start).div_euclid(4));
        let extra = extra - extra.rem_euclid(cost);
        if extra < 4 * cost {
            return None;
        }
        let state = start + extra;
        found.take_ahead(extra, span);
        self.write(&found, state, state + span);
        let kind = if empty_at > 0 { 0 } else { ABSENT };
        Some(list(&[2 * state + 1, now, kind, extra]))
    }

    fn put(&mut self, bucket: usize, arguments: &[&[u8]]) -> Option<Vec<u8>> {
        let (now, mut found) = (self.now, self.read(bucket));
        let seen = |seen: &[u8]| (!seen.is_empty()).then(|| now - number(seen));
        let ahead = found.ahead;
        let full = |span: i64| {
            let least = ahead.map(|[older, newer, least]| least - PERIOD - older - newer);
            now - least.map_or(span, |least| least.min(span))
        };
        match *arguments {
            [b"refund", cost, span, lost, taken, in_debt] => {
                let (span, taken) = (number(span), number(taken));
                let Some(empty_at) = found.state.or_else(|| seen(lost)) else {
                    self.write(&found, 0, now + span);
                    return Some(b":1\r\n".to_vec());
                };
                let mut free = number(cost);
                if empty_at > now && empty_at != taken && taken != GREATEST {
                    let later = (empty_at - taken).max(0);
                    free = (free - later).max(0).min(number(in_debt));
                }
                let cost = free.min((taken - (now - span)).max(0));
                let state = empty_at.min((empty_at - cost).max(full(span)));
                if state > 0 {
                    self.write(&found, state, state + span);
                }
            }
            [b"reset", span] => {
                let span = number(span);
                if let (Some(_), Some(record)) = (found.ahead, found.state) {
                    let state = record.min(full(span));
                    self.write(&found, state, state + span);
                } else {
                    (found.before, found.kept) = (None, None);
                    self.write(&found, 0, now + span);
                }
            }
            [b"raise", age, span, lost] => {
                let record = found.state.or_else(|| seen(lost)).unwrap_or(0);
                let state = record.max(now - number(age));
                self.write(&found, state, state + number(span));
            }
            _ => return None,
        }
        Some(b":1\r\n".to_vec())
    }

    fn take_all(&mut self, keys: &[&[u8]], arguments: &[&[u8]]) -> Vec<u8> {
        let now = self.now;
        let mut granted = true;
        let steps = keys.iter().zip(arguments.chunks_exact(4));
        let steps = steps.map(|(key, step)| {
            let (cost, span, wait) = (number(step[0]), number(step[1]), number(step[3]));
            let mut found = self.read(bucket(key));
            let mut empty_at = found.state.unwrap_or(0);
            if found.state.is_none() && !step[2].is_empty() {
                (empty_at, found.kind) = (now - number(step[2]), RESTORED);
            }
            let mut state = empty_at;
            if cost > 0 {
                state = empty_at.max(now - span) + cost;
            }
            granted &= state <= now + wait.min(0);
            (found, empty_at, state, span)
        });
        let steps: Vec<_> = steps.collect();
        let mut reply = vec![i64::from(granted), now];
        for (mut found, empty_at, state, span) in steps {
            let state = if granted { state } else { empty_at };
            if state != empty_at || found.kind == SET_BACK {
                self.write(&found, state, state + span);
            } else if found.before.is_some() && found.kind == 0 {
                found.kind = self.shorter(&found, state, span);
            }
            reply.extend([state, found.kind]);
        }
        list(&reply)
    }
}
