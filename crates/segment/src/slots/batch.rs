//! Batches in shared memory: takes tokens from several buckets or from none.
//!
//! 1. Load the slots of all buckets.
//! 2. Read the clock once, and decide all buckets. If one denies, the batch ends here. It has
//!    written nothing.
//! 3. Swap each word with itself. If another process has changed a slot since step 1, this fails,
//!    and the batch starts again, but at most a few times.
//! 4. Swap the new words in, one right after the other. The bucket that can grant the fewest
//!    further calls comes first, because other processes are most likely to empty this one.
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
use super::changes::undo;
use super::counters::Event;
use super::protocol::{Point, Slots, Variant, count, find, is_unchanged, replace, take_found};
use super::table::Neighbourhood;
use super::word::{Lifetime, Word};
use gcra::batch::sum;
use gcra::{
    Batched, Denial, Few, Grouped, Outcome, Refill, Step, Taken, Ticket, Timestamp, Windows,
};

/// The number of checks before the first swap. A batch of many busy buckets would hardly ever find
/// all slots unchanged. It goes on after some checks, and decides changed slots one by one.
const CHECKS: u32 = 4;

/// A bucket of a batch, and the change to it.
struct SlotChange<'a, 'k, S> {
    tickets: &'a [Ticket<'k>],
    slots: S,
    /// The sum of the tickets.
    step: Step,
    /// The record for which the step was decided. A bucket without a record is full.
    found: Option<(usize, Word)>,
    outcome: Outcome,
    /// The record after the change.
    after: Word,
}

impl<'a, 'k, S: Slots> SlotChange<'a, 'k, S> {
    /// Returns the change for the tickets on one bucket. `step` is their sum. It is not decided
    /// yet.
    fn new(tickets: &'a [Ticket<'k>], slots: S, step: Step) -> Self {
        Self {
            tickets,
            slots,
            step,
            found: None,
            outcome: Outcome::denied(Denial::Contended, Timestamp::ZERO, Timestamp::ZERO),
            after: Word::EMPTY,
        }
    }

    /// Decides the step for the record that was found. Returns true if it is granted.
    fn decide(&mut self, now: Timestamp) -> bool {
        let lifetime = Lifetime::of(&self.step);
        let seen = self
            .found
            .map_or(Word::EMPTY, |(_, word)| word.seen_by(lifetime, now));
        self.outcome = self.step.decide(seen.empty_at(), now);
        let empty_at = self.outcome.empty_at;
        self.after = match self.found {
            Some((_, word)) if empty_at == seen.empty_at() => word,
            _ => seen.moved(empty_at, lifetime),
        };
        self.outcome.granted()
    }

    /// Returns the number of equal calls that the bucket can grant after this one.
    fn further(&self) -> u64 {
        let available = self.step.available(self.outcome.empty_at, self.outcome.now);
        available / self.step.cost.max(1)
    }

    /// Reports whether another process has changed the record since it was found.
    fn is_outdated(&self) -> bool {
        self.found
            .is_some_and(|found| !is_unchanged(&self.slots, found))
    }

    /// Takes the tokens. If another process has changed the record, decides the step again. Returns
    /// true if the tokens were taken.
    fn take(&mut self) -> bool {
        if let Some(found) = self.found {
            if replace(&self.slots, found, self.after) {
                return true;
            }
            count(&self.slots, Event::Conflict);
        }
        (self.outcome, self.found) = take_found(&self.slots, &self.step);
        self.outcome.granted()
    }

    fn undo(&self) {
        let before = self.found.map(|(_, word)| word);
        // The window in `self.step` has the lifetime of the record as its length. The ticket has
        // the real lengths.
        let windows = match (self.step.refill, self.tickets[0].step.refill) {
            (Refill::Windows(Windows { start, .. }), Refill::Windows(windows)) => {
                Some(Windows { start, ..windows })
            }
            _ => None,
        };
        undo(&self.slots, &self.step, &self.outcome, before, windows);
    }
}

/// Takes the step of each bucket or none. If a bucket denies, returns its place.
fn take_all<S: Slots>(changes: &mut [SlotChange<'_, '_, S>]) -> Result<(), usize> {
    let order = decide_unchanged(changes)?;
    for (turn, &place) in order.iter().enumerate() {
        if !changes[place].take() {
            for &place in order[..turn].iter().rev() {
                changes[place].undo();
            }
            return Err(place);
        }
    }
    Ok(())
}

/// Decides all buckets. Decides them again if another process has changed a slot meanwhile.
/// Afterwards, the slots are in the processor's own cache. Returns the order in which to swap.
fn decide_unchanged<S: Slots>(changes: &mut [SlotChange<'_, '_, S>]) -> Result<Few<usize>, usize> {
    decide(changes)?;
    for tries in 0..CHECKS {
        let Some(outdated) = changes.iter().find(|change| change.is_outdated()) else {
            break;
        };
        count(&outdated.slots, Event::Conflict);
        outdated.slots.pause(tries);
        decide(changes)?;
    }
    Ok(order(changes))
}

/// Loads all slots, reads the clock and decides all buckets. If a bucket denies, returns its place.
fn decide<S: Slots>(changes: &mut [SlotChange<'_, '_, S>]) -> Result<(), usize> {
    for change in &mut *changes {
        change.found = find(&change.slots);
    }
    S::Variant::reached(Point::Loaded);
    // The clock is read after all slots, so that a denial is true at the instant that it states.
    let now = changes
        .first()
        .map_or(Timestamp::ZERO, |change| change.slots.now());
    let denied = changes.iter_mut().position(|change| !change.decide(now));
    denied.map_or(Ok(()), Err)
}

/// Returns the order in which to swap. The bucket that can grant the fewest further calls comes
/// first.
fn order<S: Slots>(changes: &[SlotChange<'_, '_, S>]) -> Few<usize> {
    let places = changes.iter().map(SlotChange::further).enumerate();
    let mut order: Few<(usize, u64)> = places.collect();
    order.sort_by_key(|&(_, further)| further);
    order.into_iter().map(|(place, _)| place).collect()
}

impl<V: Variant> SharedMemory<V> {
    /// Takes the tokens of all tickets or of none. Fails with the take that was denied.
    pub fn take_all(&self, tickets: Grouped<'_, '_>) -> Batched {
        let mut changes = self.changes(tickets);
        match take_all(&mut changes) {
            Ok(()) => Ok(changes.iter().map(|change| self.taken(change)).collect()),
            Err(denied) => Err(self.taken(&changes[denied])),
        }
    }

    /// Returns the take that would be denied, or `None` if all would be granted. Takes nothing. A
    /// denial is counted.
    #[must_use]
    pub fn refused(&self, tickets: Grouped<'_, '_>) -> Option<Taken> {
        let mut changes = self.changes(tickets);
        let denied = decide(&mut changes).err()?;
        Some(self.taken(&changes[denied]))
    }

    /// Returns the change to each bucket, in order.
    fn changes<'a, 'k>(
        &'a self,
        tickets: Grouped<'a, 'k>,
    ) -> Few<SlotChange<'a, 'k, Neighbourhood<'a, V>>> {
        let change = |mine: &'a [Ticket<'k>]| {
            let step = self.in_slots(sum(mine));
            SlotChange::new(mine, self.slots(mine[0].key.hash), step)
        };
        tickets.buckets().map(change).collect()
    }

    /// Returns the take of a bucket, and counts it.
    fn taken(&self, change: &SlotChange<'_, '_, Neighbourhood<'_, V>>) -> Taken {
        let outcome = self.outside(&change.step, change.outcome);
        let taken = Taken::of(change.tickets, outcome);
        // All tickets on the bucket have one key.
        self.tally(change.tickets[0].key, &taken.outcome);
        taken
    }
}
