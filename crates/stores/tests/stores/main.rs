//! Tests the contract of all stores. The same tests run on every store.
//!
//! One line in [`homes::all`] adds a store. The tests use only the `Store` trait and expect no
//! exact instants. A token takes an hour to refill, so no token is added while a test runs. Only
//! the tests of give-backs wait for some milliseconds of refill. Costs and spans are whole
//! microseconds, because remote stores count in microseconds.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod batches;
mod homes;
mod records;
mod remotes;
mod rivals;
mod windows;

use gcra::{
    Denial, Grain, Key, Outcome, Put, Refill, Step, TICKS_PER_SECOND, Ticks, Timestamp, Verdict,
};
use homes::Home;
use std::num::NonZero;

const MICROSECOND: Ticks = Grain::Microsecond.ticks();
const MILLISECOND: Ticks = TICKS_PER_SECOND / 1000;
const HOUR: Ticks = 3600 * TICKS_PER_SECOND;
/// The capacity of the bucket in most tests, at one token an hour.
const CAPACITY: u64 = 5;

/// Returns a step for `n` tokens of a bucket of [`CAPACITY`].
fn take(n: u64) -> Step {
    Step::new(n * HOUR, CAPACITY * HOUR)
}

/// Returns a refund of `n` tokens into a bucket of [`CAPACITY`].
fn refund(n: u64) -> Put {
    Put::refund(n * HOUR, CAPACITY * HOUR)
}

/// A reset of a bucket of [`CAPACITY`].
const RESET: Put = Put::Reset {
    span: CAPACITY * HOUR,
};

/// Takes single tokens until a call is denied. Returns the number of grants.
fn singles(home: &Home, key: Key<'_>) -> u64 {
    (0..=2 * CAPACITY)
        .find(|_| !home.take(key, &take(1), None).granted())
        .expect("a bucket without a bottom")
}

/// Returns the current instant of the store's clock.
fn now(home: &Home, key: Key<'_>) -> Timestamp {
    home.take(key, &take(0).dry(), None).now
}

fn assert_insufficient(outcome: &Outcome) {
    assert_eq!(outcome.verdict, Verdict::Denied(Denial::Insufficient));
}

#[test]
fn a_dry_step_changes_nothing() {
    homes::each(|home| {
        let key = home.key(b"dry");
        let (whole, proposed) = (take(CAPACITY).dry(), Some(now(home, key)));
        assert!(home.take(key, &whole, None).granted());
        assert!(home.take(key, &whole, proposed).granted());
        let one_left = Put::Bootstrap {
            age: HOUR.cast_signed(),
            span: gcra::store::UNKNOWN_SPAN,
        };
        home.put(key, &one_left);
        let peek = home.take(key, &take(1).dry(), None);
        assert!(peek.granted(), "an hour's worth of a made record");
        let charging = Step {
            max_debt: HOUR,
            ..take(2).dry()
        };
        let denied = home.take(key, &charging, proposed);
        assert_insufficient(&denied);
        assert_eq!(denied.empty_at, peek.empty_at);
        assert_eq!(
            singles(home, key),
            1,
            "the dry steps left no record, or took"
        );
    });
}

#[test]
fn what_the_bucket_never_holds_is_told_so_and_costs_nothing() {
    homes::each(|home| {
        let charging = Step {
            max_debt: CAPACITY * HOUR,
            ..take(CAPACITY + 1)
        };
        let never = Verdict::Denied(Denial::ExceedsCapacity);
        for step in [take(CAPACITY + 1), take(CAPACITY + 1).dry(), charging] {
            let fresh = home.key(b"never");
            home.put(fresh, &RESET);
            assert_eq!(home.take(fresh, &step, None).verdict, never, "{step:?}");
            assert!(home.take(fresh, &take(1), None).granted());
            assert_eq!(home.take(fresh, &step, None).verdict, never, "{step:?}");
            assert_eq!(singles(home, fresh), CAPACITY - 1, "{step:?}");
        }
    });
}

/// Returns a step for `n` tokens of a bucket of [`CAPACITY`] that may wait for `hours`.
fn reserve(n: u64, hours: u64) -> Step {
    Step {
        max_wait: (hours * HOUR).cast_signed(),
        ..take(n)
    }
}

#[test]
fn a_cancelled_reservation_returns_nothing_that_others_have_built_on() {
    homes::each(|home| {
        let key = home.key(b"cancelled");
        assert!(home.take(key, &take(CAPACITY), None).granted());
        let reserve = || {
            let outcome = home.take(key, &reserve(2, 9), None);
            assert!(outcome.granted());
            outcome.empty_at
        };
        let cancel = |taken| {
            let (cost, span) = (2 * HOUR, CAPACITY * HOUR);
            home.put(key, &Put::cancel(cost, span, taken));
            home.take(key, &take(0).dry(), None).empty_at
        };
        let [first, second, third] = [reserve(), reserve(), reserve()];
        assert_eq!(cancel(first), third, "two were reserved after it");
        assert_eq!(cancel(third), second);
        assert_eq!(cancel(second), first);
        let last = home.take(key, &take(1), None);
        assert_insufficient(&last);
        assert_eq!(last.empty_at, first);
    });
}

#[test]
fn a_cancelled_reservation_returns_nothing_that_a_smaller_quota_would_grant_twice() {
    homes::each(|home| {
        let key = home.key(b"two quotas");
        assert!(home.take(key, &take(CAPACITY), None).granted());
        let large = home.take(key, &reserve(CAPACITY, 100), None).empty_at;
        let small = Step {
            span: HOUR,
            ..reserve(1, 100)
        };
        let due = home.take(key, &small, None).empty_at;
        home.put(key, &Put::cancel(CAPACITY * HOUR, CAPACITY * HOUR, large));
        let next = home.take(key, &small, None);
        assert!(next.granted());
        assert_eq!(next.empty_at, due + HOUR, "one token an hour");
    });
}

#[test]
fn an_undone_take_returns_all_but_the_tokens_that_were_reserved_after_it() {
    homes::each(|home| {
        let key = home.key(b"undone");
        let taken = home.take(key, &take(CAPACITY), None);
        let reserved = home.take(key, &reserve(1, 100), None);
        assert!(taken.granted() && reserved.granted());
        let (cost, span) = (CAPACITY * HOUR, CAPACITY * HOUR);
        home.put(key, &Put::give_back(cost, span, taken.empty_at));
        let left = home.take(key, &take(0).dry(), None).empty_at;
        assert_eq!(reserved.empty_at - left, (CAPACITY - 1) * HOUR);
    });
}

/// Returns the change that leaves the bucket at most `tokens`, `hours` from now.
fn raise(tokens: u64, hours: u64) -> Put {
    Put::Raise {
        age: (tokens * HOUR).cast_signed() - (hours * HOUR).cast_signed(),
        span: CAPACITY * HOUR,
    }
}

#[test]
fn a_raise_moves_the_state_forward_and_never_back() {
    homes::each(|home| {
        let look = |key| home.take(key, &take(CAPACITY).dry(), None);
        let key = home.key(b"blocked");
        home.put(key, &raise(1, 3));
        let denied = home.take(key, &take(1), None);
        assert_insufficient(&denied);
        let wait = take(1).retry_after(denied.empty_at, denied.now);
        assert!(wait > 2 * HOUR && wait <= 3 * HOUR, "{wait}");
        // A second raise to the same number of tokens moves the state by at most the time between
        // the two raises.
        home.put(key, &raise(1, 3));
        let again = look(key);
        assert!(again.empty_at >= denied.empty_at && again.empty_at < denied.empty_at + HOUR / 2);
        for other in [raise(1, 2), raise(CAPACITY, 0)] {
            home.put(key, &other);
            assert_eq!(look(key).empty_at, again.empty_at, "{other:?}");
        }
        // Tokens that are given back shorten the block by the time of their refill.
        home.put(key, &refund(2));
        assert_eq!(look(key).empty_at, again.empty_at - 2 * HOUR);
        home.put(key, &RESET);
        assert_eq!(singles(home, key), CAPACITY);
        let drained = home.key(b"drained");
        home.put(drained, &raise(2, 0));
        assert_eq!(singles(home, drained), 2);
        let used = home.key(b"used");
        let before = home.take(used, &take(CAPACITY - 1), None);
        home.put(used, &raise(2, 0));
        assert_eq!(look(used).empty_at, before.empty_at, "it holds less");
        home.put(used, &raise(0, 0));
        assert_eq!(singles(home, used), 0);
    });
}

#[test]
fn a_refund_makes_a_debt_smaller_and_a_reset_cancels_it() {
    homes::each(|home| {
        let key = home.key(b"in debt");
        let charge = home.take(key, &reserve(CAPACITY + 3, 1 << 10), None);
        home.put(key, &refund(2));
        let denied = home.take(key, &take(0), None);
        assert_insufficient(&denied);
        assert_eq!(denied.empty_at, charge.empty_at - 2 * HOUR);
        home.put(key, &RESET);
        assert_eq!(singles(home, key), CAPACITY);
    });
}

#[test]
fn a_debt_outlives_the_span_of_its_bucket() {
    homes::each(|home| {
        let key = home.key(b"outlives");
        let small = |n| Step {
            max_wait: HOUR.cast_signed(),
            ..Step::new(n * MILLISECOND, 2 * MILLISECOND)
        };
        // A debt of 2,000 seconds.
        let charge = home.take(key, &small(2_000_000), None);
        assert!(charge.granted());
        home.pass(10 * MILLISECOND);
        let denied = home.take(key, &Step::new(0, 2 * MILLISECOND), None);
        assert_insufficient(&denied);
        assert_eq!(denied.empty_at, charge.empty_at);
    });
}

#[test]
fn a_full_bucket_is_full_under_a_longer_span() {
    homes::each(|home| {
        let key = home.key(b"longer");
        let short = Step::new(5 * MILLISECOND, 5 * MILLISECOND);
        let long = Step::new(HOUR, HOUR);
        assert!(home.take(key, &short, None).granted());
        home.pass(40 * MILLISECOND);
        assert!(home.take(key, &long, None).granted());
        // The bucket lacks the tokens of an hour now, whatever the calls of the short span do.
        home.pass(40 * MILLISECOND);
        assert!(home.take(key, &short, None).granted());
        home.pass(40 * MILLISECOND);
        assert_insufficient(&home.take(key, &long, None));
    });
}

#[test]
fn a_small_capacity_does_not_shorten_the_life_of_a_created_record() {
    homes::each(|home| {
        let key = home.key(b"created");
        home.put(
            key,
            &Put::Bootstrap {
                age: 0,
                span: gcra::store::UNKNOWN_SPAN,
            },
        );
        home.pass(2 * MILLISECOND);
        let small = Step::new(MILLISECOND, 2 * MILLISECOND);
        assert!(home.take(key, &small, None).granted());
        home.pass(10 * MILLISECOND);
        assert_insufficient(&home.take(key, &take(1), None));
    });
}

#[test]
fn every_answer_is_the_steps_own() {
    homes::each(|home| {
        let key = home.key(b"history");
        let mut state = Timestamp::ZERO;
        // Uses the high bits of a linear congruential generator, so that every store gets the same
        // history.
        let mut seed = 1u64;
        let mut below = |most: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % most
        };
        for call in 0..2000 {
            if below(40) == 0 {
                home.put(key, &RESET);
                state = Timestamp::ZERO;
                continue;
            }
            let span = (1 + below(20)) * HOUR;
            let wait = below(3) * below(9) * HOUR;
            let floor = (below(3) == 0).then(|| below(span / MICROSECOND) * MICROSECOND);
            let max_wait = floor.map_or(wait.cast_signed(), |floor| -floor.cast_signed());
            let step = Step {
                cost: match below(8) {
                    0 => 0,
                    1 => span.saturating_add_signed(max_wait),
                    _ => below(span / MICROSECOND) * MICROSECOND,
                },
                span,
                refill: Refill::every(match below(3) {
                    0 => NonZero::<Ticks>::MIN,
                    1 => NonZero::new(HOUR / 7 / MICROSECOND * MICROSECOND).unwrap(),
                    _ => NonZero::new(3 * HOUR).unwrap(),
                }),
                max_debt: u64::from(max_wait == 0) * below(3) * below(25) * HOUR,
                max_wait,
                dry: below(4) == 0,
            };
            let outcome = home.take(key, &step, None);
            assert_eq!(
                outcome,
                step.decide(state, outcome.now),
                "call {call}: {step:?}"
            );
            state = outcome.empty_at;
        }
    });
}

#[test]
fn namespaces_are_apart() {
    homes::each(|home| {
        let key = |namespace, identifier| home.hasher.namespace(&[namespace]).key(identifier);
        for (namespace, identifier) in [
            (b"a".as_slice(), b"id".as_slice()),
            (b"b", b"id"),
            (b"", b"id"),
            (b"ai", b"d"),
            (b"", b"aid"),
        ] {
            let key = key(namespace, identifier);
            assert_eq!(singles(home, key), CAPACITY, "{namespace:?}");
        }
        for names in [[b"a", b"b"], [b"b", b"a"]] {
            let nested = home.hasher.namespace(&names.map(<[u8; 1]>::as_slice));
            assert_eq!(singles(home, nested.key(b"id")), CAPACITY, "{names:?}");
        }
        home.put(key(b"a", b"id"), &RESET);
        assert!(!home.take(key(b"b", b"id"), &take(1), None).granted());
        assert!(home.take(key(b"a", b"id"), &take(1), None).granted());
    });
}
