//! Rule 3: waiting `retryAfter` was enough when nobody else took tokens.
//!
//! **Why it is necessary.** A denial of n tokens at p that says "retry after w" says that the bucket holds at least
//! n − r·w tokens at p, and so, with what was taken since, at an instant p' > p at least the lesser of
//!
//! > n − r·w + r·(p' − p) − W and C − W
//!
//! where W is what calls took between p and p' (the second, for the bucket may have been full in between). Refunds, resets and
//! losses only add to it. A later denial of n' tokens at p' is false when both are at least n'. With W = 0 and
//! n' = n this is the rule's name: denied though it had waited w, and nobody took anything.
//!
//! Where hosts may deny on what they knew `hint` ago, the earlier denial may not know what was taken in the `hint` before
//! it: W begins that much earlier. And it may know of a refund, a reset or a loss that the later one does not
//! know of: until `hint` after its end each of these counts in W as if it had taken what it gave.
//!
//! The instants are only known to lie within [s, e] and [s', e'], with e <= s': p' − p is at least s' − e, and W at most
//! what calls took, or may have taken, that overlap [s, e'].
//!
//! **Why the sweep is enough.** W = A(e') − F(s), with A(t) the cost of all such calls that started by t, and F(t) of those that
//! ended before t. So the first is [n − r·(e + w) + F(s)] + r·s' − A(e'): the bracket belongs to the earlier denial
//! alone. The second is at least n' exactly when F(s) >= A(e') − C + n', and F grows with s: that admits the
//! earlier denials from some s on. Later denials are taken in the order of their starts, earlier ones enter a tree
//! over their starts when they have ended, and the greatest bracket of the admitted ones decides.

use crate::bound::gift;
use crate::call::{Call, Nanos, Outcome, Tokens};
use crate::rules::{Quota, Rules};
use crate::tree::Maxima;

/// The denials that contradict what an earlier one said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contradicted {
    /// How many.
    pub violations: u64,
    /// The first, and how many tokens at least the bucket should have held beyond what was asked for.
    pub first: Option<(Call, Tokens)>,
    /// How many could have contradicted an earlier one: something was said before that still bound them.
    pub judged: u64,
}

/// Costs by one end of their calls, summed.
struct Sums(Vec<(Nanos, Tokens)>);

impl Sums {
    fn new(costs: impl Iterator<Item = (Nanos, Tokens)>) -> Self {
        let mut sums: Vec<_> = costs.collect();
        sums.sort_unstable();
        let mut sum = 0;
        for (_, cost) in &mut sums {
            sum += *cost;
            *cost = sum;
        }
        Self(sums)
    }

    fn before(&self, instant: Nanos) -> Tokens {
        self.first(self.0.partition_point(|&(at, _)| at < instant))
    }

    fn until(&self, instant: Nanos) -> Tokens {
        self.first(self.0.partition_point(|&(at, _)| at <= instant))
    }

    fn first(&self, count: usize) -> Tokens {
        count.checked_sub(1).map_or(0, |last| self.0[last].1)
    }
}

/// Judges the calls of one bucket, in any order. Not for several buckets behind one name: what one
/// says does not bind another.
#[must_use]
pub fn judge(calls: &[Call], quota: &Quota, rules: &Rules) -> Contradicted {
    let takes = || calls.iter().filter_map(|call| take(call, quota, rules));
    let started = Sums::new(takes().map(|(start, _, cost)| (start, cost)));
    let ended = Sums::new(takes().map(|(_, end, cost)| (end, cost)));
    let mut by_start: Vec<&Call> = calls.iter().filter(|call| call.is_denied()).collect();
    by_start.sort_unstable_by_key(|call| call.start);
    let ended_before: Vec<Tokens> = by_start
        .iter()
        .map(|call| ended.before(call.start.saturating_sub(rules.hint)))
        .collect();
    let mut by_end: Vec<usize> = (0..by_start.len()).collect();
    by_end.sort_unstable_by_key(|&index| by_start[index].end);
    let mut said = Maxima::new(by_start.len());
    let mut entered = by_end.into_iter().peekable();
    let slack = quota.refill(2 * rules.tick + rules.skew);
    let mut result = Contradicted::default();
    for denial in &by_start {
        while let Some(index) = entered.next_if(|&index| by_start[index].end <= denial.start) {
            let earlier = by_start[index];
            if let Some(free_at) = free_at(earlier) {
                let bracket = earlier.cost - quota.refill(free_at) + ended_before[index];
                said.set(index, bracket);
            }
        }
        let taken = started.until(denial.end);
        let least = taken - quota.capacity + denial.cost;
        let from = ended_before.partition_point(|&ended| ended < least);
        if let Some(bracket) = said.greatest(from, by_start.len()) {
            let held = bracket + quota.refill(denial.start) - taken - slack;
            result.add(denial, held - denial.cost);
        }
    }
    result
}

/// From when to when a call may have taken how much from what a denial promised.
fn take(call: &Call, quota: &Quota, rules: &Rules) -> Option<(Nanos, Nanos, Tokens)> {
    if call.may_have_taken() {
        let charged = call.cost + quota.refill(rules.tick);
        return Some((call.start, call.end, charged));
    }
    let given = gift(call, quota, rules).filter(|_| rules.hint > 0)?;
    Some((call.start, call.end.saturating_add(rules.hint), given))
}

/// The latest instant at which what a denial asked for is there, if nobody takes anything.
fn free_at(denial: &Call) -> Option<Nanos> {
    match denial.outcome {
        Outcome::Denied {
            retry_after: Some(wait),
        } => denial.end.checked_add(wait),
        _ => None,
    }
}

impl Contradicted {
    fn add(&mut self, call: &Call, spare: Tokens) {
        self.judged += 1;
        if spare >= 0 {
            self.violations += 1;
            self.first.get_or_insert((*call, spare));
        }
    }
}
