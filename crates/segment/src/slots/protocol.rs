//! The protocol that changes slots. It runs on any memory that implements [`Slots`].
//!
//! The record of a key may be in any of a few slots (two lines of four). Each slot is one word.
//! LIVE(K) is a record of the key K, and PENDING(K) is a claim on the slot for such a record:
//!
//! ```text
//! from             to               by                                          function
//! EMPTY            PENDING(K)       a caller of K that found no record          `claim`
//! LIVE(X), full    PENDING(K)       the same; X was full and is forgotten       `claim`
//! LIVE(X)          PENDING(K)       the same, if the table may evict; counted   `claim`
//! PENDING(X), old  PENDING(K)       the same; X's claimant died or sleeps       `claim`
//! PENDING(K)       EMPTY            any caller of K that must give way          `validate`
//! PENDING(K)       LIVE(K)          any caller of K, with its own tokens taken  `claim`
//! LIVE(K)          LIVE(K)          any caller of K: a grant, a refund          `take`, `refund`
//! LIVE(K), full    LIVE(K)          any caller of K; the old record is forgotten  the same
//! LIVE(K)          LIVE(K)          a caller of K that raises or counts         `update`
//! LIVE(K)          LIVE(K)          the caller of its last grant, to undo it    `undo`
//! LIVE(K)          EMPTY            the same, if that grant made the record     `undo`
//! LIVE(K)          LIVE(K), marked  a caller of K that was denied               `block`
//! LIVE(K)          LIVE(K), marked  an operator, after `raise`                  `block_now`
//! LIVE(K)          EMPTY            a caller of K                               `reset`
//! ```
//!
//! An eviction takes the bucket that lacks the smallest share of its own lifetime, because
//! forgetting the bucket gives this share away. The instant at which a bucket is full would be the
//! wrong measure. An empty bucket with a lifetime of ten minutes is full earlier than a daily
//! bucket at 99 %. Evicting the empty bucket would give away its whole capacity. If shares are
//! equal, the bucket that lacks fewer ticks is evicted. If these ticks are equal too, the lower
//! slot is evicted.
//!
//! Invariant: at most one slot is LIVE(K). Suppose that slots i and j became LIVE(K), j first. The
//! claimant of i read j after its own claim and did not find K, so j was claimed later. Then the
//! claimant of j read i after *its* claim, while i was PENDING(K). So the claimant of j had to give
//! way or to empty i, which is a contradiction. This needs each claim to be visible before its
//! claimant reads the other slots, which the fence ensures.
//!
//! Invariant: forgetting a full bucket loses nothing. A claimant reads the clock **again** after
//! its claim. So its first grant is later than the instant at which the old record was found to be
//! full. This needs a clock that is monotone over all processors.
//!
//! If a process is killed at any point, each word is either as before the process's change or as
//! after it. A claim that a killed process leaves behind took no tokens. Callers of the same key
//! finish the claim at once. Other callers take the slot after about 12 ms. With a much shorter
//! time, two claimants could take the slot from each other for ever.

use super::counters::{Event, Shard};
use super::word::{Fingerprint, Lifetime, Word};
use gcra::{Denial, Outcome, Step, Timestamp};
use std::hint::black_box;
use std::sync::atomic::Ordering::{self, AcqRel, Acquire, SeqCst};

/// The slots in which one key may live, with the clock and the counters that the protocol uses. A
/// key always has at least one slot.
///
/// In production these are two lines of the table. In the model tests they are a few loom atomics,
/// on which loom tries every interleaving of a few threads. The protocol chooses the memory
/// orderings, so the tests explore the orderings of production.
#[allow(clippy::len_without_is_empty)]
pub trait Slots {
    /// The variant of the protocol that runs on these slots.
    type Variant: Variant;
    type Slot<'s>: AtomicWord
    where
        Self: 's;

    /// Returns the number of slots. The lower half is one line, and the upper half is another.
    fn len(&self) -> usize;
    /// Returns the fingerprint of the key to which these slots belong.
    fn fingerprint(&self) -> Fingerprint;
    fn slot(&self, index: usize) -> Self::Slot<'_>;
    /// Returns the shard in which the caller counts, and its number.
    fn shard(&self) -> (usize, &Shard);
    /// Returns the current instant.
    fn now(&self) -> Timestamp;
    /// Reports whether a bucket that is not full may be evicted when no other slot is available.
    fn may_evict(&self) -> bool;
    /// Executes a memory fence: orders the accesses before the call against the accesses after it.
    fn fence(&self, order: Ordering);
    /// Waits between two tries. `tries` is the number of earlier pauses of this call.
    fn pause(&self, tries: u32);
}

/// A slot's word, which all processes may change.
pub trait AtomicWord {
    /// Returns the current word.
    fn load(self, order: Ordering) -> Word;
    /// Replaces `old` by `new`, with the ordering `done`. If the slot holds another word, changes
    /// nothing and returns `false`, with the ordering `failed`.
    fn swap(self, old: Word, new: Word, done: Ordering, failed: Ordering) -> bool;
}

/// A variant of the protocol: [`Production`], or one for tests that breaks a rule on purpose or
/// kills the process at a marked point.
pub trait Variant {
    /// `false` breaks the protocol on purpose: a claim becomes LIVE without a check of the other
    /// slots.
    const VALIDATE: bool = true;
    /// `false` breaks the protocol on purpose: the clock is not read again after a claim.
    const REREAD_CLOCK: bool = true;
    /// The number of lost races after which a call is denied as contended.
    const PATIENCE: u32 = 1_000;

    /// Runs at each marked point. Does nothing, except in tests that kill the process there.
    #[inline]
    fn reached(_: Point) {}
}

/// The protocol with all its rules.
#[derive(Clone, Copy, Debug)]
pub struct Production;

impl Variant for Production {
    #[cfg(feature = "deaths")]
    fn reached(point: Point) {
        let is_common = matches!(point, Point::Loaded | Point::Decided | Point::Granted);
        super::deaths::reached(&point, is_common);
    }
}

/// The marked points of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// A live record or the records of a batch were read, and the clock was not read yet.
    Loaded,
    /// A grant is decided, but not written.
    Decided,
    /// A grant is written, but the call has not returned it yet.
    Granted,
    /// A slot is chosen, but not claimed.
    Chosen,
    /// A slot is claimed, but not validated.
    Claimed,
    /// The claim is the only one of its key, and the clock was not read again yet.
    Validated,
    /// The first state is decided, but not written.
    Born,
    /// The first state is written, but the call has not returned yet.
    Living,
}

#[inline(always)]
fn load<S: Slots>(slots: &S, index: usize) -> Word {
    // Acquire: the clock must be read after the slot. See `try_take`.
    slots.slot(index).load(Acquire)
}

#[inline(always)]
pub(super) fn swap<S: Slots>(slots: &S, index: usize, old: Word, new: Word) -> bool {
    // AcqRel: a successful swap comes before the reads that follow it and after all accesses that
    // precede it. Acquire on failure, as in `load`.
    slots.slot(index).swap(old, new, AcqRel, Acquire)
}

pub(super) fn count<S: Slots>(slots: &S, event: Event) {
    slots.shard().1.count(event);
}

/// Returns a 54-bit number that makes the word of this claim different from the words of other
/// claims.
fn ticket<S: Slots>(slots: &S) -> u64 {
    // The shard is read once, because the number and the count must belong to the same shard.
    let (number, shard) = slots.shard();
    (number as u64) << 48 | (shard.ticket() & ((1 << 48) - 1))
}

/// Runs one step. `first` is used only for a bucket without a record, as in [`Step::decide_first`].
/// If other processes win too many races, the step is denied as contended.
#[inline(always)]
pub fn take<S: Slots>(slots: &S, step: &Step, first: Option<Timestamp>) -> Outcome {
    // Nearly every call succeeds at the first try. The code for more tries is a separate function,
    // so that it does not slow down these calls.
    match try_take(slots, step, first) {
        Some(outcome) => outcome,
        None => take_again(slots, step, first),
    }
}

#[cold]
#[inline(never)]
fn take_again<S: Slots>(slots: &S, step: &Step, first: Option<Timestamp>) -> Outcome {
    for tries in 0..S::Variant::PATIENCE {
        count(slots, Event::Conflict);
        slots.pause(tries);
        if let Some(outcome) = try_take(slots, step, first) {
            return outcome;
        }
    }
    let empty_at = find(slots).map_or(Timestamp::ZERO, |(_, word)| word.empty_at());
    Outcome::denied(Denial::Contended, empty_at, slots.now())
}

/// Runs one step, or returns `None` if another process changed the slot first.
#[inline(always)]
fn try_take<S: Slots>(slots: &S, step: &Step, first: Option<Timestamp>) -> Option<Outcome> {
    let Some((index, word)) = find(slots) else {
        return take_absent(slots, step, first);
    };
    S::Variant::reached(Point::Loaded);
    // Without `black_box`, the compiler would compute the lifetime after the clock reading, and
    // every grant would take longer.
    let lifetime = black_box(Lifetime::of(step));
    // The clock is read after the slot, so that a denial is true at the instant that it states.
    let now = slots.now();
    let seen = word.seen_by(lifetime, now);
    let outcome = step.decide(seen.empty_at(), now);
    write(slots, (index, word), seen, outcome, lifetime).then_some(outcome)
}

/// Writes the state of `outcome`, which was decided for the record `found`, or for an absent one
/// that counts instead; see [`Word::seen_by`]. Returns `false` if another process changed the slot
/// since.
#[inline(always)]
pub(super) fn write<S: Slots>(
    slots: &S,
    found: (usize, Word),
    seen: Word,
    outcome: Outcome,
    lifetime: Lifetime,
) -> bool {
    outcome.empty_at == seen.empty_at()
        || replace(slots, found, seen.moved(outcome.empty_at, lifetime))
}

/// Replaces the record `found` by `new`. Returns `false` if another process has changed the slot.
#[inline(always)]
pub(super) fn replace<S: Slots>(slots: &S, (index, word): (usize, Word), new: Word) -> bool {
    S::Variant::reached(Point::Decided);
    if !swap(slots, index, word, new) {
        return false;
    }
    S::Variant::reached(Point::Granted);
    true
}

/// Swaps the record `found` with itself. Returns `false` if another process has changed the slot.
/// Otherwise the slot is now in the processor's own cache, so that the next swap is fast.
pub(super) fn is_unchanged<S: Slots>(slots: &S, (index, word): (usize, Word)) -> bool {
    swap(slots, index, word, word)
}

/// Runs one step on a bucket without a record. Uses `first` as in [`Step::decide_first`]. Returns
/// `None` if another process won a race.
#[cold]
#[inline(never)]
fn take_absent<S: Slots>(slots: &S, step: &Step, first: Option<Timestamp>) -> Option<Outcome> {
    if step.dry || step.exceeds_capacity() || (first.is_none() && step.cost == 0) {
        // This step changes nothing. A bucket from which nothing was taken needs no slot.
        return Some(step.decide(Timestamp::ZERO, slots.now()));
    }
    claim(slots, Lifetime::of(step), |now| {
        step.decide_first(first, now)
    })
}

/// Runs one step of a batch. Returns also the record for which the step was decided, for [`undo`].
pub fn take_found<S: Slots>(slots: &S, step: &Step) -> (Outcome, Option<(usize, Word)>) {
    for tries in 0..S::Variant::PATIENCE {
        let found = find(slots);
        let outcome = match found {
            None => take_absent(slots, step, None),
            Some(record) => {
                let (lifetime, now) = (Lifetime::of(step), slots.now());
                let seen = record.1.seen_by(lifetime, now);
                let outcome = step.decide(seen.empty_at(), now);
                write(slots, record, seen, outcome, lifetime).then_some(outcome)
            }
        };
        if let Some(outcome) = outcome {
            return (outcome, found);
        }
        count(slots, Event::Conflict);
        slots.pause(tries);
    }
    let empty_at = find(slots).map_or(Timestamp::ZERO, |(_, word)| word.empty_at());
    (
        Outcome::denied(Denial::Contended, empty_at, slots.now()),
        None,
    )
}

/// Returns the index and the word of the slot that holds the key's record, or `None` if the key has
/// no record.
#[inline(always)]
pub(super) fn find<S: Slots>(slots: &S) -> Option<(usize, Word)> {
    let fingerprint = slots.fingerprint();
    (0..slots.len()).find_map(|index| {
        let word = load(slots, index);
        (word.is_of(fingerprint) && !word.is_pending()).then_some((index, word))
    })
}

/// Creates a record with the state that `birth` returns for the current instant. Denies if no slot
/// is available. Returns `None` if the key already has a record, or if another process won a race.
pub(super) fn claim<S: Slots>(
    slots: &S,
    lifetime: Lifetime,
    birth: impl Fn(Timestamp) -> Outcome,
) -> Option<Outcome> {
    let now = slots.now();
    let Some((index, old)) = survey(slots, now)?.best(slots.may_evict()) else {
        return Some(Outcome::denied(Denial::TableFull, Timestamp::ZERO, now));
    };
    let pending = if old.is_of(slots.fingerprint()) {
        count(slots, Event::Adopted);
        old
    } else {
        let pending = Word::pending(slots.fingerprint(), ticket(slots), now);
        S::Variant::reached(Point::Chosen);
        if !swap(slots, index, old, pending) {
            return None;
        }
        count_claim(slots, old, now);
        S::Variant::reached(Point::Claimed);
        pending
    };
    // Orders the claim before the reads of the other slots. On x86-64 the swap already does that.
    // AArch64 needs the fence.
    slots.fence(SeqCst);
    if S::Variant::VALIDATE && !validate(slots, index, pending) {
        return None;
    }
    S::Variant::reached(Point::Validated);
    let outcome = birth(if S::Variant::REREAD_CLOCK {
        slots.now()
    } else {
        now
    });
    S::Variant::reached(Point::Born);
    let live = Word::live(slots.fingerprint(), lifetime, outcome.empty_at);
    if !swap(slots, index, pending, live) {
        return None;
    }
    count(slots, Event::Inserted);
    S::Variant::reached(Point::Living);
    Some(outcome)
}

/// Reads every slot and collects the candidates. Returns `None` if the key already has a record.
fn survey<S: Slots>(slots: &S, now: Timestamp) -> Option<Survey> {
    let mut survey = Survey::default();
    for index in 0..slots.len() {
        let word = load(slots, index);
        if word.is_of(slots.fingerprint()) && !word.is_pending() {
            return None;
        }
        survey.note(slots, now, (index, word));
    }
    Some(survey)
}

/// The candidate slots for a new record: the first or the best slot of each kind.
#[derive(Default)]
struct Survey {
    claimed: Option<(usize, Word)>,
    /// The first free slot of each line.
    free: [Option<(usize, Word)>; 2],
    free_count: [u32; 2],
    abandoned: Option<(usize, Word)>,
    fullest: Option<(usize, Word)>,
}

impl Survey {
    fn note<S: Slots>(&mut self, slots: &S, now: Timestamp, slot: (usize, Word)) {
        let (index, word) = slot;
        if word.is_of(slots.fingerprint()) {
            self.claimed.get_or_insert(slot);
        } else if word.is_reclaimable(now) {
            let line = index / slots.len().div_ceil(2);
            self.free_count[line] += 1;
            self.free[line].get_or_insert(slot);
        } else if word.is_pending() {
            // Reads the clock again, because `now` may be earlier than the claim. A young claim
            // would then look old, because the difference wraps around.
            if word.is_abandoned(slots.now()) {
                self.abandoned.get_or_insert(slot);
            }
        } else if self
            .fullest
            .is_none_or(|(_, other)| word.lacks_less_than(other, now))
        {
            self.fullest = Some(slot);
        }
    }

    /// Returns the slot for a new record, and its word. A claim of the same key comes first,
    /// because the caller then finishes this claim. Otherwise a new claim may replace the returned
    /// word. Returns `None` if no slot is available.
    fn best(self, may_evict: bool) -> Option<(usize, Word)> {
        // Prefers the line with more free slots. A choice between two lines makes overflow rare.
        let free = if self.free_count[1] > self.free_count[0] {
            self.free[1]
        } else {
            self.free[0].or(self.free[1])
        };
        let victim = self.fullest.filter(|_| may_evict);
        self.claimed.or(free).or(self.abandoned).or(victim)
    }
}

/// Counts the kind of word that a claim replaced.
fn count_claim<S: Slots>(slots: &S, old: Word, now: Timestamp) {
    if old == Word::EMPTY {
    } else if old.is_pending() {
        count(slots, Event::Stolen);
    } else if old.is_reclaimable(now) {
        count(slots, Event::Reclaimed);
    } else {
        slots.shard().1.count_eviction(old.missing(now));
    }
}

/// Makes sure that the key is in no other slot. If another slot holds a record, or a lower slot
/// holds a claim, gives up the caller's own claim. Empties a claim in a higher slot. Returns
/// `false` if the caller must start again.
fn validate<S: Slots>(slots: &S, mine: usize, pending: Word) -> bool {
    let fingerprint = slots.fingerprint();
    for index in (0..slots.len()).filter(|&index| index != mine) {
        let word = load(slots, index);
        if !word.is_of(fingerprint) {
            continue;
        }
        count(slots, Event::Duplicate);
        if !word.is_pending() || index < mine {
            swap(slots, mine, pending, Word::EMPTY);
            return false;
        }
        if !swap(slots, index, word, Word::EMPTY) {
            return false;
        }
    }
    true
}

/// Reports whether the key has a record that is not full.
pub fn contains<S: Slots>(slots: &S) -> bool {
    find(slots).is_some_and(|(_, word)| !word.is_reclaimable(slots.now()))
}
