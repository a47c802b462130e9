//! Calls to servers: finds the server of a record, asks its breaker, calls, and reports the result.
//!
//! The route to the record and the breaker of its server are looked up once in a call, and passed
//! on.

use super::breaker::{Breaker, Passage};
use super::{Answer, Answered, Blame, Cause, OnFailure, Remote, Server, Transport, Visit};
use gcra::{Timestamp, boot_clock};
use segment::{Event, Host};
use std::sync::Arc;

/// The most redirections that a call follows.
const MOST_HOPS: usize = 2;

/// A server with its breaker.
#[derive(Clone, Debug)]
pub(super) struct Peer<'h> {
    pub(super) server: Arc<Server>,
    breaker: &'h Breaker,
}

impl Peer<'_> {
    /// Returns true if no call may go to the server at `now`.
    pub(super) fn is_open(&self, now: Timestamp) -> bool {
        self.breaker.is_open(now)
    }
}

/// A server that failed, and the cause.
pub(super) type Failed<'h> = (Peer<'h>, Cause);

impl<'h, T: Transport> Remote<'h, T> {
    pub(super) fn peer(&self, server: &Arc<Server>) -> Peer<'h> {
        Peer {
            breaker: self.find_breaker(server),
            server: Arc::clone(server),
        }
    }

    fn find_breaker(&self, server: &Server) -> &'h Breaker {
        let breakers = self.host.breakers();
        breakers.of(server.login, self.settings.timeout, &server.name)
    }

    /// Returns the breaker of a server after a call. Looks it up again if another store has taken
    /// over the breaker's cell during the call.
    pub(super) fn breaker(&self, peer: &Peer<'h>) -> &'h Breaker {
        let (Peer { server, breaker }, timeout) = (peer, self.settings.timeout);
        if breaker.is_of(server.login, timeout) {
            breaker
        } else {
            self.find_breaker(server)
        }
    }

    /// Runs `operation` before `deadline`, unless the breaker of the record's server is open; see
    /// [`Remote::operate`].
    pub(super) fn operate_until<R>(
        &self,
        deadline: Timestamp,
        name: &[u8],
        operation: impl FnMut(&Visit<'_, T>) -> Result<R, Cause>,
        fallback: impl FnOnce(OnFailure, &Cause) -> R,
    ) -> Answered<R> {
        let result = self.visit(name, boot_clock(), deadline, operation);
        result
            .map(Answer::sure)
            .or_else(|(peer, cause)| self.fall_back(&peer, cause, fallback))
    }

    /// Finds the server that keeps the record `name`, and does the same as [`Remote::call`].
    pub(super) fn visit<R>(
        &self,
        name: &[u8],
        now: Timestamp,
        deadline: Timestamp,
        call: impl FnMut(&Visit<'_, T>) -> Result<R, Cause>,
    ) -> Result<R, Failed<'h>> {
        let found = self.find_server(name);
        let (route, peer) = self.locate(name, found, now, deadline)?;
        self.call(route, peer, now, deadline, call)
    }

    /// Returns the route to the record `name` and its server. If these are not known, returns the
    /// servers to ask for them.
    pub(super) fn find_server(&self, name: &[u8]) -> Result<(T::Route, Peer<'h>), Peer<'h>> {
        let route = self.transport.route(name);
        let route = route.map_err(|fleet| self.peer(&fleet))?;
        let peer = self.peer(T::server(&route));
        Ok((route, peer))
    }

    /// Returns the servers that must first be asked which server keeps the record now. Returns
    /// `None` if the server that was found, `peer`, may be called at once.
    pub(super) fn fleet(
        &self,
        route: &T::Route,
        peer: &Peer<'h>,
        now: Timestamp,
    ) -> Option<Arc<Server>> {
        self.transport.fleet(route, peer.is_open(now))
    }

    /// Returns the route to the record `name` and its server from the result of
    /// [`Remote::find_server`]. Asks other servers first if the record's server is not known, or if
    /// it may have changed.
    pub(super) fn locate(
        &self,
        name: &[u8],
        found: Result<(T::Route, Peer<'h>), Peer<'h>>,
        now: Timestamp,
        deadline: Timestamp,
    ) -> Result<(T::Route, Peer<'h>), Failed<'h>> {
        let fleet = match found {
            // Other stores have used up the time. This store is not asked, so no failure of it is
            // counted.
            Ok((_, peer)) | Err(peer) if now >= deadline => return Err((peer, Cause::OutOfTime)),
            Err(fleet) => fleet,
            Ok((route, peer)) => match self.fleet(&route, &peer, now) {
                Some(fleet) => self.peer(&fleet),
                None => return Ok((route, peer)),
            },
        };
        let located = self.call_one(&fleet, now, || self.transport.locate(name, deadline));
        match located {
            Ok(Some(route)) => {
                let peer = self.peer(T::server(&route));
                Ok((route, peer))
            }
            Ok(None) => Err((fleet, Cause::Unserved)),
            Err(failed) => self.find_server(name).map_err(|_| failed),
        }
    }

    /// Calls `call` with a visit to a server. Counts the call and its duration. If the server sends
    /// the call to another one, calls it again, at most [`MOST_HOPS`] times. Each server is called
    /// only if its own breaker is not open, and its breaker gets the result.
    pub(super) fn call<R>(
        &self,
        route: T::Route,
        mut peer: Peer<'h>,
        now: Timestamp,
        deadline: Timestamp,
        mut call: impl FnMut(&Visit<'_, T>) -> Result<R, Cause>,
    ) -> Result<R, Failed<'h>> {
        let mut visit = Visit {
            store: &self.transport,
            route,
            deadline,
        };
        let (mut start, mut hops, mut is_counted) = (now, 0, false);
        loop {
            let result = self.call_one(&peer, start, || {
                if !is_counted {
                    self.host.slots().count(Event::Asked);
                }
                is_counted = true;
                let sent = boot_clock();
                let result = call(&visit);
                let durations = &self.breaker(&peer).durations;
                durations.record(boot_clock().saturating_since(sent));
                result
            });
            let Err((_, Cause::Redirected { server, asks })) = &result else {
                if hops > 0 {
                    // The other server may have failed, so the first one is asked for the servers
                    // of all slots.
                    self.transport.refresh(deadline);
                }
                return result;
            };
            let next = self.transport.toward(server, *asks);
            let Some(next) = next.filter(|_| hops < MOST_HOPS) else {
                return result;
            };
            (visit.route, peer, start) = (next, self.peer(server), boot_clock());
            hops += 1;
        }
    }

    /// Calls `call` unless the breaker of the server is open at `now`, and reports the result to
    /// the breaker.
    fn call_one<R>(
        &self,
        peer: &Peer<'h>,
        now: Timestamp,
        call: impl FnOnce() -> Result<R, Cause>,
    ) -> Result<R, Failed<'h>> {
        let passage = self.enter(peer, now)?;
        let result = call();
        self.report(peer, passage, result.as_ref().err());
        result.map_err(|cause| (peer.clone(), cause))
    }

    /// Returns the permission to call a server at `now`. Fails with [`Cause::Waiting`] if its
    /// breaker is open.
    pub(super) fn enter(&self, peer: &Peer<'h>, now: Timestamp) -> Result<Passage, Failed<'h>> {
        // A probe is leased for two timeouts. By then it has succeeded or failed.
        match peer.breaker.enter(now, 2 * self.settings.timeout) {
            Passage::Open(_) => Err((peer.clone(), Cause::Waiting)),
            passage => Ok(passage),
        }
    }

    /// Reports the result of a call to the breaker of its server.
    pub(super) fn report(&self, peer: &Peer<'h>, passage: Passage, failure: Option<&Cause>) {
        let breaker = self.breaker(peer);
        match failure {
            None => breaker.answered(),
            Some(cause) => note(self.host, breaker, passage, cause),
        }
    }
}

/// Counts a failure and reports it to the breaker.
fn note(host: &Host, breaker: &Breaker, passage: Passage, cause: &Cause) {
    let now = boot_clock();
    if !matches!(cause, Cause::Redirected { .. }) {
        breaker.record(cause.kind(), &cause.brief(), now);
    }
    match cause.blame() {
        Blame::Store => {
            host.slots().count(Event::Failed);
            if breaker.failed(passage, now, now.0 ^ u64::from(std::process::id())) {
                host.slots().count(Event::Opened);
            }
        }
        Blame::Request => breaker.answered(),
        Blame::Caller => breaker.unanswered(passage, now),
    }
}
