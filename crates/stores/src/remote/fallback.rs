//! The failure policy: decides instead of a store that failed, and warns a caller of the failure.

use super::cached::exceeds;
use super::call::{Failed, Peer};
use super::denial_cache::CacheEntry;
use super::settings::emptied;
use super::{Answer, Answered, Cause, Failure, OnFailure, Remote, Transport};
use gcra::{Key, Outcome, Put, Step, Ticks, Timestamp, boot_clock};
use segment::By;

impl<'h, T: Transport> Remote<'h, T> {
    /// Applies the failure policy to a call that failed. A failure that cost the caller its
    /// transaction is an error under every policy.
    pub(super) fn fall_back<R>(
        &self,
        peer: &Peer<'h>,
        cause: Cause,
        fallback: impl FnOnce(OnFailure, &Cause) -> R,
    ) -> Answered<R> {
        let policy = match cause {
            Cause::Transaction(_) => OnFailure::Throw,
            _ => self.settings.on_failure,
        };
        self.host.slots().count(policy.event());
        let store = peer.server.name.clone();
        let failure = Failure {
            store,
            cause,
            policy,
        };
        if policy == OnFailure::Throw {
            return Err(failure);
        }
        // A decision of the policy hides the failure. So a caller is warned, at most once a minute
        // for each kind of failure.
        let warns = self.breaker(peer).warns(failure.cause.kind(), boot_clock());
        Ok(Answer {
            value: fallback(policy, &failure.cause),
            warning: warns.then(|| Box::new(failure)),
            fallback: true,
        })
    }

    /// Decides a step that no server has decided. `failed` is `None` if another step reports the
    /// failure. A step for more than the capacity is denied with the numbers of an empty bucket,
    /// unless the caller's own connection has failed.
    pub(super) fn undecided(
        &self,
        key: Key<'_>,
        step: &Step,
        first: Option<Timestamp>,
        failed: Option<Failed<'h>>,
    ) -> Answered<Outcome> {
        let exceeds = step.exceeds_capacity().then(|| {
            self.count(key, step, By::Store, false);
            let (empty_at, now) = emptied(step);
            exceeds(empty_at, now)
        });
        // The caller must learn that its own connection failed.
        let failed = failed.filter(|(_, cause)| exceeds.is_none() || cause.is_of_caller());
        let fallback = |policy| exceeds.unwrap_or_else(|| self.fallback(policy, key, step, first));
        match (failed, exceeds) {
            (Some((peer, cause)), _) => self.fall_back(&peer, cause, |policy, _| fallback(policy)),
            (None, Some(denied)) => Ok(Answer::sure(denied)),
            (None, None) => {
                let policy = self.settings.on_failure;
                self.host.slots().count(policy.event());
                Ok(Answer {
                    value: fallback(policy),
                    warning: None,
                    fallback: true,
                })
            }
        }
    }

    /// Runs a step after another exchange of the same call, whose answer has the state `first`. If
    /// the policy gave that answer, it decides the step, too.
    pub fn take_after(
        &self,
        key: Key<'_>,
        step: &Step,
        first: Answer<Option<Timestamp>>,
    ) -> Answered<Outcome> {
        if !first.fallback {
            return self.take(key, step, first.value);
        }
        Ok(first.map(|first| self.fallback(self.settings.on_failure, key, step, first)))
    }

    /// Makes a change after another exchange, as [`Remote::take_after`] runs a step.
    pub fn put_after(&self, key: Key<'_>, put: &Put, fallback: bool) -> Answered<bool> {
        if !fallback {
            return self.put(key, put);
        }
        if self.settings.on_failure == OnFailure::Local {
            self.host.slots().put(key, put);
        }
        Ok(Answer {
            fallback,
            ..Answer::sure(true)
        })
    }

    /// Runs a dry step after the same call has changed the bucket. If the store fails, the policy
    /// decides, and [`OnFailure::Throw`] denies, because a caller would repeat the change. Fails
    /// only if the change is lost, too.
    pub fn look(&self, key: Key<'_>, step: &Step) -> Answered<Outcome> {
        let failure = match self.take(key, step, None) {
            Err(failure) if !matches!(failure.cause, Cause::Transaction(_)) => failure,
            answer => return answer,
        };
        let found = self.find_server(&self.transport.name(key.identifier));
        let breaker = self.breaker(&found.map_or_else(|fleet| fleet, |(_, peer)| peer));
        let warns = breaker.warns(failure.cause.kind(), boot_clock());
        Ok(Answer {
            value: self.fallback(OnFailure::Throw, key, step, None),
            warning: warns.then(|| Box::new(failure)),
            fallback: true,
        })
    }

    /// Decides a step by the failure policy.
    pub(super) fn fallback(
        &self,
        policy: OnFailure,
        key: Key<'_>,
        step: &Step,
        first: Option<Timestamp>,
    ) -> Outcome {
        if policy == OnFailure::Local {
            let lifetime = step.lifetime();
            self.inherit(key, self.find(key, lifetime, boot_clock()), lifetime);
        }
        policy.answer(self.host, key, step, first)
    }

    /// Moves the fallback bucket forward to the last state that this host received of the store's
    /// bucket. `entry` is the bucket's entry in the denial cache, `span` the caller's span.
    pub(super) fn inherit(&self, key: Key<'_>, entry: Option<CacheEntry>, span: Ticks) {
        if let Some(entry) = entry {
            self.host.slots().raise(key, span, |_| entry.bound);
        }
    }
}
