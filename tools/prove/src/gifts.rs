//! The tokens that calls can have added to a bucket, and the debts that they can have cancelled.
//!
//! **The debt.** A bucket of capacity C lacks b(p) tokens at p. While b > C the bucket is in debt.
//! Only a charge, a reservation or a block can raise b above C. Let q rise by the tokens of each
//! charge and reservation, and by r·x − 1 at a block of the length x. Let q fall by the rate r in
//! each nanosecond, but not below 0. Then b <= C + q always holds: a plain take leaves b <= C, a
//! charge or a reservation raises both sides by its tokens, a block raises b to C + r·x − 1 at
//! most, and time and gifts keep the inequality. Each of these calls is placed as late as possible.
//!
//! **Refunds, resets and losses.** A refund adds at most its tokens. A reset or a loss adds at most
//! C + q. Reservations that were made before such a gift keep their instants, which are at most
//! q/r later. New calls may get tokens at the same instants. So the gift counts until q/r after its
//! end.
//!
//! **Cancelled and undone takes** add no tokens of their own, because rule 1 does not count their
//! takes. Let c be the tokens of such a take. A give-back returns at most c − L tokens while the
//! bucket is in debt. L is the number of tokens that were taken after the c tokens. A bucket that
//! is not in debt gets at most the part of c that is not refilled. A store computes L and that part
//! from its state, so it misses the tokens that other calls have given back since the take. So the
//! give-back is a gift of the tokens that other calls may have given back since the take, but at
//! most c.
//!
//! An undone take counts among those other calls. If a charge or a reservation overlaps the undone
//! take, the latter may have given back all of its c tokens. Otherwise it lowers the bucket by at
//! most c, and r·(its length) of that are refilled meanwhile. So it gives back at most r·(its
//! length) more than the bucket still lacks because of it. For the same reason r·(its length) is
//! added to its own gift, if other calls may have given back tokens.
//!
//! **Waits.** Some stores read their clock and then wait for the bucket. On these stores a reset
//! fills the bucket at the instant of the clock reading, up to `wait` earlier. The first call after
//! a loss does the same, and so does the give-back of a take. Other calls may have received the
//! tokens that were refilled in between. So these gifts are greater by r·`wait`.
//!
//! **Places.** A host may keep a place in the queue for up to `ahead`, and the tokens of the places
//! are a debt that no call has logged. It is at most r·`ahead`. So a reset or a loss adds that much
//! more, and each gift counts until the places that were taken before it have ended.

use crate::call::{Call, Kind, Nanos, Outcome, Quota, Tokens};
use crate::rules::Rules;
use crate::sums::Overlaps;

/// The most tokens that a call can have added to a bucket beyond the tokens that rule 1 counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gift {
    /// The first instant at which the tokens can have been added.
    pub start: Nanos,
    /// The last instant at which calls may get the tokens together with earlier reservations.
    pub end: Nanos,
    pub amount: Tokens,
}

/// An event of the sweep that bounds the debts. Among events at the same instant, those that raise
/// a debt come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    OwingStarts,
    GiverStarts,
    GiverEnds,
    OwingEnds,
}

/// Returns the gift of each call, or `None` for a call that adds no tokens.
pub fn gifts(calls: &[Call], quota: &Quota, rules: &Rules) -> Vec<Option<Gift>> {
    let debts = debts(calls, quota, rules);
    let owing = owing(calls);
    let length = |call: &Call| quota.refill(call.end - call.start);
    // The tokens of each call that another give-back may have missed.
    let missed = calls.iter().zip(&debts).map(|(call, &debt)| {
        let returned = returned(call, debt, quota);
        if call.outcome == Outcome::Undone && owing.sum(call.start, call.end) == 0 {
            return returned.min(length(call));
        }
        returned
    });
    let missed: Vec<_> = missed.collect();
    let intervals = calls.iter().zip(&missed).filter(|(_, amount)| **amount > 0);
    let others = Overlaps::new(intervals.map(|(call, &amount)| (call.start, call.end, amount)));
    let waited = quota.refill(rules.wait);
    let queued = quota.refill(rules.ahead);
    let gift = |(index, call): (usize, &Call)| {
        let amount = match call.kind {
            Kind::Refund => missed[index],
            Kind::Reset | Kind::Lost => missed[index] + waited + queued,
            _ if call.may_have_returned() => {
                let since = call.start.saturating_sub(call.wait);
                let mut surplus = others.sum(since, call.end) - missed[index];
                if surplus > 0 && call.outcome == Outcome::Undone {
                    surplus += length(call);
                }
                call.cost.min(surplus + waited)
            }
            _ => 0,
        };
        let end = call
            .end
            .saturating_add(quota.time(debts[index]) + rules.ahead);
        let start = call.start;
        (amount > 0).then_some(Gift { start, end, amount })
    };
    calls.iter().enumerate().map(gift).collect()
}

/// Returns the most tokens that a call can have given to a bucket with this debt, including those
/// that the call took before.
fn returned(call: &Call, debt: Tokens, quota: &Quota) -> Tokens {
    match call.kind {
        Kind::Reset | Kind::Lost => quota.capacity + debt,
        _ if call.may_have_returned() => call.cost.min(quota.capacity + debt),
        _ => 0,
    }
}

/// Returns for each call the most tokens that it can have given to the bucket, including those that
/// the call took before.
pub fn all_returned(calls: &[Call], quota: &Quota, rules: &Rules) -> Vec<Tokens> {
    let debts = debts(calls, quota, rules);
    let returned = |(call, debt)| match returned(call, debt, quota) {
        0 => 0,
        amount => amount + quota.refill(rules.wait + rules.ahead),
    };
    calls.iter().zip(debts).map(returned).collect()
}

/// Returns the number of charges and reservations by their intervals.
pub fn owing(calls: &[Call]) -> Overlaps {
    let owing = calls.iter().filter(|call| call.may_owe());
    Overlaps::new(owing.map(|call| (call.start, call.end, 1)))
}

/// Returns for each call that may give tokens the greatest debt that the bucket can have at an
/// instant of the call. The other numbers are 0.
fn debts(calls: &[Call], quota: &Quota, rules: &Rules) -> Vec<Tokens> {
    let mut events = Vec::new();
    for (index, call) in calls.iter().enumerate() {
        let [start, end] = if call.may_owe() {
            [Event::OwingStarts, Event::OwingEnds]
        } else if call.may_have_returned() {
            [Event::GiverStarts, Event::GiverEnds]
        } else {
            continue;
        };
        events.push((call.start, start, index));
        events.push((call.end, end, index));
    }
    events.sort_unstable();
    let mut debts = vec![0; calls.len()];
    let (mut open, mut closed, mut started, mut last) = (0, 0, 0, 0);
    for (now, event, index) in events {
        closed = (closed - quota.refill(now - last)).max(0);
        last = now;
        let call = &calls[index];
        // A block leaves fewer than no tokens.
        let cost = match call.kind {
            Kind::Drain => (-call.needed(quota)).max(0),
            _ => call.cost,
        } + quota.refill(rules.tick);
        match event {
            Event::OwingStarts => (open, started) = (open + cost, started + cost),
            Event::OwingEnds => (open, closed) = (open - cost, closed + cost),
            Event::GiverStarts => debts[index] = open + closed - started,
            Event::GiverEnds => debts[index] += started,
        }
    }
    debts
}
