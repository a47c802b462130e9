//! The changes of a record other than steps: refunds, resets, proposals and debts, and the undoing
//! of a step. They use the slots by the rules of [`super::protocol`].

use super::block::lifted;
use super::counters::Event;
use super::protocol::{Slots, claim, count, find, replace, swap};
use super::word::{Lifetime, Word};
use gcra::{Outcome, Refund, Step, Ticks, Timestamp, Verdict, Windows, empty_at};

/// Undoes a granted step. `outcome` and `before` are the results of
/// [`super::protocol::take_found`]. `windows` is the window from which the step took tokens, if it
/// has windows.
///
/// While no other process has changed the record, this restores the record as it was before. If
/// there was no record before, the slot is emptied. If another process has changed the record, this
/// gives back the tokens as [`refund`] does, and ends a block that began after the step.
pub fn undo<S: Slots>(
    slots: &S,
    step: &Step,
    outcome: &Outcome,
    before: Option<Word>,
    windows: Option<Windows>,
) {
    let lifetime = Lifetime::of(step);
    let after = match before {
        Some(before) => before
            .seen_by(lifetime, outcome.now)
            .moved(outcome.empty_at, lifetime),
        None => Word::live(slots.fingerprint(), lifetime, outcome.empty_at),
    };
    let untouched = find(slots).filter(|&(_, word)| word == after);
    let before = before.unwrap_or(Word::EMPTY);
    if untouched.is_some_and(|(index, _)| swap(slots, index, after, before)) {
        return;
    }
    if let Some(windows) = windows {
        return uncount(slots, step.cost, windows);
    }
    change(slots, |word| {
        let now = slots.now();
        if word.is_held() {
            return lifted(word, step, now);
        }
        let refund = Refund {
            cost: step.cost,
            span: step.span,
            taken: outcome.empty_at,
            in_debt: step.cost,
        };
        refunded(word, &refund, now)
    });
}

/// Gives back the part of a cost that the bucket still lacks because of the take that left the
/// state `taken`. A bucket without a record is already full, so nothing changes.
pub fn refund<S: Slots>(slots: &S, refund: &Refund) {
    // The clock is read after the slot. So no step that led to this state is later than this
    // reading.
    change(slots, |word| refunded(word, refund, slots.now()));
}

fn refunded(word: Word, refund: &Refund, now: Timestamp) -> Word {
    if word.full_at() <= now {
        return word;
    }
    let state = refund.after(word.empty_at(), now);
    // Without the lifetime of this span, a record of a shorter one would count as full.
    word.moved(state, Lifetime::covering(refund.span))
}

/// Gives `cost` ticks back to a window, and changes nothing of other windows.
pub(super) fn uncount<S: Slots>(slots: &S, cost: Ticks, windows: Windows) {
    change(slots, |word| {
        let state = windows.refunded(word.empty_at(), cost);
        word.moved(state, Lifetime::LEAST.held())
    });
}

/// Fills the bucket by deleting its record.
pub fn reset<S: Slots>(slots: &S) {
    change(slots, |_| Word::EMPTY);
}

/// Replaces the key's record by the word that `next` returns, if the key has a record. Retries
/// without limit, because a refund or a reset must not be denied.
fn change<S: Slots>(slots: &S, next: impl Fn(Word) -> Word) {
    for tries in 0.. {
        let Some((index, word)) = find(slots) else {
            return;
        };
        if swap(slots, index, word, next(word)) {
            return;
        }
        count(slots, Event::Conflict);
        slots.pause(tries);
    }
}

/// Creates a record that was empty `age` ticks ago, unless the key has a record that is not full.
/// With a negative age, the bucket will be empty in the future.
pub fn bootstrap<S: Slots>(slots: &S, lifetime: Lifetime, age: i64) {
    update(slots, lifetime, |state, now| {
        let is_absent = state == Timestamp::ZERO;
        changed(if is_absent { empty_at(now, age) } else { state }, now)
    });
}

/// Moves the key's record forward to the state that `bound` returns for the current instant, or
/// creates it in this state. Never moves a record back. A record that stays gets the lifetime, too,
/// because it would otherwise be full too early. Denies and counts a refusal if no slot is
/// available.
pub fn raise<S: Slots>(
    slots: &S,
    lifetime: Lifetime,
    bound: impl Fn(Timestamp) -> Timestamp,
) -> Outcome {
    let covers = |word: Word| word.covering(lifetime);
    revise(slots, lifetime, covers, |state, now| {
        changed(state.max(bound(now)), now)
    })
}

/// Blocks the bucket for `pause`, also if it holds tokens. A block that ends later stays. Returns
/// the state afterwards, or a denial if no slot is available.
///
/// The mark of a block is written in a second swap, and only if the record still has the state of
/// the first swap. A caller that is denied between the two swaps may block the bucket by its own
/// rules. After a reset between them, no mark is written.
pub fn block_now<S: Slots>(slots: &S, step: &Step, pause: Ticks) -> Outcome {
    let end = |now: Timestamp| (now + pause).saturating_sub(step.cost);
    let outcome = raise(slots, Lifetime::of(step), end);
    if outcome.granted() {
        change(slots, |word| {
            let is_same = word.empty_at() == outcome.empty_at;
            if is_same { word.held() } else { word }
        });
    }
    outcome
}

/// Passes the state of the key's record and the current instant to `decide`, and writes the state
/// of the outcome that `decide` returns. A missing record has the state [`Timestamp::ZERO`].
/// Retries without limit, because a debt must not be forgotten. Denies and counts a refusal if no
/// slot is available.
pub fn update<S: Slots>(
    slots: &S,
    lifetime: Lifetime,
    decide: impl Fn(Timestamp, Timestamp) -> Outcome,
) -> Outcome {
    revise(slots, lifetime, |word| word, decide)
}

/// Does the same. `stay` returns the word of a record whose state does not change.
fn revise<S: Slots>(
    slots: &S,
    lifetime: Lifetime,
    stay: impl Fn(Word) -> Word,
    decide: impl Fn(Timestamp, Timestamp) -> Outcome,
) -> Outcome {
    let mut tries = 0;
    loop {
        let outcome = if let Some(record) = find(slots) {
            let now = slots.now();
            let seen = record.1.unless_full(now);
            let outcome = decide(seen.empty_at(), now);
            let next = if outcome.empty_at == seen.empty_at() {
                stay(seen)
            } else {
                seen.moved(outcome.empty_at, lifetime)
            };
            (next == seen || replace(slots, record, next)).then_some(outcome)
        } else {
            let outcome = decide(Timestamp::ZERO, slots.now());
            if outcome.empty_at == Timestamp::ZERO {
                return outcome;
            }
            create(slots, lifetime, |now| decide(Timestamp::ZERO, now))
        };
        if let Some(outcome) = outcome {
            return outcome;
        }
        count(slots, Event::Conflict);
        slots.pause(tries);
        tries = tries.saturating_add(1);
    }
}

/// Creates a record in the state of the outcome that `birth` returns for the current instant.
/// Returns `None` if the caller must start again. Returns a denial and counts a refusal if no slot
/// is available.
fn create<S: Slots>(
    slots: &S,
    lifetime: Lifetime,
    birth: impl Fn(Timestamp) -> Outcome,
) -> Option<Outcome> {
    let outcome = claim(slots, lifetime, birth);
    if outcome.is_some_and(|outcome| !outcome.granted()) {
        count(slots, Event::Refused);
    }
    outcome
}

/// Returns the outcome of a change that leaves the state `empty_at` at `now`.
const fn changed(empty_at: Timestamp, now: Timestamp) -> Outcome {
    Outcome::new(Verdict::Granted, empty_at, now)
}
