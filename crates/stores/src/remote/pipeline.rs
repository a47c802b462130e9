//! Steps on several buckets, each decided on its own. Steps on one server share a pipeline, and all
//! servers are asked at once. So several servers that hang delay the call by one timeout only, and
//! those that reply decide their steps.
//!
//! A search for the server of a record, the lookup of a host name and a step of a moved record
//! wait, and nothing else continues meanwhile. So they begin when all other servers have replied,
//! or after a head start.

use super::breaker::Passage;
use super::call::{Failed, Peer};
use super::race::{Race, head_start};
use super::time_left::TimeLeft;
use super::turns::{PendingStep, Turns, Waiting, by_server, leaving};
use super::{Answer, Blame, Cause, Failure, Flown, OnFailure, Pipelined, Remote, Visit};
use gcra::{Outcome, Ticket, Ticks, Timestamp, boot_clock};
use segment::Event;
use std::cell::OnceCell;
use std::collections::VecDeque;
use std::iter::{once, repeat_with};

/// The index of a step that was not decided, and the failure. The failure is `None` if another step
/// reports it.
type Undecided<'h> = (usize, Option<Failed<'h>>);

/// A pipeline that was sent to a server, and the task that waits for its replies.
type Begun<'r, 'h, T> = (Sent<'r, 'h>, <T as Pipelined>::Flight<'r>);

/// The requests of a pipeline that was sent to a server.
struct Sent<'r, 'h> {
    pipeline: &'r [PendingStep],
    peer: Peer<'h>,
    passage: Passage,
    at: Timestamp,
}

impl Sent<'_, '_> {
    fn login(&self) -> u64 {
        self.peer.server.login
    }
}

/// A call of [`Remote::take_each`].
struct Each<'a, 'h, T, F> {
    buckets: &'a [(&'a Remote<'h, T>, Ticket<'a>)],
    /// The time of all pipelines together, or `None` if servers that reply may take longer.
    left: Option<TimeLeft>,
    /// Gets the result of each step, with its place in `buckets`.
    decided: F,
    /// The steps that no server has decided.
    failures: Vec<Undecided<'h>>,
}

impl<T: Pipelined> Remote<'_, T> {
    /// Runs each step on its own, and passes each result to `decided` with the index of the step.
    /// The settings of each bucket's own store apply. Steps on one server share a pipeline if their
    /// stores have the same timeout. The call ends with the time `left`. Without it, servers that
    /// reply may take longer together than the timeout. Fails if a store fails and its policy is
    /// [`OnFailure::Throw`]. Steps without a result were then not decided, or their results are
    /// unknown.
    pub fn take_each(
        buckets: &[(&Self, Ticket<'_>)],
        left: Option<TimeLeft>,
        mut decided: impl FnMut(usize, Answer<Outcome>),
    ) -> Result<(), Failure> {
        let mut each = Each {
            buckets,
            left,
            decided: |index: usize, answer| decided(buckets[index].1.index, answer),
            failures: Vec::new(),
        };
        let named = buckets.iter().enumerate().map(|(index, (store, ticket))| {
            let name = store.transport.name(ticket.key.identifier);
            (index, *store, name)
        });
        let pipelines = by_server(named).into_iter();
        let waiting = pipelines.map(|(server, indexes)| Waiting {
            server,
            steps: each.prepare(&indexes),
        });
        let waiting = waiting.filter(|it| !it.steps.is_empty()).collect();
        each.run(waiting);
        each.fall_back_all()
    }
}

impl<'h, T: Pipelined, F: FnMut(usize, Answer<Outcome>)> Each<'_, 'h, T, F> {
    /// Runs the steps of pipelines. A server has one pipeline at a time, and the next one when it
    /// has replied.
    fn run(&mut self, waiting: Vec<Waiting>) {
        // Each pipeline has at least one step.
        let cells = repeat_with(OnceCell::new).take(self.buckets.len());
        let cells: Vec<OnceCell<Vec<PendingStep>>> = cells.collect();
        let (mut free, mut race, mut moved) = (cells.iter(), Race::empty(), VecDeque::new());
        let mut turns = Turns::new(waiting);
        let mut renews = self.left.is_none();
        let timeouts = turns.waiting.iter().map(|it| self.timeout(it));
        let first = turns.start + timeouts.min().unwrap_or(0);
        let patience = turns.start + head_start(2, first);
        loop {
            let may_wait = race.is_empty() || boot_clock() >= patience;
            let is_last = turns.waiting.len() == 1;
            let ready = turns.next(|it| may_wait && is_last || self.is_ready(it));
            if let Some(mut next) = ready.or_else(|| turns.next(|_| may_wait)) {
                let deadline = turns.since(&next.server) + self.timeout(&next);
                let others = !turns.waiting.is_empty() || !race.is_empty();
                let Some((route, peer)) = self.locate(&next, others, deadline) else {
                    continue;
                };
                if *peer.server != *next.server {
                    // The search may have found several servers, and has used a part of the
                    // timeout of all of them.
                    renews = false;
                    turns.replied.clear();
                    turns.waiting.extend(self.by_server(next.steps));
                } else if let Some(cell) = free.next() {
                    self.set_seen(&mut next.steps);
                    let pipeline = cell.get_or_init(|| next.steps);
                    let begun = self.begin(pipeline, route, peer, deadline);
                    if let Some((sent, flight)) = begun {
                        turns.running.insert(sent.login());
                        race.add((sent, deadline), flight);
                    }
                }
                continue;
            }
            if may_wait && let Some((pending, deadline)) = moved.pop_front() {
                let others = !(moved.is_empty() && turns.waiting.is_empty() && race.is_empty());
                self.follow(pending, leaving(others, deadline));
                continue;
            }
            let until = if moved.is_empty() {
                turns.next_at(patience)
            } else {
                patience
            };
            let Some(((sent, deadline), flown)) = race.next_before(until) else {
                if race.is_empty() && turns.waiting.is_empty() {
                    break;
                }
                continue;
            };
            let flown = flown.unwrap_or_else(|cause| (Vec::new(), Err(cause)));
            if flown.1.is_ok() && renews {
                // Each reply gives its server a new timeout. Servers that hang share one.
                turns.replied.insert(sent.login(), boot_clock());
            }
            turns.running.remove(&sent.login());
            let steps = self.land(&sent, flown);
            moved.extend(steps.into_iter().map(|pending| (pending, deadline)));
        }
    }

    /// Decides the steps of a pipeline from the replies to its requests. Returns the requests whose
    /// records another server keeps now.
    fn land<'r>(
        &mut self,
        &Sent {
            pipeline,
            ref peer,
            passage,
            at: sent,
        }: &Sent<'r, 'h>,
        (replies, result): Flown,
    ) -> Vec<&'r PendingStep> {
        let (store, _) = self.buckets[pipeline[0].index];
        let mut open: Vec<_> = pipeline.iter().map(Some).collect();
        let (mut failure, mut moved) = (result.err(), Vec::new());
        for (index, reply) in replies {
            let pending = &pipeline[index];
            let (store, Ticket { key, step, .. }) = self.buckets[pending.index];
            let outcome = reply.and_then(|reply| {
                store.accept(&peer.server, key, &step, &pending.prepared, &reply, sent)
            });
            match outcome {
                Ok(outcome) => (self.decided)(pending.index, Answer::sure(outcome)),
                Err(Cause::Redirected { .. }) => moved.push(pending),
                Err(cause) if cause.blame() == Blame::Store => {
                    failure = Some(cause);
                    continue;
                }
                Err(cause) => {
                    let breaker = store.breaker(peer);
                    breaker.record(cause.kind(), &cause.brief(), boot_clock());
                    self.failures
                        .push((pending.index, Some((peer.clone(), cause))));
                }
            }
            open[index] = None;
        }
        let durations = &store.breaker(peer).durations;
        durations.record(boot_clock().saturating_since(sent));
        store.report(peer, passage, failure.as_ref());
        if let Some(cause) = failure {
            let failed = (peer.clone(), cause);
            self.fail(open.into_iter().flatten(), failed);
        }
        moved
    }

    /// Returns the requests of a pipeline for the steps that the denial cache does not decide.
    fn prepare(&mut self, indexes: &[usize]) -> Vec<PendingStep> {
        let now = boot_clock();
        let mut pipeline = Vec::with_capacity(indexes.len());
        for &index in indexes {
            let (store, Ticket { key, step, .. }) = self.buckets[index];
            match store.prepare(key, &step, now) {
                Ok(prepared) => pipeline.push(PendingStep { index, prepared }),
                Err(denied) => (self.decided)(index, Answer::sure(denied)),
            }
        }
        pipeline
    }

    /// Reports whether a pipeline can begin without waiting.
    fn is_ready(&self, waiting: &Waiting) -> bool {
        let (store, name) = self.first(&waiting.steps);
        store.find_server(name).is_ok_and(|(route, peer)| {
            store.fleet(&route, &peer, boot_clock()).is_none() && !T::looks_up(&route)
        })
    }

    /// Returns the store and the name of the first step.
    fn first<'s>(&self, steps: &'s [PendingStep]) -> (&Remote<'h, T>, &'s [u8]) {
        let PendingStep { index, prepared } = &steps[0];
        (self.buckets[*index].0, &prepared.request.name)
    }

    /// Finds the server of a pipeline. If there are `others`, a search leaves them half of the time
    /// until `deadline`. If no server is found, the failure policy decides the steps.
    fn locate(
        &mut self,
        waiting: &Waiting,
        others: bool,
        deadline: Timestamp,
    ) -> Option<(T::Route, Peer<'h>)> {
        let (store, name) = self.first(&waiting.steps);
        let until = leaving(others, deadline);
        let located = store.locate(name, store.find_server(name), boot_clock(), until);
        located
            .map_err(|failed| self.fail(&waiting.steps, failed))
            .ok()
    }

    fn set_seen(&self, steps: &mut [PendingStep]) {
        let now = boot_clock();
        for PendingStep { index, prepared } in steps {
            self.buckets[*index].0.set_seen(prepared, now);
        }
    }

    /// Groups steps by the servers that are known now.
    fn by_server(&self, steps: Vec<PendingStep>) -> Vec<Waiting> {
        let named = steps.into_iter().map(|pending| {
            let name = pending.prepared.request.name.clone();
            let store = self.buckets[pending.index].0;
            (pending, store, name)
        });
        let groups = by_server(named).into_iter();
        groups
            .map(|(server, steps)| Waiting { server, steps })
            .collect()
    }

    /// Sends the requests of a pipeline, unless the breaker of their server is open.
    fn begin<'r>(
        &mut self,
        pipeline: &'r [PendingStep],
        route: T::Route,
        peer: Peer<'h>,
        deadline: Timestamp,
    ) -> Option<Begun<'r, 'h, T>> {
        let (store, _) = self.buckets[pipeline[0].index];
        let at = boot_clock();
        let passage = store.enter(&peer, at);
        let passage = passage.map_err(|failed| self.fail(pipeline, failed)).ok()?;
        store.host.slots().count(Event::Asked);
        let requests: Vec<_> = pipeline
            .iter()
            .map(|pending| &pending.prepared.request)
            .collect();
        let visit = Visit {
            store: &store.transport,
            route,
            deadline,
        };
        match T::launch(&visit, &requests) {
            Ok(flight) => {
                let sent = Sent {
                    pipeline,
                    peer,
                    passage,
                    at,
                };
                Some((sent, flight))
            }
            Err(cause) => {
                store.report(&peer, passage, Some(&cause));
                self.fail(pipeline, (peer, cause));
                None
            }
        }
    }

    /// Runs the step of a request again, at the server that keeps the record now.
    fn follow(&mut self, pending: &PendingStep, deadline: Timestamp) {
        let (store, Ticket { key, step, .. }) = self.buckets[pending.index];
        let (prepared, now) = (&pending.prepared, boot_clock());
        let take = |visit: &Visit<'_, T>| store.decided_by(visit, key, &step, prepared, now);
        match store.visit(&prepared.request.name, now, deadline, take) {
            Ok(outcome) => (self.decided)(pending.index, Answer::sure(outcome)),
            Err(failed) => self.failures.push((pending.index, Some(failed))),
        }
    }

    /// Adds requests that failed for one cause to `failures`. Only the first one that is added gets
    /// the cause. If the policy of a request throws, such a request is the first. Steps for more
    /// than the capacity are last, because no policy decides them.
    fn fail<'r>(&mut self, open: impl IntoIterator<Item = &'r PendingStep>, failed: Failed<'h>) {
        let mut open: Vec<_> = open.into_iter().collect();
        open.sort_by_key(|&&PendingStep { index, .. }| {
            let throws = self.policy(index) == OnFailure::Throw;
            (self.buckets[index].1.step.exceeds_capacity(), !throws)
        });
        let causes = once(Some(failed)).chain(repeat_with(|| None));
        let failures = open.into_iter().map(|pending| pending.index).zip(causes);
        self.failures.extend(failures);
    }

    /// Returns the time of a pipeline.
    fn timeout(&self, waiting: &Waiting) -> Ticks {
        let (store, _) = self.first(&waiting.steps);
        self.left
            .unwrap_or(TimeLeft::ALL)
            .of(store.settings.timeout)
    }

    fn policy(&self, index: usize) -> OnFailure {
        self.buckets[index].0.settings.on_failure
    }

    /// Decides the steps that no server has decided. Policies that throw are first, so that no step
    /// is decided by another policy in vain.
    fn fall_back_all(mut self) -> Result<(), Failure> {
        let mut failures = std::mem::take(&mut self.failures);
        failures.sort_by_key(|(index, _)| self.policy(*index) != OnFailure::Throw);
        for (index, failed) in failures {
            let (store, Ticket { key, step, .. }) = self.buckets[index];
            (self.decided)(index, store.undecided(key, &step, None, failed)?);
        }
        Ok(())
    }
}
