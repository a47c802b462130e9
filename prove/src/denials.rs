//! Rule 2: every denial is explained by grants that may have preceded it.
//!
//! **Why it is necessary.** A bucket of capacity C lacks b(p) tokens at the instant p: 0 at first, down by r a
//! nanosecond and not below 0, up by the cost of each grant; never above C. A denial of n tokens at p is true when
//! C − b(p) < n. Here an upper bound D(p) of b(p) is kept, whatever the calls' instants within their
//! intervals were. So if C − D(p) >= n at all p of the denial's interval, no history explains it.
//!
//! **The bound D.** b only grows when grants are moved later (what is taken later has less time to be refilled), so
//! each is placed as late as it can be: at p itself while p is inside its interval (the sum of
//! these is O), at its end afterwards (what remains of these is B). D = O + B, where
//!
//! - a start of a grant or of a call of unknown outcome adds its cost to O; at its end the cost goes from O to B;
//! - B decays by r;
//! - a refund of c that ended at e lowers B to max(B − c, K), or leaves it when it is less than K, K being what
//!   grants added to B since the refund began: they may have come after it. A reset lowers B to K. Both count from
//!   e + `hint` on, for until then others may deny on what they knew. Both leave O alone: what is open may come later;
//! - B is cut at C + P, P being the refunds that began and do not count yet;
//! - refunds of unknown outcome count as if they had not happened: they only lower b;
//! - a loss of state sets B to C, at its start and at its end: the store may be back where it was before a refund or a
//!   reset (a replica that had not heard of it, a host that heals it from what it remembers).
//!
//! Why D is one: let z be the last instant at which a refund, a reset or a loss filled the bucket, and G what refunds
//! gave since z that do not count yet. Then b + G <= B + O, always. Grants and time keep that, as do the cut, for
//! b <= C and G <= P, and a refund that gave all its c since z, for c leaves G too. Any other one,
//! and a reset, had begun by z. So K, and what is open, hold all that was taken since z: at least b + G.
//!
//! **Why the sweep is enough.** Between events D only falls, so over a denial's interval it is greatest at the interval's
//! start or right after a start of another call within it. D at these points goes into a tree; each
//! denial asks for the greatest of its range.

use crate::call::{Call, Kind, Nanos, Outcome, Tokens};
use crate::rules::{Quota, Rules};
use crate::tree::Maxima;

/// The denials that nothing explains.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unexplained {
    /// How many.
    pub violations: u64,
    /// The first, and how many tokens at least the bucket held beyond what was asked for.
    pub first: Option<(Call, Tokens)>,
    /// All denials.
    pub denials: u64,
}

/// In the order in which events of one instant are taken: what may explain a denial first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    TakeStarts,
    Loses,
    GiftStarts,
    DenialStarts,
    DenialEnds,
    TakeEnds,
    GiftEnds,
}

/// What a bucket may lack, as the sweep goes on.
struct Lack {
    quota: Quota,
    now: Nanos,
    open: Tokens,
    closed: Tokens,
    /// Refunds that began and do not count yet.
    pending: Tokens,
    /// All that ever went to `closed`.
    total: Tokens,
}

impl Lack {
    fn new(quota: &Quota, now: Nanos) -> Self {
        Self {
            quota: *quota,
            now,
            open: 0,
            closed: 0,
            pending: 0,
            total: 0,
        }
    }

    fn advance(&mut self, now: Nanos) {
        self.closed = (self.closed - self.quota.refill(now - self.now)).max(0);
        self.now = now;
    }

    /// Applies an event, which changes nothing if it is a denial's. `before` keeps the total from a
    /// gift's start to its end.
    fn apply(&mut self, event: Event, call: &Call, rules: &Rules, before: &mut Tokens) {
        let charged = call.cost + self.quota.refill(rules.tick);
        let is_refund = call.kind == Kind::Refund;
        match event {
            Event::TakeStarts => self.open += charged,
            Event::TakeEnds => self.close(charged),
            Event::Loses => self.closed = self.closed.max(self.quota.capacity),
            Event::GiftStarts => {
                self.pending += if is_refund { call.cost } else { 0 };
                *before = self.total;
            }
            Event::GiftEnds if is_refund => self.refund(call.cost, *before),
            Event::GiftEnds => self.reset(*before),
            Event::DenialStarts | Event::DenialEnds => {}
        }
    }

    fn close(&mut self, cost: Tokens) {
        self.open -= cost;
        self.closed = (self.closed + cost).min(self.quota.capacity + self.pending);
        self.total += cost;
    }

    /// The end of a refund that began when `total` was so much.
    fn refund(&mut self, cost: Tokens, total: Tokens) {
        self.pending -= cost;
        self.closed = (self.closed - cost).max((self.total - total).min(self.closed));
    }

    /// The end of a reset that began when `total` was so much.
    fn reset(&mut self, total: Tokens) {
        self.closed = self.closed.min(self.total - total);
    }
}

/// Judges the calls of one bucket, in any order.
#[must_use]
pub fn judge(calls: &[Call], quota: &Quota, rules: &Rules) -> Unexplained {
    let events = events(calls, rules);
    let mut lack = Lack::new(quota, events.first().map_or(0, |event| event.0));
    let candidates = events.iter().filter(|event| is_candidate(event.1)).count();
    let mut greatest = Maxima::new(candidates);
    let mut points = 0;
    // Of each call: the point of a denial's start, or what was closed when a gift began.
    let mut remembered: Vec<(usize, Tokens)> = vec![(0, 0); calls.len()];
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
                result.add(call, quota.capacity - most - call.cost);
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

fn is_candidate(event: Event) -> bool {
    matches!(
        event,
        Event::TakeStarts | Event::Loses | Event::DenialStarts
    )
}

fn events(calls: &[Call], rules: &Rules) -> Vec<(Nanos, Event, usize)> {
    let mut events = Vec::with_capacity(2 * calls.len());
    for (index, call) in calls.iter().enumerate() {
        let is_gift = matches!(call.kind, Kind::Refund | Kind::Reset);
        let (start, end, delay) = if call.may_have_taken() {
            (Event::TakeStarts, Event::TakeEnds, 0)
        } else if call.is_denied() {
            (Event::DenialStarts, Event::DenialEnds, 0)
        } else if is_gift && call.outcome == Outcome::Done {
            (Event::GiftStarts, Event::GiftEnds, rules.hint)
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
