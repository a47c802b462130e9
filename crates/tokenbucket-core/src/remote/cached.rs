//! How the denial cache answers a step, and what it learns from the store's answers.
//!
//! An entry is a lower bound of `empty_at` on this host's clock ([`super::denial_cache`]). A decision
//! errs towards asking the store; the numbers of a denial err towards waiting.

use super::denial_cache::Entry;
use super::{Ask, Remote, Reply, Transport, age};
use crate::clock::{Ticks, boot_clock};
use crate::key::Key;
use crate::slots::counters::Event;
use crate::step::{Denial, Outcome, Step, Verdict};

impl<T: Transport> Remote<'_, T> {
    /// Makes the request for a step, and returns it with what this host knows of the bucket.
    ///
    /// # Errors
    /// The denial that the cache answers; the store is not asked then.
    pub(super) fn prepare(
        &self,
        key: Key<'_>,
        step: &Step,
        now: Ticks,
    ) -> Result<(Ask, Option<Entry>), Outcome> {
        // The cache may answer only plain steps: a denial must be free, and a drain tick belongs to
        // the store's clock.
        let hint = self.find(key, now).filter(|_| step.is_plain());
        if let Some(outcome) = hint.and_then(|hint| self.told_by(&hint, step, now)) {
            self.host.slots().count(Event::Hinted);
            return Err(outcome);
        }
        let ask = Ask {
            name: self.transport.name(key.identifier),
            step: *step,
            first: None,
            seen: hint.and_then(|hint| self.seen(&hint, step.burst, now)),
        };
        Ok((ask, hint))
    }

    /// Returns what this host knows of a bucket, if it uses the denial cache.
    pub(super) fn find(&self, key: Key<'_>, now: Ticks) -> Option<Entry> {
        self.settings.hint_max_age?;
        self.host.denial_cache().find(key.hash, now)
    }

    /// Returns the denial that a fresh entry proves. The verdict errs towards asking the store, because
    /// its clock may run faster than this one, by a thousandth. The numbers err towards waiting.
    fn told_by(&self, entry: &Entry, step: &Step, now: Ticks) -> Option<Outcome> {
        if step.dry || entry.age > self.settings.hint_max_age? {
            return None;
        }
        let drift = entry.age / 1024;
        let early = step.decide(entry.bound, now + drift);
        let latest = entry.bound + entry.error + drift;
        (!early.granted()).then(|| Outcome::denied(Denial::Insufficient, latest, now))
    }

    /// Returns how long ago the bucket was empty at least, while that still matters.
    pub(super) fn seen(&self, entry: &Entry, burst: Ticks, now: Ticks) -> Option<i64> {
        // The request may take until the deadline to arrive.
        let slack = self.settings.timeout + entry.age / 1024;
        (entry.bound + burst > now + slack).then(|| age(now + slack, entry.bound))
    }

    /// Records what a denial says, on this host's clock. Of a known bucket it also records what a grant
    /// says, because its next cached denial would state outdated numbers otherwise.
    pub(super) fn learn(
        &self,
        key: Key<'_>,
        step: &Step,
        reply: &Reply,
        known: Option<&Entry>,
        sent: Ticks,
    ) {
        let tells = match reply.outcome.verdict {
            Verdict::Granted => known.is_some(),
            Verdict::Denied(denial) => denial == Denial::Insufficient,
        };
        if self.settings.hint_max_age.is_none() || !step.is_plain() || !tells {
            return;
        }
        let mut error = boot_clock() - sent;
        // The server looked at its clock after the request was sent.
        let mut bound = sent.saturating_add_signed(-age(reply.outcome.now, reply.outcome.empty_at));
        if let Some(known) = known.filter(|_| reply.healed) {
            // The store took the healed denial to be earlier than it was.
            bound = bound.max(known.bound);
            error = error.max(known.error);
        }
        self.host
            .denial_cache()
            .record(key.hash, bound, error, sent);
    }
}
