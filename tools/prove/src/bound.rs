//! Rule 1: in every window of time, the tokens granted wholly inside it fit the capacity and rate.
//!
//! **The rule.** Let a window be [t1, t2]. A granted take counts if its call lies inside the
//! window. A granted reservation counts if it is due inside: its delay after the start of its call
//! is at t1 or later, and its delay after the end of its call is by t2. A charge counts if it
//! starts at t1 or later and ends before the start of a grant that counts. Cancelled and undone
//! takes do not count, because their tokens are not used. Let W be the tokens that count. Let G be
//! the sum of the gifts that overlap the window ([`crate::gifts`]). Let C be the capacity and r the
//! rate of the bucket. Then W <= C + r·(t2 − t1) + G.
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
//! A host may have taken the place of a grant up to `ahead` before the call, so that a charge after
//! that does not delay the grant. So a charge counts if it ended `ahead` before the start of the
//! grant. A place is used within C/r after its `E`, and so owns a part of (t1 − C/r, t2], too.
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
//!
//! **Rule 5, above a floor.** A grant with a floor of f leaves f tokens in the bucket. So after it,
//! E is at most t2 − f/r. Let W count only the grants with that floor or a higher one. All other
//! grants count as charges do, if they ended before the start of a grant that counts. Then
//! W <= C − f + r·(t2 − t1) + G.

use crate::call::{Call, Nanos, Quota, Tokens};
use crate::gifts::gifts;
use crate::rules::Rules;
use crate::sums::Overlaps;
use crate::tree::Prefixes;

/// A window, and the tokens granted in it beyond its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The end of the window's last grant.
    pub end: Nanos,
    /// The granted tokens minus the bound. Negative if the window is below its bound.
    pub excess: Tokens,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Worst {
    /// The window with the greatest excess, or `None` if nothing was granted.
    pub window: Option<Window>,
    /// The first window above the bound.
    pub first: Option<Window>,
    /// The number of grants at whose end a window is above the bound.
    pub violations: u64,
}

/// Returns the takes of tokens that count before a grant which starts after their end: charges, and
/// for a floor also the grants that do not keep it. They are in the order of their ends. Returns
/// nothing if several buckets have one name, because the grant may be of another bucket.
fn before<'a>(calls: &'a [Call], rules: &Rules, floor: Tokens) -> Vec<&'a Call> {
    let counts = |call: &&Call| {
        (call.is_charged() || (call.is_granted() && call.floor < floor)) && rules.buckets == 1
    };
    let mut before: Vec<_> = calls.iter().filter(counts).collect();
    before.sort_unstable_by_key(|call| call.end);
    before
}

/// Checks the calls of one bucket against rule 1. The calls may be in any order.
pub fn judge(calls: &[Call], quota: &Quota, rules: &Rules) -> Worst {
    judge_above(calls, quota, rules, 0)
}

/// Checks the calls with this floor or a higher one. They share the capacity above the floor.
pub fn judge_above(calls: &[Call], quota: &Quota, rules: &Rules, floor: Tokens) -> Worst {
    let quota = quota.times(rules.buckets);
    let all = gifts(calls, &quota, rules).into_iter().flatten();
    let gifts = Overlaps::new(all.map(|gift| (gift.start, gift.end, gift.amount)));
    let grants = calls.iter().filter(|call| call.is_granted());
    let grants: Vec<_> = grants.filter(|call| call.floor >= floor).collect();
    let before = before(calls, rules, floor);
    let capacity = quota.capacity - floor * Tokens::from(rules.buckets);
    let due = grants.iter().map(|call| call.due().0);
    let mut starts: Vec<_> = due.chain(before.iter().map(|call| call.start)).collect();
    starts.sort_unstable();
    starts.dedup();
    let openings = starts.iter().map(|&start| Opening {
        after: start,
        start,
        held: capacity,
    });
    let openings: Vec<_> = openings.collect();
    Sweep {
        quota: &quota,
        rules,
        gifts: &gifts,
        openings: &openings,
    }
    .worst(grants, &before, |grant| grant.due().0)
}

/// A start of windows, and the tokens that the bucket held then.
#[derive(Clone, Copy, Debug)]
pub struct Opening {
    /// The instant from which on calls count.
    pub after: Nanos,
    /// The instant at which the bucket held at most `held` tokens.
    pub start: Nanos,
    /// The most tokens that the bucket held at `start`. May be negative in a block.
    pub held: Tokens,
}

/// The sweep that finds the worst of all windows that begin at an [`Opening`].
#[derive(Debug)]
pub struct Sweep<'s> {
    /// The capacity and rate.
    pub quota: &'s Quota,
    pub rules: &'s Rules,
    /// The tokens that calls may have given to the bucket, by their intervals.
    pub gifts: &'s Overlaps,
    /// The starts of windows, in the order of `after`.
    pub openings: &'s [Opening],
}

impl Sweep<'_> {
    /// Returns the worst window that ends with a grant. A grant counts in the windows whose opening
    /// is at its `from` or before. A call in `before` counts in the windows of the grants that
    /// start after the end of that call.
    pub fn worst(
        &self,
        mut grants: Vec<&Call>,
        before: &[&Call],
        from: impl Fn(&Call) -> Nanos,
    ) -> Worst {
        let values = self.openings.iter().map(|opening| {
            let ended = self.gifts.ended.before(opening.start);
            self.quota.refill(opening.start) + ended - opening.held
        });
        let mut tree = Prefixes::new(&values.collect::<Vec<_>>());
        let mut take = |from: Nanos, cost: Tokens| {
            let count = self.openings.partition_point(|it| it.after <= from);
            let last = count.checked_sub(1)?;
            Some(tree.add(last, cost - self.quota.refill(self.rules.tick)))
        };
        let allowed = self.quota.refill(self.rules.skew + self.rules.tick);
        let mut before = before.iter().peekable();
        let mut worst = Worst::default();
        grants.sort_unstable_by_key(|call| call.due().1);
        for grant in grants {
            let since = grant.start.saturating_sub(self.rules.ahead);
            while let Some(call) = before.next_if(|call| call.end < since) {
                take(call.start, call.cost);
            }
            let end = grant.due().1;
            let Some(greatest) = take(from(grant), grant.cost) else {
                continue;
            };
            let bound = allowed + self.quota.refill(end) + self.gifts.started.until(end);
            worst.add(Window {
                end,
                excess: greatest - bound,
            });
        }
        worst
    }
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
