//! Rule 3: after a wait of `retryAfter`, the bucket held the denied tokens if no other call took
//! any.
//!
//! **Why it is necessary.** A denial of n tokens at p with "retry after w" promises that the bucket
//! holds at least n − r·w tokens at p, where r is the rate. Let W be the tokens that calls took
//! between p and p' > p. Then at p' the bucket holds at least the lesser of
//!
//! > n − r·w + r·(p' − p) − W and C − W
//!
//! C is the capacity. C − W is needed because the bucket may have been full in between. Refunds,
//! resets and losses only add tokens. A later denial of n' tokens at p' is false if both levels are
//! at least n'. For example, let W = 0 and n' = n. Then a call was denied although its caller had
//! waited w and no other call took tokens.
//!
//! If hosts may deny from entries of the denial cache that are up to `cached` old, W is larger. The
//! earlier denial may not include the tokens taken in the `cached` before it, so W begins that much
//! earlier. The earlier denial may include a refund, a reset or a loss that the later denial does
//! not include. So each of these counts in W until `cached` after its end, as if it had taken the
//! tokens that it gave. The same holds for cancels and undone takes. Undone takes count in W
//! without `cached`, too, because the later denial may lie between the take and its give-back.
//!
//! A drain counts as a take of the tokens that a full bucket lacks after it. A denied take of n
//! with a floor of f needs n + f tokens. A denied reservation promises the same level at p as a
//! denied take. If the later denial is one of a reservation that may wait for w', it is false if
//! both levels are at least n' − r·w'.
//!
//! The instants are only known to lie within [s, e] and [s', e'], with e <= s'. So p' − p is at
//! least s' − e. W is at most the tokens of all calls that overlap [s, e'] and took, or may have
//! taken, tokens.
//!
//! **Why the sweep is enough.** W = A(e') − F(s). A(t) is the sum of the tokens of all such calls
//! that started by t. F(t) is the same sum for the calls that ended before t. So the first of the
//! two levels is [n − r·(e + w) + F(s)] + r·s' − A(e'). Its bracket depends on the earlier denial
//! alone. The second level is at least n' exactly when F(s) >= A(e') − C + n'. F grows with s, so
//! this condition admits the earlier denials from some s on. The sweep visits later denials in the
//! order of their starts. Earlier denials enter a tree over their starts once they have ended. The
//! later denial is judged by the greatest bracket of the admitted earlier denials.

use crate::call::{Call, Nanos, Outcome, Quota, Tokens};
use crate::gifts::all_returned;
use crate::rules::Rules;
use crate::sums::Overlaps;
use crate::tree::Maxima;

/// The denials that contradict the wait of an earlier denial.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contradicted {
    pub violations: u64,
    /// The first contradiction, and the fewest tokens that the bucket should have held beyond the
    /// denied tokens.
    pub first: Option<(Call, Tokens)>,
    /// The number of denials that were compared with the wait of an earlier denial.
    pub judged: u64,
}

/// Checks the calls of one bucket against rule 3. The calls may be in any order.
///
/// Does not apply to several buckets under one name, because a denial of one bucket promises
/// nothing about another bucket.
pub fn judge(calls: &[Call], quota: &Quota, rules: &Rules) -> Contradicted {
    let returned = all_returned(calls, quota, rules).into_iter();
    let takes: Vec<_> = calls
        .iter()
        .zip(returned)
        .filter_map(|(call, returned)| take(call, returned, quota, rules))
        .collect();
    let Overlaps { started, ended } = Overlaps::new(takes.into_iter());
    let mut by_start: Vec<&Call> = calls.iter().filter(|call| call.is_denied()).collect();
    by_start.sort_unstable_by_key(|call| call.start);
    let ended_before: Vec<Tokens> = by_start
        .iter()
        .map(|call| ended.before(call.start.saturating_sub(rules.cached)))
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
                let bracket = earlier.asked() - quota.refill(free_at) + ended_before[index];
                said.set(index, bracket);
            }
        }
        let taken = started.until(denial.end);
        let least = taken - quota.capacity + denial.needed(quota);
        let from = ended_before.partition_point(|&ended| ended < least);
        if let Some(bracket) = said.greatest(from, by_start.len()) {
            let held = bracket + quota.refill(denial.start) - taken - slack;
            result.add(denial, held - denial.needed(quota));
        }
    }
    result
}

/// Returns the start, the end and the tokens of a call that may reduce a promised level. The call
/// may have given `returned` tokens to the bucket.
fn take(
    call: &Call,
    returned: Tokens,
    quota: &Quota,
    rules: &Rules,
) -> Option<(Nanos, Nanos, Tokens)> {
    let charged = call.cost + quota.refill(rules.tick);
    if call.may_have_taken() {
        return Some((call.start, call.end, charged));
    }
    if call.may_have_drained() {
        return Some((call.start, call.end, call.drained(quota, rules.tick)));
    }
    let is_undone = call.outcome == Outcome::Undone;
    let amount = returned.max(if is_undone { charged } else { 0 });
    let counts = is_undone || (amount > 0 && rules.cached > 0);
    counts.then_some((call.start, call.end.saturating_add(rules.cached), amount))
}

/// Returns the latest instant by which the denied tokens are refilled if no other call takes
/// tokens. Returns `None` if the denial states no wait.
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
