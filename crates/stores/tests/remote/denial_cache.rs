//! Tests cached denials on two hosts of one store.

use crate::caller::{
    CACHED, CAPACITY, Caller, HANG, HOUR, MILLISECOND, RESET, Server, cached, refund, take,
};
use gcra::{Put, Step, TICKS_PER_SECOND, Ticks, boot_clock};
use segment::slots::counters::Event;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread::sleep;
use std::time::{Duration, Instant};
use testkit::eventually;

fn hosts(server: &Server) -> [Caller; 2] {
    [(); 2].map(|()| server.caller(CACHED))
}

#[test]
fn another_hosts_reset_is_seen_within_the_age_of_a_cached_denial() {
    const AGE: Ticks = 500 * MILLISECOND;
    // The age of a cached denial is rounded up by a few microseconds.
    const ROUNDING: Ticks = MILLISECOND;
    let settings = cached(AGE);
    Server::each(|server| {
        for put in [RESET, refund(CAPACITY)] {
            let [host, other] = [(); 2].map(|()| server.caller(settings));
            host.put("id", &RESET);
            assert!(host.grants("id", &take(CAPACITY)));
            let asked = boot_clock();
            assert!(!host.grants("id", &take(1)));
            let denied = boot_clock();
            other.put("id", &put);
            loop {
                let (start, cached) = (boot_clock(), host.count(Event::Cached));
                let granted = host.grants("id", &take(1));
                let is_cached = host.count(Event::Cached) > cached;
                assert_ne!(granted, is_cached, "only a cached denial denies it");
                if boot_clock() + ROUNDING < asked + AGE {
                    assert!(is_cached, "the control: a fresh cached denial is used");
                }
                if granted {
                    break;
                }
                assert!(start < denied + AGE + ROUNDING, "too old a cached denial");
                sleep(Duration::from_millis(5));
            }
        }
    });
}

/// A full bucket is full under a longer span, too. Neither a cached denial nor a state that is
/// restored from one may contradict that.
#[test]
fn a_denial_is_forgotten_when_the_bucket_is_full_under_its_spans() {
    Server::each(|server| {
        let host = server.caller(CACHED);
        let [short, long] = [TICKS_PER_SECOND, HOUR].map(|span| Step::new(span, span));
        while host.grants("id", &short) {}
        let is_full = || host.grants("id", &long);
        assert!(is_full() || eventually(is_full));
        assert!(!host.grants("id", &long), "the control");
    });
}

#[test]
fn another_hosts_grant_is_no_reason_to_ask() {
    Server::each(|server| {
        let [host, other] = hosts(&server);
        assert!(other.grants("id", &take(3)));
        assert!(!host.grants("id", &take(3)));
        assert!(other.grants("id", &take(2)));
        assert!(!host.grants("id", &take(3)));
        assert_eq!(host.count(Event::Cached), 1);
        // The cached bound does not deny this call. So the call contacts the server, which denies
        // the call.
        assert!(!host.grants("id", &take(1)));
        assert_eq!(host.count(Event::Cached), 1);
    });
}

/// A generator that yields the same numbers in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % most
    }
}

#[test]
fn a_cached_denial_never_denies_what_the_store_would_grant() {
    // A token is refilled in two milliseconds. So buckets become full and empty within a second,
    // with cached denials in between.
    const UNIT: Ticks = 2 * MILLISECOND;
    Server::each(|server| {
        let hosts = hosts(&server);
        let cached = || hosts.iter().map(|host| host.count(Event::Cached)).sum();
        let start = Instant::now();
        for seed in 1.. {
            // On a slow machine, the buckets are full more often, so more rounds are needed.
            let cached: u64 = cached();
            if seed > 3 && cached > 50 {
                println!("{cached} cached");
                break;
            }
            assert!(start.elapsed() < HANG, "{cached}: nothing was tested");
            let id = format!("id{seed}");
            let mut chance = Chance(seed);
            // All calls on a bucket have the same span, because a cached denial may outlive the
            // record. The store forgets a bucket that is full for every quota that took tokens. For
            // a larger quota that never took tokens, a cached denial would still hold the true
            // state.
            let span = (1 + chance.below(20)) * UNIT;
            for call in 0..1500 {
                let host = &hosts[usize::from(chance.below(2) == 0)];
                let step = Step::new(chance.below(span / 1000) * 1000, span);
                if chance.below(50) == 0 {
                    let cost = chance.below(3) * UNIT;
                    // Both hosts make the refund. Otherwise the other host would rightly deny for a
                    // while because of its cached denial.
                    for host in &hosts {
                        host.put(&id, &Put::refund(cost, span));
                    }
                }
                // A dry step never uses the denial cache.
                let look = host.take(&id, &step.dry());
                let denied = !host.grants(&id, &step);
                assert!(!(look.granted() && denied), "call {call}: {step:?}");
                if denied && chance.below(20) == 0 {
                    let outcome = host.take(&id, &step);
                    if !outcome.granted() {
                        let wait = step.retry_after(outcome.empty_at, outcome.now);
                        sleep(Duration::from_nanos(wait));
                        assert!(
                            host.grants(&id, &step),
                            "call {call}: after the time it told"
                        );
                    }
                }
            }
        }
    });
}

/// Eight hosts, with four workers each, take the tokens of one bucket.
#[test]
fn a_token_wakes_one_worker_of_each_host() {
    Server::each(|server| {
        let hosts: Vec<_> = (0..8).map(|_| server.caller(CACHED)).collect();
        let unit = TICKS_PER_SECOND / 20;
        let step = Step::new(unit, unit);
        let (start, granted) = (Instant::now(), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for host in hosts.iter().flat_map(|host| [host; 4]) {
                let granted = &granted;
                scope.spawn(move || {
                    while granted.load(Relaxed) < 30 {
                        granted.fetch_add(host.grants("id", &step).into(), Relaxed);
                        assert!(start.elapsed() < HANG, "too few grants");
                        sleep(Duration::from_micros(500));
                    }
                });
            }
        });
        let granted = granted.into_inner();
        // The most tokens that the bucket can have had during the calls.
        let tokens = 1 + Ticks::try_from(start.elapsed().as_nanos()).unwrap() / unit;
        let asked: u64 = hosts.iter().map(|host| host.count(Event::Asked)).sum();
        println!("{asked} round trips for {granted} grants of {tokens} tokens");
        assert!(granted <= tokens, "{granted} of {tokens}");
        // If every worker asked, there would be about 40 round trips for each token.
        assert!(asked <= tokens * 8 * 2, "{asked} for {tokens}");
    });
}
