//! Judges several limits that share one bucket, such as a limit that changes while calls run. Their
//! calls only take tokens, without floors.
//!
//! A token of each limit costs a time: that in which the limit refills it. The span of a limit is
//! the time in which it refills its capacity. So the calls of all limits are compared as times. Let
//! E be the instant at which the bucket was empty, as in [`crate::bound`]. Let L be the greatest
//! span of the limits that took tokens since the bucket was last full. The bucket is full under
//! every limit from E + L on.
//!
//! **Limits 1.** The grants wholly inside of a window of t cost at most S + t, where S is the
//! greatest span of all limits. Look at the grants of the window since the bucket was last full.
//! Before the first of them, E is at least its instant minus L. After the last one, E is at most
//! the end of the window. All earlier grants in the window together cost at most the time until
//! then, because E + L had passed. So [`crate::bound`] judges all grants as those of one bucket
//! with the capacity S and the rate 1.
//!
//! **Limits 2.** A denial is explained by the grants before it. Calls that overlap form a group.
//! Their order is unknown, so an upper bound of E counts all their costs after their last end:
//!
//! > E = max(E before, last end − least span) + sum of the costs
//!
//! If E + L has passed when the next group starts, the bucket was full, and both are forgotten. A
//! denial of the cost c under the span s that starts at p must find max(E, p − s) + c > p. Calls of
//! unknown outcome count as grants. A loss of state only lowers E.

use crate::bound;
use crate::call::{Call, Kind, Nanos, Outcome, Quota, Tokens};
use crate::rules::{Broken, Rules};

/// The time by which a store may forget a full bucket too late: 15 ms and a thousandth of the span.
const LATE: Nanos = 15_000_000;

/// A call, whose cost is a time, and the span of its limit.
type Timed = (Call, Nanos);

/// Judges the calls of limits that share a bucket. Returns the faults by each of the two rules.
#[must_use]
pub fn judge(limits: &[(Quota, &[Call])], rules: &Rules) -> [Broken; 2] {
    let mut calls: Vec<Timed> = Vec::new();
    for (quota, of_limit) in limits {
        let span = quota.time(quota.capacity);
        let timed = |call: &Call| Call {
            cost: Tokens::from(quota.time(call.cost)),
            ..*call
        };
        calls.extend(of_limit.iter().map(|call| (timed(call), span)));
    }
    calls.sort_unstable_by_key(|(call, _)| call.start);
    [bounded(&calls, rules), explained(&calls, rules)]
}

fn bounded(calls: &[Timed], rules: &Rules) -> Broken {
    let takes: Vec<_> = calls.iter().map(|&(call, _)| call).collect();
    let greatest = calls.iter().map(|&(_, span)| span).max();
    let quota = Quota {
        capacity: Tokens::from(greatest.unwrap_or(0)),
        rate: 1,
    };
    let worst = bound::judge(&takes, &quota, rules);
    let mut broken = Broken::default();
    if let Some(first) = worst.first {
        broken.add(|| {
            format!(
                "{} ns too many in a window that ends at {}",
                first.excess, first.end
            )
        });
        broken.count = worst.violations;
    }
    broken
}

/// An instant, which is negative if it is before the boot of the host.
type Instant = i128;

/// Upper bounds of E and L, or `None` if the bucket was certainly full.
#[derive(Clone, Copy, Default)]
struct Lack(Option<(Instant, Nanos)>);

impl Lack {
    /// Returns the instant from which the bucket is certainly full.
    fn full_at(self) -> Instant {
        let Self(lack) = self;
        lack.map_or(Instant::MIN, |(empty_at, greatest)| {
            empty_at + Instant::from(greatest + greatest / 1000 + LATE)
        })
    }
}

/// Calls that overlap.
#[derive(Clone, Copy)]
struct Group {
    end: Nanos,
    cost: Nanos,
    least: Nanos,
    greatest: Nanos,
}

impl Group {
    /// Returns what is known after the group, if it ends at `end` at the latest.
    fn after(&self, Lack(before): Lack, end: Nanos) -> Lack {
        let full = Instant::from(end) - Instant::from(self.least);
        let (empty_at, greatest) = before.unwrap_or((full, 0));
        let empty_at = empty_at.max(full) + Instant::from(self.cost);
        Lack(Some((empty_at, greatest.max(self.greatest))))
    }
}

fn explained(calls: &[Timed], rules: &Rules) -> Broken {
    let mut broken = Broken::default();
    let takes = |(call, _): &&Timed| call.may_have_taken() || call.outcome == Outcome::Undone;
    let mut takes = calls.iter().filter(takes).peekable();
    let mut denials: Vec<_> = calls.iter().filter(|(call, _)| call.is_denied()).collect();
    denials.sort_unstable_by_key(|(call, _)| call.end);
    let (mut before, mut group) = (Lack::default(), None::<Group>);
    for &&(ref denial, span) in &denials {
        // Takes that start before the end of the denial may have come before it.
        while let Some((take, span)) = takes.next_if(|(take, _)| take.start <= denial.end) {
            if let Some(ended) = group.filter(|group| group.end < take.start) {
                before = ended.after(before, ended.end);
                if before.full_at() <= Instant::from(take.start) {
                    before = Lack::default();
                }
                group = None;
            }
            let known = group.unwrap_or(Group {
                end: take.end,
                cost: 0,
                least: *span,
                greatest: *span,
            });
            group = Some(Group {
                end: known.end.max(take.end),
                cost: known.cost + time(take.cost) + rules.tick,
                least: known.least.min(*span),
                greatest: known.greatest.max(*span),
            });
        }
        let after = group.map_or(before, |group| {
            group.after(before, group.end.min(denial.end))
        });
        let start = Instant::from(denial.start);
        let full = start - Instant::from(span);
        let lack = after.0.filter(|_| start < after.full_at());
        let empty_at = lack.map_or(full, |(empty_at, _)| empty_at.max(full));
        let needed = time(denial.cost) + rules.tick + rules.wait + rules.cached;
        if denial.kind == Kind::Take && empty_at + Instant::from(needed) <= start {
            broken.add(|| {
                format!(
                    "denied although the bucket held enough, at {}",
                    denial.start
                )
            });
        }
    }
    broken
}

fn time(cost: Tokens) -> Nanos {
    Nanos::try_from(cost).unwrap_or(Nanos::MAX / 4)
}
