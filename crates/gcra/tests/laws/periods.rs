//! Rates of n tokens a second, a minute, an hour, a day and a week, on a fake clock.
//!
//! The rate is the double that PHP computes, for example `10 / 60`. The tokens of a period are back
//! after that period. `TOKENBUCKET_PERIODS=all` tries each n up to 100,000. These are 500,000
//! cases. Otherwise a sample is tried.

use gcra::seconds::{from_ticks, to_step, to_ticks};
use gcra::{Decision, Grain, KeyHasher, Limit, MemoryStore, Step, TICKS_PER_SECOND, Ticks, Tokens};

const PERIODS: [u32; 5] = [1, 60, 3_600, 86_400, 604_800];
const MOST: u32 = 100_000;

/// Returns the cases to try: n tokens in a number of seconds.
fn cases() -> impl Iterator<Item = (u32, u32)> {
    let all = std::env::var("TOKENBUCKET_PERIODS").is_ok_and(|wanted| wanted == "all");
    let is_tried = move |n: &u32| all || *n <= 1_000 || n.is_multiple_of(97) || *n == MOST;
    let cases = |period| (1..=MOST).map(move |n| (n, period));
    PERIODS
        .into_iter()
        .flat_map(cases)
        .filter(move |(n, _)| is_tried(n))
}

fn limit(n: u32, period: u32, grain: Grain) -> Limit {
    let rate = Tokens::from_float(f64::from(n) / f64::from(period)).unwrap();
    Limit::new(Tokens::from_int(n.into()).unwrap(), rate, grain).unwrap()
}

/// A bucket on a fake clock.
struct Bucket {
    store: MemoryStore,
    limit: Limit,
}

impl Bucket {
    fn emptied(limit: Limit) -> Self {
        let store = MemoryStore::default();
        let bucket = Self { store, limit };
        assert!(bucket.attempt(bucket.limit.capacity().floor()).allowed());
        bucket
    }

    fn run(&self, step: &Step) -> Decision {
        let key = KeyHasher::new([0; 2]).key(b"x");
        Decision::new(&self.limit, step, &self.store.take(key, step, None))
    }

    fn attempt(&self, tokens: u64) -> Decision {
        self.run(&self.limit.step_whole(tokens))
    }
}

#[test]
fn the_tokens_of_a_period_are_back_after_it() {
    for (n, period) in cases() {
        let bucket = Bucket::emptied(limit(n, period, Grain::FakeNanosecond));
        assert!(!bucket.attempt(1).allowed(), "{n} in {period} s: not empty");
        bucket.store.advance(to_ticks(period.into()).unwrap());
        let left = bucket.run(&bucket.limit.step_whole(0)).remaining;
        assert_eq!(left, i64::from(n), "{n} in {period} s");
        assert!(bucket.attempt(n.into()).allowed(), "{n} in {period} s");
    }
}

#[test]
fn tokens_taken_one_by_one_are_back_after_a_period() {
    for (n, period) in cases().filter(|(n, _)| *n <= 300 || n % 9_797 == 0 || *n == MOST) {
        let limit = limit(n, period, Grain::FakeNanosecond);
        let (store, key) = (MemoryStore::default(), KeyHasher::new([0; 2]).key(b"x"));
        let one = limit.step_whole(1);
        for _ in 0..n {
            assert!(store.take(key, &one, None).granted(), "{n} in {period} s");
        }
        assert!(!store.take(key, &one, None).granted(), "{n} in {period} s");
        store.advance(to_ticks(period.into()).unwrap());
        for _ in 0..n {
            assert!(store.take(key, &one, None).granted(), "{n} in {period} s");
        }
    }
}

#[test]
fn a_denied_call_succeeds_after_retry_after() {
    for (n, period) in cases() {
        for tokens in [1, n.div_ceil(2), n] {
            let limit = limit(n, period, Grain::FakeNanosecond);
            let waits: [fn(&Limit, Ticks) -> Ticks; 2] = [
                |_, wait| to_ticks(from_ticks(wait)).unwrap(),
                |limit, wait| limit.whole_seconds(wait) * TICKS_PER_SECOND,
            ];
            for wait in waits {
                let bucket = Bucket::emptied(limit);
                let denied = bucket.attempt(tokens.into());
                bucket
                    .store
                    .advance(wait(&limit, denied.retry_after.unwrap()));
                let granted = bucket.attempt(tokens.into()).allowed();
                assert!(granted, "{tokens} of {n} in {period} s: {denied:?}");
            }
        }
    }
}

#[test]
fn a_period_is_the_window_on_every_clock_and_real_clocks_never_exceed_the_rate() {
    for (n, period) in cases() {
        for grain in [Grain::FakeNanosecond, Grain::Nanosecond, Grain::Microsecond] {
            let limit = limit(n, period, grain);
            let seconds = limit.whole_seconds(limit.span());
            assert_eq!(seconds, period.into(), "{n} in {period} s, {grain:?}");
            if grain == Grain::FakeNanosecond {
                continue;
            }
            let ticks = TICKS_PER_SECOND * Ticks::from(period);
            assert!(limit.span() >= ticks, "{n} in {period} s, {grain:?}");
            let is_whole = (ticks / grain.ticks()).is_multiple_of(Ticks::from(n));
            if is_whole && limit.cost_whole(1).unwrap() < 1_000_000_000_000_000 {
                assert_eq!(limit.span(), ticks, "{n} in {period} s, {grain:?}");
            }
        }
    }
}

#[test]
fn seconds_that_a_subclass_computes_bring_the_tokens_back_too() {
    for (n, period) in cases() {
        let rate = f64::from(n) / f64::from(period);
        let full = f64::from(n) / rate;
        let step = to_step(1.0 / rate, full, Grain::FakeNanosecond).unwrap();
        assert_eq!(step.span / step.cost, n.into(), "{n} in {period} s");
        let ticks = TICKS_PER_SECOND * Ticks::from(period);
        assert!(step.span <= ticks, "{n} in {period} s: {step:?}");
    }
}
