//! Batches in shared memory: takes tokens from several buckets or from none.
//!
//! 1. Load the slots of all buckets.
//! 2. Read the clock once, and decide all buckets. If one denies, the batch ends here. It has
//!    written nothing.
//! 3. Swap the new states in, one right after the other. The bucket that can grant the fewest
//!    further calls comes first, because another process most likely empties this bucket.
//! 4. If another process has changed a slot since step 1, load and decide this slot again. If it
//!    now denies, undo the earlier swaps.
//!
//! A batch is not atomic. Between a swap and its undoing, another call may be denied. That takes
//! less than a microsecond, unless the process is suspended in between. If a process is killed
//! between two swaps, the tokens of the earlier swaps are lost.
//!
//! A batch never grants too much. Each swap is decided like a single call. Undoing it restores the
//! earlier state, or gives back only what the bucket still lacks because of the swap.

use super::SharedMemory;
use super::protocol::{Slots, Variant, find, take_found, undo};
use super::table::Neighbourhood;
use super::word::Word;
use crate::batch::{Batched, Taken, by_key, sum};
use crate::clock::Timestamp;
use crate::key::Key;
use crate::step::{Outcome, Step};

/// The records of the buckets in step 1, and their outcomes in step 2.
struct Decided {
    found: Vec<Option<(usize, Word)>>,
    outcomes: Vec<Outcome>,
    now: Timestamp,
}

/// Takes the step of each bucket or none. Each bucket is listed once. Returns the outcomes of all
/// buckets, or the index and the outcome of the bucket that denied.
///
/// # Errors
/// Returns the denial.
pub fn take_all<S: Slots>(buckets: &[(S, Step)]) -> Result<Vec<Outcome>, (usize, Outcome)> {
    let Decided {
        found,
        mut outcomes,
        now,
    } = decide(buckets)?;
    let mut order: Vec<usize> = (0..buckets.len()).collect();
    order.sort_by_key(|&index| {
        let step = &buckets[index].1;
        step.available(outcomes[index].empty_at, now) / step.cost.max(1)
    });
    let mut written = Vec::with_capacity(buckets.len());
    for index in order {
        let (slots, step) = &buckets[index];
        let (outcome, before) = take_found(slots, step, found[index], now);
        if !outcome.granted() {
            for (index, before) in written.into_iter().rev() {
                let (slots, step): &(S, Step) = &buckets[index];
                undo(slots, step, &outcomes[index], before);
            }
            return Err((index, outcome));
        }
        outcomes[index] = outcome;
        written.push((index, before));
    }
    Ok(outcomes)
}

/// Loads all slots, reads the clock and decides all buckets.
fn decide<S: Slots>(buckets: &[(S, Step)]) -> Result<Decided, (usize, Outcome)> {
    let found: Vec<_> = buckets.iter().map(|(slots, _)| find(slots)).collect();
    // The clock is read after all slots, so that a denial is true at the instant that it states.
    let now = buckets
        .first()
        .map_or(Timestamp::ZERO, |(slots, _)| slots.now());
    let decide = |(index, (_, step)): (usize, &(S, Step))| {
        // A bucket without a record is full.
        let empty_at = found[index].map_or(Timestamp::ZERO, |(_, word): (_, Word)| word.empty_at());
        let outcome = step.decide(empty_at, now);
        outcome.granted().then_some(outcome).ok_or((index, outcome))
    };
    let outcomes = buckets.iter().enumerate().map(decide);
    let outcomes = outcomes.collect::<Result<_, _>>()?;
    Ok(Decided {
        found,
        outcomes,
        now,
    })
}

impl<V: Variant> SharedMemory<V> {
    /// Takes the tokens of all steps or of none. A bucket may be listed several times.
    ///
    /// # Errors
    /// Returns the step that was denied.
    pub fn take_all(&self, keys: &[Key<'_>], steps: &[Step]) -> Batched {
        self.batch(keys, steps, take_all)
    }

    /// Returns the step that would be denied, or `None` if all would be granted. Takes nothing. A
    /// denial is counted.
    #[must_use]
    pub fn refused(&self, keys: &[Key<'_>], steps: &[Step]) -> Option<Taken> {
        let check = |buckets: &[_]| decide(buckets).map(|_| Vec::new());
        self.batch(keys, steps, check).err()
    }

    /// Calls `run` with each bucket and its tokens. Counts the outcomes that it returns.
    fn batch<'a>(
        &'a self,
        keys: &[Key<'_>],
        steps: &[Step],
        run: impl FnOnce(&[(Neighbourhood<'a, V>, Step)]) -> Result<Vec<Outcome>, (usize, Outcome)>,
    ) -> Batched {
        let mine = by_key(keys);
        let bucket = |mine: &Vec<usize>| (self.slots(keys[mine[0]].hash), sum(mine, steps));
        let buckets: Vec<_> = mine.iter().map(bucket).collect();
        let taken = |(bucket, outcome): (usize, Outcome)| {
            let taken = Taken::of(&mine[bucket], steps, outcome);
            self.tally(keys[taken.index], &outcome);
            taken
        };
        let outcomes = run(&buckets).map_err(taken)?;
        Ok(outcomes.into_iter().enumerate().map(taken).collect())
    }
}
