//! A histogram of the durations of calls to a store, in the segment.
//!
//! All workers add to the same numbers, so the additions are atomic. A reader may miss the last
//! additions to the sum of the durations, but the number of calls always equals the sum of the
//! buckets.

use gcra::Ticks;
use std::array;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The greatest duration in each bucket of the histogram, in ticks. The last bucket has no limit.
pub const LIMITS: [Ticks; 14] = [
    50_000,
    100_000,
    200_000,
    500_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    20_000_000,
    50_000_000,
    100_000_000,
    200_000_000,
    500_000_000,
    1_000_000_000,
];
const BUCKETS: usize = LIMITS.len() + 1;
/// The limits in seconds, as Prometheus writes them.
pub const LABELS: [&str; BUCKETS] = [
    "5e-05", "0.0001", "0.0002", "0.0005", "0.001", "0.002", "0.005", "0.01", "0.02", "0.05",
    "0.1", "0.2", "0.5", "1.0", "+Inf",
];

/// The durations of the calls to one store. The alignment keeps other data off its cache lines.
#[repr(C, align(128))]
#[derive(Debug, Default)]
pub struct Durations {
    buckets: [AtomicU64; BUCKETS],
    ticks: AtomicU64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    pub buckets: [u64; BUCKETS],
    /// The sum of all durations, in ticks.
    pub ticks: u64,
}

impl Durations {
    /// Counts a call that took `ticks`.
    pub fn record(&self, ticks: Ticks) {
        let bucket = LIMITS.partition_point(|&limit| limit < ticks);
        // Relaxed: no other access depends on the numbers.
        self.buckets[bucket].fetch_add(1, Relaxed);
        self.ticks.fetch_add(ticks, Relaxed);
    }

    /// Removes all calls.
    pub fn clear(&self) {
        for number in self.buckets.iter().chain([&self.ticks]) {
            number.store(0, Relaxed);
        }
    }

    /// Returns the calls that were recorded.
    pub fn histogram(&self) -> Histogram {
        Histogram {
            buckets: array::from_fn(|bucket| self.buckets[bucket].load(Relaxed)),
            ticks: self.ticks.load(Relaxed),
        }
    }
}

impl Histogram {
    /// Adds the calls of another histogram.
    pub fn add(&mut self, other: &Self) {
        for (mine, its) in self.buckets.iter_mut().zip(other.buckets) {
            *mine = mine.wrapping_add(its);
        }
        self.ticks = self.ticks.wrapping_add(other.ticks);
    }

    /// Returns the number of calls up to and including each bucket. The last number is that of all
    /// calls.
    pub fn cumulative(&self) -> [u64; BUCKETS] {
        let mut calls = 0_u64;
        self.buckets.map(|bucket| {
            calls = calls.wrapping_add(bucket);
            calls
        })
    }

    pub fn calls(&self) -> u64 {
        self.cumulative()[BUCKETS - 1]
    }

    /// Returns the limit, in ticks, of the bucket that contains the slowest call of the fastest
    /// `percent` of all calls. So at least this share of the calls took no longer than the limit.
    /// Returns `None` if there are no calls, or if the bucket has no limit.
    pub fn percentile(&self, percent: u8) -> Option<Ticks> {
        let calls = self.cumulative();
        let wanted = (u128::from(self.calls()) * u128::from(percent)).div_ceil(100);
        let bucket = calls
            .iter()
            .position(|&it| u128::from(it) >= wanted.max(1))?;
        LIMITS.get(bucket).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gcra::seconds;

    #[test]
    fn a_call_is_in_the_first_bucket_whose_limit_it_does_not_exceed() {
        let durations = Durations::default();
        for limit in LIMITS {
            durations.record(limit);
        }
        let histogram = durations.histogram();
        assert_eq!(histogram.buckets[..14], [1; 14]);
        assert_eq!(histogram.ticks, LIMITS.iter().sum());
        durations.record(0);
        for limit in LIMITS {
            durations.record(limit + 1);
        }
        durations.record(u64::MAX);
        let histogram = durations.histogram();
        assert_eq!(histogram.buckets[..14], [2; 14]);
        assert_eq!((histogram.buckets[14], histogram.calls()), (2, 30));
        durations.clear();
        assert_eq!(durations.histogram(), Histogram::default());
    }

    #[test]
    fn a_percentile_is_the_limit_that_this_share_of_the_calls_keeps() {
        let durations = Durations::default();
        assert_eq!(durations.histogram().percentile(99), None);
        for (calls, ticks) in [(98, 30_000), (1, 3_000_000), (1, 2_000_000_000)] {
            for _ in 0..calls {
                durations.record(ticks);
            }
        }
        let histogram = durations.histogram();
        let found = [1, 50, 98, 99, 100].map(|percent| histogram.percentile(percent));
        let fast = Some(50_000);
        assert_eq!(found, [fast, fast, fast, Some(5_000_000), None]);
    }

    #[test]
    fn the_labels_are_the_limits() {
        for (limit, label) in LIMITS.into_iter().zip(LABELS) {
            assert_eq!(label.parse(), Ok(seconds::from_ticks(limit)), "{label}");
        }
    }

    #[test]
    fn any_numbers_in_the_segment_have_a_percentile() {
        let durations = Durations::default();
        for bucket in &durations.buckets {
            bucket.store(u64::MAX, Relaxed);
        }
        let mut histogram = durations.histogram();
        histogram.add(&durations.histogram());
        assert!(histogram.percentile(0) <= LIMITS.last().copied());
    }
}
