//! The demand of clients: the most requests in a time, and the burst that a rate needs.

use super::instant::SECOND;
use gcra::{Limit, MAX_WAIT, Patience, Step, Timestamp};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};

/// The times in which requests are counted, in seconds.
const SPANS: [u64; 3] = [10, 60, 3600];

/// The most clients that an answer names.
const MOST_DENIED: usize = 10;

/// The bytes of a request that [`super::Replay::read`] lists.
const RECORD: usize = 20;

/// The value that distinguishes clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    Ip,
    Net,
    All,
}

/// A question about the requests of a group of paths.
#[derive(Debug)]
pub struct Question {
    /// The bit of the group. `None` for all requests.
    pub group: Option<u32>,
    pub counted: Counted,
    /// The limit to try. `None` to count the most requests in each time.
    pub limit: Option<Limit>,
}

/// The answer to a question. Lists of numbers have one for each client, in ascending order.
#[derive(Debug, Default)]
pub struct Found {
    pub requests: u64,
    /// The most requests in any 10 seconds, minute and hour.
    pub most: [Vec<u32>; 3],
    /// The least burst with which the rate denies nothing.
    pub bursts: Vec<u32>,
    pub denied_requests: u64,
    pub denied_clients: u64,
    /// The clients with the most denied requests, each with their number.
    pub most_denied: Vec<(u32, u32)>,
    /// The denied requests of each hour since the Unix epoch.
    pub denied_by_hour: BTreeMap<u64, u64>,
}

/// Questions, and the state of each client.
#[derive(Debug, Default)]
pub struct Demand(Vec<Asked>);

#[derive(Debug)]
struct Asked {
    question: Question,
    found: Found,
    recent: FxHashMap<u32, [Window; 3]>,
    used: FxHashMap<u32, Used>,
}

/// The use of a limit by a client.
#[derive(Clone, Copy, Debug)]
struct Used {
    /// The state of a bucket that lends what is missing.
    lent: Timestamp,
    /// The state of a bucket of the limit.
    state: Timestamp,
    /// The greatest debt in tokens.
    debt: u32,
    denied: u32,
}

/// The requests of a client in a time that ends with its last request.
#[derive(Debug, Default)]
struct Window {
    /// The seconds with requests, and their numbers.
    seconds: VecDeque<(u64, u32)>,
    sum: u32,
    most: u32,
}

impl Demand {
    pub fn new(questions: Vec<Question>) -> Self {
        let asked = |question| Asked {
            question,
            found: Found::default(),
            recent: FxHashMap::default(),
            used: FxHashMap::default(),
        };
        Self(questions.into_iter().map(asked).collect())
    }

    /// Reads requests that [`super::Replay::read`] has listed, in their order.
    pub fn read(&mut self, records: &[u8]) {
        for record in records.chunks_exact(RECORD) {
            let number = |at: usize| {
                let bytes = record[at..at + 4].iter().rev();
                bytes.fold(0, |sum, it| sum << 8 | u32::from(*it))
            };
            let at = u64::from(number(4)) << 32 | u64::from(number(0));
            for asked in &mut self.0 {
                let question = &asked.question;
                if question.group.is_none_or(|bit| number(16) & bit != 0) {
                    let client = match question.counted {
                        Counted::Ip => number(8),
                        Counted::Net => number(12),
                        Counted::All => 0,
                    };
                    asked.add(client, at);
                }
            }
        }
    }

    /// Returns the answer to a question, or `None` if there is no such question.
    pub fn found(&mut self, index: usize) -> Option<&Found> {
        let Asked {
            found,
            recent,
            used,
            ..
        } = self.0.get_mut(index)?;
        found.most = [0, 1, 2].map(|span| sorted(recent.values().map(|it| it[span].most)));
        found.bursts = sorted(used.values().map(|it| it.debt.saturating_add(1)));
        found.denied_requests = used.values().map(|it| u64::from(it.denied)).sum();
        let denied = used.iter().map(|(&client, it)| (client, it.denied));
        found.most_denied = denied.filter(|it| it.1 > 0).collect();
        found.denied_clients = found.most_denied.len() as u64;
        found
            .most_denied
            .sort_unstable_by_key(|&(client, denied)| (Reverse(denied), client));
        found.most_denied.truncate(MOST_DENIED);
        Some(found)
    }
}

fn sorted(numbers: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut numbers: Vec<u32> = numbers.collect();
    numbers.sort_unstable();
    numbers
}

impl Asked {
    /// Adds a request of a client at an instant.
    fn add(&mut self, client: u32, at: u64) {
        self.found.requests += 1;
        let Some(limit) = self.question.limit else {
            let windows = self.recent.entry(client).or_default();
            for (window, span) in windows.iter_mut().zip(SPANS) {
                window.add(at / SECOND, span);
            }
            return;
        };
        let used = self.used.entry(client).or_insert(Used::NOTHING);
        if !used.take(&limit, Timestamp(at)) {
            let hour = at / (3600 * SECOND);
            *self.found.denied_by_hour.entry(hour).or_default() += 1;
        }
    }
}

impl Used {
    const NOTHING: Self = Self {
        lent: Timestamp::ZERO,
        state: Timestamp::ZERO,
        debt: 0,
        denied: 0,
    };

    /// Takes a token, and reports whether the limit grants it.
    fn take(&mut self, limit: &Limit, now: Timestamp) -> bool {
        let step = limit.step_whole(1);
        // A bucket of one token lends what is missing. A burst must hold this token and those of
        // the greatest debt.
        let lending = Step::new(step.cost, step.cost).with(Patience::Wait(MAX_WAIT));
        self.lent = lending.decide(self.lent, now).empty_at;
        let debt = limit.tokens_owed(lending.debt(self.lent, now));
        self.debt = self.debt.max(u32::try_from(debt).unwrap_or(u32::MAX));
        let outcome = step.decide(self.state, now);
        self.state = outcome.empty_at;
        self.denied = self.denied.saturating_add(u32::from(!outcome.granted()));
        outcome.granted()
    }
}

impl Window {
    /// Adds a request to a window of `span` seconds.
    fn add(&mut self, second: u64, span: u64) {
        match self.seconds.back_mut() {
            Some(last) if last.0 >= second => last.1 += 1,
            _ => self.seconds.push_back((second, 1)),
        }
        self.sum += 1;
        while let Some(&(begin, count)) = self.seconds.front()
            && begin + span <= second
        {
            self.sum -= count;
            self.seconds.pop_front();
        }
        self.most = self.most.max(self.sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use guard::{Measure, Rule};

    const START: u64 = 1_800_000_000;

    fn limit(text: &str) -> Limit {
        match *Rule::parse(text).unwrap()[0].measure() {
            Measure::Rate { limit, .. } => limit,
            Measure::Concurrent(_) => panic!("a rate"),
        }
    }

    fn records(instants: &[u64]) -> Vec<u8> {
        let record = |at: &u64| [&((START * SECOND) + at).to_le_bytes()[..], &[1; 12]].concat();
        instants.iter().flat_map(record).collect()
    }

    fn ask(limit: Option<Limit>, instants: &[u64]) -> Found {
        let mut demand = Demand::new(vec![Question {
            group: None,
            counted: Counted::Ip,
            limit,
        }]);
        demand.read(&records(instants));
        demand.found(0).unwrap();
        demand.0.remove(0).found
    }

    #[test]
    fn requests_are_counted_in_every_window() {
        let seconds: Vec<u64> = (0..100)
            .map(|second| second * SECOND)
            .chain([3_650 * SECOND; 7])
            .collect();
        let found = ask(None, &seconds);
        assert_eq!(found.most, [vec![10], vec![60], vec![100]]);
        assert_eq!(found.requests, 107);
    }

    /// The least burst is exact: with it nothing is denied, and with one less something is.
    #[test]
    fn the_greatest_debt_is_the_least_burst() {
        let mut random = 7u64;
        for rate in ["1/second", "7/minute", "1000/hour", "3000000/second"] {
            let mut at = 0;
            let instants: Vec<u64> = (0..300)
                .map(|_| {
                    random = random
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1);
                    at += (random >> 33) % (2 * SECOND) * u64::from(random >> 62 != 0);
                    at
                })
                .collect();
            let of = |burst: u32| ask(Some(limit(&format!("ip {rate} burst {burst}"))), &instants);
            let least = of(1).bursts[0];
            assert_eq!(of(least).denied_requests, 0, "{rate} {least}");
            assert!(
                least > 1 && of(least - 1).denied_requests > 0,
                "{rate} {least}"
            );
        }
    }
}
