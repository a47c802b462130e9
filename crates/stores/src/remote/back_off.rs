//! Back-off for loops that write by compare-and-swap.

use gcra::{Timestamp, boot_clock};
use std::time::Duration;

/// Sleeps after a lost race, so that other writers can finish. `lost` is the number of races lost
/// so far. The length of the sleep is random. Its limit doubles with each race, up to about a
/// millisecond. After the first race, returns false without sleeping.
pub fn pause(lost: u32) -> bool {
    let waits = lost > 1;
    if waits {
        let chance = boot_clock().0 ^ u64::from(std::process::id()).wrapping_mul(0x9e37_79b9);
        std::thread::sleep(Duration::from_micros(chance % (20 << lost.min(6))));
    }
    waits
}

/// Reports whether an instant of [`boot_clock`] has passed.
pub fn is_over(deadline: Timestamp) -> bool {
    boot_clock() >= deadline
}
