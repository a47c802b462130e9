//! All or nothing over several buckets, for stores that cannot do it in one operation.
//!
//! Every bucket is asked first (dry), then charged in order; what was charged is refunded when one
//! refuses after all. Not atomic: between the question and the charge others may take tokens, and
//! until the refund they may be denied. Nobody is ever granted too much.

use crate::clock::Ticks;
use crate::step::{Outcome, Step};

/// One step of a batch and what came of it.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    /// Its place in the batch.
    pub index: usize,
    /// The step as it was asked, with all that the batch asks of that bucket.
    pub step: Step,
    /// The answer.
    pub outcome: Outcome,
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
    /// Gives back `cost` to the bucket of step `index`.
    ///
    /// # Errors
    /// When its store fails.
    fn refund(&mut self, index: usize, cost: Ticks) -> Result<(), Self::Error>;
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
        let step = merged(batch, &steps, index);
        let outcome = batch.take(index, &step.dry())?;
        if !outcome.granted() {
            return Ok(Err(Taken {
                index,
                step,
                outcome,
            }));
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

/// All that the batch asks of the bucket of step `index`: under the smallest burst, so that what the
/// merged step is granted, its parts are granted one after the other.
fn merged<B: Batch>(batch: &B, steps: &[Step], index: usize) -> Step {
    let mut whole = steps[index];
    for (later, step) in steps.iter().enumerate().skip(index + 1) {
        if batch.same_bucket(index, later) {
            // Saturating at 2^60 keeps the step's own bound; it is denied anyhow.
            whole.cost = whole
                .cost
                .saturating_add(step.cost)
                .min(crate::quota::MAX_BURST);
            whole.burst = whole.burst.min(step.burst);
        }
    }
    whole
}

fn give_back<B: Batch>(batch: &mut B, taken: &[Taken]) -> Result<(), B::Error> {
    let mut result = Ok(());
    for one in taken.iter().rev() {
        result = batch.refund(one.index, one.step.cost).and(result);
    }
    result
}
