//! The step gives the same results as the model, and has the properties that its documentation
//! promises.

use crate::history::{Asked, Call, Kind, any_quotas, calls};
use crate::model::{Bucket, Draw, exact, whole};
use crate::tried;
use gcra::clock::EPOCH;
use gcra::{Decision, Denial, Limit, Put, Step, Timestamp, Verdict};
use proptest::prelude::*;

/// A moment of a history: one call on a bucket in some state.
struct Moment {
    limit: Limit,
    step: Step,
    empty_at: Timestamp,
    now: Timestamp,
}

/// Runs `calls` on one bucket. Passes each moment to `show` before the call runs.
fn live(
    asked: &[Asked],
    calls: &[Call],
    mut show: impl FnMut(&Moment) -> Result<(), TestCaseError>,
) -> Result<(), TestCaseError> {
    let limits: Vec<_> = asked.iter().map(|asked| asked.limit()).collect();
    let (mut empty_at, mut now) = (Timestamp::ZERO, EPOCH);
    for call in calls {
        let who = call.who.index(asked.len());
        let limit = limits[who];
        now += call.gap(&limit, calls.len());
        let step = call.stern_step(&limit, asked[who]);
        show(&Moment {
            limit,
            step,
            empty_at,
            now,
        })?;
        empty_at = if call.kind == Kind::Refund {
            Put::refunded(empty_at, now, step.cost, step.span)
        } else {
            step.decide(empty_at, now).empty_at
        };
    }
    Ok(())
}

fn crowds() -> impl Strategy<Value = Vec<Asked>> {
    prop::collection::vec(any_quotas(), 1..4)
}

proptest! {
    #![proptest_config(tried(700))]

    #[test]
    fn a_history_equals_the_naive_model(asked in crowds(), calls in calls(true)) {
        let refills: Vec<_> = asked.iter().map(|asked| asked.refill()).collect();
        let mut bucket = Bucket::default();
        let (mut empty_at, mut now) = (Timestamp::ZERO, EPOCH);
        for call in &calls {
            let who = call.who.index(asked.len());
            let (limit, refill) = (asked[who].limit(), &refills[who]);
            now += call.gap(&limit, calls.len());
            let wanted = exact(call.amount.of(asked[who]));
            let step = call.patient_step(&limit, asked[who]);
            prop_assert_eq!(whole(step.cost), refill.cost(&wanted));
            prop_assert_eq!(whole(step.span), refill.span.clone());
            if call.kind == Kind::Refund {
                bucket.refund(refill, &wanted, now);
                empty_at = Put::refunded(empty_at, now, step.cost, step.span);
            } else {
                let tick = call.drain_tick(&limit);
                let Step { max_debt, max_wait, dry, .. } = step;
                let draw = Draw { refill, tokens: wanted, tick, max_debt, max_wait, dry };
                let outcome = step.decide(empty_at, now);
                prop_assert_eq!(outcome.granted(), bucket.draw(&draw, now));
                prop_assert_eq!(outcome.now, now);
                empty_at = outcome.empty_at;
            }
            prop_assert_eq!(whole(empty_at.0), bucket.was_empty_at());
        }
    }

    #[test]
    fn retry_after_is_tight(asked in crowds(), calls in calls(true)) {
        live(&asked, &calls, |moment| {
            let &Moment { limit, step, empty_at, now, .. } = moment;
            let outcome = step.decide(empty_at, now);
            let decision = Decision::new(&limit, &step, &outcome);
            prop_assert_eq!(decision.allowed(), outcome.granted());
            let retry = decision.retry_after.expect("within capacity");
            if outcome.granted() {
                prop_assert_eq!(retry, 0);
            } else {
                prop_assert_eq!(decision.verdict, Verdict::Denied(Denial::Insufficient));
                let again = |later| step.decide(outcome.empty_at, now + later).granted();
                prop_assert!(again(retry), "refused after {retry}");
                prop_assert!(retry > 0 && !again(retry - 1), "granted before {retry}");
            }
            Ok(())
        })?;
    }

    #[test]
    fn reset_after_is_tight(asked in crowds(), calls in calls(true)) {
        live(&asked, &calls, |moment| {
            let &Moment { limit, step, empty_at, now, .. } = moment;
            let outcome = step.decide(empty_at, now);
            let reset = Decision::new(&limit, &step, &outcome).reset_after;
            let held = |later| step.available(outcome.empty_at, now + later);
            prop_assert_eq!(held(reset), step.span);
            prop_assert!(reset == 0 || held(reset - 1) < step.span);
            // A store relies on this when it deletes the record of a full bucket.
            prop_assert_eq!(step.available(empty_at, empty_at.max(EPOCH) + step.lifetime()), step.span);
            Ok(())
        })?;
    }

    #[test]
    fn whole_n_is_granted_exactly_up_to_what_remains(
        asked in crowds(),
        calls in calls(true),
        random in any::<u64>(),
    ) {
        live(&asked, &calls, |moment| {
            let &Moment { limit, step, empty_at, now, .. } = moment;
            let outcome = step.dry().decide(empty_at, now);
            let remaining = Decision::new(&limit, &step, &outcome).remaining;
            prop_assert!(remaining >= 0 || empty_at > now.floor(step.refill.tick()));
            let remaining = remaining.max(0).unsigned_abs();
            let near = [remaining.saturating_sub(1), remaining, remaining.saturating_add(1)];
            for n in near.into_iter().chain([0, 1, 2, random >> (random % 64)]) {
                let in_debt = empty_at > now.floor(step.refill.tick());
                if n == 0 && in_debt {
                    // In debt, no token remains, and even a call for 0 tokens is denied.
                    prop_assert_eq!(remaining, 0);
                    continue;
                }
                let granted = limit.cost_whole(n).is_some_and(|cost| {
                    Step { cost, ..step.dry() }.decide(empty_at, now).granted()
                });
                prop_assert_eq!(granted, n <= remaining, "{} of {}", n, remaining);
            }
            Ok(())
        })?;
    }
}
