//! The permits that a request takes from limits of concurrent requests. They end with the request.

use super::rules;
use crate::concurrency::held::{self, HeldEntry};
use crate::storage::HeldPermit;
use gcra::Key;
use gcra::batch::Few;
use gcra::key::Row;
use segment::host::Host;
use segment::permits::Refusal;
use segment::slots::counters::By;

/// The permits of a request, with the rows that count them.
#[derive(Default)]
pub struct OfRequest(Few<(HeldEntry, Row)>);

impl OfRequest {
    /// Acquires a permit of `key`. Counts the denial and returns `false` if no permit can be taken.
    /// If this process cannot hold permits, logs that and returns `true`.
    pub fn acquire(&mut self, host: &Host, key: Key<'_>, limit: u16) -> bool {
        match host.permits().acquire(key, limit) {
            Ok(acquired) => {
                let entry = held::keep(HeldPermit::Host(acquired.permit));
                self.0.push((entry, key.row));
            }
            Err(Refusal::Unavailable) => {
                if let Err(reason) = host.permits().check() {
                    let message =
                        format!("guard: no concurrent limit is in force, because {reason}");
                    rules::log(host.slots(), "permits", &message);
                }
            }
            Err(_) => {
                host.slots().count_for(key, By::SharedMemory, false);
                return false;
            }
        }
        true
    }

    pub fn count_granted(&self, host: &Host) {
        for &(_, row) in &self.0 {
            host.slots().count_in(row, By::SharedMemory, true);
        }
    }

    /// Gives the permits back.
    pub fn release(self) {
        for (entry, _) in self.0 {
            // A server keeps none of them.
            drop(held::release(entry));
        }
    }
}
