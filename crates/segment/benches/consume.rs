//! Compares the time of a call on shared memory with the floor: the time of the least work that any
//! such call needs.
//!
//! The floor reads the clock, hashes the identifier with a secret and loads 128 bits at a place
//! that the hash chooses. For a grant, the floor also replaces these bytes. It uses as much memory
//! as the store's slots, in pages of the same size. So with a million keys, the floor has one
//! random cache miss, as every call has.
//!
//! Each round measures the floor and the store in turn, and computes their ratio. So if the machine
//! slows down, the ratio hardly changes. The output shows the median of all rounds, and the range
//! of the middle 80 % in brackets. If `TOKENBUCKET_BENCH_ROWS` names a file, each row is appended
//! to it as a line of JSON.
//!
//! `cargo bench -p tokenbucket-segment --bench consume [-- ROUNDS]`
#![allow(clippy::unwrap_used)]

use gcra::{KeyHasher, Put, Step, TICKS_PER_SECOND, Ticks, boot_clock};
use portable_atomic::AtomicU128;
use segment::host::{Host, Settings};
use segment::memory::Segment;
use segment::slots::table::{Line, SLOTS_PER_LINE};
use std::fs::File;
use std::hint::black_box;
use std::io::Write;
use std::sync::atomic::Ordering::{AcqRel, Acquire};
use std::time::Instant;

/// The memory for a million live buckets, in bytes. The table is then half full.
const SLOT_BYTES: usize = 32 << 20;
const HOUR: Ticks = 3600 * TICKS_PER_SECOND;
const CALLS: u64 = 200_000;

/// A number of keys, and the target for the ratio of a call on these keys to the floor.
struct Case {
    keys: u64,
    target: f64,
}

const CASES: [Case; 3] = [
    Case {
        keys: 1,
        target: 1.3,
    },
    Case {
        keys: 1_000,
        target: 1.3,
    },
    Case {
        keys: 1_000_000,
        target: 1.4,
    },
];

fn main() {
    // Ignore `--bench`, which Cargo passes.
    let rounds = std::env::args().find_map(|argument| argument.parse().ok());
    let rounds = rounds.unwrap_or(51).max(1);
    println!(
        "ns a call, median of {rounds} rounds (middle 80 %); a ratio above its target is marked"
    );
    for case in CASES {
        let bench = Bench::new(case.keys);
        bench.check();
        let mut times: [Vec<f64>; 4] = Default::default();
        for _ in 0..rounds {
            times[0].push(bench.floor(true));
            times[1].push(bench.take(&GRANTED));
            times[2].push(bench.floor(false));
            times[3].push(bench.take(&DENIED));
        }
        for (what, floor, take) in [
            ("granted", &times[0], &times[1]),
            ("denied", &times[2], &times[3]),
        ] {
            let ratios: Vec<f64> = take
                .iter()
                .zip(floor)
                .map(|(take, floor)| take / floor)
                .collect();
            let met = spread(&ratios).median <= case.target;
            let mark = if met { "" } else { " <<<" };
            keep(&format!(
                r#"{{"program":"core","title":"Without PHP, keys: {}","name":"{what}","ns":{},"beside":"clock, hash, 128-bit CAS","beside_ns":{},"ratio":{},"target":{},"met":{met}}}"#,
                case.keys,
                spread(take).json(),
                spread(floor).json(),
                spread(&ratios).json(),
                case.target,
            ));
            println!(
                "{:>9} keys, {what}: floor {}, store {}, ratio {}, target {}{mark}",
                case.keys,
                spread(floor),
                spread(take),
                spread(&ratios),
                case.target,
            );
        }
    }
}

/// Appends a line to the file of rows, if one is set.
fn keep(row: &str) {
    if let Ok(path) = std::env::var("TOKENBUCKET_BENCH_ROWS") {
        let mut file = File::options()
            .append(true)
            .create(true)
            .open(path)
            .unwrap();
        writeln!(file, "{row}").unwrap();
    }
}

/// A step that is always granted, because the bucket refills faster than calls can take tokens.
const GRANTED: Step = Step::new(1, HOUR);
/// A step that is always denied, because the buckets start half full and stay so.
const DENIED: Step = Step::new(HOUR, HOUR);

struct Bench {
    keys: u64,
    host: Host,
    hasher: KeyHasher,
    places: Vec<AtomicU128>,
}

impl Bench {
    fn new(keys: u64) -> Self {
        let settings = Settings {
            lines: SLOT_BYTES / size_of::<Line>(),
            diagnostics: false,
            evict: false,
        };
        let host = Host::new(settings, Segment::private).unwrap();
        let hasher = host.slots().hasher();
        let age = (HOUR / 2).cast_signed();
        for key in 0..keys {
            host.slots().put(
                hasher.key(&identifier(key)),
                &Put::Bootstrap {
                    age,
                    span: gcra::store::UNKNOWN_SPAN,
                },
            );
        }
        // At this load, a few keys in a million find no slot, because both of their cache lines are
        // full. More such keys would distort the results.
        let live = host.usage().live as u64;
        assert!(
            keys - live <= keys / 10_000,
            "{live} of {keys} found a place"
        );
        let places = SLOT_BYTES / size_of::<Line>() * SLOTS_PER_LINE;
        Self {
            keys,
            host,
            hasher,
            // Write to the places, because otherwise all pages would be the single page of zeros.
            places: (1..=places as u128).map(AtomicU128::new).collect(),
        }
    }

    /// Checks that one step is granted and the other is denied.
    fn check(&self) {
        for (step, granted) in [(&GRANTED, true), (&DENIED, false)] {
            let first = identifier(0);
            let outcome = self.host.slots().take(self.hasher.key(&first), step, None);
            assert_eq!(outcome.granted(), granted);
        }
    }

    /// Returns the nanoseconds per call of the floor.
    fn floor(&self, granted: bool) -> f64 {
        self.each(|identifier| {
            let hash = self.hasher.key(identifier).hash;
            // The product of 32 bits and a length below 2^32 fits 64 bits. Its high half is the
            // index.
            #[allow(clippy::cast_possible_truncation)]
            let place =
                ((u64::from((hash >> 64) as u32) * self.places.len() as u64) >> 32) as usize;
            let place = &self.places[place];
            let old = place.load(Acquire);
            let now = u128::from(boot_clock().0);
            if granted {
                place.compare_exchange(old, now, AcqRel, Acquire).is_ok()
            } else {
                old > now
            }
        })
    }

    /// Returns the nanoseconds per call of the store.
    fn take(&self, step: &Step) -> f64 {
        self.each(|identifier| {
            let key = self.hasher.key(identifier);
            self.host.slots().take(key, step, None).granted()
        })
    }

    fn each(&self, call: impl Fn(&[u8; 16]) -> bool) -> f64 {
        // Each run visits the keys in the same order, so that the caches hold the same data.
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        let start = Instant::now();
        for _ in 0..CALLS {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            // The product of 32 bits and a number of keys below 2^32 fits 64 bits.
            let key = ((random >> 32) * self.keys) >> 32;
            black_box(call(black_box(&identifier(key))));
        }
        start.elapsed().as_nanos() as f64 / CALLS as f64
    }
}

/// Returns sixteen bytes without reading memory. Loading names would cause a cache miss that the
/// store does not cause.
fn identifier(key: u64) -> [u8; 16] {
    let mut bytes = *b"user:id:........";
    bytes[8..].copy_from_slice(&key.to_le_bytes());
    bytes
}

/// The distribution of the rounds.
struct Spread {
    low: f64,
    median: f64,
    high: f64,
}

fn spread(samples: &[f64]) -> Spread {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |tenths: usize| sorted[(sorted.len() - 1) * tenths / 10];
    Spread {
        low: at(1),
        median: at(5),
        high: at(9),
    }
}

impl Spread {
    fn json(&self) -> String {
        format!("[{:.4},{:.4},{:.4}]", self.median, self.low, self.high)
    }
}

impl std::fmt::Display for Spread {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { low, median, high } = self;
        write!(out, "{median:.2} ({low:.2}..{high:.2})")
    }
}
