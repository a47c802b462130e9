//! Tests a server whose clock is set back, and servers and hosts whose clocks differ.
//!
//! A test moves the instants in a record forward instead of the server's clock back. The server
//! cannot tell the difference.

use crate::caller::{
    CAPACITY, Caller, HOUR, MILLISECOND, PLAIN, RESET, Server, count, refund, take, windows,
};
use gcra::{Put, Step, Ticket, Ticks, Timestamp, Windows};
use segment::By;
use segment::slots::counters::Event;
use stores::remote::redis::Redis as Client;
use stores::remote::redis::dsn::Dsn;
use stores::remote::time_left::TimeLeft;
use stores::remote::{Cause, Remote};
use testkit::Redis;

const MICROSECOND: Ticks = 1_000;
/// The ticks that a test itself may take.
const MOMENTS: Ticks = 60_000 * MILLISECOND;

/// Sets the server's clock back by `span`, from the view of the bucket.
fn set_back(redis: &Redis, identifier: &str, span: Ticks) {
    let key = format!("t:{identifier}");
    let record = redis.cli(&["GET", &key]);
    let later = |(place, number): (usize, &str)| {
        let micros: u64 = number.parse().unwrap();
        // The third number is a length.
        (micros + u64::from(place < 2) * span / MICROSECOND).to_string()
    };
    let parts: Vec<_> = record.split(':').enumerate().map(later).collect();
    redis.cli(&["SET", &key, &parts.join(":"), "KEEPTTL"]);
}

fn redis() -> (Redis, Caller) {
    let redis = Redis::start(&[]);
    let caller = Caller::redis(&format!("unix://{}", redis.socket().display()), PLAIN);
    (redis, caller)
}

/// Returns a step that may leave a debt.
fn charge(n: u64) -> Step {
    Step {
        max_wait: (1000 * HOUR).cast_signed(),
        ..take(n)
    }
}

#[test]
fn a_used_bucket_refills_from_now_on() {
    let (redis, caller) = redis();
    assert!(caller.grants("id", &take(3)));
    set_back(&redis, "id", 10 * HOUR);
    let moved = redis.cli(&["GET", "t:id"]);
    assert_eq!(caller.left("id"), 0);
    assert_eq!(redis.cli(&["GET", "t:id"]), moved, "a dry step wrote");
    let denied = caller.take("id", &take(1));
    assert!(!denied.granted());
    assert_eq!(denied.empty_at, denied.now);
    // The denial has written the state, so that the bucket refills.
    let again = caller.take("id", &take(1));
    assert_eq!(again.empty_at, denied.empty_at);
    assert!(again.now > denied.now);
    assert_eq!(caller.count(Event::SetBack), 2, "by the dry step, too");
    assert_eq!(caller.count(Event::Failed), 0);
    // The denial has written a state that is not in the future. So the bucket grants a call that
    // costs only a microsecond.
    let other = Step::new(MICROSECOND, CAPACITY * HOUR);
    assert!(caller.grants("id", &other));
}

#[test]
fn a_small_step_costs_no_more_than_the_tokens_that_are_left() {
    let (redis, caller) = redis();
    assert!(caller.grants("id", &take(3)));
    set_back(&redis, "id", HOUR);
    assert_eq!(caller.left("id"), 1);
    assert!(caller.grants("id", &take(1)));
    assert!(!caller.grants("id", &take(1)));
    assert_eq!(caller.count(Event::SetBack), 0);
}

#[test]
fn a_debt_is_neither_forgiven_nor_prolonged() {
    let (redis, caller) = redis();
    for span in [HOUR, 100 * HOUR] {
        caller.put("id", &RESET);
        assert!(caller.grants("id", &charge(CAPACITY + 3)));
        let before = caller.take("id", &take(1));
        let debt = before.empty_at - before.now;
        assert!(debt <= 3 * HOUR && debt + MOMENTS > 3 * HOUR);
        assert!(redis.cli(&["GET", "t:id"]).contains(':'));
        set_back(&redis, "id", span);
        for _ in 0..2 {
            let after = caller.take("id", &take(1));
            let debt = after.empty_at - after.now;
            assert!(debt <= 3 * HOUR && debt + MOMENTS > 3 * HOUR, "{debt}");
        }
        set_back(&redis, "id", span);
        let deeper = caller.take("id", &charge(1));
        assert!(deeper.granted());
        let debt = deeper.empty_at - deeper.now;
        assert!(debt <= 4 * HOUR && debt + MOMENTS > 4 * HOUR, "{debt}");
        set_back(&redis, "id", span);
        caller.put("id", &refund(CAPACITY));
        assert_eq!(caller.left("id"), 1, "a refund of five for a debt of four");
        assert!(!caller.grants("id", &take(2)));
    }
    assert_eq!(
        caller.count(Event::SetBack),
        4,
        "the refunds are not counted"
    );
}

#[test]
fn a_denied_batch_writes_the_moved_state() {
    let (redis, caller) = redis();
    for identifier in ["a", "b"] {
        assert!(caller.grants(identifier, &take(3)));
        set_back(&redis, identifier, 10 * HOUR);
    }
    let dsn = Dsn::parse(&format!("unix://{}", redis.socket().display())).unwrap();
    let remote = Remote::new(Client::new(dsn, b"t:"), PLAIN, caller.host);
    let hasher = remote.hasher();
    let buckets = |step| {
        [(0, b"a"), (1, b"b")].map(|(index, identifier)| {
            let key = hasher.key(identifier);
            (&remote, Ticket { index, key, step })
        })
    };
    let mut states = Vec::new();
    for _ in 0..2 {
        let answer = remote.take_all(&buckets(take(1)), TimeLeft::ALL);
        let refused = answer.unwrap().unwrap().value.unwrap_err();
        states.push(refused.outcome.empty_at);
        assert!(refused.outcome.empty_at <= refused.outcome.now);
    }
    assert_eq!(states[0], states[1]);
    assert_eq!(caller.count(Event::SetBack), 2, "once each");
    let tiny = Step::new(MICROSECOND, CAPACITY * HOUR);
    assert!(
        remote
            .take_all(&buckets(tiny), TimeLeft::ALL)
            .unwrap()
            .unwrap()
            .value
            .is_ok()
    );
}

/// Compares the states of a bucket with those of the same bucket on a clock that is never set.
#[test]
fn a_clock_that_is_set_back_grants_nothing_twice() {
    let (redis, caller) = redis();
    let mut seed = 7u64;
    let mut below = |most: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % most
    };
    for round in 0..40 {
        let identifier = format!("id{round}");
        let (mut right, mut granted) = (Timestamp::ZERO, 0);
        // The debt when the record was last written.
        let mut debt = 0;
        for call in 0..30 {
            let cost = 1 + below(2);
            let charges = below(6) == 0;
            let step = if charges { charge(cost) } else { take(cost) };
            let outcome = caller.take(&identifier, &step);
            if outcome.granted() {
                right = right.max(outcome.now - step.span) + step.cost;
                granted += if charges { 0 } else { cost };
                debt = outcome.empty_at.saturating_since(outcome.now);
            }
            let state = outcome.empty_at;
            assert!(
                state >= right,
                "round {round}, call {call}: tokens came back"
            );
            assert!(
                state <= outcome.now + debt,
                "round {round}, call {call}: late"
            );
            if below(3) == 0 && right > Timestamp::ZERO {
                set_back(&redis, &identifier, below(20) * HOUR / 2);
            }
        }
        assert!(granted <= CAPACITY, "{granted}");
    }
    assert!(caller.count(Event::SetBack) > 100);
}

/// memcached has no clock for its clients. The wall clocks of hosts may differ.
#[test]
fn on_memcached_a_host_follows_a_clock_that_is_a_little_ahead() {
    let server = Server::Memcached(testkit::Memcached::start_tcp(&[]));
    let Server::Memcached(memcached) = &server else {
        return;
    };
    let set = |record: &str| {
        let set = format!("set t:id 0 0 {}\r\n{record}", record.len());
        memcached.command(&set, "STORED");
    };
    let caller = server.caller(PLAIN);
    let micros = |at: Timestamp| at.0 / MICROSECOND;
    let now = caller.take("other", &take(0).dry()).now;
    // A record that another host wrote, whose clock is ahead of this host's by 50 ms.
    set(&micros(now + 50 * MILLISECOND).to_string());
    let followed = caller.take("id", &take(1));
    assert!(followed.now >= now + 50 * MILLISECOND);
    let later = caller.take("other", &take(0).dry()).now;
    assert!(later >= followed.now, "it follows for other buckets, too");
    std::thread::sleep(std::time::Duration::from_millis(200));
    let slower = caller.take("other", &take(0).dry()).now;
    assert!(slower > later, "the clock never goes back");
    // A clock that is too far ahead is not followed.
    set(&micros(now + HOUR).to_string());
    let denied = caller.take("id", &take(1));
    assert!(denied.now < now + HOUR / 2);
    assert_eq!(denied.empty_at, now + HOUR);
    // The debt of another host is not mistaken for a clock that is ahead.
    let debt = now + 80 * MILLISECOND + 3 * HOUR;
    set(&format!("{}:{}", micros(debt), micros(now)));
    let denied = caller.take("id", &take(1));
    assert_eq!(denied.empty_at, debt);
    caller.put("id", &Put::refund(HOUR, CAPACITY * HOUR));
    assert_eq!(caller.take("id", &take(1)).empty_at, debt - HOUR);
}

/// A server's clock may be in none of the windows that a host sends. Then nothing is taken.
#[test]
fn a_server_outside_of_all_windows_grants_nothing_and_replies_its_clock() {
    let (redis, caller) = redis();
    let mine = windows();
    for start in [mine.start + 3 * HOUR, mine.start - 3 * HOUR] {
        let far = Windows { start, ..mine };
        assert!(caller.take("id", &count(2, mine)).granted());
        let record = redis.cli(&["GET", "t:id"]);
        for step in [count(1, far), count(0, far), count(1, far).dry()] {
            let outcome = caller.take("id", &step);
            assert!(step.is_outside(&outcome), "{outcome:?}");
            assert!(mine.contain(outcome.now));
            assert!(!caller.take("none", &step).granted());
        }
        let denials = || caller.host.slots().totals().all_decisions(By::Store)[1];
        let (above, counted) = (CAPACITY + 1, denials());
        assert!(!caller.take("id", &count(above, far)).granted());
        assert_eq!(denials(), counted, "the call is repeated");
        assert!(!caller.take("id", &count(above, mine)).granted());
        assert_eq!(denials(), counted + 1);
        let uncount = |windows| Put::Uncount {
            cost: MICROSECOND,
            windows,
            is_undo: false,
        };
        assert!(!caller.put("id", &uncount(far)), "it must be repeated");
        assert_eq!(redis.cli(&["GET", "t:id"]), record);
        assert_eq!(redis.cli(&["EXISTS", "t:none"]), "0");
        let repeated = Windows {
            is_repeat: true,
            ..far
        };
        let cause = caller.fails("id", &count(1, repeated));
        assert!(matches!(cause, Cause::Clock(_)), "{cause}");
        caller.put("id", &uncount(mine));
        caller.put("id", &uncount(mine));
    }
    assert_eq!(caller.count(Event::Failed), 0, "the server works");
}

#[test]
fn a_batch_and_a_pipeline_take_nothing_outside_of_their_windows() {
    let (redis, caller) = redis();
    let dsn = Dsn::parse(&format!("unix://{}", redis.socket().display())).unwrap();
    let remote = Remote::new(Client::new(dsn, b"t:"), PLAIN, caller.host);
    let hasher = remote.hasher();
    let mine = windows();
    for start in [mine.start + 3 * HOUR, mine.start - 3 * HOUR] {
        let far = Windows { start, ..mine };
        for windows in [
            far,
            Windows {
                is_repeat: true,
                ..far
            },
        ] {
            for steps in [
                [take(1), count(1, windows)],
                [count(1, windows), count(0, mine)],
            ] {
                let tickets = steps.into_iter().zip([b"a", b"b"]).enumerate();
                let buckets: Vec<_> = tickets
                    .map(|(index, (step, identifier))| {
                        let key = hasher.key(identifier);
                        (&remote, Ticket { index, key, step })
                    })
                    .collect();
                let all = remote.take_all(&buckets, TimeLeft::ALL);
                let place = steps.iter().position(|step| *step == count(1, windows));
                let mut outside = None;
                let each = Remote::take_each(&buckets[place.unwrap()..][..1], None, |_, answer| {
                    outside = Some(answer.value);
                });
                if windows.is_repeat {
                    assert!(matches!(all.unwrap_err().cause, Cause::Clock(_)));
                    assert!(matches!(each.unwrap_err().cause, Cause::Clock(_)));
                } else {
                    let refused = all.unwrap().unwrap().value.unwrap_err();
                    assert_eq!(Some(refused.index), place);
                    assert!(refused.step.is_outside(&refused.outcome));
                    assert!(refused.step.is_outside(&outside.unwrap()));
                }
            }
        }
    }
    assert_eq!(redis.cli(&["DBSIZE"]), "0");
}
