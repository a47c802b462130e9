//! What hints say to a step, and what an answer says to hints.
//!
//! A hint is a lower bound of `empty_at` on this host's clock ([`crate::remote::denial_cache`]). What decides
//! errs to asking; what is told errs to waiting.

use super::{Remote, Reply, Transport, age};
use crate::clock::{BootClock, Clock, Ticks};
use crate::key::Key;
use crate::remote::denial_cache::Hint;
use crate::slots::SharedMemory;
use crate::step::{Denial, Outcome, Step, Verdict};

impl<T: Transport> Remote<T> {
    /// What this host knows of a bucket, for steps that it may answer: a denial must cost nothing, and a
    /// tick is the store's clock's.
    pub(super) fn hint(
        &self,
        host: &SharedMemory,
        key: Key<'_>,
        step: &Step,
        now: Ticks,
    ) -> Option<Hint> {
        if step.is_plain() {
            self.find(host, key, now)
        } else {
            None
        }
    }

    /// What this host knows of a bucket, if it remembers anything.
    pub(super) fn find(&self, host: &SharedMemory, key: Key<'_>, now: Ticks) -> Option<Hint> {
        self.settings.hint_max_age?;
        host.hints().find(key.hash, now)
    }

    /// The denial that a fresh hint tells. The verdict errs to asking: the other clock may run faster than
    /// this one, by a thousandth. The numbers err to waiting.
    pub(super) fn told_by(&self, hint: &Hint, step: &Step, now: Ticks) -> Option<Outcome> {
        if step.dry || hint.age > self.settings.hint_max_age? {
            return None;
        }
        let drift = hint.age / 1024;
        let early = step.decide(hint.bound, now + drift);
        (!early.granted()).then(|| Outcome {
            verdict: Verdict::Denied(Denial::Insufficient),
            now,
            empty_at: hint.bound + hint.error + drift,
        })
    }

    /// How long ago the bucket was empty at least, while that still matters.
    pub(super) fn seen(&self, hint: &Hint, burst: Ticks, now: Ticks) -> Option<i64> {
        // The request may take until the deadline to arrive.
        let slack = self.settings.timeout + hint.age / 1024;
        (hint.bound + burst > now + slack).then(|| age(now + slack, hint.bound))
    }

    /// Notes what a denial says, on this host's clock; of a bucket that something is known of also what a grant
    /// says, or its denials would be told the numbers of before.
    pub(super) fn learn(
        &self,
        host: &SharedMemory,
        key: Key<'_>,
        step: &Step,
        reply: &Reply,
        known: Option<&Hint>,
        sent: Ticks,
    ) {
        let tells = match reply.outcome.verdict {
            Verdict::Granted => known.is_some(),
            Verdict::Denied(denial) => denial == Denial::Insufficient,
        };
        if self.settings.hint_max_age.is_none() || !step.is_plain() || !tells {
            return;
        }
        let mut error = BootClock.now() - sent;
        // The server looked at its clock after the request was sent.
        let mut bound = sent.saturating_add_signed(-age(reply.outcome.now, reply.outcome.empty_at));
        if let Some(known) = known.filter(|_| reply.healed) {
            // What was made up for was taken to be earlier than it was.
            bound = bound.max(known.bound);
            error = error.max(known.error);
        }
        host.hints().record(key.hash, bound, error, sent);
    }
}
