//! Tests stores that are down. Few calls contact the store, and one call warns. The failure policy
//! decides all calls. After its recovery, the store is used again.

use crate::caller::{CAPACITY, Caller, HANG, HASTY, MILLISECOND, Server, refund, take, under};
use gcra::batch::Taken;
use gcra::boot_clock;
use segment::slots::counters::Event;
use std::thread::sleep;
use std::time::{Duration, Instant};
use stores::remote::{Cause, Failure, OnFailure, Settings};
use testkit::Mode;

/// Makes calls until a decision comes from the store, not from the fallback. Returns the warnings.
fn recovers(caller: &Caller) -> Vec<Failure> {
    let (start, mut warnings) = (Instant::now(), Vec::new());
    let failed = || caller.count(Event::Fallback) + caller.count(Event::Thrown);
    loop {
        let before = failed();
        if let Ok(answer) = caller.ask(b"other", &take(0)) {
            warnings.extend(answer.warning.map(|it| *it));
            if failed() == before {
                return warnings;
            }
        }
        assert!(start.elapsed() < HANG, "still open");
        sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_server_that_hangs_is_asked_by_few() {
    Server::each(|server| {
        let proxy = server.proxy();
        let settings = Settings {
            timeout: 50 * MILLISECOND,
            ..under(OnFailure::Local)
        };
        let caller = server.caller_at(proxy.port(), settings);
        recovers(&caller);
        server.stop();
        let counts = || [Event::Asked, Event::Opened].map(|event| caller.count(event));
        let (start, before, sent) = (Instant::now(), counts(), proxy.requests());
        // The number of calls that ended before the open breaker could let a probe through.
        let mut waiting = 0;
        while waiting < 10_000 {
            let (until, [asked, _]) = (caller.open_until(), counts());
            assert!(caller.ask(b"id", &take(1)).is_ok());
            if until.is_some_and(|until| boot_clock() < until) {
                assert_eq!(counts()[0], asked, "the breaker is open");
                waiting += 1;
            }
            assert!(start.elapsed() < HANG, "{waiting}: the others waited, too");
        }
        let took = start.elapsed();
        let [asked, opened] = [0, 1].map(|event| counts()[event] - before[event]);
        assert_eq!(opened, 1);
        assert!(proxy.requests() - sent <= asked);
        // The breaker opens after three failures. Each pause is twice as long as the pause before
        // it, and at least 50 ms.
        let probes = u32::try_from(asked - 3).unwrap();
        let least = Duration::from_millis(50) * (2u32.pow(probes) - 1);
        assert!(took >= least, "{probes} probes in {took:?}");
        server.cont();
        recovers(&caller);
        assert_eq!(counts()[1] - before[1], 1);
    });
}

#[test]
fn each_cause_is_warned_of_once_a_minute() {
    Server::each(|mut server| {
        let proxy = server.proxy();
        let settings = Settings {
            timeout: HASTY.timeout,
            ..under(OnFailure::Local)
        };
        let caller = server.caller_at(proxy.port(), settings);
        let mut warnings = Vec::new();
        // Failures and successes alternate.
        for _ in 0..4 {
            warnings.extend(recovers(&caller));
            proxy.set(Mode::SwallowReplies);
            let answer = caller.ask(b"id", &take(1)).unwrap();
            warnings.extend(answer.warning.map(|it| *it));
            proxy.set(Mode::Pass);
        }
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(matches!(warnings[0].cause, Cause::Timeout));
        assert_eq!(recovers(&caller).len(), 0);
        server.kill();
        // The proxy ends each connection.
        let answers = (0..20).map(|_| caller.ask(b"id", &take(1)).unwrap());
        let warnings: Vec<_> = answers.filter_map(|answer| answer.warning).collect();
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(
            matches!(warnings[0].cause, Cause::Broken(_)),
            "{warnings:?}"
        );
        let state = caller.host.breakers().states().remove(0);
        let causes = state.causes.iter().filter(|cause| cause.1 > 0);
        let [timeouts, broken] = causes.collect::<Vec<_>>()[..] else {
            panic!("{:?}", state.causes);
        };
        assert!(timeouts.0 == "timeout" && timeouts.1 >= 4);
        assert_eq!(broken.0, "broken");
        let (last, _) = state.last.unwrap();
        assert!(last.starts_with("the connection broke"), "{last}");
        server.restart();
    });
}

#[test]
fn what_the_store_took_is_not_given_back_to_the_local_bucket() {
    Server::each(|mut server| {
        let caller = server.caller(under(OnFailure::Local));
        let undone = Taken {
            index: 0,
            step: take(CAPACITY),
            outcome: caller.take("id", &take(CAPACITY)),
        };
        server.kill();
        let fallback = caller.ask(b"id", &take(CAPACITY)).unwrap();
        assert!(fallback.fallback && fallback.value.granted());
        caller.put("id", &undone.give_back());
        let answer = caller.ask(b"id", &take(1)).unwrap();
        assert!(answer.fallback && !answer.value.granted(), "granted twice");
        // Control: a refund that undoes no particular take reaches the fallback.
        caller.put("id", &refund(1));
        assert!(caller.ask(b"id", &take(1)).unwrap().value.granted());
    });
}
