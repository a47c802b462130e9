//! Tests slices of buckets that are not used up, which hosts take ahead.

use crate::caller::{CACHED, Caller, HANG, HOUR, MILLISECOND, PREFIX, dsn};
use gcra::{Outcome, Patience, Step, TICKS_PER_SECOND, Ticks, Timestamp, boot_clock};
use segment::slots::counters::Event;
use std::thread::scope;
use std::time::Instant;
use stores::remote::redis::{Redis as RedisStore, dsn::Dsn};
use stores::remote::{OnFailure, Settings, StepRequest, Transport, Visit, Wanted};
use testkit::{Cluster, Mode, PRIMARIES, Proxy, Redis};

const AHEAD: Settings = Settings {
    take_ahead: TICKS_PER_SECOND,
    ..CACHED
};
const COST: Ticks = 50 * MILLISECOND;
/// A slice lives for a second, and a quarter of the bucket is 1,500 calls.
const SPAN: Ticks = 6000 * COST;
const STEP: Step = Step::new(COST, SPAN);

/// Calls until a slice has at least three calls that are not used.
fn take_slice(caller: &Caller) {
    let start = Instant::now();
    let held = || caller.count(Event::TakenAhead) - caller.count(Event::UsedAhead);
    while held() < 3 + caller.count(Event::DroppedAhead) {
        assert!(caller.grants("id", &STEP));
        assert!(start.elapsed() < HANG, "no slice is granted");
    }
}

/// Returns the server's time.
fn time(redis: &Redis) -> Timestamp {
    let script = "local t = redis.call('TIME') return string.format('%.0f', t[1] * 1e6 + t[2])";
    let micros: u64 = redis.cli(&["EVAL", script, "0"]).trim().parse().unwrap();
    Timestamp(micros * 1000)
}

#[test]
fn one_round_trip_serves_many_grants() {
    let redis = Redis::start(&[]);
    let proxy = Proxy::tcp(redis.port());
    let caller = Caller::redis(&dsn(proxy.port()), AHEAD);
    let before = proxy.round_trips();
    scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| (0..1000).all(|_| caller.grants("id", &STEP)));
        }
    });
    let trips = proxy.round_trips() - before;
    assert!(trips <= 400, "{trips} round trips for 4000 grants");
    let [taken, used] = [Event::TakenAhead, Event::UsedAhead].map(|event| caller.count(event));
    assert!(used >= 3600 && used <= taken, "{used} of {taken}");
    // The other calls took theirs at once.
    assert!(taken + 4000 - used <= 6000);
}

#[test]
fn a_slice_is_a_part_of_what_is_there() {
    let redis = Redis::start(&[]);
    let store = RedisStore::new(Dsn::parse(&dsn(redis.port())).unwrap(), PREFIX.as_bytes());
    let life = TICKS_PER_SECOND;
    let mut seen = Vec::new();
    // The calls that the bucket holds, and the ticks that may be taken ahead.
    for (held, most) in [
        (18, 4 * COST),
        (17, 4 * COST),
        (100, 4 * COST - 1000),
        (100, 10 * COST + 7000),
        (100, HOUR),
        (5990, HOUR),
        (9000, HOUR),
    ] {
        let name = format!("{PREFIX}{held}{most}").into_bytes();
        let key = str::from_utf8(&name).unwrap();
        let before = time(&redis) - held * COST;
        redis.cli(&["SET", key, &(before.0 / 1000).to_string()]);
        let request = StepRequest {
            wanted: Wanted::Slice {
                estimate: 0,
                extra: most,
                life,
            },
            ..StepRequest::new(name.clone(), STEP)
        };
        let visit = Visit::to(&store, &name, boot_clock() + 20 * TICKS_PER_SECOND).unwrap();
        let reply = RedisStore::take(&visit, &request).unwrap();
        let Outcome { now, empty_at, .. } = reply.outcome;
        assert!(reply.outcome.granted());
        let own = STEP.decide(before, now).empty_at;
        let start = own.max(now - SPAN + life);
        let calls = (now.saturating_since(start) / 4).min(most) / COST;
        let extra = if calls < 4 { 0 } else { calls * COST };
        let expected = if extra == 0 { own } else { start + extra };
        assert_eq!((reply.extra, empty_at), (extra, expected), "{held} {most}");
        seen.push(extra / COST);
    }
    assert_eq!(seen[2..4], [0, 10]);
}

#[test]
fn slices_follow_a_slot_that_moves() {
    let cluster = Cluster::start(false);
    let seed = cluster.proxies[0].port();
    let caller = Caller::redis(&format!("redis+cluster://127.0.0.1:{seed}"), AHEAD);
    let old = cluster.owner("t:id");
    let new = (old + 1) % PRIMARIES;
    let start = Instant::now();
    let mut granted = 0;
    let mut take_another_slice = || {
        let taken = caller.count(Event::TakenAhead);
        while caller.count(Event::TakenAhead) == taken {
            assert!(caller.grants("id", &STEP));
            granted += 1;
            assert!(start.elapsed() < HANG, "no slice is granted");
        }
    };
    take_another_slice();
    cluster.migrate("t:id", old, new);
    take_another_slice();
    cluster.finish_migration("t:id", old, new);
    take_another_slice();
    while caller.grants("id", &STEP) {
        granted += 1;
    }
    let refilled = u64::try_from(start.elapsed().as_nanos()).unwrap() / COST;
    let dropped = caller.count(Event::DroppedAhead);
    assert!(granted <= 6000 + refilled, "{granted} and {dropped}");
    // The first slice leaves the tokens of its life in a full bucket, which are 20 calls.
    assert!(granted + dropped >= 5980, "{granted} and {dropped}");
}

#[test]
fn the_record_of_a_slice_lives_for_the_whole_span() {
    let redis = Redis::start(&[]);
    let caller = Caller::redis(&dsn(redis.port()), AHEAD);
    take_slice(&caller);
    let number = |command| {
        let reply = redis.cli(&[command, "t:id"]);
        let first = reply.trim().split(':').next();
        first.unwrap().parse::<u64>().unwrap()
    };
    let (state, left) = (number("GET") * 1000, number("PTTL") * MILLISECOND);
    assert!(time(&redis) + left >= Timestamp(state) + SPAN);
}

#[test]
fn a_grant_reports_the_slice_and_what_the_store_has() {
    let redis = Redis::start(&[]);
    let [caller, other] = [(); 2].map(|()| Caller::redis(&dsn(redis.port()), AHEAD));
    take_slice(&caller);
    let used = caller.count(Event::UsedAhead);
    let outcome = caller.take("id", &STEP);
    assert_eq!(caller.count(Event::UsedAhead), used + 1);
    let look = other.take("id", &STEP.dry());
    let [all, in_store] = [outcome, look].map(|it| STEP.available(it.empty_at, it.now) / COST);
    let [taken, used] = [Event::TakenAhead, Event::UsedAhead].map(|event| caller.count(event));
    assert!(all > in_store || taken == used, "{all} {in_store}");
    assert!(all <= in_store + taken - used, "{all} {in_store}");
}

#[test]
fn other_calls_leave_the_slice() {
    let redis = Redis::start(&[]);
    let caller = Caller::redis(&dsn(redis.port()), AHEAD);
    take_slice(&caller);
    let used = caller.count(Event::UsedAhead);
    for step in [
        STEP.dry(),
        Step::new(0, SPAN),
        Step::new(COST, SPAN / 2),
        STEP.with(Patience::Leave(COST)),
        STEP.with(Patience::Wait(MILLISECOND)),
        Step {
            max_debt: 1000,
            ..STEP
        },
    ] {
        assert!(caller.grants("id", &step), "{step:?}");
    }
    assert_eq!(caller.count(Event::UsedAhead), used);
    let twice = Step::new(2 * COST, SPAN);
    assert!(caller.grants("id", &twice), "calls of all costs use it");
    assert_eq!(caller.count(Event::UsedAhead), used + 1);
}

#[test]
fn after_a_lost_reply_the_next_call_takes_no_slice() {
    let redis = Redis::start(&[]);
    let proxy = Proxy::tcp(redis.port());
    let settings = Settings {
        timeout: 300 * MILLISECOND,
        on_failure: OnFailure::Deny,
        ..AHEAD
    };
    let caller = Caller::redis(&dsn(proxy.port()), settings);
    take_slice(&caller);
    let granted = || caller.ask(b"id", &STEP).unwrap().value.granted();
    proxy.set(Mode::SwallowReplies);
    let taken = caller.count(Event::TakenAhead);
    while granted() {}
    assert_eq!(caller.count(Event::TakenAhead), taken);
    proxy.cut();
    proxy.set(Mode::Pass);
    while !granted() {}
    assert_eq!(caller.count(Event::TakenAhead), taken, "it took one call");
}

#[test]
fn a_slice_is_used_while_the_store_fails() {
    let mut redis = Redis::start(&[]);
    let settings = Settings {
        on_failure: OnFailure::Deny,
        ..AHEAD
    };
    let caller = Caller::redis(&dsn(redis.port()), settings);
    take_slice(&caller);
    redis.kill();
    let count = |event| caller.count(event);
    let (start, before) = (Instant::now(), count(Event::UsedAhead));
    let mut granted = 0;
    loop {
        let answer = caller.ask(b"id", &STEP).unwrap();
        if !answer.value.granted() {
            break;
        }
        granted += 1;
        assert!(start.elapsed() < HANG, "the slice does not end");
    }
    assert_eq!(count(Event::UsedAhead) - before, granted);
    assert!(granted > 0, "the control");
}
