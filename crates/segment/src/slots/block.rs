//! Blocks a bucket: after a denial, no step is granted for a time.
//!
//! A block consists of a mark and a state. The state is the one that the bucket would have if its
//! next token came at the end of the block. The mark distinguishes this state from the same state
//! of a bucket whose last token was just taken, so that denials do not extend a block. Each change
//! of the state removes the mark, such as the first grant after the block, or a reset.
//!
//! The step is decided again before the swap that blocks. So a bucket that has been filled since
//! the denial is not blocked.

use super::counters::Event;
use super::protocol::{Point, Slots, Variant, count, find, replace};
use super::word::{Lifetime, Word};
use gcra::{Denial, Outcome, Step, Ticks, Timestamp, Verdict};

/// Blocks the bucket for `pause` if it denies the step for lack of tokens and is not blocked.
/// Returns the denial of the blocked bucket, or `None` if this call has not blocked it.
pub fn block<S: Slots>(slots: &S, step: &Step, pause: Ticks) -> Option<Outcome> {
    for tries in 0..S::Variant::PATIENCE {
        // A bucket without a record is full.
        let (index, word) = find(slots)?;
        S::Variant::reached(Point::Loaded);
        let now = slots.now();
        let verdict = step.decide(word.unless_full(now).empty_at(), now).verdict;
        if word.is_held() || verdict != Verdict::Denied(Denial::Insufficient) {
            return None;
        }
        // A bucket whose next token comes later than the end of the block keeps its state.
        let end = (now + pause).saturating_sub(step.cost);
        let empty_at = word.empty_at().max(end);
        let blocked = word.moved(empty_at, Lifetime::of(step));
        if replace(slots, (index, word), blocked.held()) {
            return Some(Outcome::denied(Denial::Insufficient, empty_at, now));
        }
        count(slots, Event::Conflict);
        slots.pause(tries);
    }
    None
}

/// Returns the new content of a blocked record when a batch gives back the tokens that it took
/// before the block. The bucket was blocked for the lack of these tokens, so the block ends.
///
/// The bucket then holds the tokens of one step. That is not too much: the block found less than
/// one step, before the tokens were given back.
pub(super) fn lifted(word: Word, step: &Step, now: Timestamp) -> Word {
    word.moved(now.saturating_sub(step.cost), Lifetime::LEAST)
}
