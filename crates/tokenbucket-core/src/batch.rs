//! Batches: takes tokens from several buckets or from none, for stores that cannot do this in one
//! operation.
//!
//! First a dry step runs on every bucket. Then the buckets are charged in order. If a bucket denies
//! now, the earlier charges are refunded. A batch is not atomic. Another call may take tokens
//! between the dry step and the charge. Another call may also be denied until the refund. A batch
//! never grants too much, because a refund returns only the part that the bucket still lacks
//! ([`Put::worth`]).

use crate::clock::{Ticks, Timestamp};
use crate::quota::MAX_BURST;
use crate::step::{Denial, Outcome, Step, Verdict};
use crate::store::Put;
use std::collections::HashMap;

/// One step of a batch and its outcome.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    /// The index of the step in the batch.
    pub index: usize,
    /// The step that ran. If its bucket denied, the cost is the sum of the costs of all steps of
    /// the batch on that bucket.
    pub step: Step,
    /// The outcome of the step.
    pub outcome: Outcome,
}

impl Taken {
    /// Returns the change that undoes the take. The change must run on the store that ran the step.
    #[must_use]
    pub const fn give_back(&self) -> Put {
        Put::Refund {
            cost: self.step.cost,
            burst: self.step.burst,
            taken: self.outcome.empty_at,
        }
    }
}

/// The input of [`take_all`]: the steps, which of them share a bucket, and the operations of their
/// stores.
pub trait Batch {
    /// The error of the stores.
    type Error;
    /// Returns the steps, in order.
    fn steps(&self) -> &[Step];
    /// Returns the index of the first step on the bucket of the step with this index.
    fn first_on_bucket(&self, index: usize) -> usize;
    /// Runs `step` on the bucket of the step with this index.
    ///
    /// # Errors
    /// Fails if its store fails.
    fn take(&mut self, index: usize, step: &Step) -> Result<Outcome, Self::Error>;
    /// Undoes a take of this batch with [`Taken::give_back`].
    ///
    /// # Errors
    /// Fails if its store fails.
    fn give_back(&mut self, taken: &Taken) -> Result<(), Self::Error>;
}

/// Grants all steps of the batch or none.
///
/// Returns the outcomes of all steps if all were granted, otherwise the first step that was denied.
///
/// # Errors
/// Fails if a store fails. Earlier charges are then refunded as far as possible.
pub fn take_all<B: Batch>(batch: &mut B) -> Result<Result<Vec<Taken>, Taken>, B::Error> {
    let steps = batch.steps().to_vec();
    let on_bucket = by_bucket((0..steps.len()).map(|index| batch.first_on_bucket(index)));
    for mine in &on_bucket {
        let seen = batch.take(mine[0], &steps[mine[0]].dry())?;
        if let Some(refused) = refused(mine, &steps, seen) {
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

/// Returns for each key the index of the first key of the same bucket. `is_same` compares the
/// buckets of two indexes whose hashes are equal.
pub fn firsts_on_buckets(
    hashes: impl Iterator<Item = u128>,
    is_same: impl Fn(usize, usize) -> bool,
) -> Vec<usize> {
    let mut firsts_by_hash: HashMap<u128, Vec<usize>> = HashMap::new();
    let first = |(index, hash)| {
        let firsts = firsts_by_hash.entry(hash).or_default();
        if let Some(&first) = firsts.iter().find(|&&first| is_same(first, index)) {
            return first;
        }
        firsts.push(index);
        index
    };
    hashes.enumerate().map(first).collect()
}

/// Groups the indexes of steps by their buckets. `firsts` are the results of
/// [`Batch::first_on_bucket`]. Each group is in order, and so are the groups. No group is empty.
pub(crate) fn by_bucket(firsts: impl Iterator<Item = usize>) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (index, first) in firsts.enumerate() {
        groups.push(Vec::new());
        groups[first].push(index);
    }
    groups.retain(|group| !group.is_empty());
    groups
}

/// Returns the first step that would be denied on one bucket, or `None`. `mine` are the indexes of
/// the steps on this bucket, at least one.
///
/// All these steps are decided in order, from the state in `seen`. The cost of the returned step is
/// the sum of their costs. The wait until these steps are granted depends on that sum.
pub(crate) fn refused(mine: &[usize], steps: &[Step], seen: Outcome) -> Option<Taken> {
    let refusal = |from: Timestamp| {
        let mut empty_at = from;
        mine.iter().copied().find(|&index| {
            let outcome = steps[index].decide(empty_at, seen.now);
            empty_at = outcome.empty_at;
            !outcome.granted()
        })
    };
    let mut outcome = seen;
    let mut index = mine[0];
    if seen.granted() {
        index = refusal(seen.empty_at)?;
        outcome.verdict = Verdict::Denied(Denial::Insufficient);
    }
    // If even a full bucket would deny these steps, a wait does not help.
    if refusal(Timestamp::ZERO).is_some() {
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
