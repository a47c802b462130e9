//! Stores that other hosts share.
//!
//! One linear function, denial cache → breaker → call → policy, is [`Remote`]; the stores themselves
//! are [`Transport`]s. This host's knowledge of them is in shared memory: the denial cache, breakers,
//! and the buckets that decide while a store is down.
//!
//! Invariant: a request whose fate is unknown is never sent again, for the store may have acted on it.

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

/// An answer, and what the caller should be warned of.
#[derive(Debug)]
pub struct Answer<T> {
    /// The answer.
    pub value: T,
    /// The first failure since the store last answered.
    pub warning: Option<Failure>,
    /// Whether the failure policy answered, not the store.
    pub stood_in: bool,
}

impl<T> Answer<T> {
    /// Keeps with the value whether the failure policy gave it.
    #[must_use]
    pub fn with_origin(self) -> Answer<(T, bool)> {
        Answer {
            value: (self.value, self.stood_in),
            warning: self.warning,
            stood_in: self.stood_in,
        }
    }
}

/// A remote store as callers on this host use it.
#[derive(Debug)]
pub struct Remote<'h, T> {
    transport: T,
    settings: Settings,
    host: &'h Host,
}

impl<'h, T: Transport> Remote<'h, T> {
    /// Does not connect yet. `host` keeps what this host knows of the store.
    #[must_use]
    pub const fn new(transport: T, settings: Settings, host: &'h Host) -> Self {
        Self {
            transport,
            settings,
            host,
        }
    }

    /// The way to the store.
    #[must_use]
    pub const fn transport(&self) -> &T {
        &self.transport
    }

    /// What happens when the store fails.
    #[must_use]
    pub const fn on_failure(&self) -> OnFailure {
        self.settings.on_failure
    }

    /// Makes the keys by which this host knows the store's buckets.
    #[must_use]
    pub fn hasher(&self) -> KeyHasher {
        self.host
            .slots()
            .hasher()
            .namespace(&[b"remote", &self.transport.identity(), b""])
    }

    /// Takes one step. `first` is on this host's clock; the answer is on the store's, or on this host's if it
    /// was given here.
    ///
    /// # Errors
    /// When the store fails and the policy is to say so.
    pub fn take(
        &self,
        key: Key<'_>,
        step: &Step,
        first: Option<Ticks>,
    ) -> Result<Answer<Outcome>, Failure> {
        let now = boot_clock();
        if step.exceeds_capacity() {
            // No round trip, because the store would deny it, too.
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
                // The fallback bucket starts where the store's is known to have been.
                let age = age(now, hint.bound);
                self.host.slots().put(key, &Put::Bootstrap { age });
            }
            policy.answer(self.host, key, step, first)
        })
    }

    /// Whether the bucket has a record.
    ///
    /// # Errors
    /// As [`Remote::take`].
    pub fn contains(&self, key: Key<'_>) -> Result<Answer<bool>, Failure> {
        let ask = Ask {
            name: self.transport.name(key.identifier),
            step: Step::new(0, 0).dry(),
            first: None,
            seen: None,
        };
        let asked = |transport: &T, deadline| Ok(!transport.take(&ask, deadline)?.absent);
        self.ask(&ask.name, asked, |policy, _| {
            // A store that is not asked starts no bucket.
            policy != OnFailure::Local || self.host.slots().contains(key)
        })
    }

    /// Changes a bucket.
    ///
    /// A give-back is the store's only if the store answered the take: `taken` is on its clock, and
    /// the bucket that stands in has not lost the tokens. So when the store fails, a give-back is
    /// dropped (the tokens come back with time). The caller gives back what the policy granted
    /// ([`Answer::stood_in`]) to this host's bucket, and never here: the store's bucket has not lost
    /// those.
    ///
    /// # Errors
    /// As [`Remote::take`].
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
            // Also after a failure, because the store may have acted.
            self.host.denial_cache().clear(key.hash, boot_clock());
        }
        answer
    }

    /// Runs an operation on the record that the store calls `name`, unless the store's breaker is
    /// open. If the store gave no answer and the policy is not to throw, `stand_in` answers.
    ///
    /// # Errors
    /// As [`Remote::take`].
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
        // A probe has answered or failed by then.
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
        // The first caller is warned that would not notice the failure otherwise.
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

/// Tells the breaker what failed.
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

/// How long before `now` an instant was; negative if it is still to come. Instants are below 2^62.
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
