//! Tests the lifetime of a record in a store. The record lives at least until the bucket is full,
//! even if the bucket changes meanwhile.

use crate::caller::{CAPACITY, Caller, HOUR, PLAIN, RESET, Server, refund, take};
use gcra::{KeyHasher, MemoryStore, Put, Step, TICKS_PER_SECOND, Ticks, Timestamp};
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
fn tokens_that_are_taken_and_come_back_again_and_again_do_not_prolong_it() {
    Server::each(|server| {
        let caller = server.caller(PLAIN);
        for _ in 0..50 {
            assert!(caller.grants("id", &take(CAPACITY)));
            caller.put("id", &refund(CAPACITY - 1));
            caller.put("id", &refund(1));
        }
        assert_lives(&server, CAPACITY * HOUR);
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

/// A unit of time of the histories. memcached does not round a power of two up.
const UNIT: Ticks = (1 << 32) * 1000;

/// Moves the instants of the record of `id` back by `micros`. The server cannot tell this from a
/// clock that moved forward.
fn pass(server: &Server, micros: u64) {
    let record = server.record("id");
    if record.is_empty() {
        return;
    }
    let earlier = |(place, number): (usize, &str)| match number.parse::<u64>().unwrap() {
        instant if place < 2 => instant.saturating_sub(micros).to_string(),
        span => span.to_string(),
    };
    let parts: Vec<_> = record.split(':').enumerate().map(earlier).collect();
    let record = parts.join(":");
    match server {
        Server::Redis(server) => {
            let script = "local left = redis.call('PTTL', KEYS[1]) - ARGV[1] \
                if left > 0 then return redis.call('SET', KEYS[1], ARGV[2], 'PX', left) end \
                return redis.call('DEL', KEYS[1])";
            let millis = (micros / 1000).to_string();
            server.cli(&["EVAL", script, "1", "t:id", &millis, &record]);
        }
        Server::Memcached(server) => {
            let lines = server.command("mg t:id f\r\nmn", "MN");
            let flags = lines[0].strip_prefix("HD f").unwrap();
            let set = format!("set t:id {flags} 0 {}\r\n{record}", record.len());
            server.command(&set, "STORED");
        }
    }
}

/// Compares a store with the store in memory, over steps and changes under several spans. The time
/// that the test takes decides nothing, because no step is tried whose grant would depend on it.
#[test]
fn a_history_under_several_spans_is_that_of_the_store_in_memory() {
    Server::each(|server| {
        let mut seed = 1u64;
        let mut below = |most: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % most
        };
        let caller = server.caller(PLAIN);
        for history in 0..30 {
            caller.put("id", &Put::Reset { span: UNIT });
            let told = compare(&server, &caller, &mut below);
            told.unwrap_or_else(|told| panic!("history {history}: {told:#?}"));
        }
    });
}

/// Runs a history on a store and in memory. Fails with what was done if the two differ.
fn compare(
    server: &Server,
    caller: &Caller,
    below: &mut impl FnMut(u64) -> u64,
) -> Result<(), Vec<String>> {
    const SPANS: [Ticks; 3] = [2 * UNIT, 8 * UNIT, 32 * UNIT];
    let moment = MOMENTS * TICKS_PER_SECOND;
    let (model, mut told) = (MemoryStore::default(), Vec::new());
    let key = KeyHasher::new([1, 2]).key(b"id");
    let mut taken: Option<(Step, Timestamp, Timestamp)> = None;
    for _ in 0..30 {
        let span = SPANS[usize::try_from(below(3)).unwrap()];
        let cost = (1 + below(span / UNIT)) * UNIT;
        let age = span.cast_signed() - cost.cast_signed() * below(3).cast_signed();
        let puts = match below(10) {
            0 => Some([Put::Reset { span }; 2]),
            1 => Some([Put::Raise { age, span }; 2]),
            2 => Some([Put::Bootstrap { age, span }; 2]),
            3 => Some([Put::refund(cost, span); 2]),
            4 | 5 => taken.take().map(|(step, at, there)| {
                let undo = [Put::cancel, Put::give_back][usize::from(below(2) == 0)];
                [at, there].map(|taken| undo(step.cost, step.span, taken))
            }),
            _ => None,
        };
        let step = Step {
            max_wait: (below(2) * below(40) * UNIT).cast_signed(),
            ..Step::new(cost, span)
        };
        let look = model.take(key, &step.dry(), None);
        let full = look.now - span;
        let limit = look.now.saturating_add_signed(step.max_wait);
        let is_close = (look.empty_at + cost).0.abs_diff(limit.0) < moment;
        if let Some([here, there]) = puts {
            told.push(format!("{here:?}"));
            model.put(key, &here);
            caller.put("id", &there);
        } else if look.empty_at <= full || !is_close {
            let outcomes = [model.take(key, &step, None), caller.take("id", &step)];
            let [expected, outcome] = outcomes;
            told.push(format!("{step:?}: {}", expected.granted()));
            if outcome.granted() != expected.granted() {
                return Err(told);
            }
            if expected.granted() {
                taken = Some((step, expected.empty_at, outcome.empty_at));
            }
        }
        let gap = below(2) * below(12) * UNIT + moment + below(MOMENTS) * TICKS_PER_SECOND;
        told.push(format!("{} later", gap / UNIT));
        model.advance(gap);
        pass(server, gap / 1000);
        taken = taken.map(|(step, at, there)| (step, at, there - gap));
        for span in SPANS {
            let look = Step::new(0, span).dry();
            let left = [model.take(key, &look, None), caller.take("id", &look)]
                .map(|outcome| look.available(outcome.empty_at, outcome.now));
            if left[0].abs_diff(left[1]) >= moment {
                told.push(format!("{left:?} of {span}"));
                return Err(told);
            }
        }
    }
    Ok(())
}
