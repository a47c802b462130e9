//! A slice: whole calls of a bucket that is not used up, which a host takes ahead with a call of
//! its own. The host uses them within their life, without a round trip. [`crate::ahead`] explains
//! why a host may keep a part of a bucket's time axis.
//!
//! The server decides the host's own call by the whole span. Then it takes the slice:
//!
//! ```text
//! life   = min(take_ahead, span / 8)
//! start  = max(empty_at, now - span + life)                  by the server's clock
//! extra  = whole calls: as many as the host uses in a life, a quarter of now - start at most
//! end    = sent + life × (1 - 1/1024)                        rounded down, by the host's clock
//! ```
//!
//! So no part of the slice is older than the span before its end. The record lives for the whole
//! span, because direct calls may take all that refills after the slice. Two slices join: the
//! tokens left are added, and the request that was sent first counts.
//!
//! ```text
//! cell   fingerprint: 48 bits | sent: 45 bits | kind: 1 bit | 34 bits
//! slice  left: 29 bits (microseconds) | estimate: 5 bits
//! ```
//!
//! The estimate is the tokens that the host uses in a life, as the exponent of a power of two, in
//! microseconds. 0 stands for one call. The estimate is 0 while a request is on its way. So one
//! worker at a time takes ahead, and a lost reply leaves 0.

use crate::ahead::{FINGERPRINT_BITS, KIND_BIT, Terms, fingerprint, sent, start, unit};
use crate::clock::{TICKS_PER_MICROSECOND, Ticks, Timestamp};

const ESTIMATE_BITS: u32 = 5;
const LEFT_BITS: u32 = 29;
const ESTIMATE_AT: u32 = KIND_BIT + 1;
const LEFT_AT: u32 = ESTIMATE_AT + ESTIMATE_BITS;
/// The calls that must refill in the life of a slice. The last slice of a burst is often dropped.
/// With four calls, it costs a quarter of them.
const CALLS_IN_A_LIFE: u64 = 16;
/// The most tokens that a cell holds, in microseconds.
const MOST_LEFT: u64 = (1 << LEFT_BITS) - 1;
const MOST_ESTIMATE: u32 = LEFT_BITS - 1;

impl Terms {
    /// Returns the life of a slice: whole microseconds.
    pub fn life(&self) -> Ticks {
        let life = self.take_ahead.min(self.span / 8);
        life - life % TICKS_PER_MICROSECOND
    }

    /// Returns the hash of the cell of slices of the bucket with this hash, as
    /// [`Terms::place_of`] does. Calls of all costs use one slice.
    #[inline]
    pub fn slice_of(&self, hash: u128) -> u128 {
        Self { cost: 0, ..*self }.place_of(hash)
    }

    /// Returns the tokens to take ahead for this estimate: 0 for fewer than four calls, and for a
    /// slow limit, because it takes long to make up for calls that are dropped.
    pub fn extra(&self, estimate: u32) -> Ticks {
        let extra = TICKS_PER_MICROSECOND << estimate;
        let is_slow = self.life() / CALLS_IN_A_LIFE < self.cost;
        if extra / 4 < self.cost || is_slow {
            0
        } else {
            extra
        }
    }

    /// Returns the estimate of one call, rounded down.
    fn one_call(&self) -> u32 {
        micros(self.cost).max(1).ilog2().min(MOST_ESTIMATE)
    }
}

/// The rest of a slice, and the estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// The unit in which the request was sent.
    sent: u64,
    /// The tokens that are left, in microseconds.
    left: u64,
    estimate: u32,
}

/// The reply to a request.
#[derive(Clone, Copy, Debug)]
pub struct Extra {
    /// The tokens that the server took ahead. 0 if it took none.
    pub ticks: Ticks,
    /// The instants of the host's clock before the request and after the reply.
    pub sent: Timestamp,
    pub received: Timestamp,
    /// The estimate at the request.
    pub estimate: u32,
}

impl Slice {
    /// Reads the word of a cell. Returns `None` for a cell of the other kind.
    // The casts keep only the bits that are needed.
    #[allow(clippy::cast_possible_truncation)]
    #[inline]
    pub const fn read(word: u128) -> Option<Self> {
        if word >> KIND_BIT & 1 == 0 {
            return None;
        }
        Some(Self {
            sent: sent(word),
            left: (word >> LEFT_AT) as u64,
            estimate: (word >> ESTIMATE_AT) as u32 & ((1 << ESTIMATE_BITS) - 1),
        })
    }

    /// Returns the word of the cell with this hash.
    #[inline]
    pub fn word(self, hash: u128) -> u128 {
        fingerprint(hash)
            | u128::from(self.sent) << FINGERPRINT_BITS
            | 1 << KIND_BIT
            | u128::from(self.estimate) << ESTIMATE_AT
            | u128::from(self.left) << LEFT_AT
    }

    /// Returns the tokens that are left, which may have ended.
    pub const fn left(&self) -> Ticks {
        self.left * TICKS_PER_MICROSECOND
    }

    /// Returns the first instant at which the slice may no longer be used.
    #[inline]
    pub fn end(&self, terms: &Terms) -> Timestamp {
        end(self.sent, terms)
    }

    /// Returns the word of the rest after a call at `now`. Returns `None` if the call may not use
    /// the slice in this word. Most grants do only this, so it does not read the word into a slice.
    // The cast keeps only the bits that are needed.
    #[allow(clippy::cast_possible_truncation)]
    #[inline]
    pub fn used(word: u128, terms: &Terms, now: Timestamp) -> Option<u128> {
        let cost = micros(terms.cost);
        let sent = sent(word);
        let is_slice = word >> KIND_BIT & 1 == 1 && cost <= (word >> LEFT_AT) as u64;
        let is_alive = sent <= unit(now) && now < end(sent, terms);
        (is_slice && is_alive).then(|| word - (u128::from(cost) << LEFT_AT))
    }

    fn is_alive(&self, terms: &Terms, now: Timestamp) -> bool {
        self.left > 0 && self.sent <= unit(now) && now < end(self.sent, terms)
    }

    /// Returns the estimate for a request that is sent at `now`, and what the cell holds until its
    /// reply. An estimate at most doubles or halves. `found` is what the cell holds.
    pub fn asked(found: Option<Self>, terms: &Terms, now: Timestamp) -> (u32, Self) {
        let asked = Self {
            sent: unit(now),
            left: 0,
            estimate: 0,
        };
        let Some(last) = found.filter(|last| last.sent <= unit(now)) else {
            return (0, asked);
        };
        let least = last.estimate.max(terms.one_call()).min(MOST_ESTIMATE);
        let extra = terms.extra(least).saturating_sub(last.left());
        let used = micros(terms.cost.saturating_add(extra));
        let passed = (now - start(last.sent)).max(1);
        let estimate = used.saturating_mul(terms.life()) / passed;
        let estimate = estimate.checked_ilog2().unwrap_or(0);
        let estimate = estimate.clamp(least.saturating_sub(1), (least + 1).min(MOST_ESTIMATE));
        let is_alive = last.is_alive(terms, now);
        let rest = Self {
            estimate: 0,
            ..last
        };
        (estimate, if is_alive { rest } else { asked })
    }

    /// Returns what the cell holds after a reply. A rest of less than one call is dropped when new
    /// tokens arrive, because these would end with it. Tokens that arrive after their end are
    /// dropped, too.
    pub fn replied(found: Option<Self>, terms: &Terms, extra: &Extra) -> Self {
        let Extra { sent, received, .. } = *extra;
        let left = extra.ticks / TICKS_PER_MICROSECOND;
        let estimate = match left {
            // The tokens of another reply as late as this one would often have ended.
            _ if received.saturating_since(sent) > terms.life() / 4 => 0,
            0 if terms.extra(extra.estimate) > 0 => terms.one_call() + 1,
            0 => extra.estimate,
            _ => left.next_power_of_two().ilog2().min(MOST_ESTIMATE),
        };
        let new = Self {
            sent: unit(sent),
            left: left.min(MOST_LEFT),
            estimate,
        };
        let Some(old) = found else { return new };
        // A request sets the estimate to 0, so this one is of another worker's reply.
        let estimate = if estimate == 0 {
            0
        } else {
            estimate.max(old.estimate)
        };
        let joins = old.is_alive(terms, received) && old.left >= micros(terms.cost);
        let (sent, left) = if !new.is_alive(terms, received) {
            (old.sent, old.left)
        } else if joins {
            let left = (old.left + new.left).min(MOST_LEFT);
            (old.sent.min(new.sent), left)
        } else {
            (new.sent, new.left)
        };
        Self {
            sent,
            left,
            estimate,
        }
    }
}

/// Returns the end of a slice whose request was sent in this unit.
#[inline]
fn end(sent: u64, terms: &Terms) -> Timestamp {
    let life = terms.take_ahead.min(terms.span / 8);
    // The life of the server is up to a microsecond shorter, and its clock has passed its whole
    // microsecond by less than another one.
    let lost = life / 1024 + 3 * TICKS_PER_MICROSECOND;
    start(sent) + life.saturating_sub(lost)
}

/// Converts ticks to microseconds. Rounds up.
const fn micros(ticks: Ticks) -> u64 {
    ticks.div_ceil(TICKS_PER_MICROSECOND)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ahead::MOST;
    use crate::clock::{EPOCH, TICKS_PER_SECOND};

    const MS: Ticks = TICKS_PER_SECOND / 1000;
    const NOW: Timestamp = Timestamp(EPOCH.0 + 123 * TICKS_PER_SECOND + 5);
    /// A thousand calls of 1.024 ms each. The life of a slice is 100 ms.
    const TERMS: Terms = Terms {
        cost: 1024 * 1000,
        span: 1024 * MS,
        take_ahead: 100 * MS,
    };
    const COST: Ticks = TERMS.cost;
    const LIFE: Ticks = 100 * MS;

    fn extra(calls: u64, sent: Timestamp) -> Extra {
        Extra {
            ticks: calls * COST,
            sent,
            received: sent + MS,
            estimate: 12,
        }
    }

    fn slice(calls: u64, sent: Timestamp) -> Slice {
        Slice::replied(None, &TERMS, &extra(calls, sent))
    }

    fn used(slice: Slice, terms: &Terms, now: Timestamp) -> Option<Slice> {
        Slice::read(Slice::used(slice.word(77), terms, now)?)
    }

    #[test]
    fn a_life_is_an_eighth_of_the_span_at_most() {
        let short = Terms {
            span: 80 * MS + 7,
            ..TERMS
        };
        assert_eq!((TERMS.life(), short.life()), (LIFE, 10 * MS));
    }

    #[test]
    fn a_slow_limit_has_no_slices() {
        let calls = |cost| {
            let terms = Terms { cost, ..TERMS };
            terms.extra(20) / cost
        };
        assert_eq!(calls(LIFE / 16), (1000 << 20) / (LIFE / 16));
        assert_eq!(calls(LIFE / 16 + 1), 0);
    }

    #[test]
    fn a_slice_is_used_until_its_end() {
        let (slice, terms) = (slice(2, NOW), &TERMS);
        let end = slice.end(terms);
        assert!(end <= NOW + LIFE - LIFE / 1024 - 1000);
        assert!(end > NOW + LIFE - LIFE / 1000 - 20_000);
        let first = used(slice, terms, end - 1).unwrap();
        assert_eq!((first.left(), first.sent), (COST, slice.sent));
        assert_eq!(used(first, terms, end), None);
        assert_eq!(used(first, terms, NOW - MS), None, "it was not asked for");
        let last = used(first, terms, NOW).unwrap();
        assert_eq!((last.left(), used(last, terms, NOW)), (0, None));
        let dear = Terms {
            cost: 2 * COST + 1,
            ..TERMS
        };
        assert_eq!(used(slice, &dear, NOW), None);
    }

    #[test]
    fn the_third_call_in_a_life_takes_ahead() {
        let mut cell = None;
        let mut asks = |at: Ticks, ticks: Ticks| {
            let (estimate, asked) = Slice::asked(cell, &TERMS, NOW + at);
            let extra = Extra {
                ticks,
                sent: NOW + at,
                received: NOW + at + MS,
                estimate,
            };
            let rest = Slice::replied(Some(asked), &TERMS, &extra);
            // All calls are used.
            cell = Some(Slice { left: 0, ..rest });
            TERMS.extra(estimate) / COST
        };
        assert_eq!([asks(0, 0), asks(MS, 0)], [0, 0]);
        assert_eq!(asks(2 * MS, 0), 4);
        assert_eq!(asks(3 * MS, 4 * COST), 4, "there were none");
        assert_eq!(asks(4 * MS, 8 * COST), 8);
        assert_eq!(asks(64 * MS, 8 * COST), 8, "about 15 in a life");
        assert_eq!(asks(10_000 * MS, 4 * COST), 4, "at most halves");
        assert_eq!(asks(20_000 * MS, 0), 0);
    }

    #[test]
    fn calls_of_any_cost_start_taking_ahead() {
        for cost in [1000, 3000, 1_023_000, 1_025_000] {
            let terms = Terms { cost, ..TERMS };
            let mut cell = None;
            let asks = |n: u64| {
                let (sent, received) = (NOW + n * MS / 10, NOW + n * MS / 10);
                let (estimate, asked) = Slice::asked(cell, &terms, sent);
                let extra = Extra {
                    ticks: 0,
                    sent,
                    received,
                    estimate,
                };
                cell = Some(Slice::replied(Some(asked), &terms, &extra));
                terms.extra(estimate) > 0
            };
            assert!((0..5).any(asks), "{cost}");
        }
    }

    #[test]
    fn an_estimate_is_one_call_while_a_request_is_on_its_way() {
        let (estimate, asked) = Slice::asked(Some(slice(64, NOW)), &TERMS, NOW + LIFE);
        assert!(TERMS.extra(estimate) > 0);
        let (other, _) = Slice::asked(Some(asked), &TERMS, NOW + LIFE + MS);
        assert_eq!(TERMS.extra(other), 0);
        let late = Extra {
            received: NOW + LIFE / 4 + 1,
            ..extra(64, NOW)
        };
        let late = Slice::replied(None, &TERMS, &late);
        assert_eq!(late.left(), 64 * COST);
        let (estimate, _) = Slice::asked(Some(late), &TERMS, NOW + LIFE / 2);
        assert_eq!(TERMS.extra(estimate), 0, "the round trip was too long");
    }

    #[test]
    fn two_slices_join() {
        let (first, later) = (slice(2, NOW), extra(5, NOW + 9 * MS));
        let joined = Slice::replied(Some(first), &TERMS, &later);
        assert_eq!((joined.left(), joined.sent), (7 * COST, first.sent));
        let first = slice(5, NOW + 9 * MS);
        let slow = Extra {
            received: NOW + 10 * MS,
            ..extra(2, NOW)
        };
        let joined = Slice::replied(Some(first), &TERMS, &slow);
        assert_eq!((joined.left(), joined.sent), (7 * COST, unit(NOW)));
        let dear = Terms {
            cost: 3 * COST,
            ..TERMS
        };
        let alone = [(LIFE, TERMS), (9 * MS, dear)].map(|(at, terms)| {
            let new = Slice::replied(Some(slice(2, NOW)), &terms, &extra(5, NOW + at));
            (new.left(), new.sent == unit(NOW + at))
        });
        assert_eq!(alone, [(5 * COST, true); 2]);
        let [most, again] = [NOW, NOW].map(|sent| extra(1 << 19, sent));
        let most = Slice::replied(None, &TERMS, &most);
        let most = Slice::replied(Some(most), &TERMS, &again);
        assert_eq!(most.left, MOST_LEFT);
    }

    #[test]
    fn any_word_is_valid() {
        for word in [0, u128::MAX, 1 << KIND_BIT, 1 << 127, u128::MAX << KIND_BIT] {
            assert_eq!(Slice::read(word).is_none(), word >> KIND_BIT & 1 == 0);
            assert!(Slice::used(word, &TERMS, NOW).is_none());
            let Some(slice) = Slice::read(word) else {
                continue;
            };
            assert_eq!(slice.word(word), word);
            for cost in [1, 1 << 60] {
                let terms = Terms {
                    cost,
                    span: 1 << 60,
                    take_ahead: MOST,
                };
                for now in [EPOCH, NOW, EPOCH + (1 << 59)] {
                    Slice::used(word, &terms, now);
                    Slice::asked(Some(slice), &terms, now);
                    Slice::replied(Some(slice), &terms, &extra(7, now));
                }
            }
        }
    }

    #[test]
    fn calls_of_all_costs_use_one_slice() {
        let dear = Terms {
            cost: 3 * COST,
            ..TERMS
        };
        let longer = Terms {
            span: 2 * TERMS.span,
            ..TERMS
        };
        let cells = [TERMS, dear, longer].map(|terms| terms.slice_of(77 << 96 | 5));
        assert_eq!(cells[0], cells[1]);
        assert_ne!(fingerprint(cells[0]), fingerprint(cells[2]));
        let word = slice(5, NOW).word(cells[0]);
        assert_eq!(
            (Slice::read(word), sent(word)),
            (Some(slice(5, NOW)), unit(NOW))
        );
    }
}
