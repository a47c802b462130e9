//! Tests cached denials on two hosts of one store.

use crate::caller::{CAPACITY, Caller, MILLISECOND, PLAIN, RESET, Server, refund, take};
use std::num::NonZero;
use std::thread::sleep;
use std::time::{Duration, Instant};
use testkit::Mode;
use tokenbucket_core::remote::Settings;
use tokenbucket_core::slots::counters::Event;
use tokenbucket_core::{Put, Step, TICKS_PER_SECOND, Ticks};

const HINTED: Settings = Settings {
    hint_max_age: Some(300 * MILLISECOND),
    ..PLAIN
};

fn hosts(server: &Server) -> [Caller; 2] {
    [(); 2].map(|()| server.caller(HINTED))
}

#[test]
fn another_hosts_reset_is_seen_within_the_age_of_a_hint() {
    Server::each(|server| {
        for put in [RESET, refund(CAPACITY)] {
            let [host, other] = hosts(&server);
            host.put("id", &RESET);
            assert!(host.grants("id", &take(CAPACITY)));
            assert!(!host.grants("id", &take(1)));
            let seen = Instant::now();
            other.put("id", &put);
            assert!(!host.grants("id", &take(1)), "the control: a hint is used");
            while !host.grants("id", &take(1)) {
                assert!(seen.elapsed() < Duration::from_millis(400));
                sleep(Duration::from_millis(5));
            }
            assert!(host.count(Event::Hinted) > 3);
        }
    });
}

/// A worker may be killed after the store has executed its refund, and before the reply arrives.
#[test]
fn a_refund_whose_reply_is_missing_removes_the_cached_denial() {
    let server = Server::Redis(testkit::Redis::start(&[]));
    let proxy = server.proxy();
    let settings = Settings {
        timeout: 1000 * MILLISECOND,
        hint_max_age: Some(60_000 * MILLISECOND),
        ..PLAIN
    };
    let caller = server.caller_at(proxy.port(), settings);
    // Loads the script, so that a single request executes the next refund.
    caller.put("id", &refund(1));
    assert!(caller.grants("id", &take(CAPACITY)));
    assert!(!caller.grants("id", &take(1)));
    assert!(!caller.grants("id", &take(1)));
    assert_eq!(caller.count(Event::Hinted), 1);
    let before = server.record("id");
    std::thread::scope(|scope| {
        proxy.set(Mode::SwallowReplies);
        let refund = scope.spawn(|| caller.change("id", &refund(1)));
        while server.record("id") == before {
            assert!(!refund.is_finished(), "the server has not acted");
            sleep(Duration::from_millis(1));
        }
        sleep(Duration::from_millis(20));
        proxy.set(Mode::Pass);
        assert!(caller.grants("id", &take(1)));
        assert!(!refund.is_finished(), "the control: no reply has arrived");
        refund.join().unwrap().unwrap_err();
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
        assert_eq!(host.count(Event::Hinted), 1);
        // The cached bound does not deny this call. So the call contacts the server, which denies
        // the call.
        assert!(!host.grants("id", &take(1)));
        assert_eq!(host.count(Event::Hinted), 1);
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
fn a_hint_never_denies_what_the_store_would_grant() {
    // A token is refilled in two milliseconds. So buckets become full and empty within a second,
    // with hints in between.
    const UNIT: Ticks = 2 * MILLISECOND;
    Server::each(|server| {
        let hosts = hosts(&server);
        for seed in 1..=3 {
            let id = format!("id{seed}");
            let mut chance = Chance(seed);
            // All calls on a bucket have the same span, because a hint may outlive the record. The
            // store forgets a bucket that is full for every quota that took tokens. For a larger
            // quota that never took tokens, a hint would still hold the true state.
            let burst = (1 + chance.below(20)) * UNIT;
            for call in 0..1500 {
                let host = &hosts[usize::from(chance.below(2) == 0)];
                let step = Step::new(chance.below(burst / 1000) * 1000, burst);
                if chance.below(50) == 0 {
                    let cost = chance.below(3) * UNIT;
                    // Both hosts make the refund. Otherwise the other host would rightly deny for a
                    // while because of its hint.
                    for host in &hosts {
                        host.put(&id, &Put::refund(cost, burst));
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
        let hinted: u64 = hosts.iter().map(|host| host.count(Event::Hinted)).sum();
        println!("{hinted} hinted");
        assert!(hinted > 50, "{hinted}: nothing was tested");
    });
}

#[test]
fn limiters_that_charge_denials_or_drain_in_ticks_are_asked() {
    Server::each(|server| {
        let [host, _] = hosts(&server);
        assert!(host.grants("id", &take(CAPACITY)));
        assert!(!host.grants("id", &take(1)));
        let one = take(1);
        let steps = [
            Step {
                max_debt: 1000,
                ..one
            },
            Step {
                tick: NonZero::new(1000).unwrap(),
                ..one
            },
            one.dry(),
        ];
        for step in steps {
            assert!(!host.grants("id", &step));
        }
        assert_eq!(host.count(Event::Hinted), 0);
        assert!(!host.grants("id", &one));
        assert_eq!(host.count(Event::Hinted), 1);
    });
}

/// Eight hosts of four workers each call for the tokens of one bucket for two seconds. Returns the
/// grants of each host, and the round trips of all hosts.
fn saturated(server: &Server, rate: u64) -> (Vec<u64>, u64) {
    let hosts: Vec<_> = (0..8).map(|_| server.caller(HINTED)).collect();
    let unit = TICKS_PER_SECOND / rate;
    let step = Step::new(unit, unit);
    let over = Instant::now() + Duration::from_secs(2);
    let granted = std::thread::scope(|scope| {
        let work = |host: &Caller| {
            let mut granted = 0;
            while Instant::now() < over {
                granted += u64::from(host.grants("id", &step));
                sleep(Duration::from_micros(500));
            }
            granted
        };
        let workers = hosts
            .iter()
            .map(|host| [(); 4].map(|()| scope.spawn(move || work(host))));
        let workers: Vec<_> = workers.collect();
        let joined = workers
            .into_iter()
            .map(|all| all.map(|worker| worker.join().unwrap()));
        joined.map(|granted| granted.iter().sum()).collect()
    });
    let asked = hosts.iter().map(|host| host.count(Event::Asked)).sum();
    (granted, asked)
}

#[test]
fn a_token_wakes_one_worker_of_each_host() {
    const RATE: u64 = 20;
    Server::each(|server| {
        let (granted, asked) = saturated(&server, RATE);
        let grants: u64 = granted.iter().sum();
        println!("{asked} round trips for {grants} grants: {granted:?}");
        // On a busy machine, tokens are lost because they are taken late.
        assert!((20..=42).contains(&grants), "{grants}");
        // If every worker asked, there would be about 40 round trips for each grant.
        assert!(asked <= grants * 8 * 2, "{asked} for {grants}");
    });
}
