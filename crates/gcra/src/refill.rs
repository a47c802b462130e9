//! The kinds of refill: all the time, at drain ticks, or at the start of each window.
//!
//! In a window, each token moves the state by a fixed time. The state of an unused bucket is the
//! start of the window. After `used` ticks were taken in the window, the state is `start + used`.
//! No window is shorter than the span of its bucket, so this state is at most the end of the
//! window. The next window starts there, and its bucket is full again.
//!
//! Windows may have different lengths, such as months, or days on which the clocks change. The
//! caller knows their starts. So the arithmetic needs no calendar.

use crate::clock::{TICKS_PER_SECOND, Ticks, Timestamp};
use std::num::NonZero;

/// The kind of refill of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refill {
    /// The bucket is refilled all the time.
    Continuous,
    /// A leaky bucket leaks only at multiples of this number of ticks.
    Ticks(NonZero<Ticks>),
    /// The bucket becomes full at the start of each window, and is not refilled between.
    Windows(Windows),
}

impl Refill {
    /// Returns the refill at multiples of `tick`. Every instant is a multiple of 1.
    pub const fn every(tick: NonZero<Ticks>) -> Self {
        match tick.get() {
            1 => Self::Continuous,
            _ => Self::Ticks(tick),
        }
    }

    /// Returns the drain tick in ticks, or 1 for another kind of refill.
    pub const fn tick(self) -> Ticks {
        match self {
            Self::Ticks(tick) => tick.get(),
            _ => 1,
        }
    }
}

/// The window in which a call is made, and its neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Windows {
    pub start: Timestamp,
    /// The lengths in seconds of the window before it, of the window, and of the window after it.
    pub lengths: [u32; 3],
    /// True if the call was made before with windows that did not contain the store's clock. If
    /// these windows do not contain it either, the store has failed.
    pub is_repeat: bool,
}

impl Windows {
    /// Returns the windows of a call that was not made before.
    pub const fn new(start: Timestamp, lengths: [u32; 3]) -> Self {
        Self {
            start,
            lengths,
            is_repeat: false,
        }
    }

    /// Reports whether `now` is in one of these windows. If it is not, the window of `now` is
    /// unknown, and no tokens may be taken.
    pub fn contain(&self, now: Timestamp) -> bool {
        let [first, .., end] = self.starts();
        (first..end).contains(&now)
    }

    /// Returns the end of the window, which is the start of the next one.
    pub fn end(&self) -> Timestamp {
        self.start + ticks(self.lengths[1])
    }

    /// Returns the starts of the window before, of the window, and of the two windows after it.
    pub fn starts(&self) -> [Timestamp; 4] {
        let before = self.start.saturating_sub(ticks(self.lengths[0]));
        let next = self.end();
        [before, self.start, next, next + ticks(self.lengths[2])]
    }

    /// Returns `now`, or the last instant of the window if it has ended. So a grant that is
    /// reported after the end of its window still describes that window.
    pub fn within(&self, now: Timestamp) -> Timestamp {
        now.min(self.end().saturating_sub(1))
    }

    /// Returns the windows of a call at `now` on another clock. The two clocks may differ by up to
    /// the length of a window.
    pub fn at(&self, now: Timestamp) -> Self {
        let [before, start, next, _] = self.starts();
        let [earlier, length, later] = self.lengths;
        let (start, lengths) = if now < start {
            (before, [earlier, earlier, length])
        } else if now < next {
            return *self;
        } else {
            (next, [length, later, later])
        };
        Self {
            start,
            lengths,
            ..*self
        }
    }

    /// Returns the first start of this window or a later one that is not before `instant`. Returns
    /// `None` if the starts that are known are all before it.
    pub fn first_from(&self, instant: Timestamp) -> Option<Timestamp> {
        let mut starts = self.starts().into_iter().skip(1);
        starts.find(|&start| start >= instant)
    }

    /// Returns the state after `cost` ticks were given back to this window. Changes nothing of
    /// other windows. So a late give-back adds no tokens to a window that is full.
    pub fn refunded(&self, empty_at: Timestamp, cost: Ticks) -> Timestamp {
        // The state is of a later window if the clock of another call was ahead.
        if empty_at > self.end() {
            return empty_at;
        }
        empty_at.min(empty_at.saturating_sub(cost).max(self.start))
    }
}

/// Converts seconds to ticks.
const fn ticks(seconds: u32) -> Ticks {
    seconds as Ticks * TICKS_PER_SECOND
}
