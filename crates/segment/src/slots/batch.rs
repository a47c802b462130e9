//! Batches in shared memory: takes tokens from several buckets or from none.
//!
//! 1. Load the slots of all buckets.
//! 2. Read the clock once, and decide all buckets. If one denies, the batch ends here. It has
//!    written nothing.
//! 3. Swap each word with itself. If another process has changed a slot since step 1, this fails,
//!    and the batch starts again, but at most a few times.
//! 4. Swap the new words in, one right after the other. The bucket that can grant the fewest
//!    further calls comes first, because another process most likely empties this bucket.
//! 5. If another process has changed a slot since step 3, load and decide this slot again. If it
//!    now denies, undo the earlier swaps.
//!
//! A batch is not atomic. Between a swap and its undoing, another call may be denied. If a process
//! is killed between two swaps, the tokens of the earlier swaps are lost. If it is suspended there
//! and a later bucket then denies, some of these tokens may be lost, too. So everything is computed
//! before the first swap, and step 3 brings all slots into the processor's own cache. The swaps of
//! step 4 then take about half as long.
//!
//! A batch never grants too much. Each swap is decided like a single call. Undoing it restores the
//! earlier state, or gives back only what the bucket still lacks because of the swap.

use super::SharedMemory;
use super::counters::Event;
use super::protocol::{
    Point, Slots, Variant, count, find, is_unchanged, replace, take_found, undo,
};
use super::table::Neighbourhood;
use super::word::{Span, Word};
use gcra::batch::{Batched, Taken, by_key, sum};
use gcra::clock::Timestamp;
use gcra::key::Key;
use gcra::step::{Outcome, Step};

/// The number of checks before the first swap. A batch of many busy buckets would hardly ever find
/// all slots unchanged. It goes on after some checks, and decides changed slots one by one.
const CHECKS: u32 = 4;

/// The change of a batch to one bucket.
struct Change {
    /// The index of the bucket.
    bucket: usize,
    outcome: Outcome,
    /// The record for which the step was decided. A bucket without a record is full.
    found: Option<(usize, Word)>,
    /// The record after the change.
    after: Word,
    /// The number of equal calls that the bucket can grant after this one.
    further: u64,
}

impl Change {
    fn decide(bucket: usize, step: &Step, found: Option<(usize, Word)>, now: Timestamp) -> Self {
        let before = found.map_or(Word::EMPTY, |(_, word)| word);
        let outcome = step.decide(before.empty_at(), now);
        let after = if outcome.empty_at == before.empty_at() {
            before
        } else {
            before.moved(outcome.empty_at, Span::covering(step.span()))
        };
        Self {
            bucket,
            outcome,
            found,
            after,
            further: step.available(outcome.empty_at, now) / step.cost.max(1),
        }
    }

    /// Takes the tokens. If another process has changed the record, decides the step again.
    fn take<S: Slots>(&mut self, slots: &S, step: &Step) {
        if let Some(found) = self.found {
            if replace(slots, found, self.after) {
                return;
            }
            count(slots, Event::Conflict);
        }
        (self.outcome, self.found) = take_found(slots, step);
    }

    fn undo<S: Slots>(&self, (slots, step): &(S, Step)) {
        undo(slots, step, &self.outcome, self.found.map(|(_, word)| word));
    }
}

/// Takes the step of each bucket or none. Each bucket is listed once. Returns the outcomes of all
/// buckets, or the index and the outcome of the bucket that denied.
///
/// # Errors
/// Returns the denial.
pub fn take_all<S: Slots>(buckets: &[(S, Step)]) -> Result<Vec<Outcome>, (usize, Outcome)> {
    let mut changes = decide_unchanged(buckets)?;
    for index in 0..changes.len() {
        let change = &mut changes[index];
        let (slots, step) = &buckets[change.bucket];
        change.take(slots, step);
        if !change.outcome.granted() {
            let denial = (change.bucket, change.outcome);
            for change in changes[..index].iter().rev() {
                change.undo(&buckets[change.bucket]);
            }
            return Err(denial);
        }
    }
    changes.sort_unstable_by_key(|change| change.bucket);
    Ok(changes.into_iter().map(|change| change.outcome).collect())
}

/// Decides all buckets. Decides them again if another process has changed a slot meanwhile.
/// Afterwards, the slots are in the processor's own cache.
fn decide_unchanged<S: Slots>(buckets: &[(S, Step)]) -> Result<Vec<Change>, (usize, Outcome)> {
    let mut changes = decide(buckets)?;
    for tries in 0..CHECKS {
        let changed = changes.iter().find(|change| {
            let (slots, _) = &buckets[change.bucket];
            let is_changed = |found| !is_unchanged(slots, found);
            change.found.is_some_and(is_changed)
        });
        let Some(changed) = changed else {
            break;
        };
        let (slots, _) = &buckets[changed.bucket];
        count(slots, Event::Conflict);
        slots.pause(tries);
        changes = decide(buckets)?;
    }
    Ok(changes)
}

/// Loads all slots, reads the clock and decides all buckets. The bucket that can grant the fewest
/// further calls comes first.
fn decide<S: Slots>(buckets: &[(S, Step)]) -> Result<Vec<Change>, (usize, Outcome)> {
    let found: Vec<_> = buckets.iter().map(|(slots, _)| find(slots)).collect();
    S::Variant::reached(Point::Loaded);
    // The clock is read after all slots, so that a denial is true at the instant that it states.
    let now = buckets
        .first()
        .map_or(Timestamp::ZERO, |(slots, _)| slots.now());
    let decide = |(index, (_, step)): (usize, &(S, Step))| {
        let change = Change::decide(index, step, found[index], now);
        let denial = (index, change.outcome);
        change.outcome.granted().then_some(change).ok_or(denial)
    };
    let changes = buckets.iter().enumerate().map(decide);
    let mut changes = changes.collect::<Result<Vec<_>, _>>()?;
    changes.sort_by_key(|change| change.further);
    Ok(changes)
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
