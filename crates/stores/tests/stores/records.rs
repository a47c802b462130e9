//! Tests the changes of a bucket that take no tokens: refunds, resets and first states.

use crate::homes::{self, Home};
use crate::{CAPACITY, HOUR, MICROSECOND, RESET, assert_insufficient, now, refund, singles, take};
use gcra::limit::MAX_SPAN;
use gcra::{Key, Put, Step, TICKS_PER_SECOND};

/// Creates the record of a bucket that was empty `hours` hours ago.
fn bootstrap(home: &Home, key: Key<'_>, hours: i64) {
    let age = hours * HOUR.cast_signed();
    home.put(
        key,
        &Put::Bootstrap {
            age,
            span: gcra::store::UNKNOWN_SPAN,
        },
    );
}

#[test]
fn a_refund_gives_back() {
    homes::each(|home| {
        let key = home.key(b"refund");
        assert!(home.take(key, &take(CAPACITY), None).granted());
        home.put(key, &refund(2));
        assert_eq!(singles(home, key), 2);
    });
}

#[test]
fn a_refund_never_overfills() {
    homes::each(|home| {
        let key = home.key(b"overfill");
        assert!(home.take(key, &take(1), None).granted());
        home.put(key, &refund(3));
        home.put(key, &refund(CAPACITY));
        assert_eq!(singles(home, key), CAPACITY);
        let fresh = home.key(b"fresh");
        home.put(fresh, &refund(3));
        assert_eq!(singles(home, fresh), CAPACITY);
    });
}

#[test]
fn a_refund_into_a_smaller_bucket_takes_nothing() {
    homes::each(|home| {
        let key = home.key(b"smaller");
        let left = home.take(key, &take(1), None).empty_at;
        home.put(key, &Put::refund(HOUR, 2 * HOUR));
        assert_eq!(home.take(key, &take(1).dry(), None).empty_at, left);
    });
}

#[test]
fn a_reset_fills() {
    homes::each(|home| {
        let key = home.key(b"reset");
        home.put(key, &RESET);
        assert_eq!(singles(home, key), CAPACITY);
        home.put(key, &RESET);
        assert_eq!(singles(home, key), CAPACITY);
    });
}

#[test]
fn a_bootstrap_creates() {
    homes::each(|home| {
        let key = home.key(b"two left");
        bootstrap(home, key, 2);
        assert_eq!(singles(home, key), 2);
        let owing = home.key(b"owing");
        bootstrap(home, owing, -3);
        let denied = home.take(owing, &take(1), None);
        assert_insufficient(&denied);
        let retry = take(1).retry_after(denied.empty_at, denied.now);
        assert!(retry > 3 * HOUR && retry <= 4 * HOUR);
        let more = home.key(b"more than full");
        bootstrap(home, more, 20);
        assert_eq!(singles(home, more), CAPACITY);
        home.put(key, &RESET);
        bootstrap(home, key, 1);
        assert_eq!(singles(home, key), 1, "after a reset there is no record");
    });
}

#[test]
fn a_bootstrap_never_overwrites() {
    homes::each(|home| {
        let key = home.key(b"made");
        bootstrap(home, key, 1);
        bootstrap(home, key, 4);
        assert_eq!(singles(home, key), 1);
        bootstrap(home, key, 4);
        assert_insufficient(&home.take(key, &take(1), None));
        let taken = home.key(b"taken from");
        assert!(home.take(taken, &take(1), None).granted());
        bootstrap(home, taken, 0);
        assert_eq!(singles(home, taken), CAPACITY - 1);
    });
}

#[test]
fn the_oldest_and_the_latest_first_state_are_kept_apart() {
    homes::each(|home| {
        let most = MAX_SPAN / MICROSECOND * MICROSECOND;
        let age = most.cast_signed();
        let (old, late) = (home.key(b"old"), home.key(b"late"));
        home.put(
            old,
            &Put::Bootstrap {
                age,
                span: gcra::store::UNKNOWN_SPAN,
            },
        );
        assert_eq!(singles(home, old), CAPACITY);
        home.put(
            late,
            &Put::Bootstrap {
                age: -age,
                span: gcra::store::UNKNOWN_SPAN,
            },
        );
        let longest = Step {
            max_debt: most,
            ..Step::new(most, most)
        };
        for step in [take(1), longest] {
            let denied = home.take(late, &step, None);
            assert_insufficient(&denied);
            assert!(denied.empty_at > denied.now + most / 2);
        }
    });
}

#[test]
fn a_proposed_first_state_is_where_a_bucket_starts() {
    homes::each(|home| {
        let key = home.key(b"first");
        let two_left = now(home, key) - 2 * HOUR;
        let outcome = home.take(key, &take(1), Some(two_left));
        assert!(outcome.granted());
        // The client sends the age of the state. The remote store subtracts the age from a slightly
        // later instant.
        assert!(
            outcome.empty_at.0.abs_diff(two_left.0) < TICKS_PER_SECOND,
            "the proposal has the call's own tokens taken"
        );
        assert_eq!(singles(home, key), 2);
        let owing = home.key(b"owing");
        let later = now(home, owing) + HOUR;
        assert!(home.take(owing, &take(1), Some(later)).granted());
        assert_insufficient(&home.take(owing, &take(1), None));
    });
}

#[test]
fn a_proposed_first_state_is_charged_all_the_same() {
    homes::each(|home| {
        let key = home.key(b"charged");
        let fuller = now(home, key) - 50 * HOUR;
        assert!(home.take(key, &take(2), Some(fuller)).granted());
        assert_eq!(singles(home, key), CAPACITY - 2);
    });
}

#[test]
fn a_live_record_wins_over_a_proposed_one() {
    homes::each(|home| {
        let key = home.key(b"live");
        let full = now(home, key) - CAPACITY * HOUR;
        assert_eq!(singles(home, key), CAPACITY);
        let denied = home.take(key, &take(1), Some(full));
        assert_insufficient(&denied);
        let other = home.key(b"other");
        assert!(home.take(other, &take(1), None).granted());
        let empty = now(home, other);
        assert!(
            home.take(other, &take(1), Some(empty)).granted(),
            "decided by the record"
        );
        assert_eq!(singles(home, other), CAPACITY - 2);
    });
}
