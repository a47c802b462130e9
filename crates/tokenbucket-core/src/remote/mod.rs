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
pub use transport::{Ask, Replies, Reply, Server, Transport};

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
pub struct Remote<T> {
    transport: T,
    settings: Settings,
}

/// A call that came to nothing.
struct Failed {
    failure: Failure,
    warns: bool,
}

impl<T: Transport> Remote<T> {
    /// Nothing is connected yet.
    #[must_use]
    pub const fn new(transport: T, settings: Settings) -> Self {
        Self {
            transport,
            settings,
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
    pub fn hasher(&self, host: &Host) -> KeyHasher {
        host.slots()
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
        host: &Host,
        key: Key<'_>,
        step: &Step,
        first: Option<Ticks>,
    ) -> Result<Answer<Outcome>, Failure> {
        let now = boot_clock();
        if step.exceeds_capacity() {
            // No round trip, because the store would deny it, too.
            return Ok(sure(step.decide(now, now)));
        }
        let hint = self.hint(host, key, step, now);
        if let Some(outcome) = hint.and_then(|hint| self.told_by(&hint, step, now)) {
            host.slots().count(Event::Hinted);
            return Ok(sure(outcome));
        }
        let ask = Ask {
            name: self.transport.name(key.identifier),
            step: *step,
            first: first.map(|first| age(now, first)),
            seen: hint.and_then(|hint| self.seen(&hint, step.burst, now)),
        };
        let asked = self.call(host, &ask.name, now, |deadline| {
            self.transport.take(&ask, deadline)
        });
        match asked {
            Ok(reply) => {
                self.learn(host, key, step, &reply, hint.as_ref(), now);
                Ok(sure(reply.outcome))
            }
            Err(failed) => self.stand_in(host, failed, |_| {
                if let (OnFailure::Local, Some(hint)) = (self.settings.on_failure, hint) {
                    // A new bucket stands in where the old one is known to have been.
                    let age = age(now, hint.bound);
                    host.slots().put(key, &Put::Bootstrap { age });
                }
                self.settings.on_failure.answer(host, key, step, first)
            }),
        }
    }

    /// Runs an operation other than a step, under the store's breaker and policy. `name` is the store's
    /// name for the record; `stand_in` answers if the store failed and the policy is not to throw.
    ///
    /// # Errors
    /// As [`Remote::take`].
    pub fn ask<R>(
        &self,
        host: &Host,
        name: &[u8],
        ask: impl FnOnce(&T, Ticks) -> Result<R, Cause>,
        stand_in: impl FnOnce(OnFailure, &Cause) -> R,
    ) -> Result<Answer<R>, Failure> {
        let asked = self.call(host, name, boot_clock(), |deadline| {
            ask(&self.transport, deadline)
        });
        match asked {
            Ok(answer) => Ok(sure(answer)),
            Err(failed) => self.stand_in(host, failed, |cause| {
                stand_in(self.settings.on_failure, cause)
            }),
        }
    }

    /// Whether the bucket has a record.
    ///
    /// # Errors
    /// As [`Remote::take`].
    pub fn contains(&self, host: &Host, key: Key<'_>) -> Result<Answer<bool>, Failure> {
        let ask = Ask {
            name: self.transport.name(key.identifier),
            step: Step::new(0, 0).dry(),
            first: None,
            seen: None,
        };
        let asked = self.call(host, &ask.name, boot_clock(), |deadline| {
            self.transport.take(&ask, deadline)
        });
        match asked {
            Ok(reply) => Ok(sure(!reply.absent)),
            // What is not asked starts no bucket.
            Err(failed) => self.stand_in(host, failed, |_| {
                self.settings.on_failure != OnFailure::Local || host.slots().contains(key)
            }),
        }
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
    pub fn put(&self, host: &Host, key: Key<'_>, put: &Put) -> Result<Answer<()>, Failure> {
        let now = boot_clock();
        let seen = match *put {
            Put::Refund { burst, .. } => self
                .find(host, key, now)
                .and_then(|hint| self.seen(&hint, burst, now)),
            _ => None,
        };
        let name = self.transport.name(key.identifier);
        let asked = self.call(host, &name, now, |deadline| {
            self.transport.put(&name, put, seen, deadline)
        });
        if !matches!(put, Put::Bootstrap { .. }) {
            // Also when nobody knows whether the store acted.
            host.denial_cache().clear(key.hash, boot_clock());
        }
        match asked {
            Ok(()) => Ok(sure(())),
            Err(failed) => self.stand_in(host, failed, |_| {
                let is_give_back =
                    matches!(*put, Put::Refund { taken, .. } if taken != Put::VOUCHED);
                if self.settings.on_failure == OnFailure::Local && !is_give_back {
                    host.slots().put(key, put);
                }
            }),
        }
    }

    /// Asks the store, unless its breaker is open.
    fn call<R>(
        &self,
        host: &Host,
        name: &[u8],
        now: Ticks,
        ask: impl FnOnce(Ticks) -> Result<R, Cause>,
    ) -> Result<R, Failed> {
        let server = self.transport.server(name);
        let breaker = host.breakers().of(server.id, &server.name);
        // Who probes has answered or failed by then.
        let passage = breaker.enter(now, 2 * self.settings.timeout);
        let cause = if let Passage::Open(_) = passage {
            Cause::Waiting
        } else {
            host.slots().count(Event::Asked);
            match ask(now + self.settings.timeout) {
                Ok(answer) => {
                    breaker.succeeded();
                    return Ok(answer);
                }
                Err(cause) => {
                    note(host, breaker, passage, &cause);
                    cause
                }
            }
        };
        // A policy that throws does not warn: a warning is for the first caller that would not know.
        let warns = self.settings.on_failure != OnFailure::Throw
            && match cause.blame() {
                Blame::Store => breaker.warns(),
                Blame::Request | Blame::Caller => breaker.warns_of_key(now),
            };
        let store = server.name.clone();
        let failure = Failure { store, cause };
        Err(Failed { failure, warns })
    }

    /// What the policy makes of a failure.
    fn stand_in<R>(
        &self,
        host: &Host,
        failed: Failed,
        answer: impl FnOnce(&Cause) -> R,
    ) -> Result<Answer<R>, Failure> {
        let event = match self.settings.on_failure {
            OnFailure::Local => Event::FellBack,
            OnFailure::Allow => Event::LetThrough,
            OnFailure::Deny => Event::TurnedAway,
            OnFailure::Throw => Event::Thrown,
        };
        host.slots().count(event);
        if self.settings.on_failure == OnFailure::Throw {
            return Err(failed.failure);
        }
        Ok(Answer {
            value: answer(&failed.failure.cause),
            warning: failed.warns.then_some(failed.failure),
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
