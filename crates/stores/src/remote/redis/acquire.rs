//! The calls of a concurrency limit, under the breakers and the failure policy of a store.

use super::Redis;
use super::permits::{Lease, Permit, Report};
use crate::remote::key::Kind;
use crate::remote::{Answer, Cause, Failure, OnFailure, Remote, Transport, Visit, sure};
use gcra::clock::{Ticks, Timestamp, boot_clock};
use gcra::key::Key;
use segment::permits as host;
use segment::slots::counters::Event;

/// The result of a call that acquires.
#[derive(Debug)]
pub enum Acquired {
    /// The permit was granted. `free` is the number of permits that are left.
    Granted {
        /// The permit.
        permit: Permit,
        /// The permits that are left.
        free: u16,
    },
    /// All permits were held at one instant of the call.
    Denied,
    /// Other processes changed the permits of this host in every try.
    Contended,
    /// This host's memory has no room for another permit.
    TableFull,
    /// The failure policy denies, or this process cannot hold permits in this host's memory.
    Unavailable,
}

impl Remote<'_, Redis> {
    /// Takes a permit of `key` out of `limit`. Its lease of `length` ticks begins on the server
    /// during the call. If it is unknown whether the server has executed the request, the permit is
    /// removed with a later call of this thread to the server.
    ///
    /// # Errors
    /// Returns the failure if the server fails and the policy is [`OnFailure::Throw`].
    pub fn acquire(
        &self,
        key: Key<'_>,
        limit: u16,
        length: Ticks,
    ) -> Result<Answer<Acquired>, Failure> {
        let name = self.transport.name_of(Kind::Permits, key.identifier);
        let asked = |visit: &Visit<'_, Redis>| {
            let lease = Lease::draw(&name, length)?;
            let reply = visit.change_permits(&name, b"acquire", &lease.member, Some(limit));
            if !matches!(reply, Ok(_) | Err(Cause::Redirected { .. })) {
                lease.abandon(visit.store);
            }
            let report = self.counted(reply?);
            Ok(if report.is_done {
                Acquired::Granted {
                    permit: Permit::Lease(lease),
                    free: limit - report.held(limit),
                }
            } else {
                Acquired::Denied
            })
        };
        self.ask(&name, asked, |policy, _| match policy {
            OnFailure::Local => self.acquire_here(key, limit),
            OnFailure::Allow => Acquired::Granted {
                permit: Permit::Allowed,
                free: limit.saturating_sub(1),
            },
            OnFailure::Deny | OnFailure::Throw => Acquired::Unavailable,
        })
    }

    /// Takes a permit in this host's memory.
    fn acquire_here(&self, key: Key<'_>, limit: u16) -> Acquired {
        match self.host.permits().acquire(key, limit) {
            Ok(host::Acquired::Granted { permit, free }) => Acquired::Granted {
                permit: Permit::Host(permit),
                free,
            },
            Ok(host::Acquired::Denied) => Acquired::Denied,
            Ok(host::Acquired::Contended) => Acquired::Contended,
            Ok(host::Acquired::TableFull) => Acquired::TableFull,
            Err(_) => Acquired::Unavailable,
        }
    }

    /// Gives a permit back. Counts the release if the lease had already ended. Does nothing in a
    /// forked child of the holder. If the server fails, the permit is removed with a later call of
    /// this thread.
    ///
    /// # Errors
    /// Fails like [`Remote::acquire`].
    pub fn release(&self, permit: Permit) -> Result<Answer<()>, Failure> {
        let lease = match permit {
            Permit::Lease(lease) if lease.is_own() => lease,
            Permit::Host(permit) => {
                self.host.permits().release(permit);
                return Ok(sure(()));
            }
            Permit::Lease(_) | Permit::Allowed => return Ok(sure(())),
        };
        let asked = |visit: &Visit<'_, Redis>| {
            let reply = visit.change_permits(&lease.name, b"release", &lease.member, None);
            if !self.counted(reply?).is_done {
                self.host.slots().count(Event::PermitForeign);
            }
            Ok(())
        };
        let answer = self.ask(&lease.name, asked, |_, _| ());
        if !matches!(&answer, Ok(answer) if !answer.fallback) {
            lease.abandon(&self.transport);
        }
        answer
    }

    /// Makes the lease of a permit begin again now. Returns false if this process does not hold the
    /// permit. If the server fails, the permit counts as held until its lease ends by this host's
    /// clock. With [`OnFailure::Allow`], it counts as held even later.
    ///
    /// # Errors
    /// Fails like [`Remote::acquire`].
    pub fn renew(&self, permit: &mut Permit) -> Result<Answer<bool>, Failure> {
        let lease = match permit {
            Permit::Lease(lease) if lease.is_own() => lease,
            Permit::Lease(_) => return Ok(sure(false)),
            Permit::Host(permit) => return Ok(sure(self.host.permits().renew(permit))),
            Permit::Allowed => return Ok(sure(true)),
        };
        let (mut began, lasts_until) = (Timestamp::ZERO, lease.lasts_until);
        let asked = |visit: &Visit<'_, Redis>| {
            began = boot_clock();
            let reply = visit.change_permits(&lease.name, b"renew", &lease.member, None);
            Ok(self.counted(reply?).is_done)
        };
        let answer = self.ask(&lease.name, asked, |policy, _| {
            policy == OnFailure::Allow || boot_clock() < lasts_until
        })?;
        if answer.value && !answer.fallback {
            lease.lasts_until = began + lease.length;
        }
        Ok(answer)
    }

    /// Returns the number of permits of `key` whose leases have not ended, at most `limit`.
    ///
    /// # Errors
    /// Fails like [`Remote::acquire`].
    pub fn held(&self, key: Key<'_>, limit: u16) -> Result<Answer<u16>, Failure> {
        let name = self.transport.name_of(Kind::Permits, key.identifier);
        let asked = |visit: &Visit<'_, Redis>| {
            let reply = visit.change_permits(&name, b"held", b"", None);
            Ok(self.counted(reply?).held(limit))
        };
        self.ask(&name, asked, |policy, _| match policy {
            OnFailure::Local => {
                let held = self.host.permits().held(key, limit);
                u16::try_from(held).unwrap_or(limit)
            }
            OnFailure::Allow => 0,
            OnFailure::Deny | OnFailure::Throw => limit,
        })
    }

    /// Counts the events of a report.
    fn counted(&self, report: Report) -> Report {
        let counters = self.host.slots();
        for _ in 0..report.ended {
            counters.count(Event::PermitTakenBack);
        }
        if report.is_set_back {
            counters.count(Event::SetBack);
        }
        report
    }
}
