//! `TokenBucket\guard_decisions()`: what the limits have answered to the current request.
//!
//! The thread keeps the answers as they are. Objects are made only when PHP code asks for them.

use super::rules::RuleBuckets;
use crate::decision;
use gcra::{Decision, Limit, Taken};
use segment::Refusal;
use std::cell::RefCell;
use std::mem::{self, ManuallyDrop};
use std::rc::Rc;
use zend::{Call, Thrown, Zval, value};

/// The answer of one limit.
enum Answer {
    /// That of a bucket.
    Tokens(Limit, Taken),
    Permit {
        /// False if several clients share the permits.
        is_of_client: bool,
        /// The permits that the limit has for the request.
        limit: u16,
        /// Those that are left, or the reason why none was taken.
        free: Result<u16, Refusal>,
    },
}

struct Answers {
    /// False if the guard has not seen the request.
    is_seen: bool,
    /// The answers with the keys of their limits. A list that is dropped with its thread would
    /// take longer to reach.
    list: ManuallyDrop<Vec<(Rc<str>, Answer)>>,
}

thread_local! {
    static ANSWERS: RefCell<Answers> = const {
        RefCell::new(Answers {
            is_seen: false,
            list: ManuallyDrop::new(Vec::new()),
        })
    };
}

/// Forgets the answers to the previous request. `is_seen` is true if the guard sees this one.
pub fn begin(is_seen: bool) {
    ANSWERS.with_borrow_mut(|answers| {
        answers.is_seen = is_seen;
        answers.list.clear();
    });
}

/// Keeps the answer of a bucket.
pub fn note_tokens(rule: &RuleBuckets, limit: &Limit, taken: &Taken) {
    note(rule, Answer::Tokens(*limit, *taken));
}

/// Keeps the answer of a limit of concurrent requests, which has `limit` permits for the request.
pub fn note_permit(rule: &RuleBuckets, limit: u16, free: Result<u16, Refusal>) {
    let is_of_client = rule.is_of_client();
    let answer = Answer::Permit {
        is_of_client,
        limit,
        free,
    };
    note(rule, answer);
}

#[inline(always)]
fn note(rule: &RuleBuckets, answer: Answer) {
    ANSWERS.with_borrow_mut(|answers| answers.list.push((rule.shown(), answer)));
}

/// Implements `guard_decisions(): ?array`.
pub fn guard_decisions(_call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let (is_seen, list) = ANSWERS.with_borrow_mut(|it| (it.is_seen, mem::take(&mut *it.list)));
    if !is_seen {
        *result = Zval::null();
        return Ok(());
    }
    let mut decisions = value::of_list([]).ok_or(Thrown)?;
    for (key, answer) in &list {
        value::insert(&mut decisions, key.as_bytes(), object(key, answer));
    }
    ANSWERS.with_borrow_mut(|answers| *answers.list = list);
    *result = decisions;
    Ok(())
}

/// Returns the PHP object for an answer. If it is a denial, its `refusedBy` is the key.
fn object(key: &str, answer: &Answer) -> Zval {
    let refused_by = |is_denied: bool| {
        let key = is_denied.then(|| value::of_bytes(key.as_bytes()));
        key.unwrap_or_else(Zval::null)
    };
    match answer {
        Answer::Tokens(limit, Taken { step, outcome, .. }) => {
            let decision = Decision::new(limit, step, outcome);
            let refused_by = refused_by(!decision.allowed());
            decision::to_object_beside_memory(limit, &decision, step.floor(), refused_by)
        }
        &Answer::Permit {
            is_of_client,
            limit,
            free,
        } => of_permits(is_of_client, limit, free, refused_by(free.is_err())),
    }
}

/// Returns the PHP object for the answer of a limit of concurrent requests, which has `limit`
/// permits for the request. If several clients share them, the client alone is not the cause of a
/// denial.
pub fn of_permits(
    is_of_client: bool,
    limit: u16,
    free: Result<u16, Refusal>,
    refused_by: Zval,
) -> Zval {
    let decision = decision::of_permits(limit, free, refused_by);
    if free == Err(Refusal::TooMany) && !is_of_client {
        decision::set_busy(&decision);
    }
    decision
}
