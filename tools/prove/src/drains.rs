//! Rule 4: after a block or a drain, the tokens granted are at most those that it left, plus the
//! tokens that the rate adds.
//!
//! **The rule.** A drain leaves L tokens. A block of the length x leaves one token at its end, so
//! L = 1 − r·x, which may be negative (r is the rate). Let the call of a drain be [s, e]. A grant
//! counts if its call starts after e. A charge counts if it starts after e and ends before the
//! start of a grant that counts. Let W be the tokens of all grants and charges that count and are
//! due by t2. Let G be the tokens that calls gave to the bucket in [s, t2]. Then
//! W <= L + r·(t2 − s) + G. So no token is granted in a block.
//!
//! **Why it is necessary.** Let E be the instant at which the bucket is empty ([`crate::bound`]).
//! The drain took effect at s or later, and left E at s − L/r or later. All calls that count took
//! effect after it, and raised E by W/r. After the last of them, E is at most t2. Other takes raise
//! E, and only gifts lower it. Here a cancelled or undone take is a gift of its whole cost, because
//! its tokens may have been taken before the drain. Reservations from before the drain keep their
//! instants, so they do not count.

use crate::bound::{Opening, Sweep, Worst};
use crate::call::{Call, Kind, Outcome, Quota};
use crate::gifts::all_returned;
use crate::rules::Rules;
use crate::sums::Overlaps;

/// Checks the calls of one host on one bucket against rule 4, without tokens that hosts hold: the
/// host has dropped its own. Charges do not count, because the host may have taken the tokens of a
/// grant before them.
pub fn judge_on_host(calls: &[Call], quota: &Quota, rules: &Rules, host: u32) -> Worst {
    let gifts = returned(calls, quota, rules);
    let is_there = |call: &&Call| call.host == host && !call.is_charged();
    let calls: Vec<_> = calls.iter().filter(is_there).copied().collect();
    let rules = Rules { ahead: 0, ..*rules };
    judge_with(&calls, quota, &rules, &gifts)
}

/// Checks the calls of one bucket against rule 4. The calls may be in any order.
///
/// Does not apply to several buckets under one name, because a drain may be of another bucket.
pub fn judge(calls: &[Call], quota: &Quota, rules: &Rules) -> Worst {
    judge_with(calls, quota, rules, &returned(calls, quota, rules))
}

/// Returns the tokens that calls may have given to the bucket.
fn returned(calls: &[Call], quota: &Quota, rules: &Rules) -> Overlaps {
    let returned = all_returned(calls, quota, rules);
    let gifts = calls.iter().zip(returned).filter(|(_, amount)| *amount > 0);
    Overlaps::new(gifts.map(|(call, amount)| (call.start, call.end, amount)))
}

fn judge_with(calls: &[Call], quota: &Quota, rules: &Rules, gifts: &Overlaps) -> Worst {
    let drains = calls.iter().filter(|call| call.kind == Kind::Drain);
    let drains = drains.filter(|call| call.outcome == Outcome::Done);
    let openings = drains.map(|drain| Opening {
        // A grant that starts at the end of the drain may have taken effect before it. So may a
        // grant by a place that a host took before the drain.
        after: drain.end + 1 + rules.ahead,
        start: drain.start,
        held: drain.needed(quota),
    });
    let mut openings: Vec<_> = openings.collect();
    openings.sort_unstable_by_key(|opening| opening.after);
    let grants = calls.iter().filter(|call| call.is_granted()).collect();
    let mut charges: Vec<_> = calls.iter().filter(|call| call.is_charged()).collect();
    charges.sort_unstable_by_key(|call| call.end);
    Sweep {
        quota,
        rules,
        gifts,
        openings: &openings,
    }
    .worst(grants, &charges, |grant| grant.start)
}
