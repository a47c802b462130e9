//! Taking ahead: while a bucket is used up, the host keeps the next place in its queue, and one
//! call uses the place without a round trip. [`gcra::ahead`] has the rules. While the bucket is not
//! used up, a call that asks the store also takes a slice, which the next calls use
//! ([`gcra::slice`]).
//!
//! Calls that do not wait are denied until a place is due. After enough denials one worker at a
//! time asks for a place: the one that holds the bucket's lease in the denial cache. So a bucket
//! that is not used up is asked as ever.
//!
//! If the reply is lost, so are the tokens. They are never granted twice.

use super::cached::{PreparedStep, latest};
use super::denial_cache::CacheEntry;
use super::{Answer, Answered, Remote, Reply, StepRequest, Transport, Visit, Wanted};
use gcra::ahead::{DENIALS, Place, Terms};
use gcra::slice::Extra;
use gcra::{Denial, Key, Outcome, Patience, Step, Ticks, Timestamp, Verdict, boot_clock};
use segment::cells::ahead::{Cell, Kept};
use segment::cells::slice::SliceCell;
use segment::{By, Event};

impl<T: Transport> Remote<'_, T> {
    /// Returns the terms under which places are kept for the step. Only for plain steps that take
    /// tokens, and wait for a shorter time than hosts take ahead. A longer wait is a place itself.
    /// A bucket with a first state has none, either.
    pub(super) fn terms(&self, step: &Step, first: Option<Timestamp>) -> Option<Terms> {
        let terms = Terms {
            cost: step.cost,
            span: step.span,
            take_ahead: self.settings.take_ahead,
        };
        if terms.take_ahead == 0 {
            return None;
        }
        let is_short = (0..terms.take_ahead.cast_signed()).contains(&step.max_wait);
        let is_simple = step.is_plain() && is_short && !step.dry && first.is_none();
        (is_simple && terms.allow_places()).then_some(terms)
    }

    /// Does the same as [`Remote::take`] for a step with these terms, which waits. The places of
    /// other hosts may always be before the one that it would get at the store. So it uses the one
    /// that its own host keeps. It uses no slice, because a cancel could not give it back.
    pub(super) fn wait_in_turn(
        &self,
        key: Key<'_>,
        step: &Step,
        terms: Terms,
        now: Timestamp,
    ) -> Answered<Outcome> {
        let cell = self.host.place_cell(key.hash, terms);
        let found = self
            .reserved(key, step, &cell, now)
            .map(Answer::sure)
            .map(Ok);
        let found = found.or_else(|| self.queue(key, step, &cell, &terms, now));
        let answer = match found {
            Some(answer) => answer?,
            None => match self.prepare_alone(key, step, now, |_, _| false) {
                Ok(prepared) => self.take_from_store(key, step, None, prepared)?,
                Err(denied) => Answer::sure(denied),
            },
        };
        if !answer.fallback && !answer.value.granted() {
            // The caller would have waited. In that time, others are denied so often.
            (0..DENIALS).for_each(|_| self.deny(&cell, boot_clock()));
        }
        Ok(answer)
    }

    /// Returns the outcome of a step that waits, if the host has a place: granted when the place is
    /// due, or denied if that is too late.
    fn reserved(
        &self,
        key: Key<'_>,
        step: &Step,
        cell: &Cell<'_>,
        now: Timestamp,
    ) -> Option<Outcome> {
        let patience = step.max_wait.unsigned_abs();
        let wait = cell.reserve(now, patience)?;
        if wait > patience {
            self.count_told(key, step);
            return Some(until_due(step, wait, now));
        }
        self.host.slots().count(Event::UsedAhead);
        self.count(key, step, By::Store, true);
        Some(Outcome::new(Verdict::Granted, now + wait, now))
    }

    /// Does the same as [`Remote::take`] for a step with these terms, which does not wait.
    pub(super) fn take_in_turn(
        &self,
        key: Key<'_>,
        step: &Step,
        terms: Terms,
        now: Timestamp,
    ) -> Answered<Outcome> {
        let slices = self.host.slice_cell(key.hash, terms);
        match slices.claim(now) {
            Some(left) => Ok(Answer::sure(self.used_ahead(key, step, left, now))),
            None => self.take_or_ask(key, step, &slices, terms, now),
        }
    }

    /// Does the same if the slice cannot grant the call.
    #[inline(never)]
    fn take_or_ask(
        &self,
        key: Key<'_>,
        step: &Step,
        slices: &SliceCell<'_>,
        terms: Terms,
        now: Timestamp,
    ) -> Answered<Outcome> {
        let cell = self.host.place_cell(key.hash, terms);
        match cell.claim(now) {
            Some(0) => return Ok(Answer::sure(self.used_ahead(key, step, 0, now))),
            Some(wait) => {
                self.deny(&cell, now);
                self.count_told(key, step);
                return Ok(Answer::sure(until_due(step, wait, now)));
            }
            None => {}
        }
        if let Some(answer) = self.queue(key, step, &cell, &terms, now) {
            if answer.as_ref().is_ok_and(|answer| !answer.value.granted()) {
                self.deny(&cell, boot_clock());
            }
            return answer;
        }
        let may_ask = |entry: &CacheEntry, now| may_ask(&cell, entry, &terms, now);
        let mut prepared = match self.prepare_alone(key, step, now, may_ask) {
            Ok(prepared) => prepared,
            Err(denied) => {
                self.deny(&cell, now);
                return Ok(Answer::sure(denied));
            }
        };
        let is_alone = prepared.is_asker && self.host.denial_cache().is_leased(key.hash);
        let entry = prepared.entry.filter(|_| is_alone);
        if entry.is_some_and(|entry| may_ask(&entry, boot_clock())) {
            self.want_place(&mut prepared.request);
        } else {
            let (estimate, dropped) = slices.ask(boot_clock());
            self.count_calls(Event::DroppedAhead, dropped, step);
            prepared.request.wanted = Wanted::Slice {
                estimate,
                extra: terms.extra(estimate),
                life: terms.life(),
            };
        }
        let answer = self.take_from_store(key, step, None, prepared)?;
        if !answer.fallback && !answer.value.granted() {
            self.deny(&cell, boot_clock());
        }
        Ok(answer)
    }

    /// Returns the outcome of a call that has used tokens that were taken ahead. Counts the grant.
    /// The bucket has the tokens of the last reply, and the `left` ticks of the slice.
    fn used_ahead(&self, key: Key<'_>, step: &Step, left: Ticks, now: Timestamp) -> Outcome {
        self.host.slots().count(Event::UsedAhead);
        self.count(key, step, By::Store, true);
        let entry = self.find(key, step.lifetime(), now);
        let empty_at = entry.map_or(now, |entry| latest(&entry, now).min(now));
        Outcome::new(Verdict::Granted, empty_at.saturating_sub(left), now)
    }

    /// Asks for a place if [`Remote::may_queue`] allows it and no other worker asks. Returns the
    /// answer of the call, which is granted if its tokens are there already. Returns `None` if the
    /// store was not asked.
    fn queue(
        &self,
        key: Key<'_>,
        step: &Step,
        cell: &Cell<'_>,
        terms: &Terms,
        now: Timestamp,
    ) -> Option<Answered<Outcome>> {
        self.may_queue(key, step, cell, terms, now)?;
        let cache = self.host.denial_cache();
        if !cache.lease(key.hash, now, self.settings.timeout / 2) {
            return None;
        }
        // Another worker may have asked meanwhile, or another bucket may hold the lease.
        let now = boot_clock();
        let entry = self.may_queue(key, step, cell, terms, now);
        let answer = entry
            .filter(|_| cache.is_leased(key.hash))
            .and_then(|entry| self.ask_for_place(key, step, entry, now));
        cache.release(key.hash);
        answer
    }

    /// Returns the bucket's entry in the denial cache if it denies the step without a wait, the
    /// host was denied often enough, and the next place in the queue may be near enough.
    fn may_queue(
        &self,
        key: Key<'_>,
        step: &Step,
        cell: &Cell<'_>,
        terms: &Terms,
        now: Timestamp,
    ) -> Option<CacheEntry> {
        if !cell.may_ask(now) {
            return None;
        }
        let entry = self.find(key, step.lifetime(), now)?;
        let entry = Some(entry).filter(|entry| may_ask(cell, entry, terms, now))?;
        let at_once = step.with(Patience::Wait(0));
        let denied = self.told_by(&entry, &at_once, now)?;
        let wait = at_once.retry_after(denied.empty_at, now);
        (wait <= self.settings.take_ahead).then_some(entry)
    }

    /// Asks the store for a place. If the store fails, returns the cached denial. A step that would
    /// have waited has none, so the failure policy decides it. Returns `None` if the breaker of the
    /// store is open.
    fn ask_for_place(
        &self,
        key: Key<'_>,
        step: &Step,
        entry: CacheEntry,
        now: Timestamp,
    ) -> Option<Answered<Outcome>> {
        let mut request = self.request(key, *step);
        self.want_place(&mut request);
        let found = self.find_server(&request.name);
        if found.is_ok_and(|(_, peer)| peer.is_open(now)) {
            return None;
        }
        let mut prepared = PreparedStep::new(request, Some(entry));
        self.set_seen(&mut prepared, now);
        let operation = |visit: &Visit<'_, T>| self.decided_by(visit, key, step, &prepared, now);
        let deadline = now + self.settings.timeout;
        let outcome = self.visit(&prepared.request.name, now, deadline, operation);
        let answer = outcome.map(Answer::sure).or_else(|failed| {
            match self.told(key, step, &entry, now) {
                // The breaker knows of the failure.
                Some(denied) => Ok(Answer::sure(denied)),
                None => self.undecided(key, step, None, Some(failed)),
            }
        });
        Some(answer)
    }

    /// Makes the request ask for a place.
    fn want_place(&self, request: &mut StepRequest) {
        request.step = request.step.with(Patience::Wait(self.settings.take_ahead));
        request.wanted = Wanted::Place;
    }

    /// Keeps what a reply has granted ahead. The request was sent at `sent`. Returns the outcome of
    /// the call itself.
    pub(super) fn keep_ahead(
        &self,
        key: Key<'_>,
        step: &Step,
        wanted: Wanted,
        reply: &Reply,
        sent: Timestamp,
    ) -> Outcome {
        let (Some(terms), Wanted::Slice { estimate, .. }) = (self.terms(step, None), wanted) else {
            return match wanted {
                Wanted::Place => self.keep_place(key, step, reply, sent),
                _ => reply.outcome,
            };
        };
        let extra = Extra {
            ticks: reply.extra,
            sent,
            received: boot_clock(),
            estimate,
        };
        let dropped = self.host.slice_cell(key.hash, terms).keep(&extra);
        self.count_calls(Event::TakenAhead, reply.extra, step);
        self.count_calls(Event::DroppedAhead, dropped, step);
        Outcome {
            empty_at: reply.outcome.empty_at.saturating_sub(reply.extra),
            ..reply.outcome
        }
    }

    /// Counts the calls that cost so many ticks.
    fn count_calls(&self, event: Event, ticks: Ticks, step: &Step) {
        if ticks > 0 {
            self.host.slots().add(event, ticks.div_ceil(step.cost));
        }
    }

    /// Keeps the place that a reply has granted. The request was sent at `sent`. Returns the
    /// outcome of the call itself, which is denied if its tokens are not there yet.
    fn keep_place(&self, key: Key<'_>, step: &Step, reply: &Reply, sent: Timestamp) -> Outcome {
        let Outcome { now, empty_at, .. } = reply.outcome;
        let wait = empty_at.saturating_since(now);
        let Some(terms) = self.terms(step, None) else {
            return reply.outcome;
        };
        let cell = self.host.place_cell(key.hash, terms);
        if !reply.outcome.granted() {
            // The queue is too long for a place.
            cell.forget();
        }
        // A step that waits long enough uses the place itself.
        if !reply.outcome.granted() || wait <= step.max_wait.unsigned_abs() {
            return reply.outcome;
        }
        self.host.slots().count(Event::TakenAhead);
        let received = boot_clock();
        let place = Place::granted(&terms, sent, received, wait);
        let kept = place.map_or(Kept::Dropped, |place| cell.keep(place, received));
        if kept != Kept::Alone {
            self.host.slots().count(Event::DroppedAhead);
        }
        match place.filter(|_| kept != Kept::Dropped) {
            // A call of this host is granted when the place is due.
            Some(place) => until_due(step, place.due().saturating_since(received), received),
            None => Outcome::denied(Denial::Insufficient, empty_at, now),
        }
    }

    /// Counts a denial of this host in the cell.
    fn deny(&self, cell: &Cell<'_>, now: Timestamp) {
        if cell.deny(now) {
            self.host.slots().count(Event::DroppedAhead);
        }
    }
}

/// Returns the denial of a call at `now` that would be granted after `wait` ticks.
fn until_due(step: &Step, wait: Ticks, now: Timestamp) -> Outcome {
    let empty_at = (now + wait).saturating_sub(step.cost);
    Outcome::denied(Denial::Insufficient, empty_at, now)
}

/// Reports whether the host may ask for a place at `now`, and could keep it if the reply takes as
/// long as that of the bucket's entry.
fn may_ask(cell: &Cell<'_>, entry: &CacheEntry, terms: &Terms, now: Timestamp) -> bool {
    entry.error < terms.longest_call() && cell.may_ask(now)
}
