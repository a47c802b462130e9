//! Tests that no change of a bucket on Redis grants the tokens again that hosts have taken ahead.

use crate::caller::{MILLISECOND, PREFIX, dsn};
use gcra::{Patience, Put, Step, TICKS_PER_SECOND, Ticks, Timestamp, boot_clock};
use stores::remote::redis::{Redis as RedisStore, dsn::Dsn};
use stores::remote::{StepRequest, Transport, Visit, Wanted};
use testkit::Redis;

const SECOND: Ticks = TICKS_PER_SECOND;
/// A thousand tokens, one in 100 milliseconds.
const COST: Ticks = 100 * MILLISECOND;
const SPAN: Ticks = 1000 * COST;
/// The time for which a host may keep tokens.
const PERIOD: Ticks = 2 * SECOND;

struct Bucket {
    redis: Redis,
    store: RedisStore,
    name: Vec<u8>,
}

impl Bucket {
    fn new() -> Self {
        let redis = Redis::start(&[]);
        let dsn = Dsn::parse(&dsn(redis.port())).unwrap();
        Self {
            redis,
            store: RedisStore::new(dsn, PREFIX.as_bytes()),
            name: format!("{PREFIX}id").into_bytes(),
        }
    }

    fn visit(&self) -> Visit<'_, RedisStore> {
        Visit::to(&self.store, &self.name, boot_clock() + 20 * SECOND).unwrap()
    }

    /// Returns the server's time.
    fn time(&self) -> Timestamp {
        let script = "local t = redis.call('TIME') return string.format('%.0f', t[1] * 1e6 + t[2])";
        let micros: u64 = self
            .redis
            .cli(&["EVAL", script, "0"])
            .trim()
            .parse()
            .unwrap();
        Timestamp(micros * 1000)
    }

    fn set(&self, record: &str) {
        self.redis.cli(&["SET", "t:id", record, "PX", "1000000"]);
    }

    /// Returns the numbers of the record.
    fn record(&self) -> Vec<u64> {
        let record = self.redis.cli(&["GET", "t:id"]);
        let numbers = record
            .trim()
            .split(':')
            .map(|number| number.parse().unwrap());
        numbers.collect()
    }

    fn take(&self, step: Step, wanted: Wanted) -> Timestamp {
        let request = StepRequest {
            wanted,
            ..StepRequest::new(self.name.clone(), step)
        };
        let reply = RedisStore::take(&self.visit(), &request).unwrap();
        assert!(reply.outcome.granted());
        reply.outcome.empty_at
    }

    /// Makes a change. Returns the tokens that the bucket then lacks, and the least and the most
    /// tokens that it must lack if `kept` was taken ahead.
    fn lacks_after(&self, put: &Put, kept: Ticks) -> (Ticks, [Ticks; 2]) {
        let before = self.time();
        RedisStore::put(&self.visit(), &self.name, put, None).unwrap();
        let after = self.time();
        let full = Timestamp(self.record()[0] * 1000) + SPAN;
        let lacks = full.saturating_since(after);
        let least = if kept > 0 { PERIOD + kept } else { 0 };
        (lacks, [least.saturating_sub(after - before), least])
    }
}

#[test]
fn a_give_back_leaves_what_hosts_have_taken_ahead() {
    let bucket = Bucket::new();
    let puts = [
        Put::refund(SPAN, SPAN),
        Put::cancel(SPAN, SPAN, Timestamp(1 << 61)),
        Put::give_back(SPAN, SPAN, Timestamp(1 << 61)),
        Put::Reset { span: SPAN },
    ];
    // The seconds since the last take, and whether what it took may still be kept.
    for (ago, is_kept) in [(0, true), (1, true), (4, false)] {
        for put in puts {
            let (now, kept) = (bucket.time(), 500 * MILLISECOND);
            let micros = |instant: Timestamp| instant.0 / 1000;
            let (state, written) = (micros(now - 50 * SECOND), micros(now - ago * SECOND));
            bucket.set(&format!(
                "{state}:{written}:{}:0:{}",
                SPAN / 1000,
                kept / 1000
            ));
            let kept = if is_kept { kept } else { 0 };
            let (lacks, [least, most]) = bucket.lacks_after(&put, kept);
            assert!(
                (least..=most).contains(&lacks),
                "{ago} {put:?}: {lacks} {least}"
            );
        }
    }
}

#[test]
fn a_give_back_of_another_span_leaves_them_to_the_span_that_took_them() {
    let bucket = Bucket::new();
    let shorter = Step::new(COST, SPAN / 10);
    for put in [Put::refund(SPAN, SPAN), Put::Reset { span: SPAN }] {
        let now = bucket.time().0 / 1000;
        bucket.set(&now.to_string());
        bucket.take(shorter.with(Patience::Wait(SECOND)), Wanted::Place);
        RedisStore::put(&bucket.visit(), &bucket.name, &put, None).unwrap();
        let full = Timestamp(bucket.record()[0] * 1000) + SPAN / 10;
        let lacks = full.saturating_since(bucket.time());
        assert!(lacks > PERIOD, "{put:?}: {lacks}");
    }
}

#[test]
fn a_give_back_never_moves_a_nearly_full_bucket_forward() {
    let bucket = Bucket::new();
    let micros = bucket.time().0 / 1000;
    let state = micros - SPAN / 1000 + 1_000_000;
    for put in [Put::refund(SPAN, SPAN), Put::Reset { span: SPAN }] {
        bucket.set(&format!("{state}:{micros}:{}:0:500000", SPAN / 1000));
        bucket.lacks_after(&put, 0);
        assert_eq!(bucket.record()[0], state);
    }
}

#[test]
fn a_reset_of_a_bucket_in_debt_keeps_its_span() {
    let bucket = Bucket::new();
    let micros = bucket.time().0 / 1000;
    let state = micros + 500_000;
    bucket.set(&format!("{state}:{micros}:1000000:0:500000"));
    bucket.lacks_after(&Put::Reset { span: SECOND }, 0);
    let record = bucket.record();
    assert_eq!((record[0], record[2]), (state, 1_000_000));
}

#[test]
fn the_record_has_what_was_taken_ahead_in_two_periods() {
    let bucket = Bucket::new();
    let taken = |bucket: &Bucket| match bucket.record()[..] {
        [_, _, _, older, newer, ..] => (older + newer) * 1000,
        _ => 0,
    };
    let step = Step::new(COST, SPAN);
    bucket.take(step, Wanted::Call);
    assert_eq!(taken(&bucket), 0, "a call");
    let slice = Wanted::Slice {
        estimate: 0,
        extra: 10 * COST,
        life: SECOND,
    };
    bucket.take(step, slice);
    assert_eq!(taken(&bucket), 10 * COST);
    bucket.take(step, Wanted::Call);
    assert_eq!(taken(&bucket), 10 * COST, "other calls keep it");
    bucket.set(&(bucket.time().0 / 1000).to_string());
    let place = step.with(Patience::Wait(SECOND));
    bucket.take(place, Wanted::Place);
    assert_eq!(taken(&bucket), COST);
    bucket.take(place, Wanted::Call);
    assert_eq!(taken(&bucket), COST, "a reservation is used when it is due");
    bucket.take(
        Step::new(COST / 4, SPAN).with(Patience::Wait(SECOND)),
        Wanted::Place,
    );
    assert_eq!(taken(&bucket), COST + COST / 4);
}
