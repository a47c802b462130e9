//! The calls of a concurrency limit, under the breakers and the failure policy of a store.

use super::key::Kind;
use super::redis::Redis;
use super::redis::permits::{Lease, Report};
use super::{Answer, Answered, Cause, OnFailure, Remote, Transport, Visit};
use gcra::{Key, Ticks, Timestamp, boot_clock};
use segment::{Acquired, Event, Permit, Refusal};

/// A permit that a server or its failure policy has granted.
#[derive(Debug)]
pub enum ServerPermit {
    Lease(Lease),
    /// This host's memory keeps the permit, because the server failed.
    Host(Permit),
    /// [`OnFailure::Allow`] has granted the permit, and nothing keeps it.
    Allowed,
}

impl Remote<'_, Redis> {
    /// Takes a permit of `key` out of `limit`. Its lease of `length` ticks begins on the server
    /// during the call. If it is unknown whether the server has executed the request, the permit is
    /// removed with a later call of this thread to the server. Fails if the server
    /// fails and the policy is [`OnFailure::Throw`].
    pub fn acquire(
        &self,
        key: Key<'_>,
        limit: u16,
        length: Ticks,
    ) -> Answered<Result<Acquired<ServerPermit>, Refusal>> {
        let name = self.transport.name_of(Kind::Permits, key.identifier);
        let operation = |visit: &Visit<'_, Redis>| {
            let lease = Lease::draw(&name, length)?;
            let reply = visit.change_permits(&name, b"acquire", &lease.member, Some(limit));
            if !matches!(reply, Ok(_) | Err(Cause::Redirected { .. })) {
                lease.abandon(visit.store);
            }
            let report = self.counted(reply?);
            let granted = report.is_done.then(|| Acquired {
                permit: ServerPermit::Lease(lease),
                free: limit - report.held(limit),
            });
            Ok(granted.ok_or(Refusal::TooMany))
        };
        self.operate(&name, operation, |policy, _| match policy {
            OnFailure::Local => {
                let acquired = self.host.permits().acquire(key, limit);
                acquired.map(|acquired| acquired.map(ServerPermit::Host))
            }
            OnFailure::Allow => Ok(Acquired {
                permit: ServerPermit::Allowed,
                free: limit.saturating_sub(1),
            }),
            OnFailure::Deny | OnFailure::Throw => Err(Refusal::Unavailable),
        })
    }

    /// Gives a permit back. Counts the release if the lease had already ended. Does nothing in a
    /// forked child of the holder. If the server fails, the permit is removed with a later call of
    /// this thread.
    pub fn release(&self, permit: ServerPermit) -> Answered<()> {
        let lease = match permit {
            ServerPermit::Lease(lease) if lease.is_own() => lease,
            ServerPermit::Host(permit) => {
                self.host.permits().release(permit);
                return Ok(Answer::sure(()));
            }
            ServerPermit::Lease(_) | ServerPermit::Allowed => return Ok(Answer::sure(())),
        };
        let operation = |visit: &Visit<'_, Redis>| {
            let reply = visit.change_permits(&lease.name, b"release", &lease.member, None);
            if !self.counted(reply?).is_done {
                self.host.slots().count(Event::PermitForeign);
            }
            Ok(())
        };
        let answer = self.operate(&lease.name, operation, |_, _| ());
        if !matches!(&answer, Ok(answer) if !answer.fallback) {
            lease.abandon(&self.transport);
        }
        answer
    }

    /// Makes the lease of a permit begin again now. Returns false if this process does not hold the
    /// permit. If the server fails, the permit counts as held until its lease ends by this host's
    /// clock. With [`OnFailure::Allow`], it counts as held even later.
    pub fn renew(&self, permit: &mut ServerPermit) -> Answered<bool> {
        let lease = match permit {
            ServerPermit::Lease(lease) if lease.is_own() => lease,
            ServerPermit::Lease(_) => return Ok(Answer::sure(false)),
            ServerPermit::Host(permit) => {
                return Ok(Answer::sure(self.host.permits().renew(permit)));
            }
            ServerPermit::Allowed => return Ok(Answer::sure(true)),
        };
        let (mut began, lasts_until) = (Timestamp::ZERO, lease.lasts_until);
        let operation = |visit: &Visit<'_, Redis>| {
            began = boot_clock();
            let reply = visit.change_permits(&lease.name, b"renew", &lease.member, None);
            Ok(self.counted(reply?).is_done)
        };
        let answer = self.operate(&lease.name, operation, |policy, _| {
            policy == OnFailure::Allow || boot_clock() < lasts_until
        })?;
        if answer.value && !answer.fallback {
            lease.lasts_until = began + lease.length;
        }
        Ok(answer)
    }

    /// Returns the number of permits of `key` whose leases have not ended, at most `limit`.
    pub fn held(&self, key: Key<'_>, limit: u16) -> Answered<u16> {
        let name = self.transport.name_of(Kind::Permits, key.identifier);
        let operation = |visit: &Visit<'_, Redis>| {
            let reply = visit.change_permits(&name, b"held", b"", None);
            Ok(self.counted(reply?).held(limit))
        };
        self.operate(&name, operation, |policy, _| match policy {
            OnFailure::Local => {
                let held = self.host.permits().held(key, limit);
                u16::try_from(held).unwrap_or(limit)
            }
            OnFailure::Allow => 0,
            OnFailure::Deny | OnFailure::Throw => limit,
        })
    }

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
