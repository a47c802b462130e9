//! Taking ahead: a host keeps a part of a bucket's time axis, and uses it later.
//!
//! A take moves `empty_at` from `s` to `s + cost`, so it owns the part `(s, s + cost]`. No other
//! take owns any of it. So a host may use the part at any instant `u` with
//! `s + cost <= u <= s + span`. Uses in `[t1, t2]` then own disjoint parts of `(t1 - span, t2]`.
//! They cost at most `span + (t2 - t1)` together, on any number of hosts.
//!
//! A place in the queue is one call whose tokens are not there yet. A host gets it by a step with a
//! `max_wait`. The place is due at `s + cost`, and ends at `s + span`. The host does not know the
//! server's clock. It knows the instants on its own clock before the request (`sent`) and after the
//! reply, and from the reply the wait until the tokens are there. The rates of the two clocks
//! differ by at most a 1024th:
//!
//! ```text
//! due = after the reply + wait × (1 + 1/1024)                                        rounded up
//! end = sent + min(2 × take_ahead, wait + span - cost) × (1 - 1/1024)                rounded down
//! ```
//!
//! A give-back moves `empty_at` back, and parts that hosts keep would then be granted again. So the
//! server knows what was taken ahead in the current period of two seconds and in the one before.
//! It includes all that may still be used, because no part is kept for longer than a period. A
//! refund, a cancel or a reset at `now` leaves these tokens, and the rest of their life, taken. The
//! span is the least one under which they were taken:
//!
//! ```text
//! empty_at >= min(empty_at before, now - span + period + taken ahead)
//! ```
//!
//! At any later instant `t`, the parts that are kept are at most `empty_at - (t - span)`, as they
//! would be without the give-back. So the sum above still holds. `redis/put.lua` does this.
//!
//! A cell is one word, and any word is valid:
//!
//! ```text
//! cell   fingerprint: 48 bits | sent: 45 bits | kind: 1 bit | 34 bits
//! place  wait: 16 bits | call: 14 bits | denials: 4 bits            instants and times in 16 µs
//! ```

use crate::clock::{EPOCH, TICKS_PER_MICROSECOND, Ticks, Timestamp};

/// The longest time that a host may take ahead: a second, in ticks.
pub const MOST: Ticks = crate::TICKS_PER_SECOND;
/// The denials within [`Terms::patience`] after which a host may ask for a place, if the first of
/// them was a quarter of that time ago. If fewer calls come, or all of them at once, the place
/// would often end before the next call. The host may go on asking until no call is denied for that
/// time, a place ends unused, or the queue is too long for a place.
pub const DENIALS: u64 = 8;

pub const FINGERPRINT_BITS: u32 = 48;
pub const SENT_BITS: u32 = 45;
pub(crate) const KIND_BIT: u32 = FINGERPRINT_BITS + SENT_BITS;
const DENIAL_BITS: u32 = 4;
const CALL_BITS: u32 = 14;
const WAIT_BITS: u32 = 16;
const DENIALS_AT: u32 = KIND_BIT + 1;
const CALL_AT: u32 = DENIALS_AT + DENIAL_BITS;
const WAIT_AT: u32 = CALL_AT + CALL_BITS;
/// The exponent of the unit of a cell, and of an entry of the denial cache: 2^14 ns (16 µs).
pub const UNIT_BITS: u32 = 14;

/// The call for which a host takes ahead, and how far. The cost is positive and at most the span,
/// and `take_ahead` is at most [`MOST`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    pub cost: Ticks,
    pub span: Ticks,
    pub take_ahead: Ticks,
}

impl Terms {
    /// Reports whether the host may keep places. A place can be used for `span - cost` ticks, so
    /// the cost must be at most half of the capacity.
    pub const fn allow_places(&self) -> bool {
        self.cost > 0 && self.cost <= self.span / 2
    }

    /// Returns the ticks within which the host must be denied [`DENIALS`] times before it asks for
    /// a place.
    pub fn patience(&self) -> Ticks {
        self.take_ahead.min(self.span.saturating_sub(self.cost))
    }

    /// Returns the ticks that a call to the server may take. The host can then keep the place,
    /// whatever the wait for it.
    pub fn longest_call(&self) -> Ticks {
        let most = ((1 << CALL_BITS) - 3) << UNIT_BITS;
        // For the rates of the clocks, and for the rounding.
        let lost = self.take_ahead / 128 + (4 << UNIT_BITS);
        self.patience().saturating_sub(lost).min(most)
    }

    /// Returns the hash of the cell of a place of the bucket with this hash. The lower 48 bits are
    /// the fingerprint. They differ for different terms, because a place that a call of another
    /// span uses may be too old for that span. The other bits are those of the bucket.
    pub fn place_of(&self, hash: u128) -> u128 {
        let mixed = [self.span, self.take_ahead, self.cost];
        let mixed = mixed.into_iter().fold(0, |mixed: u64, ticks| {
            (mixed ^ ticks)
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .rotate_left(31)
        });
        hash ^ fingerprint(u128::from(mixed))
    }
}

/// A place in the queue, or only the denials that a host counts before it asks for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The unit in which the request was sent. Without a place, the unit of the first denial.
    sent: u64,
    /// The wait in units, rounded down. Without a place, it is 0 if all denials may be those of one
    /// burst.
    wait: u64,
    /// The units from `sent` to the reply, rounded up. 0 without a place.
    call: u64,
    /// The denials since `sent`, at most [`DENIALS`].
    denials: u64,
}

impl Place {
    /// Reads the word of a cell. Returns `None` for a cell of the other kind.
    // The casts keep only the bits that are needed.
    #[allow(clippy::cast_possible_truncation)]
    pub const fn read(word: u128) -> Option<Self> {
        if word >> KIND_BIT & 1 == 1 {
            return None;
        }
        Some(Self {
            sent: sent(word),
            wait: (word >> WAIT_AT) as u64,
            call: (word >> CALL_AT) as u64 & ((1 << CALL_BITS) - 1),
            denials: (word >> DENIALS_AT) as u64 & ((1 << DENIAL_BITS) - 1),
        })
    }

    /// Returns the word of the cell with this hash.
    pub fn word(self, hash: u128) -> u128 {
        fingerprint(hash)
            | u128::from(self.sent) << FINGERPRINT_BITS
            | u128::from(self.denials) << DENIALS_AT
            | u128::from(self.call) << CALL_AT
            | u128::from(self.wait) << WAIT_AT
    }

    /// Returns the place that a reply has granted. The request was sent at `sent`, the reply
    /// arrived at `received`, and states that the tokens are there after `wait` ticks. Returns
    /// `None` if the place would end before it is due, or if the call or the wait was too long. Its
    /// tokens are then lost.
    pub fn granted(
        terms: &Terms,
        sent: Timestamp,
        received: Timestamp,
        wait: Ticks,
    ) -> Option<Self> {
        let place = Self {
            sent: unit(sent),
            wait: wait >> UNIT_BITS,
            call: (unit(received) + 1).saturating_sub(unit(sent)),
            // The host was denied often enough to ask.
            denials: DENIALS,
        };
        let fits = place.call > 0 && place.call >> CALL_BITS == 0 && place.wait >> WAIT_BITS == 0;
        (fits && terms.allow_places() && place.due() < place.end(terms)).then_some(place)
    }

    /// Returns the first instant at which the place may be used.
    pub fn due(&self) -> Timestamp {
        let wait = (self.wait + 1) << UNIT_BITS;
        start(self.sent + self.call) + wait + wait.div_ceil(1024)
    }

    /// Returns the first instant at which the place may no longer be used.
    pub fn end(&self, terms: &Terms) -> Timestamp {
        let life = (self.wait << UNIT_BITS) + terms.span.saturating_sub(terms.cost);
        let life = life.min(2 * terms.take_ahead);
        // The server's clock has passed its whole microsecond by less than another one.
        let life = life.saturating_sub(life.div_ceil(1024) + TICKS_PER_MICROSECOND);
        start(self.sent) + life
    }

    /// Returns the ticks until the place is due, if the host keeps one at `now`. Calls are denied
    /// until then. A call may use a place that is due.
    pub fn wait(&self, terms: &Terms, now: Timestamp) -> Option<Ticks> {
        let wait = self.due().saturating_since(now);
        self.is_kept(terms, now).then_some(wait)
    }

    fn is_kept(&self, terms: &Terms, now: Timestamp) -> bool {
        self.call > 0 && self.sent <= unit(now) && now < self.end(terms)
    }

    /// Returns what stays of a place after its use: the denials, and that the host goes on calling.
    pub const fn used(self) -> Self {
        Self { call: 0, ..self }
    }

    /// Returns the place without the denials.
    pub const fn forgotten(self) -> Self {
        Self { denials: 0, ..self }
    }

    /// Counts a denial at `now`. `found` is what the cell holds. The denials are counted anew if
    /// the first one was too long ago.
    pub fn denied(found: Option<Self>, terms: &Terms, now: Timestamp) -> Self {
        match found {
            Some(place) if place.is_kept(terms, now) => place.denied_again(),
            Some(place) if place.is_aging(terms, now) => Self {
                wait: 1,
                ..Self::denials(DENIALS, now)
            },
            Some(place) if place.is_recent(terms, now) => place.used().denied_again(),
            _ => Self::denials(1, now),
        }
    }

    /// Reports whether the host may ask for a place at `now`, but not for long.
    fn is_aging(&self, terms: &Terms, now: Timestamp) -> bool {
        self.may_ask(terms, now) && now - start(self.sent) > terms.patience() / 2
    }

    /// Returns a cell without a place.
    const fn denials(denials: u64, now: Timestamp) -> Self {
        Self {
            sent: unit(now),
            wait: 0,
            call: 0,
            denials,
        }
    }

    fn denied_again(self) -> Self {
        let denials = (self.denials + 1).min(DENIALS);
        Self { denials, ..self }
    }

    /// Reports whether the host may ask for a place at `now`.
    pub fn may_ask(&self, terms: &Terms, now: Timestamp) -> bool {
        terms.allow_places()
            && self.denials >= DENIALS
            && !self.is_kept(terms, now)
            && self.is_recent(terms, now)
            && (self.wait > 0 || now - start(self.sent) >= terms.patience() / 4)
    }

    fn is_recent(&self, terms: &Terms, now: Timestamp) -> bool {
        // `sent` is rounded down, so the first denial is not older than this.
        self.sent <= unit(now) && now - start(self.sent) <= terms.patience()
    }
}

/// Returns the unit in which the request of a cell was sent, of either kind. A cell is used only if
/// this unit is later than the [`unit`] of its set's stamp.
// The cast keeps only the bits that are needed.
#[allow(clippy::cast_possible_truncation)]
pub const fn sent(word: u128) -> u64 {
    (word >> FINGERPRINT_BITS) as u64 & ((1 << SENT_BITS) - 1)
}

/// Returns the bits of a hash, or of the word of a cell, that identify a cell in its set.
pub const fn fingerprint(hash: u128) -> u128 {
    hash & ((1 << FINGERPRINT_BITS) - 1)
}

/// Returns the number of the unit in which `instant` lies.
pub const fn unit(instant: Timestamp) -> u64 {
    instant.saturating_since(EPOCH) >> UNIT_BITS & ((1 << SENT_BITS) - 1)
}

/// Returns the first instant of a unit.
pub fn start(unit: u64) -> Timestamp {
    EPOCH + (unit << UNIT_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TICKS_PER_SECOND;

    const MS: Ticks = TICKS_PER_SECOND / 1000;
    const NOW: Timestamp = Timestamp(EPOCH.0 + 123 * TICKS_PER_SECOND + 5);
    /// Ten calls, of 50 ms each.
    const TERMS: Terms = Terms {
        cost: 50 * MS,
        span: 500 * MS,
        take_ahead: 200 * MS,
    };

    fn granted(terms: &Terms, call: Ticks, wait: Ticks) -> Option<Place> {
        Place::granted(terms, NOW, NOW + call, wait)
    }

    fn denied(times: u64, apart: Ticks) -> Place {
        let count = |found, n| Some(Place::denied(found, &TERMS, NOW + n * apart));
        (0..times).fold(None, count).unwrap()
    }

    #[test]
    fn a_place_is_used_between_its_due_instant_and_its_end() {
        let slow = Terms {
            take_ahead: TICKS_PER_SECOND,
            ..TERMS
        };
        // The third number is the least life of the tokens after the request.
        for (terms, wait, life) in [
            (TERMS, 100 * MS, 2 * TERMS.take_ahead),
            (slow, 100 * MS, 550 * MS),
            (slow, 0, 450 * MS),
        ] {
            let place = granted(&terms, 3 * MS, wait).unwrap();
            let (due, end) = (place.due(), place.end(&terms));
            let least = NOW + 3 * MS + wait + wait / 1024;
            assert!(due > least && due < least + 64_000, "{wait}");
            assert!(end <= NOW + life && end > NOW + life - life / 1000 - 64_000);
            let usable = [due - 1, due, end - 1, end].map(|now| place.wait(&terms, now) == Some(0));
            assert_eq!(usable, [false, true, true, false]);
            assert_eq!(place.wait(&terms, due - 7), Some(7));
            assert_eq!(place.wait(&terms, due + 7), Some(0));
            assert_eq!(place.wait(&terms, end), None);
            assert_eq!(place.used().wait(&terms, due), None);
            assert_eq!(place.wait(&terms, NOW - MS), None, "it was not asked for");
        }
    }

    #[test]
    fn a_word_keeps_the_greatest_numbers() {
        let place = Place {
            sent: (1 << SENT_BITS) - 1,
            wait: (1 << WAIT_BITS) - 1,
            call: (1 << CALL_BITS) - 1,
            denials: 0,
        };
        for denials in 0..=DENIALS {
            let place = Place { denials, ..place };
            assert_eq!(Place::read(place.word(u128::MAX)), Some(place));
        }
    }

    #[test]
    fn cells_of_different_terms_have_different_hashes() {
        let [one, two] = [1, 2].map(|span| Terms {
            cost: 1,
            span,
            take_ahead: u64::MAX,
        });
        assert_ne!(one.place_of(u128::MAX), two.place_of(u128::MAX));
    }

    #[test]
    fn a_host_that_is_denied_again_may_ask_for_longer() {
        let ready = denied(DENIALS, 0);
        let half = start(ready.sent) + TERMS.patience() / 2;
        let may_ask_long_after = |now| {
            let place = Place::denied(Some(ready), &TERMS, now);
            place.may_ask(&TERMS, now + TERMS.patience() - MS)
        };
        let instants = [half - MS, half, half + 1];
        assert_eq!(instants.map(may_ask_long_after), [false, false, true]);
    }

    #[test]
    fn an_end_allows_for_the_rates_of_clocks() {
        let terms = Terms {
            take_ahead: TICKS_PER_SECOND,
            ..TERMS
        };
        let place = granted(&terms, MS, 512 * MS).unwrap();
        let life = 512 * MS + 450 * MS;
        assert!(place.end(&terms) <= NOW + life - life / 1024 - 1000);
        assert!(place.due() >= NOW + MS + 512 * MS + MS / 2);
    }

    #[test]
    fn a_place_needs_a_cost_of_at_most_half_of_the_capacity() {
        for (cost, span, allowed) in [
            (5, 10, true),
            (5, 9, false),
            (10, 10, false),
            (0, 10, false),
        ] {
            let terms = Terms {
                cost: cost * MS,
                span: span * MS,
                ..TERMS
            };
            assert_eq!(terms.allow_places(), allowed, "{cost} of {span}");
            assert_eq!(granted(&terms, 0, MS).is_some(), allowed);
        }
    }

    #[test]
    fn a_place_that_arrives_dead_is_not_kept() {
        assert!(granted(&TERMS, 199 * MS, 199 * MS).is_some());
        assert_eq!(granted(&TERMS, 202 * MS, 199 * MS), None);
        let slow = Terms {
            span: 3600 * TICKS_PER_SECOND,
            take_ahead: MOST,
            ..TERMS
        };
        assert!(granted(&slow, 200 * MS, MOST).is_some());
        assert_eq!(granted(&slow, 269 * MS, MOST), None, "the call is too long");
        assert_eq!(granted(&slow, MS, 1074 * MS), None, "the wait is too long");
        assert_eq!(Place::granted(&TERMS, NOW, NOW - MS, MS), None);
    }

    #[test]
    fn a_place_is_kept_if_the_call_is_short_enough() {
        let slow = Terms {
            span: 3600 * TICKS_PER_SECOND,
            take_ahead: MOST,
            ..TERMS
        };
        let short = Terms {
            span: 70 * MS,
            cost: 35 * MS,
            take_ahead: MOST,
        };
        for terms in [TERMS, slow, short] {
            let (call, ahead) = (terms.longest_call(), terms.take_ahead);
            assert!(call > terms.patience() / 2 || call > 260 * MS);
            for wait in [1, ahead / 2, ahead] {
                assert!(granted(&terms, call, wait).is_some(), "{wait} {terms:?}");
            }
        }
        let whole = Terms {
            span: TERMS.cost,
            ..TERMS
        };
        assert_eq!(whole.longest_call(), 0);
        // Of 200 ms, a 128th and four units are left.
        assert_eq!(TERMS.longest_call(), 198_371_964);
    }

    #[test]
    fn a_host_asks_after_eight_denials_in_time() {
        let at = |n: u64, apart| NOW + (n - 1) * apart;
        assert!(!denied(7, 8 * MS).may_ask(&TERMS, at(7, 8 * MS)));
        assert!(denied(8, 8 * MS).may_ask(&TERMS, at(8, 8 * MS)));
        assert!(denied(100, MS).may_ask(&TERMS, at(100, MS)));
        let burst = denied(100, 0);
        let quarter = start(burst.sent) + TERMS.patience() / 4;
        assert!(!burst.may_ask(&TERMS, quarter - 1), "a burst");
        assert!(burst.may_ask(&TERMS, quarter));
        assert!(!denied(8, 29 * MS).may_ask(&TERMS, at(8, 29 * MS)));
        assert!(!denied(8, MS).may_ask(&TERMS, at(8, MS) + TERMS.take_ahead));
        let short = Terms {
            span: 100 * MS,
            ..TERMS
        };
        assert_eq!(short.patience(), 50 * MS);
        assert!(!denied(8, MS).may_ask(&short, at(8, MS) + 50 * MS));
        let often = denied(100, 5 * MS);
        assert!(often.may_ask(&TERMS, at(100, 5 * MS) + TERMS.take_ahead / 2));
        assert!(!often.may_ask(&TERMS, at(100, 5 * MS) + TERMS.take_ahead));
        let whole = Terms {
            span: TERMS.cost,
            ..TERMS
        };
        assert!(!denied(8, 0).may_ask(&whole, NOW), "capacity of one call");
    }

    #[test]
    fn denials_are_counted_while_a_place_is_kept() {
        let place = granted(&TERMS, MS, 20 * MS).unwrap();
        let deny = |place, n: u64| Place::denied(Some(place), &TERMS, NOW + n * MS);
        let waiting = (2..12).fold(place, deny);
        assert!(!waiting.may_ask(&TERMS, NOW + 12 * MS), "it has one");
        assert_eq!(
            (waiting.due(), waiting.end(&TERMS)),
            (place.due(), place.end(&TERMS))
        );
        let used = waiting.used();
        assert!(place.used().may_ask(&TERMS, NOW + 25 * MS), "as before");
        assert!(used.may_ask(&TERMS, NOW + 25 * MS));
        assert!(!used.may_ask(&TERMS, NOW + 201 * MS), "too long ago");
        let ended = place.end(&TERMS);
        assert!(!waiting.may_ask(&TERMS, ended));
        assert_eq!(
            Place::denied(Some(waiting), &TERMS, ended),
            Place::denied(None, &TERMS, ended)
        );
    }

    #[test]
    fn any_word_is_valid() {
        let words = [
            0,
            u128::MAX,
            u128::MAX ^ 1 << KIND_BIT,
            1 << 127,
            1 << CALL_AT,
        ];
        for word in words {
            assert_eq!(Place::read(word).is_none(), word >> KIND_BIT & 1 == 1);
            let Some(place) = Place::read(word) else {
                continue;
            };
            assert_eq!(place.word(word), word);
            let terms = Terms {
                cost: 1,
                span: 1 << 60,
                take_ahead: MOST,
            };
            for now in [EPOCH, NOW, EPOCH + (1 << 59)] {
                place.wait(&terms, now);
                place.may_ask(&terms, now);
                Place::denied(Some(place), &terms, now);
            }
        }
        let empty = Place::read(0);
        assert_eq!(empty.map(|place| place.wait(&TERMS, NOW)), Some(None));
    }

    #[test]
    fn terms_have_cells_of_their_own() {
        let others = [
            Terms {
                cost: 51 * MS,
                ..TERMS
            },
            Terms {
                span: 501 * MS,
                ..TERMS
            },
            Terms {
                take_ahead: 201 * MS,
                ..TERMS
            },
            Terms {
                cost: TERMS.span,
                span: TERMS.cost,
                ..TERMS
            },
        ];
        let hash = 77 << 96 | 5;
        assert_eq!(TERMS.place_of(hash) >> 48, hash >> 48);
        for terms in others {
            let cells = [terms, TERMS].map(|terms| fingerprint(terms.place_of(hash)));
            assert_ne!(cells[0], cells[1], "{terms:?}");
        }
        let place = granted(&TERMS, MS, MS).unwrap();
        let word = place.word(TERMS.place_of(hash));
        assert_eq!(fingerprint(word), fingerprint(TERMS.place_of(hash)));
        assert_eq!((Place::read(word), sent(word)), (Some(place), unit(NOW)));
    }
}
