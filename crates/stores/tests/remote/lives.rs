//! Tests the lifetime of a record in a store. The record lives at least until the bucket is full,
//! even if the bucket changes meanwhile.

use crate::caller::{CAPACITY, HOUR, PLAIN, RESET, Server, refund, take};
use gcra::{Put, Step, TICKS_PER_SECOND, Ticks};
use std::time::Instant;

const LARGE: Ticks = 8 * HOUR;
/// The seconds that the test itself may take.
const MOMENTS: u64 = 60;

/// Returns the remaining lifetime of the record of `id` in seconds, or `None` if it never expires.
fn life(server: &Server) -> Option<u64> {
    let seconds = match server {
        Server::Redis(server) => {
            let millis: i64 = server.cli(&["PTTL", "t:id"]).parse().unwrap();
            assert_ne!(millis, -2, "there is no record");
            millis.div_euclid(1000)
        }
        Server::Memcached(server) => {
            // `mn` marks the end of the reply, because the reply to `mg` has no end mark.
            let lines = server.command("mg t:id t\r\nmn", "MN");
            lines[0].strip_prefix("HD t").unwrap().parse().unwrap()
        }
    };
    u64::try_from(seconds).ok()
}

fn assert_lives(server: &Server, span: Ticks) {
    let expected = span / TICKS_PER_SECOND;
    let life = life(server).unwrap();
    assert!(life + MOMENTS > expected, "{life} of {expected} s");
    // memcached rounds the greatest span of a record up by a thousandth.
    let rounding = expected / 500;
    assert!(
        life < expected + rounding + MOMENTS,
        "{life} of {expected} s"
    );
}

#[test]
fn a_record_lives_until_its_bucket_is_full() {
    Server::each(|server| {
        let caller = server.caller(PLAIN);
        for hours in 1..=CAPACITY {
            assert!(caller.grants("id", &take(1)));
            assert_lives(&server, hours * HOUR);
        }
        // The record lives at least until the whole bucket is full.
        let outcome = caller.take("id", &take(1));
        let full_in = take(1).reset_after(outcome.empty_at, outcome.now);
        assert!(life(&server).unwrap() + 1 >= full_in / TICKS_PER_SECOND);
    });
}

/// Checks that a record in memcached lives some seconds longer than its bucket needs. memcached's
/// clock counts seconds and may skip some seconds. An item with a lifetime of two seconds sometimes
/// expires at once.
#[test]
fn memcached_keeps_it_some_seconds_longer() {
    Server::each(|server| {
        if let Server::Memcached(_) = server {
            let step = Step::new(TICKS_PER_SECOND / 2, TICKS_PER_SECOND / 2);
            let start = Instant::now();
            assert!(server.caller(PLAIN).grants("id", &step));
            let life = life(&server).unwrap();
            // The seconds that the test itself has taken, which are usually none.
            let passed = start.elapsed().as_secs();
            assert!(life <= 11 && life + passed >= 9, "{life} after {passed} s");
        }
    });
}

#[test]
fn a_smaller_bucket_never_shortens_it() {
    Server::each(|server| {
        let caller = server.caller(PLAIN);
        let small = Step::new(HOUR, 2 * HOUR);
        assert!(caller.grants("id", &Step::new(6 * HOUR, LARGE)));
        assert_lives(&server, 6 * HOUR);
        // The state moves forward by another hour, and the bucket is full after the larger span.
        assert!(caller.grants("id", &small));
        assert_lives(&server, 7 * HOUR);
        let (cost, span) = (HOUR, 2 * HOUR);
        caller.put("id", &Put::refund(cost, span));
        assert_lives(&server, 7 * HOUR);
        caller.put("id", &Put::Reset { span });
        assert_lives(&server, 7 * HOUR);
        assert!(caller.grants("id", &small));
        assert_lives(&server, 7 * HOUR);
        // Control: a larger bucket prolongs the lifetime.
        assert!(caller.grants("id", &Step::new(HOUR, LARGE)));
        assert_lives(&server, LARGE);
    });
}

#[test]
fn a_reset_is_kept_as_long_as_others_may_remember() {
    Server::each(|server| {
        let caller = server.caller(PLAIN);
        caller.put("id", &RESET);
        assert_lives(&server, CAPACITY * HOUR);
        caller.put("id", &refund(1));
        assert_lives(&server, CAPACITY * HOUR);
        // The record of a blocked bucket lives until the bucket is full.
        let (age, span) = (-2 * HOUR.cast_signed(), CAPACITY * HOUR);
        caller.put("id", &Put::Raise { age, span });
        assert_lives(&server, (CAPACITY + 2) * HOUR);
    });
}

#[test]
fn what_lives_for_ever_goes_on_to() {
    Server::each(|server| {
        let caller = server.caller(PLAIN);
        assert!(caller.grants("id", &take(1)));
        let state = server.record("id");
        match &server {
            Server::Redis(server) => drop(server.cli(&["PERSIST", "t:id"])),
            Server::Memcached(server) => {
                let set = format!("set t:id 0 0 {}\r\n{state}", state.len());
                server.command(&set, "STORED");
            }
        }
        assert!(caller.grants("id", &take(1)));
        assert_eq!(life(&server), None);
        caller.put("id", &refund(1));
        assert_eq!(life(&server), None);
    });
}

#[test]
fn months_are_no_instants() {
    // memcached treats a lifetime of more than 30 days as a date on its own clock, which may be
    // ahead. So such an item does not expire there.
    const DAY: Ticks = 24 * HOUR;
    Server::each(|server| {
        let caller = server.caller(PLAIN);
        for days in [29, 31, 60, 400] {
            caller.put("id", &Put::Reset { span: DAY });
            let step = Step::new(days * DAY, days * DAY);
            assert!(caller.grants("id", &step), "{days}");
            if days > 30 && matches!(server, Server::Memcached(_)) {
                assert_eq!(life(&server), None);
            } else {
                assert_lives(&server, days * DAY);
            }
            assert!(!caller.grants("id", &step), "{days}");
        }
    });
}
