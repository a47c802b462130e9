//! Tests that any number of callers get exactly as many tokens as the quota allows.

use crate::caller::{CACHED, Caller, HOUR, MILLISECOND, PLAIN, Server, host};
use gcra::{Denial, Outcome, Step, Ticks, Timestamp, Verdict, boot_clock};
use prove::call::{Call, Kind, Outcome as Answer, TOKEN};
use prove::rules::{Quota, Rules};
use prove::{bound, denials};
use segment::slots::counters::Event;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Barrier, Mutex};
use std::thread::scope;
use stores::remote::Settings;

const WORKERS: u64 = 8;
/// Runs `work` in as many threads as a host has workers. Each thread has its own caller.
fn workers(server: &Server, settings: Settings, work: impl Fn(u64, &Caller) + Sync) {
    let host = host();
    let start = Barrier::new(usize::try_from(WORKERS).unwrap());
    scope(|scope| {
        for worker in 0..WORKERS {
            let caller = server.caller_on(host, server.port(), settings);
            let (start, work) = (&start, &work);
            scope.spawn(move || {
                start.wait();
                work(worker, &caller);
            });
        }
    });
}

/// Returns the most tokens that a full bucket can grant within `span` ticks.
fn tokens(step: &Step, span: Ticks) -> u64 {
    (step.span + span) / step.cost
}

/// Asserts that each outcome equals the result of the step on the state after an earlier grant.
fn assert_is_a_history(step: &Step, answers: &[Outcome]) {
    let mut grants: Vec<_> = answers.iter().filter(|outcome| outcome.granted()).collect();
    grants.sort_by_key(|outcome| outcome.empty_at);
    let mut states = vec![Timestamp::ZERO];
    for grant in &grants {
        assert_eq!(**grant, step.decide(states[states.len() - 1], grant.now));
        states.push(grant.empty_at);
    }
    let insufficient = Verdict::Denied(Denial::Insufficient);
    for denied in answers.iter().filter(|o| o.verdict == insufficient) {
        assert!(states.binary_search(&denied.empty_at).is_ok(), "{denied:?}");
        assert_eq!(*denied, step.decide(denied.empty_at, denied.now));
    }
    let instants = answers.iter().map(|outcome| outcome.now);
    let (first, last) = (instants.clone().min().unwrap(), instants.max().unwrap());
    assert!(grants.len() as u64 <= tokens(step, last - first));
    println!("{} of {} granted", grants.len(), answers.len());
}

#[test]
fn at_a_rate_as_many_as_the_time_allows() {
    for (unit, capacity) in [
        (MILLISECOND, 50),
        (MILLISECOND / 4, 400),
        (20 * MILLISECOND, 7),
    ] {
        let step = Step::new(unit, capacity * unit);
        Server::each(|server| {
            let answers = Mutex::new(Vec::new());
            workers(&server, PLAIN, |_, caller| {
                let mine = (0..500).map(|_| caller.take("id", &step));
                let mine: Vec<_> = mine.collect();
                answers.lock().unwrap().extend(mine);
            });
            assert_is_a_history(&step, &answers.into_inner().unwrap());
        });
    }
}

/// Calls for one token, and returns the call as its caller observed it.
fn observed(caller: &Caller, step: &Step) -> Call {
    let start = boot_clock().0;
    let outcome = if caller.take("id", step).granted() {
        Answer::Done
    } else {
        Answer::Denied { retry_after: None }
    };
    Call {
        start,
        end: boot_clock().0,
        kind: Kind::Take,
        cost: TOKEN,
        floor: 0,
        outcome,
        wait: 0,
    }
}

#[test]
fn denial_cache_admit_no_more_and_deny_only_what_grants_explain() {
    const RATE: u64 = 50;
    let step = Step::new(20 * MILLISECOND, 140 * MILLISECOND);
    let quota = Quota::from_thousandths(7 * 1000, RATE * 1000);
    Server::each(|server| {
        // On memcached, callers follow a clock that is at most 100 ms ahead. Another test of this
        // process makes them follow such a clock.
        let is_led = matches!(server, Server::Memcached(_));
        let rules = Rules {
            tick: 1_000,
            skew: if is_led { 100 * MILLISECOND } else { 0 },
            ..Rules::EXACT
        };
        let (calls, cached) = (Mutex::new(Vec::new()), AtomicU64::new(0));
        workers(&server, CACHED, |_, caller| {
            let mut mine = Vec::new();
            // Until each worker has waited for some tokens.
            while mine.iter().filter(|call: &&Call| call.is_granted()).count() < 5 {
                mine.push(observed(caller, &step));
            }
            calls.lock().unwrap().extend(mine);
            cached.store(caller.count(Event::Cached), Relaxed);
        });
        let calls = calls.into_inner().unwrap();
        let worst = bound::judge(&calls, &quota, &rules);
        assert_eq!(worst.violations, 0, "{worst:?}");
        let unexplained = denials::judge(&calls, &quota, &rules);
        assert_eq!(unexplained.violations, 0, "{unexplained:?}");
        println!("{} denials", unexplained.denials);
        assert!(
            cached.into_inner() > 0,
            "the control: cached denials are used"
        );
    });
}

#[test]
fn two_quotas_share_what_the_larger_one_allows() {
    // The first quota is one token an hour, up to 100. The second quota is two tokens an hour, up
    // to 60.
    let quotas = [Step::new(HOUR, 100 * HOUR), Step::new(HOUR / 2, 30 * HOUR)];
    Server::each(|server| {
        for settings in [PLAIN, CACHED] {
            let id = if settings.denial_cache_max_age.is_some() {
                "cached"
            } else {
                "plain"
            };
            let halves = AtomicU64::new(0);
            workers(&server, settings, |worker, caller| {
                let quota = usize::from(worker % 2 == 0);
                for _ in 0..500 {
                    if caller.take(id, &quotas[quota]).granted() {
                        halves.fetch_add(2 - quota as u64, Relaxed);
                    }
                }
            });
            // A take under the smaller quota drops the tokens beyond its span, so the sum may be
            // less.
            let halves = halves.into_inner();
            assert!((60..=200).contains(&halves), "{id}: {halves}");
        }
    });
}
