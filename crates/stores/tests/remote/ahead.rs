//! Tests places in the queue of a used-up bucket, which hosts take ahead.

use crate::caller::{CACHED, Caller, HANG, MILLISECOND, dsn};
use gcra::ahead::DENIALS;
use gcra::{Outcome, Patience, Put, Step, TICKS_PER_SECOND, Ticks, boot_clock};
use segment::slots::counters::Event;
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};
use stores::remote::{OnFailure, Settings};
use testkit::{Mode, Proxy, Redis, eventually};

const TAKE_AHEAD: Ticks = TICKS_PER_SECOND;
const AHEAD: Settings = Settings {
    take_ahead: TAKE_AHEAD,
    ..CACHED
};
/// A hundred tokens, one in 50 milliseconds.
const COST: Ticks = 50 * MILLISECOND;
const SPAN: Ticks = 100 * COST;
const STEP: Step = Step::new(COST, SPAN);

/// Moves the state of the bucket to `ticks` from now, or leaves it where it is if that is later.
fn raise(ticks: Ticks) -> Put {
    Put::Raise {
        age: -ticks.cast_signed(),
        span: SPAN,
    }
}

/// Calls until the host has asked for a place, of which the store has granted `places` so far.
/// Returns the outcome of the last call.
fn take_place(caller: &Caller, places: u64) -> Outcome {
    let start = Instant::now();
    loop {
        let outcome = caller.take("id", &STEP);
        if caller.count(Event::TakenAhead) == places {
            return outcome;
        }
        assert!(start.elapsed() < HANG, "no place is granted");
    }
}

/// Returns whether a call uses a place before `end`, and does not contact the store for anything
/// else.
fn uses_place(caller: &Caller) -> bool {
    let used = caller.count(Event::UsedAhead);
    let end = boot_clock() + 3 * TAKE_AHEAD;
    while boot_clock() < end {
        caller.grants("id", &STEP);
        if caller.count(Event::UsedAhead) > used {
            return true;
        }
    }
    false
}

#[test]
fn a_used_up_bucket_takes_one_round_trip_a_grant() {
    let redis = Redis::start(&[]);
    let proxy = Proxy::tcp(redis.port());
    let hosts = [(); 2].map(|()| Caller::redis(&dsn(proxy.port()), AHEAD));
    let start = boot_clock();
    hosts[0].put("id", &raise(0));
    let before = proxy.round_trips();
    let granted = |caller: &Caller| {
        let granted = (0..).filter(|_| caller.grants("id", &STEP)).take(20);
        granted.count() as u64
    };
    let all: u64 = scope(|threads| {
        let calls = hosts.each_ref().map(|it| threads.spawn(|| granted(it)));
        calls.map(|call| call.join().unwrap()).iter().sum()
    });
    // The bucket was empty after the start.
    assert!(start + all * COST <= boot_clock(), "more than was refilled");
    let trips = proxy.round_trips() - before;
    assert!(
        trips <= all + all / 4,
        "{trips} round trips for {all} grants"
    );
    for host in &hosts {
        let [taken, used, dropped] = [Event::TakenAhead, Event::UsedAhead, Event::DroppedAhead]
            .map(|event| host.count(event));
        assert!(used > 0, "the control");
        assert!(taken - used - dropped <= 1, "{taken} {used} {dropped}");
    }
}

#[test]
fn calls_are_denied_until_the_place_is_due() {
    let redis = Redis::start(&[]);
    let proxy = Proxy::tcp(redis.port());
    let caller = Caller::redis(&dsn(proxy.port()), AHEAD);
    let begin = boot_clock();
    caller.put("id", &raise(400 * MILLISECOND));
    let first = take_place(&caller, 1);
    let before = proxy.round_trips();
    let due = |it: &Outcome| it.now + STEP.retry_after(it.empty_at, it.now);
    assert_eq!(
        due(&first),
        due(&caller.take("id", &STEP)),
        "of the call that takes the place"
    );
    loop {
        let outcome = caller.take("id", &STEP);
        if outcome.granted() {
            assert_eq!(caller.count(Event::UsedAhead), 1);
            let due = begin + 400 * MILLISECOND + COST;
            assert!(outcome.now >= due);
            // A busy machine makes the call late.
            assert!(STEP.available(outcome.empty_at, outcome.now) <= outcome.now - due);
            break;
        }
        assert!(due(&outcome) >= begin + 400 * MILLISECOND + COST);
    }
    assert_eq!(proxy.round_trips(), before, "no call asked");
}

#[test]
fn a_reset_or_a_block_of_this_host_drops_its_place() {
    let redis = Redis::start(&[]);
    let reset = Put::Reset { span: SPAN };
    let refund = Put::refund(COST, SPAN);
    for (put, drops) in [
        (reset, true),
        (raise(100 * TICKS_PER_SECOND), true),
        // The control.
        (refund, false),
    ] {
        let [caller, other] = [(); 2].map(|()| Caller::redis(&dsn(redis.port()), AHEAD));
        other.put("id", &reset);
        other.put("id", &raise(300 * MILLISECOND));
        take_place(&caller, 1);
        caller.put("id", &put);
        other.put("id", &raise(100 * TICKS_PER_SECOND));
        assert_eq!(uses_place(&caller), !drops, "{put:?}");
    }
}

#[test]
fn only_the_same_plain_call_uses_the_place() {
    let redis = Redis::start(&[]);
    let caller = Caller::redis(&dsn(redis.port()), AHEAD);
    caller.put("id", &raise(100 * MILLISECOND));
    take_place(&caller, 1);
    sleep(Duration::from_nanos(100 * MILLISECOND + 2 * COST));
    Caller::redis(&dsn(redis.port()), AHEAD).put("id", &raise(100 * TICKS_PER_SECOND));
    for step in [
        STEP.dry(),
        Step::new(2 * COST, SPAN),
        Step::new(COST, SPAN / 2),
        STEP.with(Patience::Leave(COST)),
        Step {
            max_debt: 1000,
            ..STEP
        },
    ] {
        assert!(!caller.grants("id", &step), "{step:?}");
    }
    assert_eq!(caller.count(Event::UsedAhead), 0);
    assert!(uses_place(&caller), "the control");
}

#[test]
fn a_short_wait_uses_the_place_of_its_host() {
    let redis = Redis::start(&[]);
    let [caller, other] = [(); 2].map(|()| Caller::redis(&dsn(redis.port()), AHEAD));
    let (begin, patience) = (boot_clock(), 200 * MILLISECOND);
    other.put("id", &raise(900 * MILLISECOND));
    let wait = STEP.with(Patience::Wait(patience));
    let start = Instant::now();
    while caller.count(Event::TakenAhead) == 0 {
        assert!(!caller.grants("id", &wait));
        assert!(start.elapsed() < HANG, "no place is granted");
    }
    // Others have taken all that refills.
    other.put("id", &raise(100 * TICKS_PER_SECOND));
    let granted = loop {
        let outcome = caller.take("id", &wait);
        if outcome.granted() {
            break outcome;
        }
        assert!(start.elapsed() < HANG, "the place is not used");
    };
    let delay = wait.debt(granted.empty_at, granted.now);
    assert!(delay <= patience);
    assert!(granted.now + delay >= begin + 900 * MILLISECOND + COST);
    assert_eq!(caller.count(Event::UsedAhead), 1);
    assert!(!caller.grants("id", &wait), "it is used once");
}

#[test]
fn a_place_whose_reply_is_lost_is_not_used() {
    let redis = Redis::start(&[]);
    let proxy = Proxy::tcp(redis.port());
    let settings = Settings {
        timeout: 200 * MILLISECOND,
        ..AHEAD
    };
    let caller = Caller::redis(&dsn(proxy.port()), settings);
    caller.put("id", &raise(600 * MILLISECOND));
    let record = || redis.cli(&["GET", "t:id"]);
    // The denial cache learns the debt.
    assert!(!caller.grants("id", &STEP));
    let before = record();
    proxy.set(Mode::SwallowReplies);
    let is_asked = || {
        let answer = caller.ask(b"id", &STEP);
        assert!(!answer.is_ok_and(|answer| answer.value.granted()));
        record() != before
    };
    assert!(is_asked() || eventually(is_asked), "the server has acted");
    assert_eq!(caller.count(Event::TakenAhead), 0);
    proxy.cut();
}

#[test]
fn a_short_wait_asks_once_if_the_reply_is_lost() {
    let redis = Redis::start(&[]);
    let proxy = Proxy::tcp(redis.port());
    let settings = Settings {
        timeout: 200 * MILLISECOND,
        on_failure: OnFailure::Deny,
        ..AHEAD
    };
    let caller = Caller::redis(&dsn(proxy.port()), settings);
    caller.put("id", &raise(700 * MILLISECOND));
    // The next denial would ask for a place.
    (0..DENIALS).for_each(|_| assert!(!caller.grants("id", &STEP)));
    let asked = caller.count(Event::Asked);
    proxy.set(Mode::SwallowReplies);
    let wait = STEP.with(Patience::Wait(900 * MILLISECOND));
    let answer = caller.ask(b"id", &wait).unwrap();
    assert!(answer.fallback && !answer.value.granted());
    assert_eq!(caller.count(Event::Asked) - asked, 1);
    proxy.cut();
}

#[test]
fn a_place_is_used_while_the_store_fails() {
    let mut redis = Redis::start(&[]);
    let settings = Settings {
        on_failure: OnFailure::Deny,
        ..AHEAD
    };
    let caller = Caller::redis(&dsn(redis.port()), settings);
    caller.put("id", &raise(200 * MILLISECOND));
    take_place(&caller, 1);
    redis.kill();
    let end = boot_clock() + 3 * TAKE_AHEAD;
    let mut granted = 0;
    while boot_clock() < end {
        let answer = caller.ask(b"id", &STEP).unwrap();
        granted += u64::from(answer.value.granted());
    }
    assert_eq!((granted, caller.count(Event::UsedAhead)), (1, 1));
}

/// A host that could not keep a place because the server is too far away asks for none.
#[test]
fn a_place_that_cannot_be_kept_is_not_asked_for() {
    let redis = Redis::start(&[]);
    let proxy = Proxy::tcp(redis.port());
    let settings = Settings {
        take_ahead: 40 * MILLISECOND,
        ..AHEAD
    };
    let caller = Caller::redis(&dsn(proxy.port()), settings);
    caller.put("id", &raise(0));
    proxy.set(Mode::Delay(Duration::from_nanos(45 * MILLISECOND)));
    let start = Instant::now();
    let mut granted = 0;
    while granted < 5 {
        granted += u64::from(caller.grants("id", &STEP));
        assert!(start.elapsed() < HANG, "calls are denied for ever");
    }
    assert_eq!(caller.count(Event::TakenAhead), 0);
}
