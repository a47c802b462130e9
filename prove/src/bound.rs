//! Rule 1: in every window of time, the tokens granted wholly inside it fit the capacity and rate.
//!
//! **Why it is necessary.** Let a window be [t1, t2]. A call that starts at t1 or later and ends by
//! t2 took effect inside the window. At t1 the bucket held at most its capacity C. Until t2 the
//! bucket gained r·(t2 − t1), plus the tokens of the refunds, resets and losses that took effect
//! inside. Only calls that overlap the window can have taken effect inside. Let W be the tokens of
//! the grants wholly inside. Let G be the most that the overlapping refunds, resets and losses can
//! add, where a reset or a loss adds at most C. Then W <= C + r·(t2 − t1) + G. W leaves out calls
//! of unknown outcome, and grants that begin before the window or end after it. That only lowers W.
//!
//! Some stores read their clock and then wait for the bucket. On these stores a reset fills the
//! bucket at the instant of the clock reading, up to `wait` earlier. The first call after a loss
//! does the same. Other calls may have received the tokens that were refilled in between. So a
//! reset or a loss adds r·`wait` more to G.
//!
//! **Why the sweep finds the worst window.** Shrink a window to the first start and the last end of
//! the grants inside it. That leaves W unchanged and raises neither r·(t2 − t1) nor G. So it is
//! enough to try starts of grants as t1 and ends of grants as t2. Refunds, resets and losses are
//! called gifts here. A gift that starts at s and ends at e overlaps exactly when s <= t2 and not e
//! < t1. Because t1 <= t2, e < t1 implies s <= t2. So G = (gifts with s <= t2) − (gifts with e <
//! t1), with one term for each end of the window. The excess therefore splits:
//!
//! > W(t1, t2) − r·(t2 − t1) − G = [Σ tokens of grants with start >= t1, end <= t2] +
//! > [r·t1 + gifts ended before t1] − [r·t2 + gifts started by t2]
//!
//! The sweep visits the ends in order. A tree over the starts holds the sum of the first two
//! brackets for each t1. Each grant adds its tokens to all t1 up to its own start. Then the
//! greatest value in the tree belongs to the worst window that ends with this grant. Only the ends
//! of intervals are compared, so no order of overlapping calls is assumed.

use crate::call::{Call, Kind, Nanos, Tokens};
use crate::rules::{Quota, Rules};
use crate::tree::Prefixes;

/// A window, and the tokens granted in it beyond its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The end of the window's last grant.
    pub end: Nanos,
    /// The granted tokens minus the bound. Negative if the window is below its bound.
    pub excess: Tokens,
}

/// The worst window, and the number of violations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Worst {
    /// The window with the greatest excess, or `None` if nothing was granted.
    pub window: Option<Window>,
    /// The first window above the bound.
    pub first: Option<Window>,
    /// The number of grants at whose end a window is above the bound.
    pub violations: u64,
}

/// Sums the gifts up to an instant. The gifts are sorted by either the start or the end of their
/// calls.
struct Gifts {
    by_instant: Vec<(Nanos, Tokens)>,
    next: usize,
    sum: Tokens,
}

impl Gifts {
    fn new(calls: &[Call], quota: &Quota, rules: &Rules, instant: impl Fn(&Call) -> Nanos) -> Self {
        let mut by_instant: Vec<_> = calls
            .iter()
            .filter_map(|call| Some((instant(call), gift(call, quota, rules)?)))
            .collect();
        by_instant.sort_unstable();
        Self {
            by_instant,
            next: 0,
            sum: 0,
        }
    }

    /// Returns the sum of the gifts whose instant satisfies `counts`. A later call of this method
    /// must accept all instants that an earlier call accepted.
    fn while_counts(&mut self, counts: impl Fn(Nanos) -> bool) -> Tokens {
        while let Some(&(instant, amount)) = self.by_instant.get(self.next)
            && counts(instant)
        {
            self.sum += amount;
            self.next += 1;
        }
        self.sum
    }
}

/// Returns the most tokens that a call can have added to a bucket. Returns `None` for a take.
#[must_use]
pub fn gift(call: &Call, quota: &Quota, rules: &Rules) -> Option<Tokens> {
    match call.kind {
        Kind::Take => None,
        Kind::Refund => Some(call.cost.min(quota.capacity)),
        Kind::Reset | Kind::Lost => Some(quota.capacity + quota.refill(rules.wait)),
    }
}

/// Checks the calls of one bucket against rule 1. The calls may be in any order.
#[must_use]
pub fn judge(calls: &[Call], quota: &Quota, rules: &Rules) -> Worst {
    let quota = quota.times(rules.buckets);
    let mut grants: Vec<&Call> = calls.iter().filter(|call| call.is_granted()).collect();
    let mut starts: Vec<Nanos> = grants.iter().map(|call| call.start).collect();
    starts.sort_unstable();
    starts.dedup();
    let mut ended = Gifts::new(calls, &quota, rules, |call| call.end);
    let values = starts
        .iter()
        .map(|&start| quota.refill(start) + ended.while_counts(|end| end < start));
    let mut tree = Prefixes::new(&values.collect::<Vec<_>>());
    let mut begun = Gifts::new(calls, &quota, rules, |call| call.start);
    let allowed = quota.capacity + quota.refill(rules.skew + rules.tick);
    let mut worst = Worst::default();
    grants.sort_unstable_by_key(|call| call.end);
    for grant in grants {
        let position = starts.partition_point(|&start| start < grant.start);
        let greatest = tree.add(position, grant.cost - quota.refill(rules.tick));
        let bound =
            allowed + quota.refill(grant.end) + begun.while_counts(|start| start <= grant.end);
        worst.add(Window {
            end: grant.end,
            excess: greatest - bound,
        });
    }
    worst
}

impl Worst {
    fn add(&mut self, window: Window) {
        if self.window.is_none_or(|worst| window.excess > worst.excess) {
            self.window = Some(window);
        }
        if window.excess > 0 {
            self.violations += 1;
            self.first.get_or_insert(window);
        }
    }
}
