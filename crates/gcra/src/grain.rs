//! The resolution of a store's times, and how costs are rounded to it.

use crate::clock::{TICKS_PER_MICROSECOND, Ticks};
use crate::tokens::Tokens;

/// The number of grains from which two units may have the same rate. Below it, the rates of two
/// different units are different doubles, because a double has 53 bits.
pub(crate) const LEAST_UNNAMED: u64 = 1 << 51;

/// The resolution of a store's times. Every instant and span in the store is a multiple of the
/// grain.
///
/// Lua and SQL keep instants as doubles. A double is exact in microseconds since the epoch, but not
/// in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grain {
    /// One tick.
    Nanosecond,
    /// [`TICKS_PER_MICROSECOND`] ticks.
    Microsecond,
    /// One tick of a clock that only a test advances. Up to a million tokens a second, the time per
    /// token and each cost are rounded down and not up. So after a test advances the clock by a
    /// minute, the tokens of a minute are back. A full bucket of one token grants ten calls for a
    /// tenth of a token. The rate may be exceeded by this rounding, but only in such a store.
    FakeNanosecond,
}

impl Grain {
    /// Returns the length of the grain in ticks.
    #[inline]
    pub const fn ticks(self) -> Ticks {
        match self {
            Self::Nanosecond | Self::FakeNanosecond => 1,
            Self::Microsecond => TICKS_PER_MICROSECOND,
        }
    }

    /// Returns the whole grains in `span`. This is faster than a division by [`Grain::ticks`].
    #[inline]
    pub(crate) const fn count(self, span: Ticks) -> u64 {
        match self {
            Self::Nanosecond | Self::FakeNanosecond => span,
            Self::Microsecond => span / TICKS_PER_MICROSECOND,
        }
    }

    /// Returns the whole grains in which `tokens` refill, if `group` tokens refill in `unit` ticks.
    /// Returns `None` above `u64::MAX`.
    #[inline]
    pub(crate) fn grains(self, tokens: Tokens, unit: Ticks, group: u64) -> Option<u64> {
        if self == Self::FakeNanosecond && group == 1 {
            // No token may cost 0 ticks. A cost of 1 is at most the span, which is at least 1.
            let least = u64::from(!tokens.is_zero());
            return tokens.scale_down(unit, 1).map(|ticks| ticks.max(least));
        }
        tokens.scale_up(unit, group * self.ticks())
    }

    /// Returns the time in which `group` tokens are added, in grains, and true if it was rounded
    /// up. `grains` is the time in which `group * added` tokens are added. Returns `None` if the
    /// time is too long.
    pub(crate) fn unit(self, added: Tokens, grains: u64) -> Option<(u64, bool)> {
        let up = added.divide_up(grains)?;
        // Most rates are whole numbers that divide a second. These are exact.
        if added.is_whole() && added.floor().checked_mul(up) == Some(grains) {
            return Some((up, false));
        }
        let rate = added.to_float();
        let named = (grains as f64 / rate).round();
        // An exact comparison of doubles is intended here.
        #[allow(clippy::float_cmp)]
        if named < LEAST_UNNAMED as f64 && grains as f64 / named == rate {
            // The number is whole, not negative and below 2^51.
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            return Some((named as u64, false));
        }
        Some(match self {
            // Undoes the rounding up. From 2^51 ticks on, also undoes the rounding of the rate to a
            // double, which may have made the unit longer.
            Self::FakeNanosecond => (up - 1 - up / LEAST_UNNAMED, false),
            Self::Nanosecond | Self::Microsecond => (up, true),
        })
    }
}
