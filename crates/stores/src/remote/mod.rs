//! Remote stores: Redis, memcached and databases, which several hosts share.
//!
//! [`Remote`] runs each call through the same stages: denial cache, breaker, call to the store,
//! failure policy. Each kind of store implements [`Transport`]. This host's shared memory contains
//! the denial cache, the breakers and the fallback buckets.
//!
//! Invariant: a request whose outcome is unknown is never sent again, because the store may have
//! executed it.

pub mod back_off;
mod batch;
mod cached;
mod channel;
mod connections;
pub mod endpoint;
pub mod failure;
mod give_back;
pub mod key;
pub mod memcached;
mod pipeline;
pub mod race;
pub mod record;
pub mod redis;
pub mod secret;
mod settings;
mod stream;
#[cfg(test)]
mod tests;
pub mod time_left;
mod tls;
mod transport;

use breaker::{Breaker, Passage};
use denial_cache::Entry;
pub use failure::{Blame, Cause, Failure};
use gcra::clock::{Ticks, Timestamp, boot_clock};
use gcra::key::{Key, KeyHasher};
use gcra::step::{Outcome, Step};
use gcra::store::{Put, UNKNOWN_SPAN, empty_at};
use segment::cells::resolve;
pub use segment::cells::{breaker, denial_cache, durations};
use segment::host::Host;
use segment::slots::counters::{By, Event};
pub use settings::{OnFailure, Settings};
use std::sync::Arc;
pub use transport::{Ask, Flown, Found, Reply, Server, Transport};

/// The result of a call, with the failure that the caller should be warned of.
#[derive(Debug)]
pub struct Answer<T> {
    /// The result, which is from the store or from the failure policy.
    pub value: T,
    /// The failure to warn the caller of. There is at most one warning a minute for each breaker
    /// and kind of cause.
    pub warning: Option<Failure>,
    /// True if the failure policy returned the result instead of the store.
    pub fallback: bool,
}

impl<T> Answer<T> {
    /// Pairs the value with [`Answer::fallback`].
    #[must_use]
    pub fn with_origin(self) -> Answer<(T, bool)> {
        Answer {
            value: (self.value, self.fallback),
            warning: self.warning,
            fallback: self.fallback,
        }
    }
}

/// A remote store with its settings, and this host's shared memory.
#[derive(Debug)]
pub struct Remote<'h, T> {
    transport: T,
    settings: Settings,
    host: &'h Host,
}

impl<'h, T: Transport> Remote<'h, T> {
    /// Creates the store without connecting. `host` contains its denial cache and its breaker.
    #[must_use]
    pub const fn new(transport: T, settings: Settings, host: &'h Host) -> Self {
        Self {
            transport,
            settings,
            host,
        }
    }

    /// Returns the transport.
    #[must_use]
    pub const fn transport(&self) -> &T {
        &self.transport
    }

    /// Returns the failure policy.
    #[must_use]
    pub const fn on_failure(&self) -> OnFailure {
        self.settings.on_failure
    }

    /// Returns the hasher of the keys under which this host's shared memory keeps the store's
    /// buckets.
    #[must_use]
    pub fn hasher(&self) -> KeyHasher {
        self.host
            .slots()
            .hasher()
            .namespace(&[b"remote", &self.transport.identity(), b""])
    }

    /// Runs one step. `first` is the instant on this host's clock at which a bucket without a
    /// record was empty. If `first` is `None`, such a bucket is full. The instants of the outcome
    /// are on the store's clock, or on this host's clock if this host decided.
    ///
    /// # Errors
    /// Returns the failure if the store fails and the policy is [`OnFailure::Throw`].
    pub fn take(
        &self,
        key: Key<'_>,
        step: &Step,
        first: Option<Timestamp>,
    ) -> Result<Answer<Outcome>, Failure> {
        let now = boot_clock();
        if step.exceeds_capacity() {
            return match self.exceeding(key, step, now) {
                // The caller's own connection failed, of which the caller must learn.
                Err((denied, (server, cause))) if cause.is_of_caller() => {
                    self.fall_back(&server, cause, |_, _| denied)
                }
                Ok(denied) | Err((denied, _)) => Ok(sure(denied)),
            };
        }
        let (mut ask, entry, waited, is_asker) = match self.prepare_alone(key, step, now) {
            Ok(prepared) => prepared,
            Err(denied) => return Ok(sure(denied)),
        };
        // The wait for another worker is part of the timeout. Hashing a long identifier is not.
        let now = boot_clock();
        let latest = now + self.settings.timeout - waited;
        ask.first = first.map(|first| now.signed_since(first));
        self.set_seen(&mut ask, entry.as_ref(), now);
        let asked = |transport: &T, deadline| {
            let reply = transport.take(&ask, deadline)?;
            self.learn(key, step, &reply, entry.as_ref(), now);
            self.note_clock(&reply);
            self.count(key, step, By::Store, reply.outcome.granted());
            Ok(reply.outcome)
        };
        let answer = self.ask_until(latest, &ask.name, asked, |policy, _| {
            self.fallback(policy, key, step, first)
        });
        if is_asker {
            self.host.denial_cache().release(key.hash);
        }
        answer
    }

    /// Returns the breaker of a server.
    fn breaker(&self, server: &Server) -> &'h Breaker {
        let breakers = self.host.breakers();
        breakers.of(server.login, self.settings.timeout, &server.name)
    }

    /// Counts a bucket whose state shows that the store's clock was set back.
    fn note_clock(&self, reply: &Reply) {
        if reply.found == Found::SetBack {
            self.host.slots().count(Event::SetBack);
        }
    }

    /// Decides a step by the failure policy.
    fn fallback(
        &self,
        policy: OnFailure,
        key: Key<'_>,
        step: &Step,
        first: Option<Timestamp>,
    ) -> Outcome {
        if policy == OnFailure::Local {
            self.inherit(key, self.find(key, boot_clock()));
        }
        policy.answer(self.host, key, step, first)
    }

    /// Moves the fallback bucket forward to the last state that this host received of the store's
    /// bucket. `entry` is the bucket's entry in the denial cache.
    fn inherit(&self, key: Key<'_>, entry: Option<Entry>) {
        if let Some(entry) = entry {
            self.host.slots().raise(key, UNKNOWN_SPAN, |_| entry.bound);
        }
    }

    /// Counts the decision on a step, unless the step is dry.
    fn count(&self, key: Key<'_>, step: &Step, by: By, granted: bool) {
        if !step.dry {
            self.host.slots().count_for(key, by, granted);
        }
    }

    /// Reports whether the bucket has a record.
    ///
    /// # Errors
    /// Fails like [`Remote::take`].
    pub fn contains(&self, key: Key<'_>) -> Result<Answer<bool>, Failure> {
        let ask = Ask {
            name: self.transport.name(key.identifier),
            step: Step::new(0, 0).dry(),
            first: None,
            seen: None,
        };
        let asked =
            |transport: &T, deadline| Ok(transport.take(&ask, deadline)?.found != Found::Nothing);
        self.ask(&ask.name, asked, |policy, _| {
            // The other policies return true, so that the caller does not create a record.
            policy != OnFailure::Local || self.host.slots().contains(key)
        })
    }

    /// Fills a bucket, refunds tokens or creates a record, depending on `put`.
    ///
    /// A give-back undoes a take. Only the store that granted the take can process the give-back,
    /// because `taken` is on that store's clock. Another reason is that the fallback bucket has not
    /// lost the tokens. If that store fails, the give-back is dropped. The tokens are then refilled
    /// with time.
    ///
    /// If the policy granted the take ([`Answer::fallback`]), the caller must not call this method,
    /// because the store's bucket has not lost those tokens. The caller gives them back to this
    /// host's bucket instead.
    ///
    /// # Errors
    /// Fails like [`Remote::take`].
    pub fn put(&self, key: Key<'_>, put: &Put) -> Result<Answer<()>, Failure> {
        let name = self.transport.name(key.identifier);
        let now = boot_clock();
        let (entry, seen) = match *put {
            Put::Refund { span, .. } => {
                let entry = self.find(key, now);
                (entry, entry.and_then(|entry| self.seen(&entry, span, now)))
            }
            _ => (None, None),
        };
        let moves_back = !matches!(put, Put::Bootstrap { .. });
        if moves_back {
            // This worker may be killed after the store has executed the change.
            self.host.denial_cache().clear(key.hash, now);
        }
        let asked = |transport: &T, deadline| transport.put(&name, put, seen, deadline);
        let answer = self.ask_until(now + self.settings.timeout, &name, asked, |policy, _| {
            let is_give_back = matches!(*put, Put::Refund { taken, .. } if taken != Put::VOUCHED);
            if policy == OnFailure::Local && !is_give_back {
                self.inherit(key, entry);
                self.host.slots().put(key, put);
            }
        });
        if moves_back {
            // Clear the entry after a failure, too, because the store may have executed the change.
            // Meanwhile, other workers may have recorded the state before the change.
            self.host.denial_cache().clear(key.hash, boot_clock());
        }
        answer
    }

    /// Moves the bucket's state forward to the instant `age` ticks ago, as [`Put::Raise`] does.
    /// Returns the state afterwards, as the outcome of a dry step for the whole bucket of `span`
    /// ticks. Records this state in the denial cache, so that this host denies the next calls
    /// without asking the store.
    ///
    /// # Errors
    /// Fails like [`Remote::take`].
    pub fn raise(&self, key: Key<'_>, age: i64, span: Ticks) -> Result<Answer<Outcome>, Failure> {
        let look = Step::new(span, span).dry();
        let name = self.transport.name(key.identifier);
        let now = boot_clock();
        let entry = self.find(key, now);
        let seen = entry.and_then(|entry| self.seen(&entry, span, now));
        let ask = Ask {
            name,
            step: look,
            first: None,
            seen: None,
        };
        let asked = |transport: &T, deadline| {
            transport.put(&ask.name, &Put::Raise { age, span }, seen, deadline)?;
            let sent = boot_clock();
            let reply = transport.take(&ask, deadline)?;
            self.learn(key, &look, &reply, entry.as_ref(), sent);
            Ok(reply.outcome)
        };
        let deadline = now + self.settings.timeout;
        self.ask_until(deadline, &ask.name, asked, |policy, _| {
            if policy != OnFailure::Local {
                return policy.answer(self.host, key, &look, None);
            }
            self.inherit(key, entry);
            let state = |now| empty_at(now, age);
            self.host.slots().raise(key, span, state)
        })
    }

    /// Calls `ask` with a transport and the deadline, unless the breaker is open. The breaker
    /// belongs to the server that keeps the record `name`, its credential and the timeout. Calls
    /// `ask` again if that server replies that another one keeps the record now. If the call fails
    /// or the breaker is open, and the policy is not [`OnFailure::Throw`], `fallback` returns the
    /// result.
    ///
    /// # Errors
    /// Fails like [`Remote::take`].
    pub fn ask<R>(
        &self,
        name: &[u8],
        ask: impl FnMut(&T, Timestamp) -> Result<R, Cause>,
        fallback: impl FnOnce(OnFailure, &Cause) -> R,
    ) -> Result<Answer<R>, Failure> {
        self.ask_until(boot_clock() + self.settings.timeout, name, ask, fallback)
    }

    /// Does the same as [`Remote::ask`] before `deadline`.
    fn ask_until<R>(
        &self,
        deadline: Timestamp,
        name: &[u8],
        mut ask: impl FnMut(&T, Timestamp) -> Result<R, Cause>,
        fallback: impl FnOnce(OnFailure, &Cause) -> R,
    ) -> Result<Answer<R>, Failure> {
        let now = boot_clock();
        let ask = |transport: &T, _: &Arc<Server>| ask(transport, deadline);
        let server = self.server(name, now, deadline);
        match server.and_then(|server| self.call_counted(&server, now, deadline, ask)) {
            Ok(answer) => Ok(sure(answer)),
            Err((server, cause)) => self.fall_back(&server, cause, fallback),
        }
    }

    /// Counts a call to a store and its duration, and does the same as [`Remote::call`].
    fn call_counted<R>(
        &self,
        server: &Arc<Server>,
        now: Timestamp,
        deadline: Timestamp,
        mut call: impl FnMut(&T, &Arc<Server>) -> Result<R, Cause>,
    ) -> Result<R, Failed> {
        let mut is_counted = false;
        self.call(server, now, deadline, |transport, server| {
            if !is_counted {
                self.host.slots().count(Event::Asked);
            }
            is_counted = true;
            let start = boot_clock();
            let result = call(transport, server);
            let durations = &self.breaker(server).durations;
            durations.record(boot_clock().saturating_since(start));
            result
        })
    }

    /// Applies the failure policy to a call that failed. A failure that cost the caller its
    /// transaction is an error under every policy.
    fn fall_back<R>(
        &self,
        server: &Server,
        cause: Cause,
        fallback: impl FnOnce(OnFailure, &Cause) -> R,
    ) -> Result<Answer<R>, Failure> {
        let policy = match cause {
            Cause::Transaction(_) => OnFailure::Throw,
            _ => self.settings.on_failure,
        };
        self.host.slots().count(policy.event());
        let store = server.name.clone();
        let failure = Failure { store, cause };
        if policy == OnFailure::Throw {
            return Err(failure);
        }
        // The policy hides the failure from its caller, so one caller is warned.
        let kind = failure.cause.kind();
        let warns = self.breaker(server).warns(kind, boot_clock());
        Ok(Answer {
            value: fallback(policy, &failure.cause),
            warning: warns.then_some(failure),
            fallback: true,
        })
    }

    /// Returns the server that keeps the record `name`. Asks the transport's other servers if that
    /// is not known, or if it may have changed.
    fn server(
        &self,
        name: &[u8],
        now: Timestamp,
        deadline: Timestamp,
    ) -> Result<Arc<Server>, Failed> {
        let fleet = match self.transport.server(name) {
            // Other stores took the time. This one is not asked, so it does not fail.
            Ok(server) | Err(server) if now >= deadline => return Err((server, Cause::OutOfTime)),
            Err(fleet) => fleet,
            Ok(server) => {
                let is_open = self.breaker(&server).is_open(now);
                match self.transport.fleet(name, is_open) {
                    Some(fleet) => fleet,
                    None => return Ok(server),
                }
            }
        };
        let locate = |transport: &T, _: &Arc<Server>| transport.locate(name, deadline);
        match self.call(&fleet, now, deadline, locate) {
            Ok(server) => server.ok_or((fleet, Cause::Unserved)),
            Err(failed) => self.transport.server(name).map_err(|_| failed),
        }
    }

    /// Calls `call` with a transport and the server that it calls. If that server sends the call to
    /// another one, calls it again, at most [`MOST_HOPS`] times. Each server is called only if its
    /// own breaker is not open, and its breaker gets the result.
    fn call<R>(
        &self,
        server: &Arc<Server>,
        now: Timestamp,
        deadline: Timestamp,
        mut call: impl FnMut(&T, &Arc<Server>) -> Result<R, Cause>,
    ) -> Result<R, Failed> {
        let mut result = self.call_one(server, now, |server| call(&self.transport, server));
        for _ in 0..MOST_HOPS {
            let Err((_, Cause::Redirected { server, asks })) = &result else {
                return result;
            };
            let Some(transport) = self.transport.toward(server, *asks) else {
                return result;
            };
            let server = Arc::clone(server);
            result = self.call_one(&server, boot_clock(), |server| call(&transport, server));
            if !matches!(&result, Err((_, Cause::Redirected { .. }))) {
                // The other server may have failed, so the first one is asked for the map.
                transport.refresh(deadline);
            }
        }
        result
    }

    /// Calls `call` unless the breaker of `server` is open at `now`, and reports the result to the
    /// breaker.
    fn call_one<R>(
        &self,
        server: &Arc<Server>,
        now: Timestamp,
        call: impl FnOnce(&Arc<Server>) -> Result<R, Cause>,
    ) -> Result<R, Failed> {
        let passage = self.enter(server, now)?;
        let result = call(server);
        self.report(server, passage, result.as_ref().err());
        result.map_err(|cause| (Arc::clone(server), cause))
    }

    /// Returns the permission to call `server` at `now`.
    ///
    /// # Errors
    /// Returns [`Cause::Waiting`] if its breaker is open.
    fn enter(&self, server: &Arc<Server>, now: Timestamp) -> Result<Passage, Failed> {
        // A probe is leased for two timeouts. By then it has succeeded or failed.
        match self.breaker(server).enter(now, 2 * self.settings.timeout) {
            Passage::Open(_) => Err((Arc::clone(server), Cause::Waiting)),
            passage => Ok(passage),
        }
    }

    /// Reports the result of a call to the breaker of `server`. Another store may have taken over
    /// its cell during the call.
    fn report(&self, server: &Server, passage: Passage, failure: Option<&Cause>) {
        let breaker = self.breaker(server);
        match failure {
            None => breaker.answered(),
            Some(cause) => note(self.host, breaker, passage, cause),
        }
    }
}

/// The most redirections that a call follows.
const MOST_HOPS: usize = 2;

/// A server that failed, and the cause.
type Failed = (Arc<Server>, Cause);

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

const fn sure<T>(value: T) -> Answer<T> {
    Answer {
        value,
        warning: None,
        fallback: false,
    }
}
