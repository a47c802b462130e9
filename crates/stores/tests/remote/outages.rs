//! Tests stores that are down. Few calls contact the store, and one call warns. The failure policy
//! decides all calls. After its recovery, the store is used again.

use crate::caller::{
    CAPACITY, Caller, HANG, HASTY, MILLISECOND, PLAIN, Server, refund, take, under,
};
use gcra::batch::Taken;
use gcra::{Denial, Outcome, Verdict, boot_clock};
use segment::slots::counters::Event;
use std::thread::sleep;
use std::time::{Duration, Instant};
use stores::remote::{Cause, Failure, OnFailure, Settings};
use testkit::Mode;

/// Makes many calls under a policy that does not throw. Returns the outcomes and the warnings.
fn many(caller: &Caller) -> (Vec<Outcome>, Vec<Failure>) {
    let answers = (0..20).map(|_| caller.ask(b"id", &take(1)).unwrap());
    let (outcomes, warnings): (Vec<_>, Vec<_>) = answers.map(|a| (a.value, a.warning)).unzip();
    (
        outcomes,
        warnings.into_iter().flatten().map(|it| *it).collect(),
    )
}

fn granted(outcomes: &[Outcome]) -> usize {
    outcomes.iter().filter(|outcome| outcome.granted()).count()
}

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
fn three_failures_open_the_breaker() {
    Server::each(|mut server| {
        server.kill();
        let caller = server.caller(PLAIN);
        for _ in 0..3 {
            assert!(matches!(caller.fails("id", &take(1)), Cause::Connect(_)));
        }
        assert_eq!(caller.count(Event::Thrown), 3);
        let cause = caller.fails_while_open("id");
        assert!(matches!(cause, Cause::Waiting), "{cause}");
        assert_eq!(caller.count(Event::Opened), 1);
    });
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
fn the_local_bucket_decides_while_the_store_fails() {
    Server::each(|mut server| {
        let caller = server.caller(under(OnFailure::Local));
        server.kill();
        let (outcomes, warnings) = many(&caller);
        assert_eq!(granted(&outcomes) as u64, CAPACITY);
        let insufficient = Verdict::Denied(Denial::Insufficient);
        let denied = outcomes.iter().filter(|o| o.verdict == insufficient);
        assert_eq!(denied.count() + granted(&outcomes), outcomes.len());
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(matches!(warnings[0].cause, Cause::Connect(_)));
        assert_eq!(caller.count(Event::Fallback), 20);
        server.restart();
        recovers(&caller);
        let answer = caller.ask(b"id", &take(CAPACITY)).unwrap();
        assert!(answer.value.granted(), "decided by the store again");
    });
}

#[test]
fn all_are_allowed_or_denied() {
    Server::each(|mut server| {
        let allowing = server.caller(under(OnFailure::Allow));
        let denying = server.caller(under(OnFailure::Deny));
        server.kill();
        let (outcomes, warnings) = many(&allowing);
        assert_eq!((granted(&outcomes), warnings.len()), (20, 1));
        assert_eq!(allowing.count(Event::LetThrough), 20);
        let (outcomes, warnings) = many(&denying);
        assert_eq!((granted(&outcomes), warnings.len()), (0, 1));
        let unavailable = Verdict::Denied(Denial::Unavailable);
        assert!(outcomes.iter().all(|o| o.verdict == unavailable));
        assert_eq!(denying.count(Event::TurnedAway), 20);
        // The policy does not allow a call that can never be granted.
        let never = allowing.ask(b"id", &take(CAPACITY + 1)).unwrap().value;
        assert_eq!(never.verdict, Verdict::Denied(Denial::ExceedsCapacity));
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
        let (_, warnings) = many(&caller);
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
fn a_foreign_key_does_not_hide_the_next_outage() {
    let mut redis = testkit::Redis::start(&[]);
    let dsn = format!("unix://{}", redis.socket().display());
    let caller = Caller::redis(&dsn, under(OnFailure::Local));
    redis.cli(&["SET", "t:strange", "hello"]);
    let answer = caller.ask(b"strange", &take(1)).unwrap();
    assert!(matches!(answer.warning.unwrap().cause, Cause::Record));
    assert!(caller.take("id", &take(1)).granted());
    redis.kill();
    assert_eq!(many(&caller).1.len(), 1);
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
