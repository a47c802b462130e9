//! Rule 1: over every window, what was granted wholly inside it fits capacity and rate.
//!
//! **Why it is necessary.** Let a window be [t1, t2]. A call that starts at t1 or later and ends by t2 took effect
//! inside it. At t1 the bucket held at most its capacity C, and since then it gained r·(t2 − t1), plus what
//! refunds, resets and losses gave it that took effect inside. Those of them that overlap the
//! window may have; no other did. So with W the cost of the grants wholly inside and G what the overlapping ones
//! give (a reset or a loss at most C): W <= C + r·(t2 − t1) + G. Leaving out grants that stick out, and
//! those of unknown outcome, only lowers W.
//!
//! Where a store reads its clock and then waits for the bucket, a reset (or what comes first after a loss) fills it as of the
//! time that was read, up to `wait` earlier, and others have been granted what came since: it gives r·`wait` more.
//!
//! **Why the sweep finds the worst window.** Shrinking a window to the first start and the last end of the grants
//! inside it keeps W and raises neither r·(t2 − t1) nor G. So only starts need be tried as t1 and ends as t2.
//! A gift that starts at s and ends at e overlaps exactly when s <= t2 and not e < t1, and e < t1 implies s <= t2 for
//! t1 <= t2. So G = (gifts with s <= t2) − (gifts with e < t1): one term for each end of the window, and the excess
//!
//! > W(t1, t2) − r·(t2 − t1) − G = [Σ cost of grants with start >= t1, end <= t2] + [r·t1 + gifts ended before t1]
//! > − [r·t2 + gifts started by t2]
//!
//! splits: the ends are swept in order, a tree over the starts holds the first two brackets, each grant
//! adds its cost to all t1 up to its own start, and the greatest value there is the worst window that ends with it.
//! The sum is over intervals, not instants, and no order of overlapping calls is presumed.

use crate::call::{Call, Kind, Nanos, Tokens};
use crate::rules::{Quota, Rules};
use crate::tree::Prefixes;

/// A window, and what was granted in it beyond what the bucket had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The end of the window's last grant.
    pub end: Nanos,
    /// Above the bound where positive, below it where negative.
    pub excess: Tokens,
}

/// The worst windows: of all, and how many ends of grants have one above the bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Worst {
    /// `None` when nothing was granted.
    pub window: Option<Window>,
    /// The first that is above the bound.
    pub first: Option<Window>,
    /// Grants with which a window ends that is above the bound.
    pub violations: u64,
}

/// What calls gave a bucket by an instant, for gifts in the order of one of their ends.
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

    /// The sum of those for which `counts`; asked for later and later instants.
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

/// The most that a call may have given to a bucket.
#[must_use]
pub fn gift(call: &Call, quota: &Quota, rules: &Rules) -> Option<Tokens> {
    match call.kind {
        Kind::Take => None,
        Kind::Refund => Some(call.cost.min(quota.capacity)),
        Kind::Reset | Kind::Lost => Some(quota.capacity + quota.refill(rules.wait)),
    }
}

/// Judges the calls of one bucket, in any order.
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
