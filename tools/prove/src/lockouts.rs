//! Judges a lockout: some attempts are free, and then each block ends with one attempt.
//!
//! A call of the kind `Take` is an attempt, and a `Reset` is a success, which clears the failures.
//! Only attempts that are granted and successes change the state. The rules are:
//!
//! 1. **Never too many.** Take the grants between two instants that are t apart. They are at most
//!    the free attempts plus the number of blocks that fit into t. Each success, each loss of state
//!    and each longest block in t may let the failures be forgotten. Then the attempts are free
//!    again, and the first block is as short as any.
//! 2. **No denial without cause.** The call of a denial contains an instant of a block. A block
//!    begins with a grant that no success before the denial has cleared. It lasts at most as long
//!    as the failures since the success before it allow.
//! 3. **The wait was true.** After the wait that a denial stated, a call is denied only if an
//!    attempt was or may have been granted since that denial began.
//!
//! A denial changes nothing. So a limiter whose denials make a block longer breaks rule 3.

use crate::call::{Call, Kind, Nanos, Outcome};
use crate::rules::{Broken, Rules};
use crate::sums::Overlaps;

/// The most grants of one span of time that rule 1 compares. More are not needed, because the
/// blocks soon become longer than a trial.
const MOST: usize = 100;

/// The rules of a lockout. Times are in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lockout {
    /// The failures that begin the first block.
    pub attempts: u64,
    /// The first block.
    pub block: Nanos,
    /// The factor by which each further failure makes the block longer, in thousandths.
    pub factor: u64,
    /// The longest block.
    pub longest: Nanos,
    /// The unit of the instants that the store keeps.
    pub unit: Nanos,
}

impl Lockout {
    /// Returns the length of the block that begins with this number of failures.
    fn block(&self, failures: u64) -> Nanos {
        let Some(more) = failures.checked_sub(self.attempts) else {
            return 0;
        };
        let mut block = self.block;
        for _ in 0..more {
            if block >= self.longest {
                break;
            }
            block = block * self.factor / 1_000;
        }
        block.min(self.longest)
    }

    /// Returns the number of blocks that fit into `time`. Their failures may be forgotten meanwhile
    /// if `forgets`.
    fn fit(&self, time: Nanos, forgets: bool) -> u64 {
        if forgets {
            return time / self.block;
        }
        let (mut rest, mut count) = (time, 0);
        while let Some(left) = rest.checked_sub(self.block(self.attempts + count)) {
            (rest, count) = (left, count + 1);
        }
        count
    }
}

/// The calls of a lockout, in the order of their starts.
struct History<'c> {
    attempts: Vec<&'c Call>,
    /// The ends of the attempts, in ascending order.
    ends: Vec<Nanos>,
    clears: Vec<&'c Call>,
    losses: Vec<&'c Call>,
}

impl<'c> History<'c> {
    fn new(calls: &'c [Call]) -> Self {
        let of = |keep: fn(&Call) -> bool| {
            let mut kept: Vec<_> = calls.iter().filter(|call| keep(call)).collect();
            kept.sort_unstable_by_key(|call| call.start);
            kept
        };
        let attempts = of(|call| call.kind == Kind::Take && call.may_have_taken());
        let mut ends: Vec<_> = attempts.iter().map(|call| call.end).collect();
        ends.sort_unstable();
        Self {
            attempts,
            ends,
            clears: of(|call| call.kind == Kind::Reset),
            losses: of(|call| call.kind == Kind::Lost),
        }
    }

    /// Returns the start of the last success that certainly ended before a call. A store that loses
    /// its state may return to the state before the success.
    fn cleared(&self, before: &Call) -> Nanos {
        let lost = self.losses.iter().filter(|loss| loss.start <= before.end);
        let lost = lost.map(|loss| loss.end).max().unwrap_or(0);
        let is_sure = |clear: &&&Call| clear.outcome == Outcome::Done && clear.end < before.start;
        let last = self.clears.iter().rev().find(is_sure);
        let last = last.filter(|clear| clear.start > lost);
        last.map_or(0, |clear| clear.start)
    }

    /// Returns the last instant of the longest block that an attempt may have begun.
    fn blocks_until(&self, attempt: &Call, lockout: &Lockout) -> Nanos {
        let begun = self.attempts.partition_point(|it| it.start <= attempt.end);
        let cleared = self.cleared(attempt);
        let gone = self.ends.partition_point(|&end| end < cleared);
        let failures = (begun - gone) as u64;
        attempt.end.saturating_add(lockout.block(failures))
    }

    /// Reports whether, from one denial to another, an attempt may have been granted or the state
    /// may have been lost.
    fn may_have_changed(&self, from: &Call, to: &Call) -> bool {
        let begun = self.attempts.partition_point(|it| it.start <= to.end);
        let ended = self.ends.partition_point(|&end| end < from.start);
        let lost = |loss: &&Call| loss.start <= to.end && from.start <= loss.end;
        begun > ended || self.losses.iter().any(lost)
    }

    /// Reports whether a block may have included an instant of a denial.
    fn explains(&self, denial: &Call, lockout: &Lockout, margin: Nanos) -> bool {
        let begun = self.attempts.partition_point(|it| it.start <= denial.end);
        let cleared = self.cleared(denial);
        // The last attempt explains nearly all denials.
        let mut earlier = self.attempts[..begun].iter().rev();
        earlier.any(|attempt| {
            attempt.end >= cleared
                && self.blocks_until(attempt, lockout).saturating_add(margin) >= denial.start
        })
    }
}

/// Checks the calls on a lockout, in any order. Does not apply to several lockouts under one name.
pub fn judge(calls: &[Call], lockout: &Lockout, rules: &Rules) -> Vec<Broken> {
    let margin = rules.skew + 2 * rules.tick + lockout.unit;
    let history = History::new(calls);
    let mut broken = vec![Broken::default(); 3];
    excesses(&history, lockout, margin, &mut broken[0]);
    let mut denials: Vec<_> = calls.iter().filter(|call| call.is_denied()).collect();
    denials.sort_unstable_by_key(|call| call.start);
    // The denial that stated the earliest end of the block, of those that no attempt followed.
    let mut said: Option<(Nanos, &Call)> = None;
    for denial in denials {
        let Call { start, end, .. } = denial;
        if !history.explains(denial, lockout, margin) {
            broken[1].add(|| format!("denied without a block, between {start} and {end}"));
        }
        said = said.filter(|(_, earlier)| !history.may_have_changed(earlier, denial));
        if let Some((until, _)) = said.filter(|(until, _)| until + margin < *start) {
            broken[2].add(|| format!("denied at {start}, though the block ended at {until}"));
        }
        let Outcome::Denied {
            retry_after: Some(wait),
        } = denial.outcome
        else {
            continue;
        };
        let until = end.saturating_add(wait);
        if said.is_none_or(|(earliest, _)| until < earliest) {
            said = Some((until, denial));
        }
    }
    broken
}

fn excesses(history: &History<'_>, lockout: &Lockout, margin: Nanos, broken: &mut Broken) {
    let forgets = history.clears.iter().chain(&history.losses);
    let forgets = Overlaps::new(forgets.map(|call| (call.start, call.end, 1)));
    let grants = history.attempts.iter().filter(|call| call.is_granted());
    let grants: Vec<_> = grants.collect();
    for (first, from) in grants.iter().enumerate() {
        let mut end = from.end;
        for (more, to) in grants[first..].iter().enumerate().take(MOST) {
            end = end.max(to.end);
            let (granted, time) = (more as u64 + 1, end - from.start + margin);
            if granted <= lockout.attempts {
                continue;
            }
            let forgotten = u64::try_from(forgets.sum(from.start, end)).unwrap_or(u64::MAX);
            let forgotten = forgotten + time / lockout.longest;
            let most = lockout.attempts * (1 + forgotten) + lockout.fit(time, forgotten > 0);
            if granted > most {
                let start = from.start;
                broken.add(|| {
                    format!("{granted} attempts from {start} to {end}, and {most} are due")
                });
            }
        }
    }
}
