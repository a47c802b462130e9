//! The clock for decisions on memcached, which has no clock that its clients could use.
//!
//! Every host uses its wall clock. If the clock of host A is 5 ms ahead of host B's clock, B reads
//! states that A wrote in B's future. Without a correction, A would take all tokens of a bucket
//! that both hosts use up, because each token is there 5 ms earlier for A.
//!
//! So a host follows a clock that is ahead, by at most [`MOST_AHEAD`]. It learns the lead from the
//! instants at which records were written. The lead shrinks with time unless it is learned again.
//!
//! Invariant: the result is at most the greatest reading of any host's wall clock at this moment,
//! if no clock is set. When a lead is learned, it is at most that of another host's clock, and then
//! it only shrinks. So following another clock does not raise the number of additional tokens that
//! [`super`] states.

use super::wall_ticks;
use gcra::{TICKS_PER_MICROSECOND, Ticks, Timestamp, boot_clock};
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

/// The most ticks by which a host follows a clock that is ahead of its own: 100 ms.
pub const MOST_AHEAD: Ticks = 100_000 * TICKS_PER_MICROSECOND;

/// The clock that this process follows, as its distance from [`slow_clock`].
static FOLLOWED: AtomicI64 = AtomicI64::new(i64::MIN);

/// Returns the boot clock, slowed by 1/1024. It measures leads, which therefore shrink by a
/// millisecond a second. NTP slews a clock at half that speed.
fn slow_clock() -> Timestamp {
    let now = boot_clock();
    now - now.0 / 1024
}

/// Returns the current instant for a decision on a record that was written at `written`, on the
/// writer's clock. The result is in whole microseconds.
pub fn now(written: Timestamp) -> Timestamp {
    let (wall, slow) = (wall_ticks(), slow_clock());
    let latest = wall + MOST_AHEAD;
    if wall < written && written <= latest {
        FOLLOWED.fetch_max(written.signed_since(slow), Relaxed);
    }
    let followed = slow.saturating_add_signed(FOLLOWED.load(Relaxed));
    if followed > latest {
        // This host's wall clock was set back since the lead was learned.
        FOLLOWED.store(i64::MIN, Relaxed);
        return wall;
    }
    wall.max(followed.floor(TICKS_PER_MICROSECOND))
}
