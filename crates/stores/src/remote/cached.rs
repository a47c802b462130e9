//! Decides steps from the denial cache, and updates the cache from the store's replies.
//!
//! An entry is a lower bound of `empty_at` on this host's clock ([`super::denial_cache`]). The
//! store is contacted unless the entry proves that the step is denied. A cached denial may state a
//! wait that is a little too long. The wait is too short only if other hosts, or calls under other
//! limits, have taken tokens since.

use super::denial_cache::CacheEntry;
use super::{Remote, Reply, StateKind, StepRequest, Transport, Wanted};
use gcra::ahead::UNIT_BITS;
use gcra::{Denial, Key, Outcome, Step, TICKS_PER_SECOND, Ticks, Timestamp, Verdict, boot_clock};
use segment::{By, Event};
use std::thread::sleep;
use std::time::Duration;

/// The pause before a waiting worker looks at the entry again, in ticks.
const PAUSE: Ticks = TICKS_PER_SECOND / 20_000;
/// The unit in which an entry holds the instant of its request, in ticks.
const UNIT: Ticks = 1 << UNIT_BITS;

/// A request for one step, which the store must decide.
pub(super) struct PreparedStep {
    pub(super) request: StepRequest,
    /// The bucket's entry in the denial cache.
    pub(super) entry: Option<CacheEntry>,
    /// The ticks that this call has waited for another worker.
    pub(super) waited: Ticks,
    /// True if this worker now holds the lease.
    pub(super) is_asker: bool,
}

impl PreparedStep {
    pub(super) const fn new(request: StepRequest, entry: Option<CacheEntry>) -> Self {
        Self {
            request,
            entry,
            waited: 0,
            is_asker: false,
        }
    }
}

/// Reports whether the entry allows the step at most once. Then only one worker can succeed.
fn is_scarce(entry: &CacheEntry, step: &Step, now: Timestamp) -> bool {
    let twice = Step {
        cost: step.cost.saturating_mul(2),
        ..*step
    };
    step.cost > 0 && !step.dry && !twice.decide(entry.bound, now + entry.age / 1024).granted()
}

/// Returns the hash of the entry of a bucket for steps of this lifetime. It is in the set of the
/// bucket. Each lifetime has an entry of its own, because a bucket that is full under a short span
/// is also full under a long one. So a bound that was learned under a short span may be wrong under
/// a long one.
pub(super) const fn entry_of(key: Key<'_>, lifetime: Ticks) -> u128 {
    // An odd factor maps different lifetimes to different numbers. The upper bits depend on all
    // bits of the lifetime.
    let mixed = lifetime.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16;
    key.hash ^ mixed as u128
}

/// Returns the latest state of the bucket that is possible at `now`. The error of the entry does
/// not make a bucket appear to be in debt that was in none when its state was requested.
pub(super) fn latest(entry: &CacheEntry, now: Timestamp) -> Timestamp {
    let latest = entry.bound + entry.error + entry.age / 1024;
    if latest <= now {
        return latest;
    }
    // An age is rounded up by a unit, and a bound is rounded down by less than half of the error.
    let sent = now + UNIT - entry.age;
    let may_owe = entry.bound + entry.error / 2 > sent;
    if may_owe { latest } else { now }
}

/// Returns the denial of a step for more than the capacity.
pub(super) fn exceeds(empty_at: Timestamp, now: Timestamp) -> Outcome {
    Outcome::denied(Denial::ExceedsCapacity, empty_at, now)
}

impl<T: Transport> Remote<'_, T> {
    /// Prepares the request for a step. The caller must also call [`Remote::set_seen`]. Fails with
    /// the cached denial, if there is one. The store must not be contacted then.
    #[inline]
    pub(super) fn prepare(
        &self,
        key: Key<'_>,
        step: &Step,
        now: Timestamp,
    ) -> Result<PreparedStep, Outcome> {
        if step.exceeds_capacity() {
            return self.prepare_numbers(key, step, now);
        }
        let entry = self.entry(key, step, now)?;
        Ok(PreparedStep::new(self.request(key, *step), entry))
    }

    /// Does the same for a step for more than the capacity. Even a full bucket denies it, so the
    /// store is only asked for the numbers of the bucket.
    #[cold]
    fn prepare_numbers(
        &self,
        key: Key<'_>,
        step: &Step,
        now: Timestamp,
    ) -> Result<PreparedStep, Outcome> {
        let cached = self.entry(key, step, now);
        cached.map_err(|cached| exceeds(cached.empty_at, cached.now))?;
        let request = StepRequest {
            wanted: Wanted::Numbers,
            ..self.request(key, step.dry())
        };
        Ok(PreparedStep::new(request, None))
    }

    /// Returns the request for a step on a bucket that is full if it has no record.
    pub(super) fn request(&self, key: Key<'_>, step: Step) -> StepRequest {
        StepRequest {
            is_cached: self.settings.denial_cache_max_age.is_some(),
            ..StepRequest::new(self.transport.name(key.identifier), step)
        }
    }

    /// Sets [`StepRequest::seen`] of a request whose timeout starts at `now`.
    pub(super) fn set_seen(&self, prepared: &mut PreparedStep, now: Timestamp) {
        let (entry, span) = (prepared.entry.as_ref(), prepared.request.step.span);
        prepared.request.seen = entry.and_then(|entry| self.seen(entry, span, now));
    }

    /// Returns the bucket's entry in the denial cache, if the step may be decided from it. Fails
    /// with the cached denial, if there is one.
    fn entry(
        &self,
        key: Key<'_>,
        step: &Step,
        now: Timestamp,
    ) -> Result<Option<CacheEntry>, Outcome> {
        // Only plain steps may be decided from the cache. Denials of other steps may take tokens,
        // or depend on drain ticks, which end at instants of the store's clock.
        let entry = self
            .find(key, step.lifetime(), now)
            .filter(|_| step.is_plain());
        if let Some(outcome) = entry.and_then(|entry| self.told_by(&entry, step, now)) {
            self.count_told(key, step);
            return Err(outcome);
        }
        Ok(entry)
    }

    /// Counts and returns the denial of the step if the entry proves the denial.
    pub(super) fn told(
        &self,
        key: Key<'_>,
        step: &Step,
        entry: &CacheEntry,
        now: Timestamp,
    ) -> Option<Outcome> {
        let denied = self.told_by(entry, step, now)?;
        self.count_told(key, step);
        Some(denied)
    }

    #[inline]
    pub(super) fn count_told(&self, key: Key<'_>, step: &Step) {
        self.host.slots().count(Event::Cached);
        self.count(key, step, By::DenialCache, false);
    }

    /// Does the same as [`Remote::prepare`] for one bucket. If the entry allows one such
    /// step at most, or if `is_hot` for it at the current instant, waits until no other worker of
    /// this host asks the store about the bucket. If the store may be asked, returns the request.
    ///
    /// The wait ends after an eighth of the timeout, because the other worker may have been killed,
    /// and this worker's own request needs time. Fails with the cached denial, if there is one. The
    /// store must not be contacted then.
    pub(super) fn prepare_alone(
        &self,
        key: Key<'_>,
        step: &Step,
        now: Timestamp,
        is_hot: impl Fn(&CacheEntry, Timestamp) -> bool,
    ) -> Result<PreparedStep, Outcome> {
        let mut prepared = self.prepare(key, step, now)?;
        let entry = prepared.entry;
        if !entry.is_some_and(|entry| is_scarce(&entry, step, now) || is_hot(&entry, now)) {
            return Ok(prepared);
        }
        let timeout = self.settings.timeout;
        let patience = timeout / 8;
        // Hashing a long identifier has taken time, which is no part of the wait.
        let start = boot_clock();
        let mut later = start;
        prepared.is_asker = loop {
            let is_over = later.saturating_since(start) >= patience;
            let entry = prepared.entry;
            let is_hot = entry.is_some_and(|entry| is_hot(&entry, later));
            let scarce =
                entry.filter(|entry| !is_over && (is_hot || is_scarce(entry, step, later)));
            let Some(scarce) = scarce else { break false };
            let found = self.find_server(&prepared.request.name);
            if found.is_ok_and(|(_, peer)| peer.is_open(later)) {
                break false;
            }
            if self.host.denial_cache().lease(key.hash, later, timeout / 2) {
                // The bound may be earlier than the bucket's state. A request that is sent at once
                // would often be denied, and another one would follow.
                let likely = step.retry_after(scarce.bound + scarce.error, later);
                if likely < timeout / 16 && !is_hot {
                    sleep(Duration::from_nanos(likely));
                }
                break true;
            }
            sleep(Duration::from_nanos(PAUSE.min(patience)));
            later = boot_clock();
            prepared.entry = self.entry(key, step, later)?;
        };
        prepared.waited = boot_clock().saturating_since(start);
        Ok(prepared)
    }

    /// Returns the bucket's entry for steps of this lifetime, if the denial cache is enabled.
    #[inline(always)]
    pub(super) fn find(&self, key: Key<'_>, lifetime: Ticks, now: Timestamp) -> Option<CacheEntry> {
        self.settings.denial_cache_max_age?;
        self.host.denial_cache().find(entry_of(key, lifetime), now)
    }

    /// Returns the denial of the step if a fresh entry proves the denial. The store's clock may run
    /// faster than this host's, by up to a thousandth. If the step could be granted because of
    /// that, the result is `None`. The instants in the denial assume the [`latest`] state.
    #[inline]
    pub(super) fn told_by(
        &self,
        entry: &CacheEntry,
        step: &Step,
        now: Timestamp,
    ) -> Option<Outcome> {
        if step.dry || entry.age > self.settings.denial_cache_max_age? {
            return None;
        }
        let drift = entry.age / 1024;
        let early = step.decide(entry.bound, now + drift);
        (!early.granted()).then(|| Outcome::denied(Denial::Insufficient, latest(entry, now), now))
    }

    /// Returns an upper bound of the ticks since the bucket was empty. If the store has lost the
    /// record, it restores the record from this bound. Returns `None` if the bucket may be full
    /// when the request arrives.
    pub(super) fn seen(&self, entry: &CacheEntry, span: Ticks, now: Timestamp) -> Option<i64> {
        // The request may arrive as late as the deadline.
        let slack = self.settings.timeout + entry.age / 1024;
        (entry.bound + span > now + slack).then(|| (now + slack).signed_since(entry.bound))
    }

    /// Records the state of a bucket whose step was denied, as an instant on this host's clock.
    /// After a grant, records the state if the bucket is in debt, because calls are denied until
    /// the debt is repaid, and if tokens were taken ahead, because the grants by them return its
    /// numbers. Also records it if the cache has an entry, `known`. Otherwise the next cached
    /// denial would contain outdated numbers. `sent` is the instant at which the request was sent.
    pub(super) fn learn(
        &self,
        key: Key<'_>,
        step: &Step,
        reply: &Reply,
        known: Option<&CacheEntry>,
        sent: Timestamp,
    ) {
        let tells = match reply.outcome.verdict {
            Verdict::Granted => {
                known.is_some() || reply.outcome.empty_at > reply.outcome.now || reply.extra > 0
            }
            Verdict::Denied(denial) => denial == Denial::Insufficient,
        };
        let is_bound = step.is_plain() && reply.found != StateKind::Shorter;
        if self.settings.denial_cache_max_age.is_none() || !is_bound || !tells {
            return;
        }
        let mut error = boot_clock() - sent;
        // This is a lower bound, because the server read its clock after the request was sent.
        let mut bound =
            sent.saturating_add_signed(reply.outcome.empty_at.signed_since(reply.outcome.now));
        if let Some(known) = known.filter(|_| reply.found == StateKind::Restored) {
            // The store restored the lost record from [`StepRequest::seen`], which may be too
            // early. Keep the later state.
            bound = bound.max(known.bound);
            error = error.max(known.error);
        }
        self.host
            .denial_cache()
            .record(entry_of(key, step.lifetime()), bound, error, sent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_scarce_if_it_allows_a_step_at_most_once() {
        let now = Timestamp(1 << 60);
        let is_scarce = |bound, age, cost| {
            let error = 0;
            let entry = CacheEntry { bound, error, age };
            is_scarce(&entry, &Step::new(cost, 10_000), now)
        };
        // The bucket gets its second token in ten ticks. The server's clock may be ahead of this
        // host's by a 1024th of the entry's age.
        assert!(is_scarce(now - 1990, 9 * 1024, 1000));
        assert!(!is_scarce(now - 1990, 10 * 1024, 1000));
        assert!(!is_scarce(now + 5, 0, 0), "it takes nothing");
    }
}
