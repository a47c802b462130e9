//! The sorted sets of a simulated Redis server, which keep permits.

use crate::keys::{Value, number};

/// The members of a set with their scores, in the order of the scores.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Set {
    members: Vec<(i64, Vec<u8>)>,
    /// The millisecond at which the set expires.
    expires: Option<i64>,
}

/// Reads an end of a range of scores. `exclusive` is added if the end is no part of the range.
fn end(word: &[u8], exclusive: i64) -> i64 {
    match word {
        b"-inf" => i64::MIN,
        b"+inf" => i64::MAX,
        [b'(', score @ ..] => number(score) + exclusive,
        score => number(score),
    }
}

impl Set {
    /// Executes a command at a millisecond.
    pub fn command(&mut self, now: i64, verb: &[u8], words: &[&[u8]]) -> Value {
        if self.expires.is_some_and(|at| at <= now) {
            *self = Self::default();
        }
        let value = match (verb, words) {
            (b"ZRANGEBYSCORE", [from, to, with_scores @ ..]) => {
                Value::List(self.range(end(from, 1), end(to, -1), !with_scores.is_empty()))
            }
            (b"ZREMRANGEBYSCORE", [from, to]) => {
                let range = end(from, 1)..=end(to, -1);
                self.retain(|score, _| !range.contains(&score))
            }
            (b"ZREM", gone) => self.retain(|_, member| !gone.contains(&member)),
            (b"ZADD", [b"XX", score, member]) => {
                if self.score(member).is_some() {
                    self.add(number(score), member);
                }
                Value::Number(0)
            }
            (b"ZADD", [score, member]) => Value::Number(self.add(number(score), member)),
            (b"ZCARD", []) => Value::Number(self.members.len() as i64),
            (b"ZSCORE", [member]) => match self.score(member) {
                Some(score) => Value::Text(score.to_string()),
                None => Value::Nil,
            },
            (b"PTTL", []) => Value::Number(self.expires.map_or(-1, |at| at - now)),
            (b"PEXPIRE", [life]) => {
                self.expires = Some(now + number(life));
                Value::Number(1)
            }
            _ => panic!("a command of sets: {}", String::from_utf8_lossy(verb)),
        };
        if self.members.is_empty() {
            self.expires = None;
        }
        value
    }

    fn range(&self, from: i64, to: i64, with_scores: bool) -> Vec<String> {
        let mut words = Vec::new();
        for (score, member) in self.members.iter().filter(|it| (from..=to).contains(&it.0)) {
            words.push(String::from_utf8_lossy(member).into_owned());
            words.extend(with_scores.then(|| score.to_string()));
        }
        words
    }

    /// Removes members, and returns their number.
    fn retain(&mut self, stays: impl Fn(i64, &[u8]) -> bool) -> Value {
        let before = self.members.len();
        self.members.retain(|(score, member)| stays(*score, member));
        Value::Number((before - self.members.len()) as i64)
    }

    fn score(&self, member: &[u8]) -> Option<i64> {
        let found = self.members.iter().find(|it| it.1 == member);
        found.map(|it| it.0)
    }

    /// Adds a member, or changes its score. Returns the number of members that were added.
    fn add(&mut self, score: i64, member: &[u8]) -> i64 {
        let before = self.members.len();
        self.members.retain(|it| it.1 != member);
        let added = self.members.len() == before;
        let place = self.members.partition_point(|it| it.0 <= score);
        self.members.insert(place, (score, member.to_vec()));
        i64::from(added)
    }
}
