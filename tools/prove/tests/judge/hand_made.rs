//! Judges logs made by hand, rule by rule. The judge must accept some of the logs and reject the
//! others.
//!
//! The bucket has a capacity of 2 tokens and gains one token a second. Times are in seconds.

use prove::call::{Call, Kind, Outcome, Quota, TOKEN, Tokens};
use prove::log::Log;
use prove::rules::Rules;
use prove::verdict::Verdict;
use prove::{ahead, bound, denials, drains, waits};

const QUOTA: Quota = Quota {
    capacity: 2 * TOKEN,
    rate: 1_000,
};

fn nanos(seconds: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let nanos = (seconds * 1e9).round() as u64;
    nanos
}

fn call(kind: Kind, outcome: Outcome, start: f64, end: f64, cost: Tokens) -> Call {
    Call {
        host: 0,
        start: nanos(start),
        end: nanos(end),
        kind,
        cost: cost * TOKEN,
        floor: 0,
        outcome,
        wait: 0,
    }
}

fn grant(start: f64, end: f64, cost: Tokens) -> Call {
    call(Kind::Take, Outcome::Done, start, end, cost)
}

fn unknown(start: f64, end: f64, cost: Tokens) -> Call {
    call(Kind::Take, Outcome::Unknown, start, end, cost)
}

fn denial(start: f64, end: f64, cost: Tokens, wait: f64) -> Call {
    let retry_after = Some(nanos(wait));
    call(
        Kind::Take,
        Outcome::Denied { retry_after },
        start,
        end,
        cost,
    )
}

fn charge(start: f64, end: f64, cost: Tokens) -> Call {
    call(Kind::Charge, Outcome::Done, start, end, cost)
}

/// Returns a granted reservation whose tokens may be used `delay` seconds after the call.
fn reserve(at: f64, cost: Tokens, delay: f64) -> Call {
    let wait = nanos(delay);
    Call {
        wait,
        ..call(Kind::Reserve, Outcome::Done, at, at, cost)
    }
}

/// Returns a reservation that is denied because its caller waits for `wait` seconds only.
fn no_reserve(at: f64, cost: Tokens, wait: f64) -> Call {
    Call {
        kind: Kind::Reserve,
        wait: nanos(wait),
        ..denial(at, at, cost, 1.0)
    }
}

fn cancelled(at: f64, cancel_at: f64, cost: Tokens) -> [Call; 2] {
    let wait = nanos(cancel_at) - nanos(at);
    [
        call(Kind::Reserve, Outcome::Cancelled, at, at, cost),
        Call {
            wait,
            ..call(Kind::Cancel, Outcome::Done, cancel_at, cancel_at, cost)
        },
    ]
}

fn undone(start: f64, end: f64, cost: Tokens) -> Call {
    call(Kind::Take, Outcome::Undone, start, end, cost)
}

fn over(calls: &[Call]) -> u64 {
    bound::judge(calls, &QUOTA, &Rules::EXACT).violations
}

fn unexplained(calls: &[Call]) -> u64 {
    denials::judge(calls, &QUOTA, &Rules::EXACT).violations
}

fn contradicted(calls: &[Call]) -> u64 {
    waits::judge(calls, &QUOTA, &Rules::EXACT).violations
}

#[test]
fn a_full_bucket_grants_its_capacity_at_once_and_no_more() {
    let two = [grant(1.0, 1.0, 1), grant(1.0, 1.0, 1)];
    assert_eq!(over(&two), 0);
    let three = [two[0], two[1], grant(1.0, 1.0, 1)];
    assert_eq!(over(&three), 1);
}

#[test]
fn refunds_resets_and_losses_widen_the_windows_that_they_overlap_only() {
    for (kind, cost) in [(Kind::Refund, 2), (Kind::Reset, 0), (Kind::Lost, 0)] {
        let gift = |start, end| call(kind, Outcome::Done, start, end, cost);
        let grants = [grant(5.0, 5.0, 2), grant(5.2, 5.2, 2)];
        assert_eq!(over(&[grants[0], grants[1], gift(5.1, 5.1)]), 0);
        assert_eq!(over(&[grants[0], grants[1], gift(5.2, 6.0)]), 0);
        assert_eq!(over(&[grants[0], grants[1], gift(4.0, 4.9)]), 1);
        assert_eq!(over(&[grants[0], grants[1], gift(5.3, 5.4)]), 1);
    }
}

/// The first call was granted by a place that its host took before the gift or the block.
#[test]
fn a_place_may_be_used_for_a_time_after_gifts_and_blocks() {
    let ahead = Rules {
        ahead: nanos(0.6),
        ..Rules::EXACT
    };
    let over = |rules, calls: &[Call]| {
        let all = [bound::judge, drains::judge].map(|judge| judge(calls, &QUOTA, rules).violations);
        all.map(|violations| violations > 0)
    };
    for kind in [Kind::Reset, Kind::Lost] {
        let calls = |at| [call(kind, Outcome::Done, 5.0, 5.0, 0), grant(at, at, 3)];
        assert_eq!(over(&Rules::EXACT, &calls(5.5)), [true, false]);
        assert_eq!(over(&ahead, &calls(5.5)), [false, false]);
        assert_eq!(over(&ahead, &calls(5.7)), [true, false]);
    }
    let block = call(Kind::Drain, Outcome::Done, 5.0, 5.0, 0);
    let calls = |at| [block, grant(at, at, 1)];
    assert_eq!(over(&Rules::EXACT, &calls(5.5)), [false, true]);
    assert_eq!(over(&ahead, &calls(5.5)), [false, false]);
    assert_eq!(over(&ahead, &calls(5.7)), [false, true]);
    let on = |host, call| Call { host, ..call };
    for (host, violations) in [(1, 1), (2, 0)] {
        let calls = [on(1, block), on(host, grant(5.5, 5.5, 1))];
        let worst = drains::judge_on_host(&calls, &QUOTA, &ahead, 1);
        assert_eq!(worst.violations, violations);
    }
    let calls = |at| [charge(4.0, 4.1, 3), grant(at, at, 1)];
    assert_eq!(over(&Rules::EXACT, &calls(4.6)), [true, false]);
    assert_eq!(over(&ahead, &calls(4.6)), [false, false]);
    assert_eq!(over(&ahead, &calls(4.8)), [true, false]);
}

/// A host may keep the stored token until 1.6 s. The capacity is less by half a token.
#[test]
fn a_token_that_a_host_keeps_explains_denials_until_its_end() {
    let rules = Rules {
        ahead: nanos(0.5),
        ..Rules::EXACT
    };
    let stored = Call {
        wait: nanos(0.6),
        ..call(Kind::Stored, Outcome::Done, 1.0, 1.0, 1)
    };
    let unexplained = |stored: &[Call], at| {
        let calls = [grant(1.0, 1.0, 2), denial(at, at, 1, 1.0)];
        let (calls, quota, rules) = ahead::of_store(&calls, stored, &QUOTA, &rules);
        denials::judge(&calls, &quota, &rules).violations
    };
    assert_eq!(unexplained(&[stored], 1.5), 0);
    assert_eq!(unexplained(&[stored], 9.0), 1);
    assert_eq!(unexplained(&[], 1.5), 1, "the grant of a caller");
}

#[test]
fn a_tick_a_grant_is_allowed_and_no_more() {
    let calls = [grant(1.0, 1.0, 2), grant(1.0, 1.99, 1)];
    let rules = |tick| Rules {
        tick,
        ..Rules::EXACT
    };
    // The grants are 0.01 tokens above the bound. Three ticks count: one for each grant and one for
    // the window.
    let judge = |tick| bound::judge(&calls, &QUOTA, &rules(tick)).violations;
    assert_eq!(judge(3_300_000), 1);
    assert_eq!(judge(3_400_000), 0);
}

#[test]
fn a_denial_of_a_full_bucket_is_not_explained() {
    assert_eq!(unexplained(&[denial(1.0, 1.1, 1, 1.0)]), 1);
    assert_eq!(unexplained(&[denial(1.0, 1.1, 3, 1.0)]), 0);
}

#[test]
fn a_bucket_never_lacks_more_than_its_capacity() {
    // Nine calls of unknown outcome take at most the two tokens. One token is refilled a second
    // later.
    let mut calls = vec![unknown(1.0, 1.0, 1); 9];
    calls.push(denial(1.9, 1.9, 1, 0.1));
    assert_eq!(unexplained(&calls), 0);
    calls.push(denial(2.1, 2.1, 1, 0.1));
    assert_eq!(unexplained(&calls), 1);
}

#[test]
fn a_refund_or_reset_takes_away_what_explained_a_denial() {
    let refund = |start, end| call(Kind::Refund, Outcome::Done, start, end, 2);
    let calls = |refund| [grant(1.0, 1.0, 2), refund, denial(1.3, 1.3, 1, 0.1)];
    assert_eq!(unexplained(&calls(refund(1.1, 1.2))), 1);
    // The refund may have taken effect after the denial.
    assert_eq!(unexplained(&calls(refund(1.1, 1.4))), 0);
    // The refund may have taken effect before the grant, when the bucket was still full.
    assert_eq!(unexplained(&calls(refund(0.9, 1.2))), 0);
    // An entry of the denial cache may be older than the refund.
    let rules = Rules {
        cached: nanos(0.2),
        ..Rules::EXACT
    };
    let known = denials::judge(&calls(refund(1.1, 1.2)), &QUOTA, &rules);
    assert_eq!(known.violations, 0);
    // A reset does the same, although its call states no tokens.
    let reset = call(Kind::Reset, Outcome::Done, 1.1, 1.2, 0);
    assert_eq!(unexplained(&calls(reset)), 1);
    // It is unknown whether the refund took effect.
    let lost = call(Kind::Refund, Outcome::Unknown, 1.1, 1.2, 2);
    assert_eq!(unexplained(&calls(lost)), 0);
}

/// One of the denials may come from an entry of the denial cache that is older than the call before
/// them.
#[test]
fn a_wait_is_not_contradicted_by_who_does_not_know_of_a_call_yet() {
    let refund = call(Kind::Refund, Outcome::Done, 0.9, 0.95, 1);
    for before in [refund, grant(0.9, 0.95, 1)] {
        let calls = [before, denial(1.0, 1.0, 1, 0.1), denial(1.2, 1.2, 1, 0.9)];
        let violations = [0.0, 0.02, 0.3].map(|cached| {
            let rules = Rules {
                cached: nanos(cached),
                ..Rules::EXACT
            };
            waits::judge(&calls, &QUOTA, &rules).violations
        });
        assert_eq!(violations, [1, 1, 0]);
    }
}

#[test]
fn a_store_that_lost_its_state_may_have_lost_a_refund_with_it() {
    let refund = call(Kind::Refund, Outcome::Done, 1.1, 1.1, 2);
    let lost = call(Kind::Lost, Outcome::Done, 1.2, 1.2, 0);
    let calls = |wait| {
        let late = 1.2 + wait;
        [grant(1.0, 1.0, 2), refund, lost, denial(late, late, 1, 0.7)]
    };
    assert_eq!(unexplained(&calls(0.9)), 0);
    assert_eq!(unexplained(&calls(1.1)), 1);
}

#[test]
fn a_store_that_lost_its_state_may_return_to_it_while_hosts_deny_from_before_a_reset() {
    let reset = call(Kind::Reset, Outcome::Done, 1.1, 1.1, 0);
    let lost = call(Kind::Lost, Outcome::Done, 1.2, 1.2, 0);
    let rules = Rules {
        cached: nanos(1.0),
        ..Rules::EXACT
    };
    let unexplained = |at| {
        let calls = [grant(1.0, 1.0, 2), reset, lost, denial(at, at, 1, 0.7)];
        denials::judge(&calls, &QUOTA, &rules).violations
    };
    assert_eq!(unexplained(2.15), 0);
    assert_eq!(unexplained(2.25), 1);
}

#[test]
fn a_reset_fills_a_bucket_as_of_the_time_that_its_call_read() {
    let reset = call(Kind::Reset, Outcome::Done, 4.0, 5.0, 0);
    let calls = [
        grant(4.9, 4.9, 2),
        reset,
        grant(5.0, 5.0, 2),
        grant(5.5, 5.5, 1),
    ];
    let judge = |wait| {
        let rules = Rules {
            wait: nanos(wait),
            ..Rules::EXACT
        };
        bound::judge(&calls, &QUOTA, &rules).violations
    };
    assert_eq!(judge(0.3), 1);
    assert_eq!(judge(0.5), 0);
}

#[test]
fn reservations_count_at_the_instants_at_which_they_are_due() {
    let calls = |second| {
        [
            grant(1.0, 1.0, 2),
            reserve(1.0, 1, 1.0),
            reserve(1.2, 1, second),
        ]
    };
    assert_eq!(over(&calls(1.8)), 0);
    assert_eq!(over(&calls(1.79)), 1);
    // Even without other calls, the reservations are too close to each other.
    let close = |delay| [reserve(1.0, 2, 5.0), reserve(1.0, 2, delay)];
    assert_eq!(over(&close(7.0)), 0);
    assert_eq!(over(&close(6.99)), 1);
}

#[test]
fn a_charge_delays_the_grants_after_it() {
    let calls = |at| [charge(1.0, 1.1, 3), grant(at, at, 1)];
    assert_eq!(over(&calls(3.0)), 0);
    assert_eq!(over(&calls(2.99)), 1);
    // A charge may be of any size, and may have taken effect after a grant that overlaps it.
    assert_eq!(over(&[charge(1.0, 1.1, 9), grant(1.05, 1.05, 2)]), 0);
    // A reservation is due after a charge that it follows.
    assert_eq!(over(&[charge(1.0, 1.1, 3), reserve(1.5, 1, 1.5)]), 0);
    assert_eq!(over(&[charge(1.0, 1.1, 3), reserve(1.5, 1, 1.49)]), 1);
}

#[test]
fn a_charge_of_one_of_several_buckets_says_nothing_of_the_others() {
    let rules = Rules {
        buckets: 2,
        ..Rules::EXACT
    };
    let calls = [charge(1.0, 1.1, 9), grant(1.2, 1.2, 2)];
    assert_eq!(bound::judge(&calls, &QUOTA, &rules).violations, 0);
}

#[test]
fn a_cancel_gives_back_nothing_that_later_reservations_have_built_on() {
    // The cancelled reservation is due at 3 s, the later one at 5 s.
    let calls = |next| {
        let [first, cancel] = cancelled(1.1, 1.3, 2);
        let later = reserve(1.2, 2, 3.8);
        [
            grant(1.0, 1.0, 2),
            first,
            later,
            cancel,
            reserve(1.4, 1, next),
        ]
    };
    assert_eq!(over(&calls(4.6)), 0);
    assert_eq!(over(&calls(4.59)), 1);
    // After a refund, a store cannot tell which tokens were taken later.
    let refunded = |at| {
        let refund = call(Kind::Refund, Outcome::Done, at, at, 1);
        [&calls(3.6)[..], &[refund]].concat()
    };
    assert_eq!(over(&refunded(1.25)), 0);
    assert_eq!(over(&refunded(1.05)), 1);
}

#[test]
fn the_last_reservation_is_cancelled_as_a_whole() {
    let [first, cancel] = cancelled(1.1, 1.2, 1);
    let calls = |delay| [grant(1.0, 1.0, 2), first, cancel, reserve(1.3, 1, delay)];
    assert_eq!(over(&calls(0.7)), 0);
    assert_eq!(over(&calls(0.69)), 1);
}

#[test]
fn an_undone_take_gives_back_no_tokens_that_were_refilled() {
    let calls = |at| [undone(1.0, 5.0, 2), grant(4.9, 4.9, 2), grant(at, at, 2)];
    assert_eq!(over(&calls(6.9)), 0);
    assert_eq!(over(&calls(6.89)), 1);
    let rules = Rules {
        wait: nanos(0.1),
        ..Rules::EXACT
    };
    // The bucket was refilled for 0.1 seconds after the store had read its clock.
    let waited = |at| bound::judge(&calls(at), &QUOTA, &rules).violations;
    assert_eq!([waited(6.81), waited(6.79)], [0, 1]);
    let soon = [undone(4.8, 5.0, 2), grant(4.9, 4.9, 2), grant(5.0, 5.0, 1)];
    assert_eq!(over(&soon), 1);
}

#[test]
fn a_reset_of_a_bucket_in_debt_leaves_its_reservations_in_place() {
    let reset = call(Kind::Reset, Outcome::Done, 1.1, 1.1, 0);
    let before = [grant(1.0, 1.0, 2), reserve(1.0, 2, 2.0)];
    let after = [grant(1.2, 1.2, 2), reserve(1.2, 2, 1.9)];
    let all = [&before[..], &[reset], &after[..]].concat();
    assert_eq!(over(&all), 0);
    assert!(over(&[&all[..], &[grant(1.2, 1.2, 1)]].concat()) > 0);
    assert!(over(&[before, after].concat()) > 0);
}

#[test]
fn a_charge_explains_denials_until_its_debt_is_repaid() {
    let calls = |at| [charge(1.0, 1.1, 4), denial(at, at, 1, 0.1)];
    assert_eq!(unexplained(&calls(4.09)), 0);
    assert_eq!(unexplained(&calls(4.11)), 1);
    // The debts of both charges add up.
    let two = |at| {
        [
            charge(1.0, 1.1, 4),
            charge(1.0, 1.1, 4),
            denial(at, at, 1, 0.1),
        ]
    };
    assert_eq!(unexplained(&two(8.09)), 0);
    assert_eq!(unexplained(&two(8.11)), 1);
}

#[test]
fn a_reservation_is_denied_only_beyond_its_longest_wait() {
    let calls = |wait| [grant(1.0, 1.0, 2), no_reserve(1.5, 1, wait)];
    assert_eq!(unexplained(&calls(0.49)), 0);
    assert_eq!(unexplained(&calls(0.51)), 1);
}

#[test]
fn an_undone_take_explains_denials_while_it_lasts() {
    let calls = |at, cost| [undone(1.0, 1.5, 2), denial(at, at, cost, 0.1)];
    assert_eq!(unexplained(&calls(1.2, 1)), 0);
    assert_eq!(unexplained(&calls(1.6, 1)), 1);
    // The bucket was full meanwhile and did not gain tokens.
    assert_eq!(unexplained(&calls(1.9, 2)), 0);
    assert_eq!(unexplained(&calls(2.1, 2)), 1);
    // While the bucket is in debt, nothing may have been given back.
    let in_debt = [&calls(1.6, 1)[..], &[charge(1.1, 1.1, 1)]].concat();
    assert_eq!(unexplained(&in_debt), 0);
    // An entry of the denial cache may be older than the give-back.
    let rules = Rules {
        cached: nanos(0.2),
        ..Rules::EXACT
    };
    let known = denials::judge(&calls(1.6, 1), &QUOTA, &rules);
    assert_eq!(known.violations, 0);
}

#[test]
fn a_wait_is_true_for_reservations_and_unless_a_charge_took_the_tokens() {
    let first = denial(1.0, 1.0, 1, 0.5);
    assert_eq!(contradicted(&[first, no_reserve(1.45, 1, 0.04)]), 0);
    assert_eq!(contradicted(&[first, no_reserve(1.45, 1, 0.06)]), 1);
    let later = denial(1.6, 1.6, 1, 0.1);
    assert_eq!(contradicted(&[first, charge(1.2, 1.3, 1), later]), 0);
    assert_eq!(contradicted(&[first, undone(1.2, 1.7, 1), later]), 0);
    assert_eq!(contradicted(&[first, charge(0.8, 0.9, 1), later]), 1);
    assert_eq!(contradicted(&[first, cancelled(0.8, 1.2, 1)[1], later]), 1);
}

/// Reports whether a log of 1,000 seconds with these calls has too much slack. The log's bound is
/// 1,002 tokens, without losses.
fn is_slack(calls: &[Call], rules: Rules) -> bool {
    let ends = [grant(0.0, 0.0, 1), grant(1_000.0, 1_000.0, 1)];
    let mut log = Log::from_rules("").unwrap_or_else(|error| panic!("{error}"));
    log.rules = rules;
    log.buckets.insert(1, (QUOTA, [&ends, calls].concat()));
    let verdict = Verdict::of(&log);
    assert!(!verdict.is_convicted(), "{verdict}");
    verdict.is_slack()
}

#[test]
fn what_is_allowed_on_top_must_not_exceed_a_hundredth_of_the_bound() {
    let allowed = |seconds| Rules {
        skew: nanos(seconds),
        ..Rules::EXACT
    };
    assert!(!is_slack(&[], allowed(10.0)));
    assert!(is_slack(&[], allowed(10.1)));
    let lost = |at: u32| call(Kind::Lost, Outcome::Done, f64::from(at), f64::from(at), 0);
    let losses: Vec<Call> = (1..=6).map(lost).collect();
    assert!(!is_slack(&losses[..5], Rules::EXACT));
    assert!(is_slack(&losses, Rules::EXACT));
    assert!(is_slack(&losses[..3], allowed(6.0)));
}

#[test]
fn the_calls_of_the_machine_do_not_change_what_a_log_proves() {
    let lost = |at: u32| call(Kind::Lost, Outcome::Done, f64::from(at), f64::from(at), 0);
    let losses: Vec<Call> = (1..=6).map(|nth| lost(100 * nth)).collect();
    // Before each loss, a charge leaves a debt, which is forgotten with the bucket.
    let charged = |loss: &Call| [charge_at(loss.start), *loss];
    let in_debt: Vec<Call> = losses[..5].iter().flat_map(charged).collect();
    assert!(!is_slack(&in_debt, Rules::EXACT));
    // Refunds raise the bound, but losses are compared with the quotas alone.
    let refunds = (0..500).map(|nth| {
        let at = f64::from(nth) + 0.5;
        call(Kind::Refund, Outcome::Done, at, at, 2)
    });
    let refunded: Vec<Call> = losses.iter().copied().chain(refunds).collect();
    assert!(is_slack(&refunded, Rules::EXACT));
}

/// Returns a charge of 50 tokens that ends right before an instant.
fn charge_at(instant: u64) -> Call {
    Call {
        host: 0,
        start: instant - 2,
        end: instant - 1,
        ..call(Kind::Charge, Outcome::Done, 0.0, 0.0, 50)
    }
}

/// The judgement of a short limit, which is full again after two seconds, and of a long one of the
/// same bucket, which needs a minute.
fn shared(short: &[Call], long: &[Call]) -> [u64; 2] {
    let slow = Quota {
        capacity: 60 * TOKEN,
        ..QUOTA
    };
    // A host that has just booted, and one that has been up for 40 days.
    let [booted, old] = [0.0, 3_456_000.0].map(|uptime| {
        let later = |call: &Call| Call {
            start: call.start + nanos(uptime),
            end: call.end + nanos(uptime),
            ..*call
        };
        let [short, long] = [short, long].map(|calls| calls.iter().map(later).collect::<Vec<_>>());
        let broken = prove::shared::judge(&[(QUOTA, &short), (slow, &long)], &Rules::EXACT);
        broken.map(|broken| broken.count)
    });
    assert_eq!(booted, old);
    booted
}

#[test]
fn limits_share_the_greatest_span() {
    let (first, later) = (grant(0.0, 0.1, 60), grant(30.0, 30.1, 30));
    assert_eq!(shared(&[], &[first, later]), [0, 0]);
    // The tokens of the half minute can be taken once, under either limit.
    assert_eq!(shared(&[grant(29.0, 29.1, 1)], &[first, later]), [1, 0]);
    assert_eq!(
        shared(&[grant(29.0, 29.1, 1)], &[first, grant(30.0, 30.1, 28)]),
        [0, 0]
    );
}

#[test]
fn a_full_bucket_is_full_under_each_of_its_limits() {
    let taken = grant(0.0, 0.1, 2);
    assert_eq!(shared(&[taken], &[denial(4.5, 4.6, 60, 1.0)]), [0, 1]);
    // It may not be full yet, or another call may have come first.
    assert_eq!(shared(&[taken], &[denial(2.0, 2.1, 60, 1.0)]), [0, 0]);
    assert_eq!(
        shared(&[taken, unknown(4.4, 5.0, 1)], &[denial(4.5, 4.6, 60, 1.0)]),
        [0, 0]
    );
    // After a call of the long limit, the bucket is full a minute later.
    let both = [grant(4.2, 4.3, 30)];
    assert_eq!(
        shared(
            &[taken, grant(10.0, 10.1, 1)],
            &[both[0], denial(20.0, 20.1, 60, 1.0)]
        ),
        [0, 0]
    );
    assert_eq!(
        shared(
            &[taken, grant(10.0, 10.1, 1)],
            &[both[0], denial(80.0, 80.1, 60, 1.0)]
        ),
        [0, 1]
    );
}
