//! Tests the changes of a bucket that take no tokens: refunds, resets and first states.

use crate::homes;
use crate::{CAPACITY, HOUR, MICROSECOND, assert_insufficient, now, singles, take};
use gcra::limit::MAX_SPAN;
use gcra::{Put, Step, TICKS_PER_SECOND};

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
