//! The number of buckets that fit into a segment before buckets are evicted.
//! docs/reference/settings.md has the same numbers.

use gcra::key::Row;
use gcra::{Key, Step, TICKS_PER_SECOND};
use segment::host::{Host, HostSettings, lines};
use segment::memory::Segment;
use segment::slots::counters::Event;

/// Returns a hash that is the same in each run (splitmix64).
fn hash(number: u64) -> u128 {
    let half = |number: u64| {
        let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        u128::from(mixed ^ mixed >> 31)
    };
    half(2 * number) << 64 | half(2 * number + 1)
}

/// The sizes of segments, the numbers of runs, and three numbers of buckets in percent of the
/// slots. At these numbers, the first bucket, 0.1 % and 1 % of all buckets were evicted.
const TABLE: [(usize, u64, [f64; 3]); 4] = [
    (4 << 10, 25, [73.0, 73.0, 78.0]),
    (64 << 10, 15, [60.0, 65.0, 78.0]),
    (1 << 20, 5, [51.0, 65.0, 78.0]),
    (32 << 20, 1, [42.0, 65.0, 78.0]),
];

/// A segment, and the number of buckets from which a token was taken.
struct Filling {
    host: Host,
    run: u64,
    buckets: u64,
}

impl Filling {
    fn new(bytes: usize, run: u64) -> Self {
        let settings = HostSettings {
            lines: lines(bytes),
            diagnostics: false,
            evict: true,
        };
        Self {
            host: Host::new(settings, Segment::private).unwrap(),
            run,
            buckets: 0,
        }
    }

    /// Takes a token from a new bucket, which is not full again before the test ends.
    fn add(&mut self) {
        let hour = 3600 * TICKS_PER_SECOND;
        let key = Key {
            identifier: b"",
            hash: hash(self.run << 32 | self.buckets),
            row: Row::default(),
        };
        let outcome = self
            .host
            .slots()
            .take(key, &Step::new(hour, 10 * hour), None);
        assert!(outcome.granted());
        self.buckets += 1;
    }

    fn evicted(&self) -> u64 {
        self.host.slots().totals().get(Event::Evicted)
    }

    /// Adds buckets until more than this share of them was evicted. Returns the number of buckets
    /// in percent of the slots. Counting the evictions takes longer than adding a bucket. So they
    /// are counted only after each thousandth of the slots.
    fn until(&mut self, share: f64, bytes: usize) -> f64 {
        let slots = bytes / 16;
        while self.evicted() as f64 <= share * self.buckets as f64 {
            (0..slots.div_ceil(1000)).for_each(|_| self.add());
        }
        self.buckets as f64 * 100.0 / slots as f64
    }
}

#[test]
fn buckets_fit_until_as_many_are_evicted_as_the_documentation_says() {
    for (bytes, runs, expected) in TABLE {
        let runs: Vec<_> = (1..=runs)
            .map(|run| {
                let mut filling = Filling::new(bytes, run);
                [0.0, 0.001, 0.01].map(|share| filling.until(share, bytes))
            })
            .collect();
        for (column, expected) in expected.into_iter().enumerate() {
            let mut loads: Vec<_> = runs.iter().map(|loads| loads[column]).collect();
            loads.sort_by(f64::total_cmp);
            let median = loads[loads.len() / 2];
            println!("{bytes} bytes, column {column}: {median:.1} %");
            assert!((median - expected).abs() < 2.5, "{median} of {expected}");
        }
    }
}

#[test]
fn the_share_of_new_buckets_that_evict_another_grows_with_the_load() {
    let (bytes, slots) = (4 << 20, (4 << 20) / 16);
    let mut filling = Filling::new(bytes, 1);
    for (percent, expected) in [(50, 0.08), (60, 0.67), (70, 4.8), (80, 17.0)] {
        while filling.buckets < slots * percent / 100 {
            filling.add();
        }
        let before = filling.evicted();
        (0..slots / 50).for_each(|_| filling.add());
        let found = (filling.evicted() - before) as f64 * 100.0 / (slots / 50) as f64;
        println!("{percent} %: {found:.2} %");
        assert!(found < 1.6 * expected && found > expected / 1.6, "{found}");
    }
}

#[test]
fn the_usage_of_the_first_slots_estimates_that_of_all() {
    for (bytes, buckets) in [(64 << 10, 1000_u64), (8 << 20, 100), (8 << 20, 200_000)] {
        let mut filling = Filling::new(bytes, 1);
        for _ in 0..buckets {
            filling.add();
        }
        let exact = filling.host.usage();
        let all = exact.live + exact.empty;
        assert_eq!(filling.host.estimated_usage(all), exact, "{bytes}");
        let sample = 16_384;
        let estimate = filling.host.estimated_usage(sample);
        assert_eq!(estimate.live + estimate.empty, all, "{bytes}");
        // If few slots are used, the sample covers all of them, so the estimate is exact. Five
        // standard errors of the sample are 2 % of all slots.
        let error = if buckets < 200_000 { 0 } else { all / 50 };
        assert!(
            estimate.live.abs_diff(exact.live) <= error,
            "{bytes} {estimate:?} {exact:?}"
        );
    }
}
