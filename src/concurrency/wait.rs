//! The wait for a permit, in no order.

use super::held::{self, HeldEntry};
use crate::exceptions;
use crate::storage::{HeldPermit, PermitPlace, Reported, place_in_segment};
use crate::token_bucket::wait::{rest, sleep_until};
use gcra::{Key, TICKS_PER_SECOND, Ticks, Timestamp, boot_clock};
use segment::{Acquired, Refusal};
use stores::remote::Answer;

/// The pauses between the tries of a wait. Each pause is twice as long as the one before, up to a
/// limit. Then a random part of each pause, at most a half, is cut off.
struct Pace {
    first: Ticks,
    longest: Ticks,
}

const IN_MEMORY: Pace = Pace {
    first: TICKS_PER_SECOND / 1_000,
    longest: TICKS_PER_SECOND / 50,
};
/// Each try is a request. A caller sends at most 14 in the first second and 10 in each later one.
const ON_A_SERVER: Pace = Pace {
    first: TICKS_PER_SECOND / 50,
    longest: TICKS_PER_SECOND / 5,
};

/// In memory, the time between two tries that ask the kernel whether holders are alive. The other
/// tries only read memory.
const ASK_INTERVAL: Ticks = TICKS_PER_SECOND / 10;

/// The place of a caller that waits. The list of this thread owns it, so it ends with the request
/// at the latest.
pub struct Place(HeldEntry);

impl Place {
    pub fn take(key: Key<'_>, most: u16) -> Result<Self, Refusal> {
        place_in_segment(key, most).map(|place| Self(held::keep(place)))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // No server keeps places.
        drop(held::release(self.0));
    }
}

/// Returns true if a later try may succeed.
pub fn may_end(taken: &Answer<Result<Acquired<HeldPermit>, Refusal>>) -> bool {
    matches!(&taken.value, Err(refusal) if *refusal != Refusal::Unavailable)
}

/// Tries again and again to take a permit, until `timeout` ticks have passed. PHP code may run
/// between two tries. Fails with the exception of an interrupt's handler, of a server that failed,
/// or of PHP's warning handler. Then no permit is taken.
pub fn wait(
    permits: &PermitPlace,
    key: Key<'_>,
    limit: u16,
    lease: Ticks,
    timeout: Ticks,
) -> Reported<Result<Acquired<HeldPermit>, Refusal>> {
    let acquire = || {
        let taken = permits.acquire(key, limit, lease);
        taken.map_err(exceptions::store_failed)
    };
    let is_on_server = matches!(permits, PermitPlace::Server(_));
    let pace = if is_on_server { ON_A_SERVER } else { IN_MEMORY };
    let mut now = boot_clock();
    let end = now + timeout;
    let mut pause = pace.first;
    let mut ask_at = now + shortened(ASK_INTERVAL, now);
    loop {
        let due = (now + shortened(pause, now)).min(end);
        if !rest(|| sleep_until(due))? {
            return Ok(Answer::sure(Err(Refusal::Interrupted)));
        }
        now = boot_clock();
        if now >= end {
            return acquire();
        }
        let taken = if now < ask_at && !is_on_server {
            let taken = permits.try_words(key, limit);
            Answer::sure(taken.ok_or(Refusal::TooMany))
        } else {
            ask_at = now + shortened(ASK_INTERVAL, now);
            acquire()?
        };
        if !may_end(&taken) {
            return Ok(taken);
        }
        exceptions::report_failure(taken)?;
        pause = (pause * 2).min(pace.longest);
    }
}

/// Returns between a half and the whole of `pause`. The clock's latest digits are the random part,
/// so that waiting processes do not try at the same instants.
fn shortened(pause: Ticks, now: Timestamp) -> Ticks {
    pause - now.0 % (pause / 2)
}
