//! Tides: calls come all at once, then hardly ever while the buckets refill, and then slowly.
//!
//! When calls come evenly, the first ones that a bucket denies use all that hosts keep. In a tide,
//! hosts take ahead and then wait, while others give tokens back. The flood after that wants the
//! tokens of the bucket and those that hosts keep at once.

use crate::chance::Chance;
use crate::plan::{Limit, Part, Plan};
use crate::world::{MICRO, MILLI};

/// The phases of a tide. The instants are since its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tide {
    pub length: u64,
    /// The flood is over, and slow calls begin.
    slow_at: u64,
    /// No call begins until the next tide.
    calm_at: u64,
    /// The denials after which a worker waits for the end of the flood.
    denials: u32,
    /// One reservation in so many is cancelled.
    pub cancelled: u64,
}

impl Tide {
    pub fn is_flood(&self, now: u64) -> bool {
        now % self.length < self.slow_at
    }

    /// Reports whether tokens are given back rarely now, so that a flood ends.
    pub fn is_greedy(&self, now: u64) -> bool {
        self.slow_at < self.length && self.is_flood(now)
    }

    /// Returns the instant of the next call of a worker that was denied so often in this flood.
    pub fn next(&self, chance: &mut Chance, now: u64, pause: u64, denials: u32) -> u64 {
        let begin = now - now % self.length;
        let next = begin + self.length + chance.below(100 * MICRO);
        let slow = now.max(begin + self.slow_at) + chance.below(pause);
        let is_flood = self.is_flood(now);
        // Some slow calls come in runs.
        let goes_on = (is_flood && denials < self.denials) || (!is_flood && chance.one_in(2));
        if goes_on {
            now + chance.below(50 * MICRO)
        } else if slow < begin + self.calm_at {
            slow
        } else {
            next
        }
    }
}

/// Returns the limits of a tide. Batches on both buckets are undone if the small one is used up.
fn limits(chance: &mut Chance, has_places: bool) -> Vec<Limit> {
    let token = chance.of(&[4, 10, 20, 40]) * MILLI;
    let capacity = if has_places {
        8 + chance.below(24)
    } else {
        chance.of(&[128, 200, 800]) + chance.below(200)
    };
    let small = chance.one_in(2).then(|| 4 + chance.below(8));
    let capacities = [Some(capacity), small].into_iter().flatten();
    let limits = capacities.map(|capacity| Limit { capacity, token });
    limits.collect()
}

/// Returns the phases in which hosts keep slices. One lives for `life`.
fn with_slices(chance: &mut Chance, span: u64, life: u64) -> Tide {
    let calm_at = span + life / 10 * chance.of(&[3, 3, 10, 30]);
    Tide {
        length: calm_at + life / 8 * (1 + chance.below(8)),
        slow_at: span,
        calm_at,
        denials: 3,
        cancelled: chance.of(&[2, 2, 8]),
    }
}

/// Returns the phases in which hosts keep places.
fn with_places(chance: &mut Chance, span: u64) -> Tide {
    let length = span / 100 * (70 + chance.below(50));
    Tide {
        length,
        slow_at: length,
        calm_at: length,
        denials: 12,
        cancelled: chance.of(&[2, 8]),
    }
}

impl Plan {
    /// Lets calls come in tides in one seed of four. Hosts keep slices of large buckets, or places
    /// in the queues of small ones.
    pub fn in_tides(self) -> Self {
        let chance = &mut Chance::new(self.seed ^ 0x7469_6465);
        if !chance.one_in(4) {
            return self;
        }
        let has_places = chance.one_in(3);
        let limits = limits(chance, has_places);
        let (hosts, workers) = (2 + chance.below(6), 1 + chance.below(5));
        let take_ahead = chance.of(&[200, 1000, 1000]) * MILLI;
        let span = limits[0].span();
        let tide = if has_places {
            with_places(chance, span)
        } else {
            with_slices(chance, span, take_ahead.min(span / 8))
        };
        let latency = chance.of(&[40, 40, 400, 2000, 10_000]) * MICRO;
        let plan = Self {
            hosts: hosts as usize,
            workers: workers as usize,
            latency,
            timeout: (50 * MILLI).max(60 * latency),
            take_ahead,
            pause: 2 * limits[0].token * hosts * workers * chance.of(&[1, 2, 4]),
            limits,
            others: Vec::new(),
            calm: 4 * tide.length,
            tide: Some(tide),
            ..self
        };
        match chance.below(4) {
            0 => plan,
            1 => plan.without_losses(),
            _ => plan.without_losses().with_late_replies(),
        }
    }

    /// Lets a few quick workers keep what a late reply grants.
    fn with_late_replies(self) -> Self {
        let (hosts, workers) = (self.hosts.min(3), 3);
        let token = self.limits[0].token;
        Self {
            hosts,
            workers,
            latency: 40 * MICRO,
            late: 20,
            parts: self.parts | 1 << Part::Late as u32,
            timeout: 300 * MILLI,
            pause: 2 * token * (hosts * workers) as u64,
            ..self
        }
    }

    fn without_losses(self) -> Self {
        // A server that loses its state grants again what hosts keep. The rule skips such buckets.
        let losses = [Part::Flush, Part::Failover, Part::ServerClock];
        losses.into_iter().fold(self, Self::without)
    }
}
