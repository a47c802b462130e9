//! Judges a history: by the rules of `tools/prove`, and by what only a simulator can know.

use crate::history::{History, LOCAL};
use crate::lockouts::{self, LOCKOUT};
use crate::plan::{Limit, Plan, USUALLY_LATE};
use crate::quotas::{self, QUOTA};
use crate::world::MICRO;
use prove::bound;
use prove::call::{Call, Kind, Outcome, Quota, TOKEN};
use prove::log::Log;
use prove::rules::Rules;
use prove::verdict::Verdict;

pub struct Judged {
    pub faults: Vec<String>,
    pub verdict: Verdict,
    /// The allowances were too large for the history to prove anything.
    pub is_slack: bool,
    pub messages: u64,
}

/// The most losses of state that a history may have and still prove something, in hundredths of the
/// tokens that its limits allow. A loss widens only the windows around it. A history has thousands
/// of other windows, so more may be lost than in a trial of `scripts/prove`.
const MOST_LOST: i128 = 25;

pub fn judge(mut history: History, plan: &Plan) -> Judged {
    let mut log = Log::from_rules("").unwrap_or_else(|error| panic!("{error}"));
    log.rules = Rules {
        tick: MICRO,
        linger: plan.linger(),
        cached: plan.oldest(),
        ahead: 2 * plan.take_ahead,
        ..Rules::EXACT
    };
    let mut faults = std::mem::take(&mut history.faults);
    for (bucket, mut calls) in std::mem::take(&mut history.calls) {
        if (QUOTA..LOCAL).contains(&bucket) {
            faults.extend(match bucket.checked_sub(LOCKOUT) {
                Some(it) => lockouts::judge(it, &calls, plan),
                None => quotas::judge(bucket - QUOTA, &calls, plan),
            });
            continue;
        }
        let limit = plan.limits[bucket % LOCAL];
        if plan.take_ahead == 0 {
            calls.retain(|call| call.kind != Kind::Stored);
        }
        for call in calls.iter_mut().filter(|it| it.may_have_returned()) {
            let is_in = |&(start, end): &(u64, u64)| start <= call.end && call.start <= end;
            let is_change = matches!(call.kind, Kind::Refund | Kind::Reset | Kind::Cancel);
            if is_change && (plan.take_ahead > 0 || history.reverted.iter().any(is_in)) {
                // The replica may not have it, or the server keeps what hosts have taken ahead. So
                // it explains no grant that is missing.
                call.outcome = Outcome::Unknown;
            }
        }
        // Hosts drop what arrives late.
        if bucket < LOCAL && plan.late == USUALLY_LATE && !plan.changes() {
            faults.extend(starved(bucket, &calls, limit));
        }
        let (quota, over) = windows(bucket, &mut calls, plan, log.rules);
        faults.extend(over);
        log.buckets.insert(bucket as u32, (quota, calls));
    }
    for (key, permits) in history.permits.iter().enumerate() {
        faults.extend(permits.judge(key as u32, plan.permits as u32));
    }
    let verdict = Verdict::of(&log);
    faults.extend(verdict.faults.iter().cloned());
    let History {
        used,
        charged,
        messages,
        ..
    } = history;
    if used > charged {
        faults.push(format!(
            "(use) calls used {used} ticks, of which servers granted {charged}"
        ));
    }
    let most = verdict.bound * MOST_LOST;
    let is_slack = verdict.slack * 100 > verdict.bound || verdict.lost * 100 > most;
    Judged {
        faults,
        verdict,
        is_slack,
        messages,
    }
}

/// Judges windows by other bounds than that of all calls. Returns this bound, and the windows that
/// break the others.
fn windows(bucket: usize, calls: &mut [Call], plan: &Plan, rules: Rules) -> (Quota, Vec<String>) {
    let limit = plan.limits[bucket % LOCAL];
    let rate = TOKEN / i128::from(limit.token);
    // A host's own bucket follows the clock of the host, which may be fast.
    let rate = rate + if bucket < LOCAL { 0 } else { rate / 1000 };
    let quota = |span| Quota {
        capacity: rate * i128::from(span),
        rate,
    };
    if !plan.changes() {
        let quota = quota(limit.span());
        let again = (plan.take_ahead > 0).then(|| granted_again(bucket, calls, quota));
        return (quota, again.flatten().into_iter().collect());
    }
    let both = [limit, plan.others[bucket % LOCAL]];
    let faults = both.iter().filter_map(|&own| {
        let own_calls = under(own, bucket, calls, plan);
        over("change", bucket, &own_calls, quota(own.span()), rules)
    });
    let faults = faults.collect();
    let span = both[0].span().max(both[1].span());
    excuse(calls, bucket, span, plan);
    (quota(span), faults)
}

/// Excuses calls on a bucket whose limit changes. The judge of all calls does not know the limit of
/// a denial. After a drain under a smaller limit, the bucket is full when that limit is full.
fn excuse(calls: &mut [Call], bucket: usize, greatest: u64, plan: &Plan) {
    for call in calls {
        if call.is_denied() {
            call.outcome = Outcome::Excused;
        } else if call.kind == Kind::Drain
            && call.host > 0
            && limit_of(call, bucket, plan).span() < greatest
        {
            call.outcome = Outcome::Unknown;
        }
    }
}

/// Returns the limit of a bucket under which a call was made.
fn limit_of(call: &Call, bucket: usize, plan: &Plan) -> Limit {
    plan.limits_of(call.host as usize - 1, call.start)[bucket % LOCAL]
}

/// Returns the calls of which those under this limit count. A limit keeps its own bound, whatever
/// calls take under another one. Its calls may get what others give back.
fn under(own: Limit, bucket: usize, calls: &[Call], plan: &Plan) -> Vec<Call> {
    let mut calls = calls.to_vec();
    for call in &mut calls {
        if call.outcome == Outcome::Undone || call.kind == Kind::Cancel {
            call.kind = Kind::Refund;
        } else if (call.is_granted() || call.is_charged()) && limit_of(call, bucket, plan) != own {
            call.outcome = Outcome::Unknown;
        }
    }
    calls
}

/// Returns the first window of a bucket that has too many tokens.
fn over(rule: &str, bucket: usize, calls: &[Call], quota: Quota, rules: Rules) -> Option<String> {
    let first = bound::judge(calls, &quota, &rules).first?;
    let (excess, end) = (first.excess / (TOKEN / 1000), first.end);
    Some(format!(
        "({rule}) bucket {bucket}: {excess} thousandths of a token too many in the window that ends at {end}"
    ))
}

/// After a give-back, no window has more than its bound, although hosts keep tokens that they took
/// before. Returns a window that does. Only a loss of state grants these tokens again.
///
/// Charges do not count, because the tokens of a later grant may have been taken before them.
fn granted_again(bucket: usize, calls: &[Call], quota: Quota) -> Option<String> {
    if calls.iter().any(|call| call.kind == Kind::Lost) {
        return None;
    }
    let rules = Rules {
        tick: MICRO,
        ..Rules::EXACT
    };
    let mut calls: Vec<_> = calls.to_vec();
    for call in calls.iter_mut().filter(|call| call.is_charged()) {
        call.outcome = Outcome::Unknown;
    }
    over("again", bucket, &calls, quota, rules)
}

/// The least part of its rate that a bucket grants while calls want more, in hundredths.
const LEAST_RATE: u64 = 60;

/// The most tokens that such a call wants.
const FEW: i128 = 4;

/// A bucket grants its rate while calls want at least twice as much, one comes in each time of a
/// token, nothing fails and nothing else changes the bucket. Returns a stretch in which it does
/// not.
fn starved(bucket: usize, calls: &[Call], limit: Limit) -> Option<String> {
    let mut calls: Vec<_> = calls.iter().filter(|it| it.kind != Kind::Stored).collect();
    calls.sort_by_key(|it| it.start);
    let (mut from, mut last, mut wanted, mut granted) = (0, 0, 0, 0);
    for call in calls {
        let is_decided = matches!(call.outcome, Outcome::Done | Outcome::Denied { .. });
        // A call that wants more waits while others take what is there.
        let is_small = call.asked() <= FEW * TOKEN;
        let is_take = call.kind == Kind::Take && is_small && call.floor == 0 && is_decided;
        if !is_take || call.start > last + limit.token {
            (from, last, wanted, granted) = (call.end, call.end, 0, 0);
            continue;
        }
        let tokens = (call.cost / TOKEN) as u64;
        // A call may end much later, because its worker was stopped.
        last = last.max(call.start);
        wanted += tokens;
        granted += if call.is_granted() { tokens } else { 0 };
        let refilled = last.saturating_sub(from) / limit.token;
        if refilled >= 100 && wanted >= 2 * refilled && granted * 100 < refilled * LEAST_RATE {
            return Some(format!(
                "(rate) bucket {bucket} granted {granted} of {refilled} tokens between {from} and {last}, and calls wanted {wanted}"
            ));
        }
    }
    None
}
