//! Time in whole ticks.
//!
//! Each store uses one clock. All instants that the store keeps are measured on that clock. A tick
//! is a nanosecond. Invariant: `boot_clock() >= EPOCH`, so that `now - span` is never negative. A
//! bucket's span, `span`, is at most 2^60 ticks.

use rustix::time::{ClockId, clock_gettime};
use std::ops::{Add, AddAssign, Sub};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A length of time in ticks, which are nanoseconds.
pub type Ticks = u64;

/// An instant, as a reading of the clock of a store.
///
/// The compiler rejects a length of time in place of an instant, and the sum of two instants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub struct Timestamp(pub Ticks);

impl Timestamp {
    /// The least instant, long before any reading of a clock. It is the state of a bucket without a
    /// record, which is full.
    pub const ZERO: Self = Self(0);
    /// The latest instant. No clock reaches it.
    pub const MAX: Self = Self(Ticks::MAX);

    /// Returns the ticks since `earlier`, or 0 if `earlier` is not earlier.
    #[inline]
    pub const fn saturating_since(self, earlier: Self) -> Ticks {
        self.0.saturating_sub(earlier.0)
    }

    /// Returns the ticks since `other`. The result is negative if `other` is later. Both instants
    /// must be below 2^63.
    #[inline]
    pub const fn signed_since(self, other: Self) -> i64 {
        self.0.wrapping_sub(other.0).cast_signed()
    }

    /// Returns the instant `span` ticks later, at most [`Timestamp::MAX`].
    #[inline]
    pub const fn saturating_add(self, span: Ticks) -> Self {
        Self(self.0.saturating_add(span))
    }

    /// Returns the instant `span` ticks later, or earlier if `span` is negative. The result is
    /// between [`Timestamp::ZERO`] and [`Timestamp::MAX`].
    #[inline]
    pub const fn saturating_add_signed(self, span: i64) -> Self {
        Self(self.0.saturating_add_signed(span))
    }

    /// Returns the instant `span` ticks earlier, at least [`Timestamp::ZERO`].
    #[inline]
    pub const fn saturating_sub(self, span: Ticks) -> Self {
        Self(self.0.saturating_sub(span))
    }

    /// Returns the instant halfway between this one and `other`.
    pub const fn midpoint(self, other: Self) -> Self {
        Self(self.0.midpoint(other.0))
    }

    /// Returns the last multiple of `period` that is not after this instant. `period` must not be
    /// 0.
    #[inline]
    pub const fn floor(self, period: Ticks) -> Self {
        Self(self.0 - self.0 % period)
    }

    /// Returns the first multiple of `period` that is not before this instant. `period` must not be
    /// 0.
    #[inline]
    pub const fn ceil(self, period: Ticks) -> Self {
        Self(self.0.next_multiple_of(period))
    }
}

impl Add<Ticks> for Timestamp {
    type Output = Self;
    #[inline]
    fn add(self, span: Ticks) -> Self {
        Self(self.0 + span)
    }
}

impl AddAssign<Ticks> for Timestamp {
    #[inline]
    fn add_assign(&mut self, span: Ticks) {
        self.0 += span;
    }
}

impl Sub<Ticks> for Timestamp {
    type Output = Self;
    #[inline]
    fn sub(self, span: Ticks) -> Self {
        Self(self.0 - span)
    }
}

impl Sub for Timestamp {
    type Output = Ticks;
    #[inline]
    fn sub(self, earlier: Self) -> Ticks {
        self.0 - earlier.0
    }
}

pub const TICKS_PER_SECOND: Ticks = 1_000_000_000;

/// The number of ticks in a microsecond, the unit of remote stores.
pub const TICKS_PER_MICROSECOND: Ticks = 1_000;

/// The reading of a host's clock at the boot: 2^60 ns, which is the greatest span of a bucket.
///
/// Within 18 years of uptime, readings stay below 2^60 + 2^59. An instant that is at most 2^60
/// later is below 2^62. So bits 62 and 63 of a word stay free.
pub const EPOCH: Timestamp = Timestamp(1 << 60);

/// Returns the current instant of the host's boot-time clock. Its readings never go back, on any
/// processor. The clock continues while the host is suspended.
#[inline]
pub fn boot_clock() -> Timestamp {
    let time = clock_gettime(ClockId::Boottime);
    // The sum cannot overflow, because the clock is never negative and 2^59 ns are 18 years of
    // uptime.
    EPOCH + time.tv_sec.cast_unsigned() * TICKS_PER_SECOND + time.tv_nsec.cast_unsigned()
}

/// Returns the time since the Unix epoch on this host's wall clock, which may be set back. Use it
/// only for instants that leave this host's segment: records that hosts share, and instants for
/// PHP.
pub fn wall_clock() -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    // A clock that is set to a time before the Unix epoch yields zero.
    now.unwrap_or_default()
}

/// Returns the time since the Unix epoch on this host's wall clock, as an instant. It is at most
/// 2^62, which is in the year 2116.
pub fn unix_time() -> Timestamp {
    let ticks = u64::try_from(wall_clock().as_nanos());
    Timestamp(ticks.unwrap_or(u64::MAX).min(1 << 62))
}
