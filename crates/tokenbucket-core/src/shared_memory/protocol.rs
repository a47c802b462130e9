//! How slots change: the protocol, over any memory that has slots.
//!
//! A key may live in any of a few slots (two lines of four). Each slot is one word:
//!
//! ```text
//! from             to               by                                          when
//! EMPTY            PENDING(K)       a caller of K that found no record          `claim`
//! LIVE(X), full    PENDING(K)       the same; X is forgotten, it was full       `claim`
//! LIVE(X)          PENDING(K)       the same, if the table may evict; counted   `claim`
//! PENDING(X), old  PENDING(K)       the same; X's claimant died or sleeps       `claim`
//! PENDING(K)       EMPTY            any caller of K that must give way          `validate`
//! PENDING(K)       LIVE(K)          any caller of K, with its own tokens taken  `claim`
//! LIVE(K)          LIVE(K)          any caller of K: a grant, a refund          `take`, `refund`
//! LIVE(K)          EMPTY            a caller of K                               `reset`
//! ```
//!
//! Invariant: at most one slot is LIVE(K). Suppose slots i and j both became LIVE(K), j first. The
//! claimant of i looked at j after its own claim and saw no K, so j was claimed later. Then the
//! claimant of j looked at i after *its* claim, while i was PENDING(K), and had to give way or empty
//! i: contradiction. This needs the claim to be visible before the look: hence the fence.
//!
//! Invariant: forgetting a full bucket loses nothing. A claimant reads the clock **again** after its
//! claim, so its first grant is later than the instant at which the old record was seen to be full.
//! This needs a clock that is monotone over processors.
//!
//! Killed anywhere, a process leaves a word as before or as after. A claim that it leaves behind
//! took no tokens: callers of the same key finish it at once, others take the slot after ~12 ms
//! (sooner, and two claimants steal from each other for ever).

use super::counters::Event;
use super::word::{Fingerprint, Span, Word};
use crate::clock::Ticks;
use crate::step::{Denial, Outcome, Step, Verdict};
use crate::store::{Put, empty_at};
use std::hint::black_box;

/// The slots in which one key may live, and what surrounds them.
///
/// There is always more than one of them.
///
/// In production a pair of lines of the table; in the model a few words that every interleaving of
/// a few threads is tried on.
#[allow(clippy::len_without_is_empty)]
pub trait Slots {
    /// `false` breaks the protocol on purpose: a claim becomes LIVE without a look around.
    const VALIDATE: bool = true;
    /// `false` breaks the protocol on purpose: the clock is not read again after a claim.
    const REREAD_CLOCK: bool = true;
    /// After so many lost races a call gives up and is denied.
    const PATIENCE: u32 = 1_000;

    /// How many slots; the lower and the upper half are a line each.
    fn len(&self) -> usize;
    /// The fingerprint of the key that these slots are for.
    fn fingerprint(&self) -> Fingerprint;
    /// What a slot holds now. An acquiring load.
    fn load(&self, index: usize) -> Word;
    /// Replaces `old` by `new`, or tells that the slot holds something else. Acquires and releases.
    fn swap(&self, index: usize, old: Word, new: Word) -> bool;
    /// The present instant.
    fn now(&self) -> Ticks;
    /// A number that no other claim has, at most 54 bits.
    fn ticket(&self) -> u64;
    /// Whether a bucket that is not full may be forgotten when there is no other place.
    fn may_evict(&self) -> bool;
    /// Orders every earlier swap before every later load, in all processes.
    fn fence(&self);
    /// Called between tries.
    fn pause(&self, tries: u32);
    /// Called at each marked step; does nothing but in tests that kill there.
    fn reached(&self, point: Point);
    /// Counts what happened.
    fn count(&self, event: Event);
    /// Counts an eviction, and by how much the victim was not full.
    fn count_eviction(&self, missing: Ticks);
}

/// The marked steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// A live record was read and the clock was not.
    Loaded,
    /// A grant is decided, not written.
    Decided,
    /// A grant is written, not returned.
    Granted,
    /// A slot is chosen, not claimed.
    Chosen,
    /// A slot is claimed, nothing validated.
    Claimed,
    /// The claim stands alone, the clock was not read.
    Validated,
    /// The first state is decided, not written.
    Born,
    /// The first state is written, not returned.
    Living,
}

impl Point {
    /// Every marked step.
    pub const ALL: [Self; 8] = [
        Self::Loaded,
        Self::Decided,
        Self::Granted,
        Self::Chosen,
        Self::Claimed,
        Self::Validated,
        Self::Born,
        Self::Living,
    ];
}

/// Takes one step. `first` is the state that a bucket without a record starts from instead of full.
#[inline(always)]
pub fn take<S: Slots>(slots: &S, step: &Step, first: Option<Ticks>) -> Outcome {
    // Nearly every call ends here, and pays for nothing that trying again needs.
    match try_take(slots, step, first) {
        Some(outcome) => outcome,
        None => take_again(slots, step, first),
    }
}

#[cold]
#[inline(never)]
fn take_again<S: Slots>(slots: &S, step: &Step, first: Option<Ticks>) -> Outcome {
    for tries in 0..S::PATIENCE {
        slots.count(Event::Conflict);
        slots.pause(tries);
        if let Some(outcome) = try_take(slots, step, first) {
            return outcome;
        }
    }
    let empty_at = find(slots).map_or(0, |(_, word)| word.empty_at());
    Outcome {
        verdict: Verdict::Denied(Denial::Contended),
        now: slots.now(),
        empty_at,
    }
}

/// `None` when another process changed the slot first.
#[inline(always)]
fn try_take<S: Slots>(slots: &S, step: &Step, first: Option<Ticks>) -> Option<Outcome> {
    let Some((index, word)) = find(slots) else {
        return take_absent(slots, step, first);
    };
    slots.reached(Point::Loaded);
    // Held back, it would be worked out behind the clock, where every grant waits for it.
    let span = black_box(Span::covering(step.span()));
    // The clock is read after the slot: a denial is true at the instant that it states.
    let outcome = step.decide(word.empty_at(), slots.now());
    if outcome.empty_at == word.empty_at() {
        return Some(outcome);
    }
    slots.reached(Point::Decided);
    let next = word.moved(outcome.empty_at, span);
    if !slots.swap(index, word, next) {
        return None;
    }
    slots.reached(Point::Granted);
    Some(outcome)
}

/// A bucket without a record is full, unless a first state is proposed for it.
#[cold]
#[inline(never)]
fn take_absent<S: Slots>(slots: &S, step: &Step, first: Option<Ticks>) -> Option<Outcome> {
    let birth = |now| match first {
        Some(first) => step.decide_first(first, now),
        None => step.decide(0, now),
    };
    if step.dry || step.exceeds_capacity() || (first.is_none() && step.cost == 0) {
        // Nothing to write; a bucket that nobody took from needs no slot.
        return Some(Outcome {
            empty_at: 0,
            ..step.decide(0, slots.now())
        });
    }
    claim(slots, Span::covering(step.span()), birth)
}

/// The slot in which the key lives.
#[inline(always)]
fn find<S: Slots>(slots: &S) -> Option<(usize, Word)> {
    let fingerprint = slots.fingerprint();
    (0..slots.len()).find_map(|index| {
        let word = slots.load(index);
        (word.is_of(fingerprint) && !word.is_pending()).then_some((index, word))
    })
}

/// Makes a record whose state `birth` decides. `None` when the key lives by now or a race was lost.
fn claim<S: Slots>(slots: &S, span: Span, birth: impl Fn(Ticks) -> Outcome) -> Option<Outcome> {
    let now = slots.now();
    let (index, pending) = match survey(slots, now)? {
        Place::Claimed(index, pending) => {
            slots.count(Event::Adopted);
            (index, pending)
        }
        Place::Free(index, old) => {
            let pending = Word::pending(slots.fingerprint(), slots.ticket(), now);
            slots.reached(Point::Chosen);
            if !slots.swap(index, old, pending) {
                return None;
            }
            count_claim(slots, old, now);
            slots.reached(Point::Claimed);
            (index, pending)
        }
        Place::None => {
            return Some(Outcome {
                verdict: Verdict::Denied(Denial::TableFull),
                now,
                empty_at: 0,
            });
        }
    };
    // Orders the claim before the look around; free on x86-64, needed on AArch64.
    slots.fence();
    if S::VALIDATE && !validate(slots, index, pending) {
        return None;
    }
    slots.reached(Point::Validated);
    let outcome = birth(if S::REREAD_CLOCK { slots.now() } else { now });
    slots.reached(Point::Born);
    let live = Word::live(slots.fingerprint(), span, outcome.empty_at);
    if !slots.swap(index, pending, live) {
        return None;
    }
    slots.count(Event::Inserted);
    slots.reached(Point::Living);
    Some(outcome)
}

/// Where a record may be made.
enum Place {
    /// A claim for the same key stands here: finish it.
    Claimed(usize, Word),
    /// This word may be replaced by a claim.
    Free(usize, Word),
    /// Nowhere.
    None,
}

/// Looks for a place; `None` when the key lives by now.
fn survey<S: Slots>(slots: &S, now: Ticks) -> Option<Place> {
    let fingerprint = slots.fingerprint();
    let half = slots.len().div_ceil(2);
    let mut claimed = None;
    let mut free = [None; 2];
    let mut free_count = [0u32; 2];
    let mut abandoned = None;
    let mut fullest: Option<(usize, Word)> = None;
    for index in 0..slots.len() {
        let word = slots.load(index);
        if word.is_of(fingerprint) {
            if !word.is_pending() {
                return None;
            }
            claimed = claimed.or(Some(Place::Claimed(index, word)));
        } else if word.is_reclaimable(now) {
            let line = index / half;
            free_count[line] += 1;
            free[line] = free[line].or(Some((index, word)));
        // A clock reading that is older than the claim would make a young claim look old.
        } else if word.is_pending() && word.is_abandoned(slots.now()) {
            abandoned = abandoned.or(Some((index, word)));
        } else if !word.is_pending()
            && fullest.is_none_or(|(_, other)| word.full_at() < other.full_at())
        {
            fullest = Some((index, word));
        }
    }
    if claimed.is_some() {
        return claimed;
    }
    // The less loaded line: two choices keep overflow rare.
    let free = if free_count[1] > free_count[0] {
        free[1]
    } else {
        free[0].or(free[1])
    };
    let victim = || fullest.filter(|_| slots.may_evict());
    Some(match free.or(abandoned).or_else(victim) {
        Some((index, word)) => Place::Free(index, word),
        None => Place::None,
    })
}

/// Counts what a claim replaced.
fn count_claim<S: Slots>(slots: &S, old: Word, now: Ticks) {
    if old == Word::EMPTY {
    } else if old.is_pending() {
        slots.count(Event::Stolen);
    } else if old.is_reclaimable(now) {
        slots.count(Event::Reclaimed);
    } else {
        slots.count_eviction(old.full_at() - now);
    }
}

/// Makes sure that the key is nowhere else: gives way to a record and to a claim in a lower slot,
/// empties a claim in a higher one. `false` when the race must be run again.
fn validate<S: Slots>(slots: &S, mine: usize, pending: Word) -> bool {
    let fingerprint = slots.fingerprint();
    for index in (0..slots.len()).filter(|&index| index != mine) {
        let word = slots.load(index);
        if !word.is_of(fingerprint) {
            continue;
        }
        slots.count(Event::Duplicate);
        if !word.is_pending() || index < mine {
            slots.swap(mine, pending, Word::EMPTY);
            return false;
        }
        if !slots.swap(index, word, Word::EMPTY) {
            return false;
        }
    }
    true
}

/// Gives `cost` back; a bucket without a record is full already.
pub fn refund<S: Slots>(slots: &S, cost: Ticks, burst: Ticks) {
    change(slots, |word| {
        let refunded = Put::refunded(word.empty_at(), slots.now(), cost, burst);
        word.moved(refunded, Span::UNKNOWN)
    });
}

/// Forgets the bucket.
pub fn reset<S: Slots>(slots: &S) {
    change(slots, |_| Word::EMPTY);
}

/// Replaces a live record, however often that takes: a caller who gives back must not be refused.
fn change<S: Slots>(slots: &S, next: impl Fn(Word) -> Word) {
    for tries in 0.. {
        let Some((index, word)) = find(slots) else {
            return;
        };
        if slots.swap(index, word, next(word)) {
            return;
        }
        slots.count(Event::Conflict);
        slots.pause(tries);
    }
}

/// Makes a record that was, or will be, empty `age` ticks ago, unless there is one.
pub fn bootstrap<S: Slots>(slots: &S, age: i64) {
    for tries in 0..S::PATIENCE {
        if find(slots).is_some() {
            return;
        }
        let birth = |now| Outcome {
            verdict: Verdict::Granted,
            now,
            empty_at: empty_at(now, age),
        };
        if let Some(outcome) = claim(slots, Span::UNKNOWN, birth) {
            if !outcome.granted() {
                slots.count(Event::Refused);
            }
            return;
        }
        slots.pause(tries);
    }
}

/// Whether the key has a record that is not full.
pub fn contains<S: Slots>(slots: &S) -> bool {
    find(slots).is_some_and(|(_, word)| !word.is_reclaimable(slots.now()))
}
