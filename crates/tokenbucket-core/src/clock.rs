//! Time, as whole ticks of one clock.
//!
//! Each store names one clock, and every number that it keeps was read from that clock. Ticks are
//! nanoseconds. Invariant: `boot_clock() >= EPOCH`, so that `now - burst` is never negative (a
//! burst is at most [`EPOCH`]).

use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// An instant, or a span, in nanoseconds.
pub type Ticks = u64;

/// The number of ticks in a second.
pub const TICKS_PER_SECOND: Ticks = 1_000_000_000;

/// The number of ticks in a microsecond, the unit of remote stores.
pub const TICKS_PER_MICROSECOND: Ticks = 1_000;

/// The reading of a clock when its host booted: 2^60 ns, the greatest burst.
///
/// A host that is up for 18 years shows less than 2^60 + 2^59. An instant that is at most 2^60
/// later still leaves bits 62 and 63 of a word free.
pub const EPOCH: Ticks = 1 << 60;

/// Returns the present instant of the host's boot-time clock. The clock is monotone over all
/// processors and continues while the host is suspended.
#[inline]
#[must_use]
pub fn boot_clock() -> Ticks {
    let time = clock_gettime(ClockId::Boottime);
    // The boot-time clock is never negative, and 2^59 ns are 18 years of uptime.
    EPOCH + time.tv_sec.cast_unsigned() * TICKS_PER_SECOND + time.tv_nsec.cast_unsigned()
}

/// Returns the time since the epoch on this host's wall clock, which may be set back. Only for
/// instants that others read: records that hosts share, and instants that PHP names.
#[must_use]
pub fn wall_clock() -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    // A clock before the epoch yields zero.
    now.unwrap_or_default()
}
