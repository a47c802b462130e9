//! Tests that any number of callers get exactly as many tokens as the quota allows.

use crate::caller::{Caller, MILLISECOND, PLAIN, Server, host};
use gcra::{Denial, Outcome, Step, Ticks, Timestamp, Verdict};
use std::sync::{Barrier, Mutex};
use std::thread::scope;

const WORKERS: usize = 8;

/// Runs `work` in as many threads as a host has workers. Each thread has its own caller.
fn workers(server: &Server, work: impl Fn(&Caller) + Sync) {
    let host = host();
    let start = Barrier::new(WORKERS);
    scope(|scope| {
        for _ in 0..WORKERS {
            let caller = server.caller_on(host, server.port(), PLAIN);
            let (start, work) = (&start, &work);
            scope.spawn(move || {
                start.wait();
                work(&caller);
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
            workers(&server, |caller| {
                let mine = (0..500).map(|_| caller.take("id", &step));
                let mine: Vec<_> = mine.collect();
                answers.lock().unwrap().extend(mine);
            });
            assert_is_a_history(&step, &answers.into_inner().unwrap());
        });
    }
}
