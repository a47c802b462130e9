//! The places in queues of remote stores that this host has taken ahead ([`gcra::ahead`]), and the
//! denials that it counts before it asks for a place. All processes of the host use them. The same
//! sets hold the host's slices ([`super::slice`]).
//!
//! ```text
//! set    cleared_at: 64 bits | unused: 64 bits | three cells
//! cell   a word of gcra::ahead
//! ```
//!
//! All cells of a bucket are in one set. Each [`Terms`] has a cell of its own for a place.
//!
//! ```text
//! from                to                   by                                      function
//! any other cell      DENIED(K)            a call on K that was denied             `deny`
//! DENIED(K)           DENIED(K)            the same                                `deny`
//! DENIED(K)           DENIED(K), none      the worker that got no place          `forget`
//! PLACE(K)            PLACE(K)             the same, with one more denial          `deny`
//! PLACE(K), ended     DENIED(K)            the same                                `deny`
//! any, but PLACE(K)   PLACE(K)             the worker that has asked for it        `keep`
//! PLACE(K), due       DENIED(K)            the call that is granted                `claim`
//! PLACE(K)            DENIED(K)            a call that waits until it is due     `reserve`
//! ```
//!
//! Invariant: a place is used at most once, because each change swaps the word that it has read.
//! Two equal words are two places, which two requests have taken.
//!
//! Invariant: a place is used only if its request was sent after the set's stamp, `cleared_at`. A
//! reset or a block writes the stamp before its own request and after the reply. Every reader
//! compares the two instants, so a place is also dropped if its reply arrives after the stamp. The
//! stamp drops the places of up to two other buckets, too. Dropped tokens are lost, and are never
//! granted twice.

use gcra::ahead::{MOST, Place, Terms, fingerprint, sent, unit};
use gcra::slice::Slice;
use gcra::{Ticks, Timestamp};
use portable_atomic::AtomicU128;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{self, AcqRel, Acquire};

/// The number of cells in a set.
pub const CELLS: usize = 3;

/// The stamp and the cells of a set. In the model tests they are loom atomics.
pub trait Set {
    /// Returns the instant at which the set was last cleared.
    fn cleared_at(&self, order: Ordering) -> Timestamp;
    /// Moves the stamp forward to `now`.
    fn clear(&self, now: Timestamp, order: Ordering);
    fn load(&self, index: usize, order: Ordering) -> u128;
    /// Replaces `old` by `new` and returns true. If the cell holds another word, changes nothing.
    fn swap(&self, index: usize, old: u128, new: u128, done: Ordering, failed: Ordering) -> bool;
}

#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct CellSet {
    cleared_at: AtomicU64,
    cells: [AtomicU128; CELLS],
}

impl Set for CellSet {
    fn cleared_at(&self, order: Ordering) -> Timestamp {
        Timestamp(self.cleared_at.load(order))
    }

    fn clear(&self, now: Timestamp, order: Ordering) {
        self.cleared_at.fetch_max(now.0, order);
    }

    fn load(&self, index: usize, order: Ordering) -> u128 {
        self.cells[index].load(order)
    }

    fn swap(&self, index: usize, old: u128, new: u128, done: Ordering, failed: Ordering) -> bool {
        self.cells[index]
            .compare_exchange(old, new, done, failed)
            .is_ok()
    }
}

/// The fate of a new place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    Alone,
    /// It is kept, and an older one, which may be another bucket's, was dropped.
    Instead,
    Dropped,
}

/// The cell of one bucket for calls of some terms.
#[derive(Debug)]
pub struct Cell<'a, S = CellSet> {
    set: &'a S,
    pub(super) terms: Terms,
    pub(super) hash: u128,
}

impl<'a, S: Set> Cell<'a, S> {
    /// Returns the cell of the bucket with this hash, which is in `set`.
    pub fn in_set(set: &'a S, hash: u128, terms: Terms) -> Self {
        Self::for_word(set, terms, terms.place_of(hash))
    }

    /// Returns the cell whose words have the fingerprint of this hash.
    #[inline]
    pub(super) const fn for_word(set: &'a S, terms: Terms, hash: u128) -> Self {
        Self { set, terms, hash }
    }

    /// Returns true if the host may ask for a place at `now`.
    pub fn may_ask(&self, now: Timestamp) -> bool {
        let place = self.find().and_then(|(_, word)| self.read(word));
        place.is_some_and(|place| place.may_ask(&self.terms, now))
    }

    /// Uses the place at `now`, if it is due. Returns the ticks until it is due; 0 if this call has
    /// used it. Returns `None` if the host has no place.
    #[inline]
    pub fn claim(&self, now: Timestamp) -> Option<Ticks> {
        self.reserve(now, 0)
    }

    /// Uses the place for a call at `now` that waits until it is due, if that is after `patience`
    /// ticks at most. Returns the ticks until it is due. If these are more than `patience`, the
    /// host keeps the place. Returns `None` if the host has no place.
    #[inline]
    pub fn reserve(&self, now: Timestamp, patience: Ticks) -> Option<Ticks> {
        loop {
            let (index, word) = self.find()?;
            let place = self.read(word)?;
            let wait = place.wait(&self.terms, now)?;
            if wait > patience || self.swap(index, word, place.used().word(self.hash)) {
                return Some(wait);
            }
        }
    }

    /// Counts a denial at `now`. Does not count it if another worker changes the cell meanwhile, or
    /// if all cells of the set hold places. Returns true if an old place was dropped.
    pub fn deny(&self, now: Timestamp) -> bool {
        let (index, word) = self.find_or_room(now);
        if !self.is_mine(word) && may_be_kept(word, now) {
            return false;
        }
        let counted = Place::denied(self.read(word), &self.terms, now);
        let is_new = counted.word(self.hash) != word;
        let drops = has_tokens(word) && counted == counted.used();
        is_new && self.swap(index, word, counted.word(self.hash)) && drops
    }

    /// Forgets the denials, unless the host has a place. The host asks for none until it is denied
    /// often again.
    pub fn forget(&self) {
        if let Some((index, word)) = self.find()
            && let Some(place) = self.read(word)
            && place == place.used()
        {
            self.swap(index, word, place.forgotten().word(self.hash));
        }
    }

    /// Keeps a place at `now`. Drops it if the set was cleared after its request was sent, or if
    /// the host has a place already.
    pub fn keep(&self, place: Place, now: Timestamp) -> Kept {
        loop {
            let (index, word) = self.find_or_room(now);
            // Its request may have been sent after `now`, by a worker that was faster.
            let is_kept = |old: Place| has_tokens(word) && now < old.end(&self.terms);
            let has_one = self.read(word).is_some_and(is_kept);
            if has_one || !self.is_current(place.word(self.hash)) {
                return Kept::Dropped;
            }
            if self.swap(index, word, place.word(self.hash)) {
                return if has_tokens(word) {
                    Kept::Instead
                } else {
                    Kept::Alone
                };
            }
        }
    }

    #[inline]
    pub(super) fn find(&self) -> Option<(usize, u128)> {
        self.words().find(|&(_, word)| self.is_mine(word))
    }

    /// Returns this cell, or else the one that a new word replaces: the one whose request was sent
    /// first. Places that may still be used come last. Each word is loaded once, so that another
    /// worker, which writes this cell first, makes the swap fail.
    pub(super) fn find_or_room(&self, now: Timestamp) -> (usize, u128) {
        let rank = |word| {
            let is_other = !self.is_mine(word);
            (is_other, may_be_kept(word, now), sent(word))
        };
        let best = self.words().map(|(index, word)| (rank(word), index, word));
        let best = best.min_by_key(|&(rank, ..)| rank);
        best.map_or((0, 0), |(_, index, word)| (index, word))
    }

    #[inline]
    fn words(&self) -> impl Iterator<Item = (usize, u128)> {
        // A cell is a single word, and the stamp is compared by value.
        (0..CELLS).map(|index| (index, self.set.load(index, Acquire)))
    }

    #[inline]
    pub(super) fn is_mine(&self, word: u128) -> bool {
        fingerprint(word) == fingerprint(self.hash)
    }

    /// Reads a word of this cell. Returns `None` for a word of another cell, and for one whose
    /// request was sent before the stamp.
    fn read(&self, word: u128) -> Option<Place> {
        let is_valid = self.is_mine(word) && self.is_current(word);
        is_valid.then(|| Place::read(word)).flatten()
    }

    /// Reports whether the request of a word was sent after the stamp. Both instants are rounded
    /// down to units, so a request of the stamp's unit may be older than the stamp.
    #[inline]
    pub(super) fn is_current(&self, word: u128) -> bool {
        unit(self.set.cleared_at(Acquire)) < sent(word)
    }

    #[inline]
    pub(super) fn swap(&self, index: usize, old: u128, new: u128) -> bool {
        self.set.swap(index, old, new, AcqRel, Acquire)
    }
}

/// Returns the set of the bucket with this hash, in the denial cache or of the cells of its terms,
/// which have the same upper bits.
// The casts keep only the bits that are needed.
#[allow(clippy::cast_possible_truncation)]
#[inline]
pub(crate) fn set_of<T>(sets: &[T], hash: u128) -> &T {
    let bits = u64::from((hash >> 96) as u32);
    &sets[((bits * sets.len() as u64) >> 32) as usize]
}

/// Drops all places and slices in the bucket with this hash whose requests were sent up to `now`.
pub(crate) fn clear(sets: &[CellSet], hash: u128, now: Timestamp) {
    set_of(sets, hash).clear(now, AcqRel);
}

/// Reports whether the word holds a place or tokens of a slice, which may have ended.
pub(super) fn has_tokens(word: u128) -> bool {
    let has_place = Place::read(word).is_some_and(|place| place != place.used());
    has_place || Slice::read(word).is_some_and(|slice| slice.left() > 0)
}

/// Reports whether the word may hold tokens that have not ended at `now`.
pub(super) fn may_be_kept(word: u128, now: Timestamp) -> bool {
    has_tokens(word) && sent(word) > unit(now.saturating_sub(2 * MOST))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gcra::ahead::{FINGERPRINT_BITS, SENT_BITS};
    use gcra::clock::{EPOCH, TICKS_PER_SECOND};

    const MS: Ticks = TICKS_PER_SECOND / 1000;
    const TERMS: Terms = Terms {
        cost: 50 * MS,
        span: 500 * MS,
        take_ahead: 200 * MS,
    };

    fn at(milliseconds: u64) -> Timestamp {
        EPOCH + TICKS_PER_SECOND + milliseconds * MS
    }

    /// Keeps a place of a request at this millisecond, which is due 21 milliseconds later.
    fn keep(cell: &Cell<'_>, sent: u64) -> Kept {
        let place = Place::granted(&TERMS, at(sent), at(sent + 1), 20 * MS);
        cell.keep(place.unwrap(), at(sent + 1))
    }

    #[test]
    fn a_place_is_asked_for_after_denials_and_used_when_it_is_due() {
        let sets = [CellSet::default()];
        let cell = Cell::in_set(&sets[0], 77, TERMS);
        for number in 0..8 {
            assert!(!cell.may_ask(at(8 * number)));
            assert!(!cell.deny(at(8 * number)));
        }
        assert!(cell.may_ask(at(57)));
        cell.forget();
        assert!(!cell.may_ask(at(57)));
        (0..8).for_each(|_| assert!(!cell.deny(at(57))));
        assert!(cell.may_ask(at(57)));
        assert_eq!(keep(&cell, 57), Kept::Alone);
        cell.forget();
        assert!(!cell.may_ask(at(60)));
        assert!(matches!(cell.claim(at(60)), Some(wait) if wait > 0));
        assert_eq!(keep(&cell, 60), Kept::Dropped, "there is one");
        assert_eq!(cell.claim(at(90)), Some(0));
        assert_eq!(cell.claim(at(90)), None);
        assert_eq!(keep(&cell, 100), Kept::Alone);
        assert!(!cell.deny(at(490)));
        assert!(cell.deny(at(510)), "it has ended");
        assert_eq!(cell.claim(at(510)), None);
    }

    #[test]
    fn only_a_place_or_a_slice_that_is_left_may_be_kept() {
        let place = Place::granted(&TERMS, at(0), at(1), 20 * MS).unwrap();
        let is_kept_at = |place: Place, now| may_be_kept(place.word(7), now);
        let last = at(0) + 2 * MOST;
        assert!(is_kept_at(place, last - MS) && !is_kept_at(place, last));
        assert!(!is_kept_at(place.used(), at(1)));
        let no_slice = 1 << (FINGERPRINT_BITS + SENT_BITS);
        assert!(!has_tokens(no_slice));
    }

    #[test]
    fn a_stamp_drops_the_places_of_earlier_requests() {
        let sets = [CellSet::default()];
        let cell = Cell::in_set(&sets[0], 77, TERMS);
        let other = Terms {
            cost: 20 * MS,
            ..TERMS
        };
        assert_eq!(keep(&cell, 0), Kept::Alone);
        assert_eq!(keep(&Cell::in_set(&sets[0], 77, other), 1), Kept::Alone);
        clear(&sets, 77, at(5));
        for terms in [TERMS, other] {
            assert_eq!(Cell::in_set(&sets[0], 77, terms).claim(at(40)), None);
        }
        assert_eq!(keep(&cell, 5), Kept::Dropped);
        assert_eq!(keep(&cell, 6), Kept::Instead);
        assert_eq!(cell.claim(at(40)), Some(0));
    }

    #[test]
    fn denials_of_other_buckets_drop_no_place() {
        let sets = [CellSet::default()];
        let [cell, places @ ..] = [1, 2, 3, 4].map(|hash| Cell::in_set(&sets[0], hash, TERMS));
        for (place, sent) in places.iter().zip(0..) {
            assert_eq!(keep(place, sent), Kept::Alone);
        }
        assert!(!cell.deny(at(30)));
        assert!(places.iter().all(|it| it.claim(at(10)).is_some()));
        assert_eq!(keep(&cell, 30), Kept::Instead, "the oldest");
        assert!(places[0].claim(at(31)).is_none());
        assert_eq!(places[1].claim(at(31)), Some(0));
    }
}
