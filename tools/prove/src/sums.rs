//! Sums of amounts over the calls that overlap an interval.

use crate::call::{Nanos, Tokens};

/// Running sums of amounts, sorted by instant.
#[derive(Debug)]
pub struct Sums(Vec<(Nanos, Tokens)>);

impl Sums {
    /// Creates the sums of these amounts, in any order.
    pub fn new(amounts: impl Iterator<Item = (Nanos, Tokens)>) -> Self {
        let mut sums: Vec<_> = amounts.collect();
        sums.sort_unstable();
        let mut sum = 0;
        for (_, amount) in &mut sums {
            sum += *amount;
            *amount = sum;
        }
        Self(sums)
    }

    pub fn before(&self, instant: Nanos) -> Tokens {
        self.first(self.0.partition_point(|&(at, _)| at < instant))
    }

    /// Returns the sum of the amounts until `instant`, inclusive.
    pub fn until(&self, instant: Nanos) -> Tokens {
        self.first(self.0.partition_point(|&(at, _)| at <= instant))
    }

    fn first(&self, count: usize) -> Tokens {
        count.checked_sub(1).map_or(0, |last| self.0[last].1)
    }
}

/// Amounts that belong to intervals.
#[derive(Debug)]
pub struct Overlaps {
    pub started: Sums,
    pub ended: Sums,
}

impl Overlaps {
    /// Creates the sums of these amounts, each with the start and the end of its interval.
    pub fn new(amounts: impl Iterator<Item = (Nanos, Nanos, Tokens)> + Clone) -> Self {
        let starts = amounts.clone().map(|(start, _, amount)| (start, amount));
        Self {
            started: Sums::new(starts),
            ended: Sums::new(amounts.map(|(_, end, amount)| (end, amount))),
        }
    }

    /// Returns the sum of the amounts whose intervals overlap `start..=end`.
    pub fn sum(&self, start: Nanos, end: Nanos) -> Tokens {
        self.started.until(end) - self.ended.before(start)
    }
}
