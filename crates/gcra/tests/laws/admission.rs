//! Tests the promises of a limit: the limit on the tokens that any window admits, and a correct
//! reason for each denial.
//!
//! The sums are exact fractions and use the **requested** limit. So they show any error that
//! rounding in the code causes.

use crate::history::{Asked, Call, Kind, any_quotas, calls, even_quotas};
use crate::model::{Exact, exact, whole};
use crate::tried;
use gcra::clock::EPOCH;
use gcra::{Put, Step, Timestamp};
use num_traits::{Signed, Zero};
use proptest::prelude::*;

/// The result of one call.
struct Event {
    who: usize,
    /// The instant at which the step counts the tokens: the last drain tick, or now.
    at: Timestamp,
    tokens: Exact,
    what: What,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Granted,
    Denied,
    Refunded,
}

/// Runs `calls` on one bucket and returns their results. Omits granted peeks. Skips refunds unless
/// `refunds` is true.
fn run(
    asked: &[Asked],
    calls: &[Call],
    refunds: bool,
    step: impl Fn(&Call, Asked) -> Step,
) -> Vec<Event> {
    let (mut empty_at, mut now) = (Timestamp::ZERO, EPOCH);
    let mut events = Vec::new();
    for call in calls {
        let who = call.who.index(asked.len());
        now += call.gap(&asked[who].limit(), calls.len());
        let step = step(call, asked[who]);
        let what = if call.kind == Kind::Refund {
            if !refunds {
                continue;
            }
            empty_at = Put::refunded(empty_at, now, step.cost, step.span);
            What::Refunded
        } else {
            let outcome = step.decide(empty_at, now);
            empty_at = outcome.empty_at;
            match (outcome.granted(), step.dry) {
                (true, true) => continue,
                (true, false) => What::Granted,
                (false, _) => What::Denied,
            }
        };
        let at = now.floor(step.refill.tick());
        let tokens = exact(call.amount.of(asked[who]));
        events.push(Event {
            who,
            at,
            tokens,
            what,
        });
    }
    events
}

fn plain(call: &Call, asked: Asked) -> Step {
    call.step(&asked.limit(), asked)
}

/// Returns the greatest number of tokens by which the sum of a window `[t1, t2]` exceeds
/// `per_tick * (t2 - t1)`.
///
/// One pass is enough. Before each event, compute the sum so far minus the tokens that were added
/// by then. The worst window that ends at an event begins where this difference was least.
fn greatest_excess(
    amounts: impl IntoIterator<Item = (Timestamp, Exact)>,
    per_tick: &Exact,
) -> Exact {
    let (mut sum, mut worst) = (Exact::zero(), Exact::zero());
    let mut least: Option<Exact> = None;
    for (at, amount) in amounts {
        let earned = whole(at.0) * per_tick;
        let before = &sum - &earned;
        let start = match least {
            Some(least) => least.min(before),
            None => before,
        };
        sum += amount;
        worst = worst.max(&sum - &earned - &start);
        least = Some(start);
    }
    worst
}

fn granted(events: &[Event], who: usize) -> impl Iterator<Item = (Timestamp, Exact)> + '_ {
    let of = move |event: &&Event| event.what == What::Granted && event.who == who;
    events
        .iter()
        .filter(of)
        .map(|event| (event.at, event.tokens.clone()))
}

/// Returns the tokens by which a span, rounded up to whole ticks, exceeds the capacity. They are
/// fewer than one tick adds. They are 0 if the capacity and the ticks for a token are whole
/// numbers.
fn span_rounding(asked: Asked) -> Exact {
    let refill = asked.refill();
    refill.span * refill.per_tick - asked.exact_capacity()
}

/// Reports whether the denial `events[last]` is correct. A denial is correct if, in some window
/// that ends there, the grants at 99.9 % of the requested rate left too few tokens for the denied
/// call. The cost of each call may have been rounded up by at most `rounding` tokens.
fn is_explained(events: &[Event], last: usize, asked: Asked, rounding: &Exact) -> bool {
    let denied = &events[last];
    let rate = asked.per_tick() * exact(0.999);
    let mut spent = &denied.tokens + rounding;
    events[..last].iter().rev().any(|event| {
        if event.what != What::Granted {
            return false;
        }
        spent += &event.tokens + rounding;
        let earned = whole(denied.at.signed_since(event.at)) * &rate;
        spent > asked.exact_capacity() + earned
    })
}

proptest! {
    #![proptest_config(tried(700))]

    #[test]
    fn a_drain_tick_bounds_the_windows_between_its_ticks(
        asked in any_quotas(),
        calls in calls(true),
    ) {
        let stern = |call: &Call, asked: Asked| Step {
            refill: calls[0].stern_step(&asked.limit(), asked).refill,
            ..call.stern_step(&asked.limit(), asked)
        };
        let events = run(&[asked], &calls, false, stern);
        let excess = greatest_excess(granted(&events, 0), &asked.per_tick());
        let most = asked.exact_capacity() + span_rounding(asked);
        prop_assert!(excess <= most, "{excess}");
    }

    #[test]
    fn refunds_made_inside_a_window_add_themselves(asked in even_quotas(), calls in calls(false)) {
        let events = run(&[asked], &calls, true, plain);
        let changes = events.iter().filter_map(|event| match event.what {
            What::Granted => Some((event.at, event.tokens.clone())),
            What::Refunded => Some((event.at, -event.tokens.clone())),
            What::Denied => None,
        });
        let excess = greatest_excess(changes, &asked.per_tick());
        prop_assert!(excess <= asked.exact_capacity(), "{excess}");
    }

    #[test]
    fn no_window_admits_more_than_each_quota_and_all_together_allow(
        asked in prop::collection::vec(any_quotas(), 1..4),
        calls in calls(true),
    ) {
        let events = run(&asked, &calls, false, plain);
        for (who, &asked) in asked.iter().enumerate() {
            let more = span_rounding(asked);
            prop_assert!(!more.is_negative() && more < asked.per_tick());
            let excess = greatest_excess(granted(&events, who), &asked.per_tick());
            prop_assert!(excess <= asked.exact_capacity() + more, "{asked:?}: {excess}");
        }
        let spans = events.iter().filter(|event| event.what == What::Granted);
        let spans = spans.map(|event| (event.at, &event.tokens / asked[event.who].per_tick()));
        let greatest = asked.iter().map(|asked| asked.refill().span).max().unwrap();
        let excess = greatest_excess(spans, &whole(1));
        prop_assert!(excess <= greatest, "{excess} > {greatest}");
    }

    #[test]
    fn denials_are_explained_in_what_was_asked(asked in even_quotas(), calls in calls(false)) {
        let events = run(&[asked], &calls, false, plain);
        for (last, event) in events.iter().enumerate() {
            if event.what == What::Denied {
                prop_assert!(is_explained(&events, last, asked, &Exact::zero()));
            }
        }
    }

    #[test]
    fn at_any_rate_each_call_is_rounded_up_by_less_than_a_tick(
        asked in any_quotas(),
        calls in calls(true),
    ) {
        let events = run(&[asked], &calls, false, plain);
        for (last, event) in events.iter().enumerate() {
            if event.what == What::Denied {
                prop_assert!(is_explained(&events, last, asked, &asked.per_tick()));
            }
        }
    }
}
