//! The back-off of a loop that writes by compare-and-swap.

use crate::clock::{Ticks, boot_clock};
use std::time::Duration;

/// Sleeps after race number `lost`, so that the others finish: longer after each, up to about a
/// millisecond. Returns false, at once, after the first.
#[allow(clippy::must_use_candidate)] // Its sleep is the point.
pub fn pause(lost: u32) -> bool {
    let waits = lost > 1;
    if waits {
        let chance = boot_clock() ^ u64::from(std::process::id()).wrapping_mul(0x9e37_79b9);
        std::thread::sleep(Duration::from_micros(chance % (20 << lost.min(6))));
    }
    waits
}

/// Returns whether an instant of [`boot_clock`] has passed.
#[must_use]
pub fn is_over(deadline: Ticks) -> bool {
    boot_clock() >= deadline
}
