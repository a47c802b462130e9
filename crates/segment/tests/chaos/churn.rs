//! Runs workers on more keys than slots. So the table creates and forgets records all the time. The
//! workers contend for claims and abandon claims.

use crate::board::{Board, Grant, Sheet};
use crate::dice::Dice;
use crate::fate::Mood;
use crate::replay::{Verdict, replay, twice_alive};
use crate::supervisor::{Supervisor, Tally, Treatment};
use gcra::{Step, Ticks, Timestamp, boot_clock};
use segment::host::{Host, Settings};
use segment::memory::Segment;
use segment::slots::counters::{By, Event, Totals};
use segment::slots::protocol::{Point, Variant};
use segment::slots::word::Lifetime;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// A quota: the cost of one call, and the lifetime of the bucket.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    pub cost: Ticks,
    pub span: Ticks,
}

pub const SMALL: Limit = Limit {
    cost: 20_000,
    span: 100_000,
};
/// A quota for which one call empties the bucket.
pub const SINGLE: Limit = Limit {
    cost: 100_000,
    span: 100_000,
};
pub const GREAT: Limit = Limit {
    cost: 50_000,
    span: 400_000,
};

/// The least number of calls in a run.
const LEAST_CALLS: u64 = 1_000;
/// How often a run is prolonged at most, each time by its own length.
const MOST_PARTS: u32 = 30;

#[derive(Clone, Copy, Debug)]
pub struct Churn {
    pub lines: usize,
    pub keys: u64,
    pub evict: bool,
    pub limits: &'static [Limit],
    pub treatment: Treatment,
}

pub struct Outcome {
    pub tally: Tally,
    pub calls: u64,
    /// The number of written grants that are not in the journal, and the number of written grants
    /// that were not counted.
    pub lost: [i128; 2],
    pub deaths: [u64; Point::ALL.len()],
    pub totals: Totals,
    pub twice: usize,
    /// The result of the replay of each limit's grants alone.
    pub alone: Vec<Verdict>,
    /// The result of the replay of all grants together, for a bucket with the greatest lifetime.
    pub together: Verdict,
}

pub fn shared<V: Variant>(lines: usize, evict: bool) -> Host<V> {
    let settings = Settings {
        lines,
        diagnostics: false,
        evict,
    };
    Host::new(settings, Segment::memfd).expect("a memfd")
}

impl Churn {
    pub fn run<V: Variant>(&self) -> Result<Outcome, String> {
        let store = shared::<V>(self.lines, self.evict);
        let board = Board::new();
        let time = u64::try_from(self.treatment.time.as_nanos()).unwrap();
        let (mut twice, mut tally) = (0, Tally::default());
        let evicts_yet = || !self.evict || store.slots().totals().get(Event::Evicted) > 0;
        // On a slow machine, the workers need more time to make enough calls.
        for _ in 0..MOST_PARTS {
            let is_enough = board.sum(|lane| &lane.calls) >= LEAST_CALLS && evicts_yet();
            if twice > 0 || is_enough {
                break;
            }
            let end = boot_clock() + time;
            let work = |lane: usize, seed: u64| self.work(&store, &board, lane, seed, end);
            tally += Supervisor::new(&board, self.treatment, &work).run(&mut || {
                twice += twice_alive(&store.slots().words());
                twice == 0
            })?;
        }
        twice += twice_alive(&store.slots().words());
        let counted = store.slots().totals().all_decisions(By::SharedMemory)[0];
        self.everybody_is_served(&store)?;
        let limits = self.limits.iter();
        let of_limit = |limit: &Limit| {
            let grants = board.grants().filter(|grant| grant.cost == limit.cost);
            replay(grants, limit.span)
        };
        let greatest = self.limits.iter().map(|limit| limit.span).max();
        Ok(Outcome {
            tally,
            calls: board.sum(|lane| &lane.calls),
            lost: [board.length(), counted]
                .map(|known| i128::from(board.sum(|lane| &lane.written)) - i128::from(known)),
            deaths: board.deaths(),
            totals: store.slots().totals(),
            twice,
            alone: limits.map(of_limit).collect(),
            together: replay(board.grants(), greatest.unwrap_or_default()),
        })
    }

    fn work<V: Variant>(
        &self,
        store: &Host<V>,
        board: &Sheet,
        lane: usize,
        seed: u64,
        end: Timestamp,
    ) {
        let lane = &board.lanes[lane];
        let mut dice = Dice(seed | 1);
        // At any time, the workers use six keys. These keys change all the time. So several workers
        // often create the record of a new key at the same time.
        let period = if self.treatment.mood == Mood::Sleepy {
            40_000
        } else {
            150_000
        };
        loop {
            let now = boot_clock();
            if now > end {
                return;
            }
            let rolled = dice.roll() >> 8;
            let key = (now.0 / period + rolled % 6) % self.keys;
            let limit = self.limits[usize::try_from(rolled >> 16).unwrap() % self.limits.len()];
            let name = key.to_le_bytes();
            let step = Step::new(limit.cost, limit.span);
            let outcome = store
                .slots()
                .take(store.slots().hasher().key(&name), &step, None);
            lane.calls.fetch_add(1, Relaxed);
            let (now, cost) = (outcome.now, limit.cost);
            if outcome.granted() && !lane.note(Grant { key, now, cost }) {
                return;
            }
        }
    }

    /// Checks that every key is granted tokens after a pause. After the pause, every bucket is
    /// full, and the claims of dead workers count as abandoned.
    fn everybody_is_served<V: Variant>(&self, store: &Host<V>) -> Result<(), String> {
        std::thread::sleep(Duration::from_millis(20));
        for key in 0..self.keys.min(32) {
            let begin = Instant::now();
            let (name, limit) = (key.to_le_bytes(), self.limits[0]);
            let step = Step::new(limit.span, limit.span);
            while !store
                .slots()
                .take(store.slots().hasher().key(&name), &step, None)
                .granted()
            {
                if begin.elapsed() > Duration::from_secs(60) {
                    return Err(format!("key {key} is not served afterwards"));
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        Ok(())
    }

    /// Returns the greatest number of ticks that one eviction gives away.
    fn victim(&self) -> Ticks {
        let greatest = self.limits.iter().map(|limit| limit.span).max();
        Lifetime::covering(greatest.unwrap_or_default()).ticks()
    }
}

impl Outcome {
    /// Reports whether a bucket granted more than it held or a key has two records.
    pub fn is_violated(&self) -> bool {
        let alone = self.alone.iter().any(|verdict| verdict.violations > 0);
        alone || self.together.violations > 0 || self.twice > 0
    }

    /// Checks the result of the run. If the table evicts buckets, the grants may exceed the bound
    /// by the ticks that evictions gave away.
    pub fn judge(&self, churn: &Churn) -> Result<(), String> {
        if self.twice > 0 {
            return Err(format!("{} keys live twice", self.twice));
        }
        if churn.evict {
            // A worker that dies right after an eviction leaves that eviction uncounted.
            let uncounted = self.tally.kills * churn.victim();
            let allowed = self.totals.evicted_ticks + uncounted;
            if self.totals.get(Event::Evicted) == 0 {
                return Err("nothing was evicted".to_owned());
            }
            if self.together.excess > allowed {
                return Err(format!("{} above {allowed}", self.together.excess));
            }
        } else if self.is_violated() {
            return Err(format!("{:?} {:?}", self.alone, self.together));
        }
        let kills = i128::from(self.tally.kills);
        if self
            .lost
            .iter()
            .any(|lost| !(-kills..=kills).contains(lost))
        {
            return Err(format!("{:?} grants lost", self.lost));
        }
        Ok(())
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let count = |event| self.totals.get(event);
        write!(
            f,
            "{} calls, {} grants of {} keys, {} kills, {} stops, {} audits, {:?} grants lost; \
             violations {}, excess {} ticks, twice alive {}; inserted {}, reclaimed {}, adopted {}, \
             duplicates {}, stolen {}, conflicts {}, contended {}, refused {}, evicted {} ({} ticks)",
            self.calls,
            self.together.grants,
            self.together.keys,
            self.tally.kills,
            self.tally.stops,
            self.tally.audits,
            self.lost,
            self.together.violations + self.alone.iter().map(|alone| alone.violations).sum::<u64>(),
            self.together.excess,
            self.twice,
            count(Event::Inserted),
            count(Event::Reclaimed),
            count(Event::Adopted),
            count(Event::Duplicate),
            count(Event::Stolen),
            count(Event::Conflict),
            count(Event::Contended),
            count(Event::Refused),
            count(Event::Evicted),
            self.totals.evicted_ticks,
        )
    }
}
