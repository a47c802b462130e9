//! Batches: takes tokens from several buckets or from none.
//!
//! The buckets of a batch form groups. The tokens of a group are taken at once: in shared memory
//! and on one Redis server in one operation, and on several remote servers at the same time. First
//! all buckets are checked, and no tokens are taken. The first group needs no check if one
//! operation takes its tokens. Then the groups are charged in order. If a bucket denies now, all
//! charges are given back.
//!
//! Shared memory is the last group. So its tokens are never held during a round trip to another
//! store, and other calls in shared memory are not denied meanwhile.
//!
//! A batch of several groups is not atomic. Another call may take tokens between the check and the
//! charge. Another call may also be denied until the tokens are given back. A batch never grants
//! too much, because a give-back returns only the part that the bucket still lacks
//! ([`Put::worth`]).

use crate::clock::Ticks;
use crate::key::Key;
use crate::quota::MAX_BURST;
use crate::step::{Outcome, Step};
use crate::store::Put;

/// The result of a batch: the takes of all buckets, or the one take that was denied.
pub type Batched = Result<Vec<Taken>, Taken>;

/// The take of all tokens that a batch requests from one bucket, and its outcome.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    /// The index of a step of the batch on this bucket. If the bucket denied, the first step for
    /// which it had too few tokens.
    pub index: usize,
    /// The step that ran. Its cost is the sum of the costs of all steps of the batch on the bucket.
    pub step: Step,
    /// The outcome of the step.
    pub outcome: Outcome,
}

impl Taken {
    /// Returns the take with this outcome. `mine` are the indexes of all `steps` on its bucket.
    #[must_use]
    pub fn of(mine: &[usize], steps: &[Step], outcome: Outcome) -> Self {
        let mut empty_at = outcome.empty_at;
        let is_denied = |&index: &usize| {
            let outcome = steps[index].decide(empty_at, outcome.now);
            empty_at = outcome.empty_at;
            !outcome.granted()
        };
        let denied = mine.iter().copied().find(is_denied);
        Self {
            index: denied.filter(|_| !outcome.granted()).unwrap_or(mine[0]),
            step: sum(mine, steps),
            outcome,
        }
    }

    /// Returns the change that undoes the take. The change must run on the store that ran the step.
    #[must_use]
    pub const fn give_back(&self) -> Put {
        Put::give_back(self.step.cost, self.step.burst, self.outcome.empty_at)
    }
}

/// The input of [`take_all`]: the groups, and the operations of their stores.
pub trait Batch {
    /// The error of the stores.
    type Error;
    /// Returns the number of groups.
    fn groups(&self) -> usize;
    /// Returns a take that would be denied, or `None`. Takes nothing.
    ///
    /// # Errors
    /// Fails if a store fails.
    fn refused(&mut self) -> Result<Option<Taken>, Self::Error>;
    /// Takes the tokens of the buckets of a group, and adds the takes to `taken`. Returns the take
    /// that was denied, or `None`.
    ///
    /// # Errors
    /// Fails if a store fails.
    fn take(&mut self, group: usize, taken: &mut Vec<Taken>) -> Result<Option<Taken>, Self::Error>;
    /// Undoes takes of this batch with [`Taken::give_back`].
    ///
    /// # Errors
    /// Fails if a store fails. The other takes are still undone.
    fn give_back(&mut self, taken: &[Taken]) -> Result<(), Self::Error>;
}

/// Takes the tokens of all groups or of none.
///
/// # Errors
/// Fails if a store fails. Earlier charges are then given back as far as possible.
pub fn take_all<B: Batch>(batch: &mut B) -> Result<Batched, B::Error> {
    if let Some(refused) = batch.refused()? {
        return Ok(Err(refused));
    }
    let mut taken = Vec::new();
    for group in 0..batch.groups() {
        match batch.take(group, &mut taken) {
            Ok(None) => {}
            Ok(Some(refused)) => {
                batch.give_back(&taken)?;
                return Ok(Err(refused));
            }
            Err(error) => {
                batch.give_back(&taken).ok();
                return Err(error);
            }
        }
    }
    Ok(Ok(taken))
}

/// Returns one step that takes the tokens of all steps on one bucket. `mine` are their indexes, at
/// least one. The steps have one quota.
#[must_use]
pub fn sum(mine: &[usize], steps: &[Step]) -> Step {
    let costs = mine.iter().map(|&index| steps[index].cost);
    let cost = costs.fold(0, Ticks::saturating_add);
    Step {
        // A cost above the limit exceeds every capacity.
        cost: cost.min(MAX_BURST + 1),
        ..steps[mine[0]]
    }
}

/// Groups the indexes of steps by their buckets. `hashes` are the hashes of the buckets' keys.
/// `is_same` compares the stores of two indexes whose hashes are equal. Each group is in order, and
/// so are the groups. No group is empty.
pub fn by_bucket(
    hashes: impl Iterator<Item = u128>,
    is_same: impl Fn(usize, usize) -> bool,
) -> Vec<Vec<usize>> {
    let mut order: Vec<(u128, usize)> = hashes.zip(0..).collect();
    order.sort_unstable();
    let mut groups: Vec<Vec<usize>> = Vec::with_capacity(order.len());
    for equal in order.chunk_by(|a, b| a.0 == b.0) {
        let start = groups.len();
        for &(_, index) in equal {
            let mut others = groups[start..].iter_mut();
            match others.find(|group| is_same(group[0], index)) {
                Some(group) => group.push(index),
                None => groups.push(vec![index]),
            }
        }
    }
    groups.sort_unstable_by_key(|group| group[0]);
    groups
}

/// Groups the indexes of `keys` by their buckets, as [`by_bucket`] does. The buckets are in one
/// store.
#[must_use]
pub fn by_key(keys: &[Key<'_>]) -> Vec<Vec<usize>> {
    by_bucket(keys.iter().map(|key| key.hash), |_, _| true)
}
