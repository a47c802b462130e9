//! Rule 2: every denial is explained by grants that may have preceded it.
//!
//! **Why it is necessary.** A bucket of capacity C lacks b(p) tokens at the instant p. b is 0 at
//! first. b falls by the rate r in each nanosecond, but not below 0, and rises by the tokens of
//! each grant, charge and reservation. A drain raises b, so that the bucket holds no more than the
//! drain leaves. b is never above C + q, where q bounds the debt ([`crate::gifts`]). A denial of n
//! tokens at p is correct when C − b(p) < n, or with a floor of f when C − b(p) < n + f. A denial
//! of a reservation that may wait for w is correct when C − b(p) < n − r·w. This module keeps an
//! upper bound D(p) of b(p). The bound holds for all instants at which the calls may have taken
//! effect. If C − D(p) >= n at all p of the denial's interval, no history explains the denial.
//!
//! **The bound D.** Moving a grant later only raises b, because less time remains to refill it. So
//! each grant is placed as late as possible: at p itself while p is inside its interval, and at its
//! end afterwards. O is the sum of the grants whose intervals contain p. B is the part of the ended
//! grants that is not refilled yet. D = O + B. In these rules, `cached` is the greatest age of an
//! entry of the denial cache:
//!
//! - The start of a grant, a charge or a reservation adds its tokens to O, even if the outcome is
//!   unknown. At its end, these tokens move from O to B.
//! - The start of an undone take adds its tokens to O, until `cached` after its end. Then the
//!   lesser of its tokens and r·(its length) moves to B, because a bucket that was full meanwhile
//!   does not gain the tokens of that time. While a bucket is in debt, a give-back may return
//!   nothing. So if a charge or a reservation overlaps the call, or if clocks differ, all of its
//!   tokens move to B.
//! - After a drain, the bucket lacks at least d tokens. Its start adds d to O. At its end, d leaves
//!   O, and B becomes at least d + K. K is the amount that calls added to B since the drain began,
//!   because these calls may have come after it.
//! - A cancel is ignored, because it only lowers b.
//! - B and q decay by r.
//! - A refund of c that ended at e lowers B to max(B − c, K), unless B is already less than K. K is
//!   the amount that grants added to B since the refund began, because these grants may have come
//!   after the refund. A reset lowers B to K.
//! - Refunds and resets count from e + `cached` on. Until then other workers may deny from the
//!   denial cache. Refunds and resets leave O unchanged, because an open grant may come later.
//! - B is limited to C + q + P. P is the sum of the refunds that began and do not count yet.
//! - Refunds of unknown outcome are ignored, because they only lower b.
//! - A loss of state sets B to C + q at its start and at its end. The store may return to its state
//!   from before a refund or reset. For example, a replica may not have received the refund, or a
//!   host may restore a state from its denial cache. So a loss adds C + q to the K of each refund
//!   and reset that does not count yet.
//!
//! **Why D is an upper bound.** Let z be the last instant at which a refund, a reset or a loss
//! filled the bucket. Let G be the tokens that refunds gave since z and that do not count yet. Then
//! b + G <= B + O always holds:
//!
//! - Grants and time keep this inequality. The limit of B keeps it, because b <= C + q and
//!   G <= P.
//! - A refund that gave all of its c since z keeps the inequality, because c is subtracted from G
//!   too.
//! - All other refunds and all resets had begun by z. So K and the open grants contain all tokens
//!   that were taken since z. These tokens are at least b + G.
//!
//! **Why the sweep is enough.** Between events D only falls. So within a denial's interval, D is
//! greatest at the start of the interval, or right after another call starts in the interval. A
//! tree holds D at these points. Each denial queries the greatest value of its range.

use crate::call::{Call, Kind, Nanos, Outcome, Quota, Tokens};
use crate::gifts::owing;
use crate::rules::Rules;
use crate::tree::Maxima;

/// The number of denials that no history explains, and the first such denial.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unexplained {
    /// The number of unexplained denials.
    pub violations: u64,
    /// The first unexplained denial, and the fewest tokens that the bucket held beyond the denied
    /// tokens.
    pub first: Option<(Call, Tokens)>,
    pub denials: u64,
}

/// An event of the sweep. Among events at the same instant, those that may explain a denial come
/// first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    TakeStarts,
    DrainStarts,
    Loses,
    GiftStarts,
    DenialStarts,
    DenialEnds,
    TakeEnds,
    DrainEnds,
    UndoneEnds,
    GiftEnds,
}

/// The tokens that a bucket may lack at the current instant of the sweep.
struct Lack {
    quota: Quota,
    now: Nanos,
    open: Tokens,
    closed: Tokens,
    /// The most tokens by which the ended calls can have left the bucket in debt.
    debt: Tokens,
    /// The sum of the refunds that began and do not count yet.
    pending: Tokens,
    /// The sum of all amounts ever added to `closed`.
    total: Tokens,
}

impl Lack {
    fn new(quota: &Quota, now: Nanos) -> Self {
        Self {
            quota: *quota,
            now,
            open: 0,
            closed: 0,
            debt: 0,
            pending: 0,
            total: 0,
        }
    }

    fn advance(&mut self, now: Nanos) {
        let refilled = self.quota.refill(now - self.now);
        self.closed = (self.closed - refilled).max(0);
        self.debt = (self.debt - refilled).max(0);
        self.now = now;
    }

    /// Applies an event. Events of denials change nothing. `before` keeps `total` from the start of
    /// a gift to its end. For an undone take, it holds the tokens that may not have been given
    /// back.
    fn apply(&mut self, event: Event, call: &Call, rules: &Rules, before: &mut Tokens) {
        let charged = call.cost + self.quota.refill(rules.tick);
        let is_refund = call.kind == Kind::Refund;
        match event {
            Event::TakeStarts => self.open += charged,
            Event::TakeEnds => {
                self.debt += if call.may_owe() { charged } else { 0 };
                self.close(charged, charged);
            }
            Event::DrainStarts => {
                self.open += call.drained(&self.quota, rules.tick);
                *before = self.total;
            }
            Event::DrainEnds => self.drain(call, rules, *before),
            Event::UndoneEnds => self.close(charged, *before),
            Event::Loses => {
                let most = self.quota.capacity + self.debt;
                self.closed = self.closed.max(most);
                // The loss undoes the gifts that do not count yet.
                self.total += most;
            }
            Event::GiftStarts => {
                self.pending += if is_refund { call.cost } else { 0 };
                *before = self.total;
            }
            Event::GiftEnds if is_refund => self.refund(call.cost, *before),
            Event::GiftEnds => self.reset(*before),
            Event::DenialStarts | Event::DenialEnds => {}
        }
    }

    /// Ends a take of `cost` tokens. The bucket may lack `left` of them.
    fn close(&mut self, cost: Tokens, left: Tokens) {
        let most = self.quota.capacity + self.debt + self.pending;
        self.open -= cost;
        self.closed = (self.closed + left).min(most);
        self.total += left;
    }

    /// Ends a drain. `total` is the value of `self.total` when the drain began.
    fn drain(&mut self, call: &Call, rules: &Rules, total: Tokens) {
        let lacks = call.drained(&self.quota, rules.tick);
        let since = self.total - total;
        self.open -= lacks;
        self.closed = self.closed.max(lacks + since);
        self.debt = self.debt.max(lacks - self.quota.capacity + since);
        self.total += lacks;
    }

    /// Ends a refund. `total` is the value of `self.total` when the refund began.
    fn refund(&mut self, cost: Tokens, total: Tokens) {
        self.pending -= cost;
        self.closed = (self.closed - cost).max((self.total - total).min(self.closed));
    }

    /// Ends a reset. `total` is the value of `self.total` when the reset began.
    fn reset(&mut self, total: Tokens) {
        self.closed = self.closed.min(self.total - total);
    }
}

/// Checks the calls of one bucket against rule 2. The calls may be in any order.
pub fn judge(calls: &[Call], quota: &Quota, rules: &Rules) -> Unexplained {
    let events = events(calls, rules);
    let mut lack = Lack::new(quota, events.first().map_or(0, |event| event.0));
    let candidates = events.iter().filter(|event| is_candidate(event.1)).count();
    let mut greatest = Maxima::new(candidates);
    let mut points = 0;
    // Holds the index of the first point for each denial, `total` at the start of each gift, and
    // the tokens that each undone take may not have given back.
    let left = left(calls, quota, rules).into_iter();
    let mut remembered: Vec<(usize, Tokens)> = left.map(|left| (0, left)).collect();
    let mut result = Unexplained::default();
    for (now, event, index) in events {
        let call = &calls[index];
        lack.advance(now);
        lack.apply(event, call, rules, &mut remembered[index].1);
        match event {
            Event::DenialStarts => remembered[index].0 = points,
            Event::DenialEnds => {
                let most = greatest.greatest(remembered[index].0, points).unwrap_or(0);
                let most = most + quota.refill(rules.tick + rules.skew);
                result.add(call, quota.capacity - most - call.needed(quota));
            }
            _ => {}
        }
        if is_candidate(event) {
            greatest.set(points, lack.open + lack.closed);
            points += 1;
        }
    }
    result
}

/// Returns for each undone take the tokens that it may not have given back. The other numbers are
/// 0.
fn left(calls: &[Call], quota: &Quota, rules: &Rules) -> Vec<Tokens> {
    let owing = owing(calls);
    let left = |call: &Call| {
        if call.outcome != Outcome::Undone {
            return 0;
        }
        if rules.skew > 0 || owing.sum(call.start, call.end) > 0 {
            return call.cost + quota.refill(rules.tick);
        }
        call.cost.min(quota.refill(call.end - call.start)) + quota.refill(rules.tick)
    };
    calls.iter().map(left).collect()
}

fn is_candidate(event: Event) -> bool {
    matches!(
        event,
        Event::TakeStarts | Event::DrainStarts | Event::Loses | Event::DenialStarts
    )
}

fn events(calls: &[Call], rules: &Rules) -> Vec<(Nanos, Event, usize)> {
    let mut events = Vec::with_capacity(2 * calls.len());
    for (index, call) in calls.iter().enumerate() {
        let is_gift = matches!(call.kind, Kind::Refund | Kind::Reset);
        let (start, end, delay) = if call.may_have_taken() {
            (Event::TakeStarts, Event::TakeEnds, 0)
        } else if call.may_have_drained() {
            (Event::DrainStarts, Event::DrainEnds, 0)
        } else if call.outcome == Outcome::Undone {
            (Event::TakeStarts, Event::UndoneEnds, rules.cached)
        } else if call.is_denied() {
            (Event::DenialStarts, Event::DenialEnds, 0)
        } else if is_gift && call.outcome == Outcome::Done {
            (Event::GiftStarts, Event::GiftEnds, rules.cached)
        } else if call.kind == Kind::Lost {
            (Event::Loses, Event::Loses, 0)
        } else {
            continue;
        };
        events.push((call.start, start, index));
        events.push((call.end.saturating_add(delay), end, index));
    }
    events.sort_unstable();
    events
}

impl Unexplained {
    fn add(&mut self, call: &Call, spare: Tokens) {
        self.denials += 1;
        if spare >= 0 {
            self.violations += 1;
            self.first.get_or_insert((*call, spare));
        }
    }
}
