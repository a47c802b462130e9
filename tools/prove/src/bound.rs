//! Rule 1: in every window of time, the tokens granted wholly inside it fit the capacity and rate.
//!
//! **The rule.** Let a window be [t1, t2]. A granted take counts if its call lies inside the
//! window. A granted reservation counts if it is due inside: its delay after the start of its call
//! is at t1 or later, and its delay after the end of its call is by t2. A charge counts if it
//! starts at t1 or later and ends before the start of a grant that counts. Cancelled and undone
//! takes do not count, because their tokens are not used. Let W be the tokens that count. Let G be
//! the sum of the gifts that overlap the window ([`crate::gifts`]). Then W <= C + r·(t2 − t1) + G.
//!
//! **Why it is necessary.** Let E be the instant at which the bucket is empty, as in a limiter that
//! stores it. Every take raises E by cost/r, from at least C/r before the take. A granted take or
//! reservation is due at E or at once, whichever is later. Let F be the call that took effect first
//! of all that count, and Z the last one. Z is a grant, because a grant takes effect after each
//! charge that counts.
//!
//! - Before F, E is at least t1 − C/r. Either F takes effect at t1 or later. Or F is a reservation
//!   that is due at t1 or later, and it costs at most C.
//! - After Z, E is at most t2.
//! - In between, all calls that count raise E by W/r. Other takes raise it, too, and only gifts and
//!   give-backs lower it. A gift after F overlaps the window, because it counts until reservations
//!   that were made before it are due. Give-backs lower E by no more than their takes raised it,
//!   or return only tokens that no counted call has built on. [`crate::gifts`] bounds the rest.
//!
//! W leaves out calls of unknown outcome, and grants that are due before the window or after it.
//! That only lowers W. A charge itself has no bound, but it delays the grants after it. If a
//! limiter forgets a charge, these grants come too early and break the rule.
//!
//! **Why the sweep finds the worst window.** Shrink a window to the first start and the last end of
//! the grants and charges inside it. That leaves W unchanged and raises neither r·(t2 − t1) nor G.
//! So it is enough to try starts as t1 and ends of grants as t2. A gift that starts at s and ends
//! at e overlaps exactly when s <= t2 and not e < t1. Because t1 <= t2, e < t1 implies s <= t2. So
//! G = (gifts with s <= t2) − (gifts with e < t1), with one term for each end of the window. The
//! excess therefore splits:
//!
//! > W(t1, t2) − r·(t2 − t1) − G = [Σ tokens that count] + [r·t1 + gifts ended before t1] − [r·t2 +
//! > gifts started by t2]
//!
//! The sweep visits the ends in order. A tree over the starts holds the sum of the first two
//! brackets for each t1. Each grant adds its tokens to all t1 up to its own start. Before that, it
//! adds the charges that ended before its call started, each to all t1 up to the start of the
//! charge. Then the greatest value in the tree belongs to the worst window that ends with this
//! grant. Only the ends of intervals are compared, so no order of overlapping calls is assumed.

use crate::call::{Call, Nanos, Tokens};
use crate::gifts::{Gift, gifts};
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

/// Sums the gifts up to an instant. The gifts are sorted by either their starts or their ends.
struct Sorted {
    by_instant: Vec<(Nanos, Tokens)>,
    next: usize,
    sum: Tokens,
}

impl Sorted {
    fn new(gifts: &[Gift], instant: impl Fn(&Gift) -> Nanos) -> Self {
        let gifts = gifts.iter().map(|gift| (instant(gift), gift.amount));
        let mut by_instant: Vec<_> = gifts.collect();
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

/// Returns the charges in the order of their ends. A charge says nothing about the grants of
/// another bucket, so the result is empty for several buckets under one name.
fn charges<'a>(calls: &'a [Call], rules: &Rules) -> Vec<&'a Call> {
    let counts = |call: &&Call| call.is_charged() && rules.buckets == 1;
    let mut charges: Vec<_> = calls.iter().filter(counts).collect();
    charges.sort_unstable_by_key(|call| call.end);
    charges
}

/// Checks the calls of one bucket against rule 1. The calls may be in any order.
#[must_use]
pub fn judge(calls: &[Call], quota: &Quota, rules: &Rules) -> Worst {
    let quota = quota.times(rules.buckets);
    let gifts: Vec<_> = gifts(calls, &quota, rules).into_iter().flatten().collect();
    let mut grants: Vec<&Call> = calls.iter().filter(|call| call.is_granted()).collect();
    let charges = charges(calls, rules);
    let due = grants.iter().map(|call| call.due().0);
    let mut starts: Vec<_> = due.chain(charges.iter().map(|call| call.start)).collect();
    starts.sort_unstable();
    starts.dedup();
    let mut ended = Sorted::new(&gifts, |gift| gift.end);
    let values = starts
        .iter()
        .map(|&start| quota.refill(start) + ended.while_counts(|end| end < start));
    let mut tree = Prefixes::new(&values.collect::<Vec<_>>());
    let mut take = |start, cost| {
        let position = starts.partition_point(|&other| other < start);
        tree.add(position, cost - quota.refill(rules.tick))
    };
    let mut begun = Sorted::new(&gifts, |gift| gift.start);
    let allowed = quota.capacity + quota.refill(rules.skew + rules.tick);
    let mut charges = charges.into_iter().peekable();
    let mut worst = Worst::default();
    grants.sort_unstable_by_key(|call| call.due().1);
    for grant in grants {
        while let Some(charge) = charges.next_if(|charge| charge.end < grant.start) {
            take(charge.start, charge.cost);
        }
        let (start, end) = grant.due();
        let greatest = take(start, grant.cost);
        let bound = allowed + quota.refill(end) + begun.while_counts(|start| start <= end);
        worst.add(Window {
            end,
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
