//! Judges a quota: a number of tokens in each window of a calendar.
//!
//! The windows start at instants that are known, up to an error and the skew of clocks. A call is
//! *certainly* in a window if its interval is inside by that margin. It is *possibly* in a window
//! if its interval reaches the window enlarged by the margin. The rules are:
//!
//! 1. **Never too much.** Take any windows that follow each other. The tokens granted by calls that
//!    are certainly in them are at most their limits, plus the refunds and losses that overlap
//!    them. In a single window without a loss, charges that ended before the start of the last
//!    grant count, too. A loss also cancels charges beyond the limit. A give-back of
//!    a batch does not count as a refund, because it gives nothing to a later window.
//! 2. **No denial without cause.** A denial of n tokens is certainly in a window. Then the tokens
//!    that calls took or may have taken in the window before its end exceed the limit without n. An
//!    undone take counts while its call lasts.
//! 3. **The wait is the end of the window.** A denial that is certainly in a window states a wait
//!    that ends with the window.
//!
//! Refunds are ignored by rule 2, because they only lower the tokens that were taken. A denial that
//! is not certainly in one window is not judged, because a host whose clock is ahead may have begun
//! the next window.

use crate::call::{Call, Kind, Nanos, Outcome, TOKEN, Tokens};
use crate::rules::{Broken, Rules};
use crate::sums::Overlaps;

/// The limit of a quota and its windows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Windows {
    limit: Tokens,
    /// The greatest error of the starts in nanoseconds.
    error: Nanos,
    /// The starts of windows. The first is 0, the beginning of time.
    starts: Vec<Nanos>,
}

impl Windows {
    /// Creates the windows of a limit in tokens. The starts are in ascending order.
    pub fn new(limit: u64, error: Nanos, starts: &[Nanos]) -> Self {
        Self {
            limit: Tokens::from(limit) * TOKEN,
            error,
            starts: [&[0], starts].concat(),
        }
    }

    fn start(&self, number: usize) -> Nanos {
        self.starts.get(number).copied().unwrap_or(Nanos::MAX)
    }

    /// Returns the number of the window that a call is certainly in.
    fn of(&self, call: &Call, margin: Nanos) -> Option<usize> {
        let earliest = call.start.saturating_sub(margin);
        let number = self.starts.partition_point(|&start| start <= earliest) - 1;
        (call.end.saturating_add(margin) < self.start(number + 1)).then_some(number)
    }
}

/// Checks the calls on a quota, in any order. Does not apply to several quotas under one name.
pub fn judge(calls: &[Call], windows: &Windows, rules: &Rules) -> Vec<Broken> {
    let margin = windows.error + rules.skew + rules.tick;
    let mut broken = vec![Broken::default(); 3];
    excesses(calls, windows, margin, &mut broken[0]);
    denials(calls, windows, margin, &mut broken[1..]);
    broken
}

fn excesses(calls: &[Call], windows: &Windows, margin: Nanos, broken: &mut Broken) {
    for first in 0..windows.starts.len() {
        for last in first..windows.starts.len() {
            let from = windows.start(first);
            let from = if first == 0 { 0 } else { from + margin };
            let to = windows.start(last + 1).saturating_sub(margin);
            let inside = |call: &&Call| from <= call.start && call.end <= to;
            let granted = calls.iter().filter(|call| call.is_granted()).filter(inside);
            let Some(latest) = granted.clone().map(|call| call.start).max() else {
                continue;
            };
            let given = calls
                .iter()
                .filter(|call| from <= call.end && call.start <= to);
            let forgets = given.clone().any(|call| call.kind == Kind::Lost);
            let counts = first == last && !forgets;
            let before = |call: &&Call| call.end < latest && counts;
            let charged = calls.iter().filter(|call| call.is_charged());
            let charged = charged.filter(inside).filter(before);
            let taken: Tokens = granted.chain(charged).map(|call| call.cost).sum();
            let given: Tokens = given.map(|call| given_back(call, windows)).sum();
            let count = Tokens::try_from(last - first + 1).unwrap_or(Tokens::MAX);
            let excess = taken - windows.limit * count - given;
            if excess > 0 {
                broken.add(|| {
                    let tokens = excess / TOKEN;
                    format!("{tokens} tokens too many in the windows {first} to {last}")
                });
            }
        }
    }
}

/// Returns the most tokens that a call gave to the window in which it took effect.
fn given_back(call: &Call, windows: &Windows) -> Tokens {
    match (call.kind, call.outcome) {
        (Kind::Refund, Outcome::Done | Outcome::Unknown) => call.cost,
        (Kind::Lost, _) => windows.limit,
        _ => 0,
    }
}

fn denials(calls: &[Call], windows: &Windows, margin: Nanos, broken: &mut [Broken]) {
    // The takes of each window.
    let taken = (0..windows.starts.len()).map(|number| {
        let from = windows.start(number).saturating_sub(margin);
        let to = windows.start(number + 1).saturating_add(margin);
        let in_it = calls
            .iter()
            .filter(move |call| from <= call.end && call.start <= to);
        let in_it = in_it.filter(|call| call.may_have_taken());
        Overlaps::new(in_it.map(|call| (call.start, call.end, call.cost)))
    });
    let taken: Vec<_> = taken.collect();
    let undone = calls.iter().filter(|call| call.outcome == Outcome::Undone);
    let undone = Overlaps::new(undone.map(|call| (call.start, call.end, call.cost)));
    for denial in calls {
        let Outcome::Denied { retry_after } = denial.outcome else {
            continue;
        };
        let Some(number) = windows.of(denial, margin) else {
            continue;
        };
        let taken = taken[number].started.until(denial.end) + undone.sum(denial.start, denial.end);
        let [unexplained, wrong] = broken else { return };
        if taken + denial.cost <= windows.limit {
            unexplained.add(|| {
                let tokens = (windows.limit - taken) / TOKEN;
                format!(
                    "denied with {tokens} tokens left, between {} and {}",
                    denial.start, denial.end
                )
            });
        }
        let end = windows.start(number + 1);
        let Some(wait) = retry_after.filter(|_| end < Nanos::MAX) else {
            continue;
        };
        let is_end = denial.start + wait <= end + margin && end <= denial.end + wait + margin;
        if !is_end {
            wrong.add(|| {
                let ends = end - denial.end;
                format!("a wait of {wait} ns, though the window ends in {ends} ns")
            });
        }
    }
}
