//! Time in whole ticks.
//!
//! Each store uses one clock. All instants that the store keeps are measured on that clock. A tick
//! is a nanosecond. Invariant: `boot_clock() >= EPOCH`, so that `now - burst` is never negative. A
//! bucket's span, `burst`, is at most [`EPOCH`].

use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// An instant or a length of time in ticks, which are nanoseconds.
pub type Ticks = u64;

/// The number of ticks in a second.
pub const TICKS_PER_SECOND: Ticks = 1_000_000_000;

/// The number of ticks in a microsecond, the unit of remote stores.
pub const TICKS_PER_MICROSECOND: Ticks = 1_000;

/// The reading of a host's clock at the boot: 2^60 ns, which is the greatest span of a bucket.
///
/// Within 18 years of uptime, readings stay below 2^60 + 2^59. An instant that is at most 2^60
/// later is below 2^62. So bits 62 and 63 of a word stay free.
pub const EPOCH: Ticks = 1 << 60;

/// Returns the current instant of the host's boot-time clock. Its readings never go back, on any
/// processor. The clock continues while the host is suspended.
#[inline]
#[must_use]
pub fn boot_clock() -> Ticks {
    let time = clock_gettime(ClockId::Boottime);
    // The sum cannot overflow, because the clock is never negative and 2^59 ns are 18 years of
    // uptime.
    EPOCH + time.tv_sec.cast_unsigned() * TICKS_PER_SECOND + time.tv_nsec.cast_unsigned()
}

/// Returns the time since the Unix epoch on this host's wall clock, which may be set back. Use it
/// only for instants that leave this host's segment: records that hosts share, and instants for
/// PHP.
#[must_use]
pub fn wall_clock() -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    // A clock that is set to a time before the Unix epoch yields zero.
    now.unwrap_or_default()
}
