//! The permits that a request takes from limits of concurrent requests. They end with the request.

use super::decided;
use super::rules::{self, RuleBuckets};
use crate::concurrency::held::{self, HeldEntry};
use crate::storage::HeldPermit;
use gcra::{Few, Key, Row};
use segment::{By, Host, Refusal};

/// The permits of a request.
#[derive(Default)]
pub struct OfRequest {
    /// The permits with the rows that count them.
    held: Few<(HeldEntry, Row)>,
    /// The limit with the fewest free permits, and their number.
    pub tightest: Option<(u16, u16)>,
}

impl OfRequest {
    /// Acquires a permit of `key`, out of `limit` permits of the rule, and leaves `leave` to
    /// others. Counts the denial and fails if no permit can be taken. If this process cannot hold
    /// permits, only logs that.
    pub fn acquire(
        &mut self,
        host: &Host,
        rule: &RuleBuckets,
        key: Key<'_>,
        [limit, leave]: [u16; 2],
    ) -> Result<(), Refusal> {
        let acquired = host.permits().acquire_leaving(key, limit, leave);
        if acquired != Err(Refusal::Unavailable) {
            let free = acquired.map(|acquired| acquired.free);
            decided::note_permit(rule, limit - leave, free);
        }
        match acquired {
            Ok(acquired) => {
                let entry = held::keep(HeldPermit::Host(acquired.permit));
                self.held.push((entry, key.row));
                if self.tightest.is_none_or(|(_, free)| acquired.free < free) {
                    self.tightest = Some((limit - leave, acquired.free));
                }
            }
            Err(Refusal::Unavailable) => {
                if let Err(reason) = host.permits().check() {
                    let message =
                        format!("guard: no concurrent limit is in force, because {reason}");
                    rules::log(host.slots(), "permits", &message);
                }
            }
            Err(refusal) => {
                host.slots().count_for(key, By::SharedMemory, false);
                return Err(refusal);
            }
        }
        Ok(())
    }

    pub fn count_granted(&self, host: &Host) {
        for &(_, row) in &self.held {
            host.slots().count_in(row, By::SharedMemory, true);
        }
    }

    /// Gives the permits back.
    pub fn release(self) {
        for (entry, _) in self.held {
            // A server keeps none of them.
            drop(held::release(entry));
        }
    }

    /// Makes one entry of all permits, so that they end together.
    pub fn join(self) -> HeldEntry {
        held::join(self.held.iter().map(|(entry, _)| *entry))
    }
}
