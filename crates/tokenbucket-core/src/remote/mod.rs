//! Remote stores: Redis, memcached and databases, which several hosts share.
//!
//! [`Remote`] runs each call through the same stages: denial cache, breaker, call to the store,
//! failure policy. Each kind of store implements [`Transport`]. What this host knows of the stores
//! is in shared memory: the denial cache, the breakers and the fallback buckets.
//!
//! Invariant: a request whose outcome is unknown is never sent again, because the store may have
//! executed it.

pub mod back_off;
mod batch;
pub mod breaker;
mod cached;
mod channel;
mod connections;
pub mod denial_cache;
pub mod endpoint;
pub mod failure;
pub mod memcached;
pub mod record;
pub mod redis;
mod resolve;
pub mod secret;
mod settings;
mod stream;
mod tls;
mod transport;

use crate::clock::{Ticks, boot_clock};
use crate::host::Host;
use crate::key::{Key, KeyHasher};
use crate::slots::counters::Event;
use crate::step::{Outcome, Step};
use crate::store::Put;
pub use batch::Batched;
use breaker::{Breaker, Passage};
pub use failure::{Blame, Cause, Failure};
pub use settings::{OnFailure, Settings};
pub use transport::{Ask, Reply, Server, Transport};

/// An answer, with the failure that the caller should be warned of.
#[derive(Debug)]
pub struct Answer<T> {
    /// The answer.
    pub value: T,
    /// The failure to warn the caller of. At most one per outage, or one a minute for failures that
    /// are not the store's.
    pub warning: Option<Failure>,
    /// True if the failure policy answered instead of the store.
    pub stood_in: bool,
}

impl<T> Answer<T> {
    /// Pairs the value with [`Answer::stood_in`].
    #[must_use]
    pub fn with_origin(self) -> Answer<(T, bool)> {
        Answer {
            value: (self.value, self.stood_in),
            warning: self.warning,
            stood_in: self.stood_in,
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
    /// Creates the store without connecting. `host` keeps what this host knows of the store.
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

    /// Returns the hasher of the keys by which this host knows the store's buckets.
    #[must_use]
    pub fn hasher(&self) -> KeyHasher {
        self.host
            .slots()
            .hasher()
            .namespace(&[b"remote", &self.transport.identity(), b""])
    }

    /// Takes one step. `first` proposes the state of a bucket without a record; it is on this
    /// host's clock. The outcome is on the store's clock, or on this host's clock if this host
    /// decided.
    ///
    /// # Errors
    /// Returns the failure if the store fails and the policy is [`OnFailure::Throw`].
    pub fn take(
        &self,
        key: Key<'_>,
        step: &Step,
        first: Option<Ticks>,
    ) -> Result<Answer<Outcome>, Failure> {
        let now = boot_clock();
        if step.exceeds_capacity() {
            // No round trip is needed, because the store would deny this, too.
            return Ok(sure(step.decide(now, now)));
        }
        let (mut ask, hint) = match self.prepare(key, step, now) {
            Ok(prepared) => prepared,
            Err(denied) => return Ok(sure(denied)),
        };
        ask.first = first.map(|first| age(now, first));
        let asked = |transport: &T, deadline| {
            let reply = transport.take(&ask, deadline)?;
            self.learn(key, step, &reply, hint.as_ref(), now);
            Ok(reply.outcome)
        };
        self.ask(&ask.name, asked, |policy, _| {
            if let (OnFailure::Local, Some(hint)) = (policy, hint) {
                // The fallback bucket starts in the last known state of the store's bucket.
                let age = age(now, hint.bound);
                self.host.slots().put(key, &Put::Bootstrap { age });
            }
            policy.answer(self.host, key, step, first)
        })
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
        let asked = |transport: &T, deadline| Ok(!transport.take(&ask, deadline)?.absent);
        self.ask(&ask.name, asked, |policy, _| {
            // Other policies report a record, so that the caller does not create one.
            policy != OnFailure::Local || self.host.slots().contains(key)
        })
    }

    /// Changes a bucket.
    ///
    /// A give-back goes only to the store that answered the take: `taken` is on that store's clock,
    /// and the fallback bucket has not lost the tokens. So a give-back is dropped if the store
    /// fails; the tokens are refilled with time.
    ///
    /// If the policy granted the take ([`Answer::stood_in`]), the caller gives back to this host's
    /// bucket and does not call this. The store's bucket has not lost those tokens.
    ///
    /// # Errors
    /// Fails like [`Remote::take`].
    pub fn put(&self, key: Key<'_>, put: &Put) -> Result<Answer<()>, Failure> {
        let now = boot_clock();
        let seen = match *put {
            Put::Refund { burst, .. } => self
                .find(key, now)
                .and_then(|hint| self.seen(&hint, burst, now)),
            _ => None,
        };
        let name = self.transport.name(key.identifier);
        let asked = |transport: &T, deadline| transport.put(&name, put, seen, deadline);
        let answer = self.ask(&name, asked, |policy, _| {
            let is_give_back = matches!(*put, Put::Refund { taken, .. } if taken != Put::VOUCHED);
            if policy == OnFailure::Local && !is_give_back {
                self.host.slots().put(key, put);
            }
        });
        if !matches!(put, Put::Bootstrap { .. }) {
            // Clear the entry after a failure, too, because the store may have executed the change.
            self.host.denial_cache().clear(key.hash, boot_clock());
        }
        answer
    }

    /// Runs an operation on the record that the store calls `name`, unless the store's breaker is
    /// open. If the store does not answer and the policy is not [`OnFailure::Throw`], `stand_in`
    /// returns the value.
    ///
    /// # Errors
    /// Fails like [`Remote::take`].
    pub fn ask<R>(
        &self,
        name: &[u8],
        ask: impl FnOnce(&T, Ticks) -> Result<R, Cause>,
        stand_in: impl FnOnce(OnFailure, &Cause) -> R,
    ) -> Result<Answer<R>, Failure> {
        let (timeout, policy) = (self.settings.timeout, self.settings.on_failure);
        let now = boot_clock();
        let server = self.transport.server(name);
        let breaker = self.host.breakers().of(server.id, &server.name);
        // The lease of a probe: by its end, the probe has succeeded or failed.
        let passage = breaker.enter(now, 2 * timeout);
        let cause = if let Passage::Open(_) = passage {
            Cause::Waiting
        } else {
            self.host.slots().count(Event::Asked);
            match ask(&self.transport, now + timeout) {
                Ok(answer) => {
                    breaker.succeeded();
                    return Ok(sure(answer));
                }
                Err(cause) => {
                    note(self.host, breaker, passage, &cause);
                    cause
                }
            }
        };
        self.host.slots().count(policy.event());
        let store = server.name.clone();
        let failure = Failure { store, cause };
        if policy == OnFailure::Throw {
            return Err(failure);
        }
        // The policy hides the failure from its caller, so the first caller is warned.
        let warns = match failure.cause.blame() {
            Blame::Store => breaker.warns(),
            Blame::Request | Blame::Caller => breaker.warns_of_key(now),
        };
        Ok(Answer {
            value: stand_in(policy, &failure.cause),
            warning: warns.then_some(failure),
            stood_in: true,
        })
    }
}

/// Counts a failure and reports it to the breaker.
fn note(host: &Host, breaker: &Breaker, passage: Passage, cause: &Cause) {
    let now = boot_clock();
    match cause.blame() {
        Blame::Store => {
            host.slots().count(Event::Failed);
            if breaker.failed(passage, now, now ^ u64::from(std::process::id())) {
                host.slots().count(Event::Opened);
            }
        }
        Blame::Request => breaker.answered(),
        Blame::Caller => breaker.unanswered(passage, now),
    }
}

/// Returns the ticks from `instant` to `now`; negative if the instant is in the future. Instants
/// are below 2^62.
const fn age(now: Ticks, instant: Ticks) -> i64 {
    now.cast_signed() - instant.cast_signed()
}

const fn sure<T>(value: T) -> Answer<T> {
    Answer {
        value,
        warning: None,
        stood_in: false,
    }
}
