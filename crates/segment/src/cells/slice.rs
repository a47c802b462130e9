//! The slices of buckets on remote stores that this host has taken ahead ([`gcra::slice`]). They
//! are in the sets of places ([`super::ahead`]). A bucket has a cell for each span and
//! `take_ahead`.
//!
//! ```text
//! from          to              by                                            function
//! SLICE(n)      SLICE(n - 1)    the call that is granted                      `claim`
//! any           SLICE(0)        a call that the store decides, before it      `ask`
//! any           SLICE(m)        the same, after the reply with m calls        `keep`
//! SLICE(n)      SLICE(n + m)    the same, if the slices join                  `keep`
//! ```
//!
//! Invariant: tokens are used at most once, because each change swaps the word that it has read,
//! and the word is all that the cell holds. As for places, a word whose request was sent before the
//! stamp of its set is not used, and dropped tokens are lost.

use super::ahead::{Cell, CellSet, Set, has_tokens, may_be_kept};
use gcra::ahead::Terms;
use gcra::slice::{Extra, Slice};
use gcra::{Ticks, Timestamp};

/// The cell of the slices of one bucket, for calls of some terms.
#[derive(Debug)]
pub struct SliceCell<'a, S = CellSet>(Cell<'a, S>);

impl<'a, S: Set> SliceCell<'a, S> {
    /// Returns the cell of the bucket with this hash, which is in `set`.
    #[inline]
    pub fn in_set(set: &'a S, hash: u128, terms: Terms) -> Self {
        Self(Cell::for_word(set, terms, terms.slice_of(hash)))
    }

    /// Uses the slice for a call at `now`. Returns the tokens that are left, or `None` if the slice
    /// cannot grant the call.
    #[inline]
    pub fn claim(&self, now: Timestamp) -> Option<Ticks> {
        loop {
            let (index, word) = self.0.find()?;
            let rest = Slice::used(word, &self.0.terms, now)?;
            if !self.0.is_current(word) {
                return None;
            }
            if self.0.swap(index, word, rest) {
                return Slice::read(rest).map(|rest| rest.left());
            }
        }
    }

    /// Notes that a call asks the store at `now`. Returns the estimate for the request, and the
    /// ticks that were dropped.
    pub fn ask(&self, now: Timestamp) -> (u32, Ticks) {
        let mut estimate = 0;
        let dropped = self.change(now, 0, |found| {
            let asked;
            (estimate, asked) = Slice::asked(found, &self.0.terms, now);
            asked
        });
        (estimate, dropped)
    }

    /// Keeps the tokens of a reply. Returns the ticks that were dropped.
    pub fn keep(&self, extra: &Extra) -> Ticks {
        let terms = &self.0.terms;
        let sent = Slice::replied(None, terms, extra).word(self.0.hash);
        self.change(extra.received, extra.ticks, |found| {
            // Tokens of a request before the stamp may not join later ones.
            let ticks = if self.0.is_current(sent) {
                extra.ticks
            } else {
                0
            };
            Slice::replied(found, terms, &Extra { ticks, ..*extra })
        })
    }

    /// Replaces the slice that the cell holds. Returns the ticks that were dropped of the old slice
    /// and of `added`.
    fn change(
        &self,
        now: Timestamp,
        added: Ticks,
        mut change: impl FnMut(Option<Slice>) -> Slice,
    ) -> Ticks {
        loop {
            let (index, word) = self.0.find_or_room(now);
            let new = change(self.read(word));
            let before = match Slice::read(word) {
                Some(slice) if self.0.is_mine(word) => slice.left(),
                // An estimate drops no tokens of another cell that may still be used.
                _ if new.left() == 0 && may_be_kept(word, now) => return added,
                // The calls of another bucket have another cost.
                _ if has_tokens(word) => self.0.terms.cost,
                _ => 0,
            };
            if self.0.swap(index, word, new.word(self.0.hash)) {
                return (before + added).saturating_sub(new.left());
            }
        }
    }

    /// Reads a word of this cell, as [`Cell`] does.
    fn read(&self, word: u128) -> Option<Slice> {
        let is_valid = self.0.is_mine(word) && self.0.is_current(word);
        is_valid.then(|| Slice::read(word)).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::ahead::{Kept, clear};
    use gcra::ahead::Place;
    use gcra::clock::{EPOCH, TICKS_PER_SECOND};

    const MS: Ticks = TICKS_PER_SECOND / 1000;
    const COST: Ticks = MS;
    /// A thousand calls. The life of a slice is 100 ms.
    const TERMS: Terms = Terms {
        cost: COST,
        span: 1000 * COST,
        take_ahead: 100 * MS,
    };

    fn at(milliseconds: u64) -> Timestamp {
        EPOCH + TICKS_PER_SECOND + milliseconds * MS
    }

    /// Keeps this many calls of a request at this millisecond. Returns the calls that are dropped.
    fn keep(cell: &SliceCell<'_>, calls: u64, sent: u64) -> u64 {
        let extra = Extra {
            ticks: calls * COST,
            sent: at(sent),
            received: at(sent + 1),
            estimate: 12,
        };
        cell.keep(&extra) / COST
    }

    #[test]
    fn a_slice_is_used_until_it_is_used_up_or_ends() {
        let sets = [CellSet::default()];
        let cell = SliceCell::in_set(&sets[0], 77, TERMS);
        assert_eq!((cell.claim(at(1)), cell.ask(at(1))), (None, (0, 0)));
        assert_eq!(keep(&cell, 2, 1), 0);
        let dear = Terms {
            cost: 2 * COST,
            ..TERMS
        };
        let left = [at(2), at(3), at(4)].map(|now| cell.claim(now));
        assert_eq!(left, [Some(COST), Some(0), None]);
        assert_eq!((keep(&cell, 2, 5), keep(&cell, 3, 6)), (0, 0));
        let dear = SliceCell::in_set(&sets[0], 77, dear);
        assert_eq!(dear.claim(at(7)), Some(3 * COST));
        assert_eq!(dear.claim(at(104)), Some(COST));
        assert_eq!(cell.claim(at(105)), None);
        assert_eq!(cell.ask(at(106)).1, COST, "the rest has ended");
        assert_eq!(cell.ask(at(106)).1, 0);
    }

    #[test]
    fn one_request_at_a_time_takes_ahead() {
        let sets = [CellSet::default()];
        let cell = SliceCell::in_set(&sets[0], 77, TERMS);
        keep(&cell, 64, 0);
        while cell.claim(at(2)).is_some() {}
        let estimates = [cell.ask(at(50)), cell.ask(at(51))];
        let extra = estimates.map(|(estimate, _)| TERMS.extra(estimate) > 0);
        assert_eq!(extra, [true, false]);
    }

    #[test]
    fn a_stamp_drops_the_slices_of_earlier_requests() {
        let sets = [CellSet::default()];
        let cell = SliceCell::in_set(&sets[0], 77, TERMS);
        keep(&cell, 5, 0);
        clear(&sets, 77, at(10));
        assert_eq!(cell.claim(at(11)), None);
        assert_eq!(keep(&cell, 5, 10), 10, "those of both requests");
        assert_eq!((keep(&cell, 5, 11), keep(&cell, 3, 9)), (0, 3));
        assert_eq!(cell.claim(at(13)), Some(4 * COST));
    }

    #[test]
    fn estimates_of_other_buckets_drop_no_tokens() {
        let sets = [CellSet::default()];
        let slices = [1, 2].map(|hash| SliceCell::in_set(&sets[0], hash, TERMS));
        let place = Place::granted(&TERMS, at(2), at(3), 20 * MS).unwrap();
        let queue = Cell::in_set(&sets[0], 2, TERMS);
        assert_eq!(queue.keep(place, at(3)), Kept::Alone);
        for slice in &slices {
            assert_eq!(keep(slice, 5, 3), 0);
        }
        let other = SliceCell::in_set(&sets[0], 3, TERMS);
        assert_eq!(other.ask(at(9)), (0, 0));
        assert!(!Cell::in_set(&sets[0], 4, TERMS).deny(at(9)));
        assert!(slices.iter().all(|slice| slice.claim(at(9)).is_some()));
        assert_eq!(queue.claim(at(30)), Some(0));
        assert_eq!(keep(&other, 5, 31), 0);
        assert_eq!(
            keep(&SliceCell::in_set(&sets[0], 4, TERMS), 5, 32),
            1,
            "the oldest"
        );
    }
}
