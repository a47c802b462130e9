//! Remote stores: Redis, memcached and databases, which several hosts share.
//!
//! [`Remote`] runs each call through the same stages: denial cache, breaker, call to the store,
//! failure policy. Each kind of store implements [`Transport`]. This host's shared memory contains
//! the denial cache, the breakers and the fallback buckets.
//!
//! Invariant: a request whose outcome is unknown is never sent again, because the store may have
//! executed it.

mod ahead;
pub mod back_off;
mod batch;
mod cached;
mod call;
mod channel;
mod connections;
pub mod endpoint;
pub mod failure;
mod fallback;
mod give_back;
pub mod ketama;
pub mod key;
pub mod memcached;
pub mod permits;
mod pipeline;
pub mod race;
pub mod record;
pub mod redis;
pub mod secret;
mod server;
pub mod server_clock;
mod settings;
mod stream;
#[cfg(test)]
mod tests;
pub mod time_left;
mod tls;
mod transport;
mod turns;

use cached::PreparedStep;
pub use failure::{Blame, Cause, Failure};
use gcra::{
    Key, KeyHasher, Outcome, Put, Refund, Step, Ticks, Timestamp, boot_clock, empty_at, unix_time,
};
pub use key::Kind;
pub use memcached::Memcached;
pub use redis::Redis;
use segment::cells::resolve;
pub use segment::cells::{breaker, denial_cache, durations};
use segment::{By, Event, Host};
pub use server::Server;
pub use settings::{OnFailure, Settings};
pub use time_left::{Stopwatch, TimeLeft, untimed};
pub use transport::{Flown, Pipelined, Reply, StateKind, StepRequest, Transport, Visit, Wanted};

/// The result of a call, with the failure that the caller should be warned of.
#[derive(Debug)]
pub struct Answer<T> {
    /// The result, which is from the store or from the failure policy.
    pub value: T,
    /// The failure to warn the caller of. There is at most one warning a minute for each breaker
    /// and kind of cause.
    pub warning: Option<Box<Failure>>,
    /// True if the failure policy returned the result instead of the store.
    pub fallback: bool,
}

impl<T> Answer<T> {
    /// Returns the result of a call that did not fail.
    pub const fn sure(value: T) -> Self {
        Self {
            value,
            warning: None,
            fallback: false,
        }
    }

    /// Replaces the result by what `convert` makes of it.
    pub fn map<R>(self, convert: impl FnOnce(T) -> R) -> Answer<R> {
        Answer {
            value: convert(self.value),
            warning: self.warning,
            fallback: self.fallback,
        }
    }
}

/// The answer of a store or of its failure policy, or the failure if the policy is to throw it.
pub type Answered<T> = Result<Answer<T>, Failure>;

/// A remote store with its settings, and this host's shared memory.
#[derive(Debug)]
pub struct Remote<'h, T> {
    transport: T,
    settings: Settings,
    host: &'h Host,
}

impl<'h, T: Transport> Remote<'h, T> {
    /// Creates the store without connecting. `host` contains its denial cache and its breaker.
    pub const fn new(transport: T, settings: Settings, host: &'h Host) -> Self {
        Self {
            transport,
            settings,
            host,
        }
    }

    pub const fn transport(&self) -> &T {
        &self.transport
    }

    pub const fn on_failure(&self) -> OnFailure {
        self.settings.on_failure
    }

    pub const fn timeout(&self) -> Ticks {
        self.settings.timeout
    }

    /// Returns the hasher of the keys under which this host's shared memory keeps the store's
    /// buckets.
    pub fn hasher(&self) -> KeyHasher {
        self.host
            .slots()
            .hasher()
            .namespace(&[b"remote", &self.transport.identity(), b""])
    }

    /// Runs one step. `first` is the instant on this host's clock at which a bucket without a
    /// record was empty. If `first` is `None`, such a bucket is full. The instants of the outcome
    /// are on the store's clock, or on this host's clock if this host decided. If the step [is
    /// outside](Step::is_outside) of its windows, the caller must repeat it with the windows around
    /// [`Remote::unix_time`]. Fails if the store fails and the policy is
    /// [`OnFailure::Throw`].
    pub fn take(&self, key: Key<'_>, step: &Step, first: Option<Timestamp>) -> Answered<Outcome> {
        let now = boot_clock();
        if let Some(terms) = self.terms(step, first) {
            return if step.max_wait == 0 {
                self.take_in_turn(key, step, terms, now)
            } else {
                self.wait_in_turn(key, step, terms, now)
            };
        }
        match self.prepare_alone(key, step, now, |_, _| false) {
            Ok(prepared) => self.take_from_store(key, step, first, prepared),
            Err(denied) => Ok(Answer::sure(denied)),
        }
    }

    /// Runs a step that the store must decide.
    fn take_from_store(
        &self,
        key: Key<'_>,
        step: &Step,
        first: Option<Timestamp>,
        mut prepared: PreparedStep,
    ) -> Answered<Outcome> {
        // The wait for another worker is part of the timeout. Hashing a long identifier is not.
        let now = boot_clock();
        let latest = now + self.settings.timeout - prepared.waited;
        prepared.request.first = first.map(|first| now.signed_since(first));
        self.set_seen(&mut prepared, now);
        let operation = |visit: &Visit<'_, T>| self.decided_by(visit, key, step, &prepared, now);
        let answer = self
            .visit(&prepared.request.name, now, latest, operation)
            .map(Answer::sure)
            .or_else(|failed| self.undecided(key, step, first, Some(failed)));
        if prepared.is_asker {
            self.host.denial_cache().release(key.hash);
        }
        answer
    }

    /// Sends the request for a step at `sent`, and returns the outcome of the step.
    fn decided_by(
        &self,
        visit: &Visit<'_, T>,
        key: Key<'_>,
        step: &Step,
        prepared: &PreparedStep,
        sent: Timestamp,
    ) -> Result<Outcome, Cause> {
        let reply = T::take(visit, &prepared.request)?;
        self.accept(T::server(&visit.route), key, step, prepared, &reply, sent)
    }

    /// Returns the outcome of a step from the reply of `server` to the request that was sent at
    /// `sent`. Records and counts the reply.
    fn accept(
        &self,
        server: &Server,
        key: Key<'_>,
        step: &Step,
        prepared: &PreparedStep,
        reply: &Reply,
        sent: Timestamp,
    ) -> Result<Outcome, Cause> {
        let Outcome { empty_at, now, .. } = reply.outcome;
        let wanted = prepared.request.wanted;
        if server_clock::is_outside(server, step, &reply.outcome)? {
            return Ok(reply.outcome);
        }
        if wanted == Wanted::Numbers {
            self.count(key, step, By::Store, false);
            return Ok(cached::exceeds(empty_at, now));
        }
        self.learn(key, step, reply, prepared.entry.as_ref(), sent);
        self.note_clock(reply);
        let outcome = self.keep_ahead(key, step, wanted, reply, sent);
        self.count(key, step, By::Store, outcome.granted());
        Ok(outcome)
    }

    /// Counts a bucket whose state shows that the store's clock was set back.
    fn note_clock(&self, reply: &Reply) {
        if reply.found == StateKind::SetBack {
            self.host.slots().count(Event::SetBack);
        }
    }

    /// Counts the decision on a step, unless the step is dry.
    fn count(&self, key: Key<'_>, step: &Step, by: By, granted: bool) {
        if !step.dry {
            self.host.slots().count_for(key, by, granted);
        }
    }

    /// Reports whether the bucket has a record.
    pub fn contains(&self, key: Key<'_>) -> Answered<bool> {
        let name = self.transport.name(key.identifier);
        let request = StepRequest::new(name, Step::new(0, 0).dry());
        let operation =
            |visit: &Visit<'_, T>| Ok(T::take(visit, &request)?.found != StateKind::Nothing);
        self.operate(&request.name, operation, |policy, _| {
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
    /// Returns false if nothing was changed, because the store's clock is outside of the windows of
    /// the change. The caller must then repeat the call with the windows around
    /// [`Remote::unix_time`].
    pub fn put(&self, key: Key<'_>, put: &Put) -> Answered<bool> {
        let name = self.transport.name(key.identifier);
        let now = boot_clock();
        let (entry, span, seen) = match *put {
            Put::Refund(Refund { span, .. }) => {
                let entry = self.find(key, span, now);
                let seen = entry.and_then(|entry| self.seen(&entry, span, now));
                (entry, span, seen)
            }
            _ => (None, 0, None),
        };
        let moves_back = !matches!(put, Put::Bootstrap { .. });
        if moves_back {
            // Clear the entry now, too, because this worker may be killed after the store has
            // executed the change.
            self.clear(key, put, now);
        }
        let operation = |visit: &Visit<'_, T>| match (T::put(visit, &name, put, seen), *put) {
            (Err(Cause::Clock(now)), Put::Uncount { windows, .. }) => {
                server_clock::must_repeat(T::server(&visit.route), windows, now).map(|again| !again)
            }
            (result, _) => result.map(|()| true),
        };
        let answer = self.operate_until(
            now + self.settings.timeout,
            &name,
            operation,
            |policy, _| {
                if policy == OnFailure::Local && !put.is_undo() {
                    self.inherit(key, entry, span);
                    self.host.slots().put(key, put);
                }
                true
            },
        );
        if moves_back {
            // Clear the entry after a failure, too, because the store may have executed the change.
            // Meanwhile, other workers may have recorded the state before the change.
            self.clear(key, put, boot_clock());
        }
        answer
    }

    /// Forgets what this host knows of a bucket that `put` changes. A refund keeps the places that
    /// the host has taken ahead, because the tokens of a dropped place are lost.
    fn clear(&self, key: Key<'_>, put: &Put, now: Timestamp) {
        self.host.denial_cache().clear(key.hash, now);
        if !matches!(put, Put::Refund(_) | Put::Uncount { .. }) {
            self.host.clear_ahead(key.hash, now);
        }
    }

    /// Returns the current Unix time on the clock that chooses the window of a bucket. This is the
    /// clock of the bucket's server if it was outside of the windows of an earlier call, otherwise
    /// this host's clock.
    pub fn unix_time(&self, key: Key<'_>) -> Timestamp {
        if server_clock::differs()
            && let Ok(route) = self.transport.route(&self.transport.name(key.identifier))
        {
            return server_clock::now(T::server(&route));
        }
        unix_time()
    }

    /// Moves the bucket's state forward to the instant `age` ticks ago, as [`Put::Raise`] does.
    /// Returns the state afterwards, as the outcome of a dry step for the whole bucket of `span`
    /// ticks. Records this state in the denial cache, so that this host denies the next calls
    /// without asking the store.
    pub fn raise(&self, key: Key<'_>, age: i64, span: Ticks) -> Answered<Outcome> {
        let look = Step::new(span, span).dry();
        let request = self.request(key, look);
        let now = boot_clock();
        let entry = self.find(key, span, now);
        let seen = entry.and_then(|entry| self.seen(&entry, span, now));
        // As in `Remote::put`, places are dropped before the change and after it.
        self.host.clear_ahead(key.hash, now);
        let operation = |visit: &Visit<'_, T>| {
            T::put(visit, &request.name, &Put::Raise { age, span }, seen)?;
            let sent = boot_clock();
            let reply = T::take(visit, &request)?;
            self.learn(key, &look, &reply, entry.as_ref(), sent);
            Ok(reply.outcome)
        };
        let deadline = now + self.settings.timeout;
        let answer = self.operate_until(deadline, &request.name, operation, |policy, _| {
            if policy != OnFailure::Local {
                return policy.answer(self.host, key, &look, None);
            }
            self.inherit(key, entry, span);
            let state = |now| empty_at(now, age);
            self.host.slots().raise(key, span, state)
        });
        self.host.clear_ahead(key.hash, boot_clock());
        answer
    }

    /// Runs `operation` with a visit to the server that keeps the record `name`, unless the breaker
    /// is open. The breaker belongs to that server, its credential and the timeout. Runs
    /// `operation` again if the server replies that another one keeps the record now. If the call
    /// fails or the breaker is open, and the policy is not [`OnFailure::Throw`], `fallback` returns
    /// the result.
    pub fn operate<R>(
        &self,
        name: &[u8],
        operation: impl FnMut(&Visit<'_, T>) -> Result<R, Cause>,
        fallback: impl FnOnce(OnFailure, &Cause) -> R,
    ) -> Answered<R> {
        self.operate_until(
            boot_clock() + self.settings.timeout,
            name,
            operation,
            fallback,
        )
    }
}
