//! All or nothing over several buckets, for stores that cannot do it in one operation.
//!
//! Every bucket is asked first (dry), then charged in order; what was charged is refunded when one
//! refuses after all. Not atomic: between the question and the charge others may take tokens, and
//! until the refund they may be denied. No call is granted too much, because a give-back returns only
//! what the bucket still lacks because of the take ([`Put::worth`]).

use crate::clock::Ticks;
use crate::quota::MAX_BURST;
use crate::step::{Denial, Outcome, Step, Verdict};
use crate::store::Put;

/// One step of a batch and what came of it.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    /// Its place in the batch.
    pub index: usize,
    /// The step as it was asked; of a bucket that refuses, all that was asked of it.
    pub step: Step,
    /// The answer.
    pub outcome: Outcome,
}

impl Taken {
    /// Returns the change that undoes it, in the store that answered it.
    #[must_use]
    pub const fn give_back(&self) -> Put {
        Put::Refund {
            cost: self.step.cost,
            burst: self.step.burst,
            taken: self.outcome.empty_at,
        }
    }
}

/// What `take_all` needs: steps, which of them share a bucket, and how to take and refund.
pub trait Batch {
    /// How the stores can fail.
    type Error;
    /// The steps, in order.
    fn steps(&self) -> &[Step];
    /// Whether two steps name one bucket.
    fn same_bucket(&self, a: usize, b: usize) -> bool;
    /// Takes a step on the bucket of step `index`.
    ///
    /// # Errors
    /// When its store fails.
    fn take(&mut self, index: usize, step: &Step) -> Result<Outcome, Self::Error>;
    /// Undoes a take of this batch by [`Taken::give_back`].
    ///
    /// # Errors
    /// When its store fails.
    fn give_back(&mut self, taken: &Taken) -> Result<(), Self::Error>;
}

/// Takes every step of the batch or none.
///
/// The answers of all steps when granted; else the refusing one alone.
///
/// # Errors
/// When a store fails; what was charged before is refunded as far as possible.
pub fn take_all<B: Batch>(batch: &mut B) -> Result<Result<Vec<Taken>, Taken>, B::Error> {
    let steps = batch.steps().to_vec();
    for index in 0..steps.len() {
        if (0..index).any(|earlier| batch.same_bucket(earlier, index)) {
            continue;
        }
        let seen = batch.take(index, &steps[index].dry())?;
        let same_bucket = |a, b| batch.same_bucket(a, b);
        if let Some(refused) = refused(&same_bucket, &steps, index, seen) {
            return Ok(Err(refused));
        }
    }
    let mut taken = Vec::with_capacity(steps.len());
    for (index, &step) in steps.iter().enumerate() {
        let outcome = match batch.take(index, &step) {
            Ok(outcome) => outcome,
            Err(error) => {
                give_back(batch, &taken).ok();
                return Err(error);
            }
        };
        let one = Taken {
            index,
            step,
            outcome,
        };
        if !outcome.granted() {
            give_back(batch, &taken)?;
            return Ok(Err(one));
        }
        taken.push(one);
    }
    Ok(Ok(taken))
}

/// The first of the batch's steps on the bucket of step `first` that would be refused, were they taken
/// one after the other on the bucket as it was `seen`; with all that they ask of it, for it takes
/// that long until they are granted.
pub(crate) fn refused(
    same_bucket: &impl Fn(usize, usize) -> bool,
    steps: &[Step],
    first: usize,
    seen: Outcome,
) -> Option<Taken> {
    let is_mine = |&other: &usize| other == first || same_bucket(first, other);
    let mine: Vec<_> = (first..steps.len()).filter(is_mine).collect();
    let refusal = |from: Ticks| {
        let mut empty_at = from;
        mine.iter().copied().find(|&index| {
            let outcome = steps[index].decide(empty_at, seen.now);
            empty_at = outcome.empty_at;
            !outcome.granted()
        })
    };
    let mut outcome = seen;
    let mut index = first;
    if seen.granted() {
        index = refusal(seen.empty_at)?;
        outcome.verdict = Verdict::Denied(Denial::Insufficient);
    }
    // What even a full bucket does not hold, no waiting brings.
    if refusal(0).is_some() {
        outcome.verdict = Verdict::Denied(Denial::ExceedsCapacity);
    }
    let asked = mine.iter().map(|&index| steps[index].cost);
    let cost = asked.fold(0, Ticks::saturating_add).min(MAX_BURST);
    Some(Taken {
        index,
        step: Step {
            cost,
            ..steps[index]
        },
        outcome,
    })
}

fn give_back<B: Batch>(batch: &mut B, taken: &[Taken]) -> Result<(), B::Error> {
    let mut result = Ok(());
    for one in taken.iter().rev() {
        result = batch.give_back(one).and(result);
    }
    result
}
