//! Steps on several buckets, each decided on its own. Steps on one server share a pipeline, and all
//! servers are asked at once. So several servers that hang delay the call by one timeout only.

use super::breaker::Passage;
use super::cached::PreparedStep;
use super::call::{Failed, Peer};
use super::race::Race;
use super::time_left::TimeLeft;
use super::{Answer, Blame, Cause, Failure, Flown, OnFailure, Pipelined, Remote, Server, Visit};
use gcra::{Outcome, Ticket, Ticks, Timestamp, boot_clock};
use segment::Event;
use std::collections::HashSet;
use std::iter::{once, repeat_with};
use std::sync::Arc;

/// The most steps in one pipeline. Their replies fit into the buffers of a connection, so a server
/// never waits for a client that is still sending.
const MOST: usize = 500;

/// A step that is sent to its server.
struct PendingStep {
    index: usize,
    prepared: PreparedStep,
}

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
        let prepared = pipelines.map(|(server, indexes)| (server, each.prepare(&indexes)));
        let mut pipelines: Vec<_> = prepared.filter(|(_, all)| !all.is_empty()).collect();
        // Hashing long identifiers has taken time, which is no part of the timeout.
        let mut start = boot_clock();
        while !pipelines.is_empty() {
            let wave = each.wave(&mut pipelines);
            each.run(wave, start);
            if each.failures.is_empty() && left.is_none() {
                // Servers that reply may take longer together. Those that hang share one timeout.
                start = boot_clock();
            }
        }
        each.fall_back_all()
    }
}

impl<'h, T: Pipelined, F: FnMut(usize, Answer<Outcome>)> Each<'_, 'h, T, F> {
    /// Runs the steps of pipelines to different servers at once, until the timeout after `start`.
    fn run(&mut self, mut wave: Vec<Vec<PendingStep>>, start: Timestamp) {
        let sent = boot_clock();
        for pending in wave.iter_mut().flatten() {
            let (store, _) = self.buckets[pending.index];
            store.set_seen(&mut pending.prepared, sent);
        }
        let Some(first) = wave.iter().flatten().next() else {
            return;
        };
        let left = self.left.unwrap_or(TimeLeft::ALL);
        let deadline = start + left.of(self.timeout(first.index));
        let (flying, tasks): (Vec<_>, Vec<_>) = self.send(&wave, deadline).into_iter().unzip();
        let mut moved = Vec::new();
        for (place, flown) in Race::of(tasks.into_iter().enumerate().collect(), deadline) {
            let flown = flown.unwrap_or_else(|cause| (Vec::new(), Err(cause)));
            moved.extend(self.land(&flying[place], flown, sent));
        }
        for pending in moved {
            match self.follow(pending, deadline) {
                Ok(outcome) => (self.decided)(pending.index, Answer::sure(outcome)),
                Err(failed) => self.failures.push((pending.index, Some(failed))),
            }
        }
    }

    /// Sends pipelines to their servers.
    fn send<'r>(
        &mut self,
        wave: &'r [Vec<PendingStep>],
        deadline: Timestamp,
    ) -> Vec<Begun<'r, 'h, T>> {
        let mut all = Vec::with_capacity(wave.len());
        let mut others = Vec::new();
        for pipeline in wave {
            match self.located(pipeline, deadline) {
                Some((route, peer)) => all.extend(self.begin(pipeline, route, peer, deadline)),
                None => others.push(pipeline),
            }
        }
        // The search for a server waits for replies, so the servers that are known were asked
        // before.
        for pipeline in others {
            match self.locate(pipeline, wave.len() > 1, deadline) {
                Ok((route, peer)) => all.extend(self.begin(pipeline, route, peer, deadline)),
                Err(failed) => self.fail(pipeline, failed),
            }
        }
        all
    }

    /// Decides the steps of a pipeline from the replies to requests that were sent at `sent`.
    /// Returns the requests whose records another server keeps now.
    fn land<'r>(
        &mut self,
        &Sent {
            pipeline,
            ref peer,
            passage,
        }: &Sent<'r, 'h>,
        (replies, result): Flown,
        sent: Timestamp,
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

    /// Returns the server of a pipeline, if it is known without asking another server and
    /// `deadline` has not passed.
    fn located(
        &self,
        pipeline: &[PendingStep],
        deadline: Timestamp,
    ) -> Option<(T::Route, Peer<'h>)> {
        let (store, _) = self.buckets[pipeline[0].index];
        let (route, peer) = store.find_server(&pipeline[0].prepared.request.name).ok()?;
        let now = boot_clock();
        let is_located = now < deadline && store.fleet(&route, &peer, now).is_none();
        is_located.then_some((route, peer))
    }

    /// Searches for the server of a pipeline. If there are `others`, the search leaves them half of
    /// the time until `deadline`.
    fn locate(
        &self,
        pipeline: &[PendingStep],
        others: bool,
        deadline: Timestamp,
    ) -> Result<(T::Route, Peer<'h>), Failed<'h>> {
        let (store, _) = self.buckets[pipeline[0].index];
        let name = &pipeline[0].prepared.request.name;
        let now = boot_clock();
        let until = if others {
            now.midpoint(deadline)
        } else {
            deadline
        };
        store.locate(name, store.find_server(name), now, until)
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
        let passage = store.enter(&peer, boot_clock());
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
    fn follow(&self, pending: &PendingStep, deadline: Timestamp) -> Result<Outcome, Failed<'h>> {
        let (store, Ticket { key, step, .. }) = self.buckets[pending.index];
        let (prepared, now) = (&pending.prepared, boot_clock());
        let take = |visit: &Visit<'_, T>| store.decided_by(visit, key, &step, prepared, now);
        store.visit(&prepared.request.name, now, deadline, take)
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

    /// Removes and returns pipelines that can run at once: to different servers, and with the same
    /// timeout.
    fn wave(&self, pipelines: &mut Vec<(Arc<Server>, Vec<PendingStep>)>) -> Vec<Vec<PendingStep>> {
        let timeout = |pipeline: &[PendingStep]| self.timeout(pipeline[0].index);
        let first = pipelines.first().map(|(_, pipeline)| timeout(pipeline));
        let (mut servers, mut wave, mut others) = (HashSet::new(), Vec::new(), Vec::new());
        for (server, pipeline) in pipelines.drain(..) {
            if Some(timeout(&pipeline)) == first && servers.insert(server.login) {
                wave.push(pipeline);
            } else {
                others.push((server, pipeline));
            }
        }
        *pipelines = others;
        wave
    }

    fn timeout(&self, index: usize) -> Ticks {
        self.buckets[index].0.settings.timeout
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

/// Groups `buckets` by their servers, in order. Each of `buckets` consists of the bucket, its store
/// and the name of its record. A group can be one pipeline, because its stores have the same
/// timeout.
pub(super) fn by_server<'a, 'h: 'a, T: Pipelined + 'a, I>(
    buckets: impl Iterator<Item = (I, &'a Remote<'h, T>, impl AsRef<[u8]>)>,
) -> Vec<(Arc<Server>, Vec<I>)> {
    type Group<'a, 'h, T, I> = (&'a Remote<'h, T>, (Arc<Server>, Vec<I>));
    let mut groups: Vec<Group<'a, 'h, T, I>> = Vec::new();
    for (bucket, store, name) in buckets {
        let server = match store.transport.route(name.as_ref()) {
            Ok(route) => Arc::clone(T::server(&route)),
            // While the servers of a fleet are not known, its buckets share pipelines. Then a reply
            // may name another server, and the step is repeated there.
            Err(fleet) => fleet,
        };
        let joins = |(first, (other, mine)): &&mut Group<'a, 'h, T, I>| {
            mine.len() < MOST
                && server == *other
                && store.settings.timeout == first.settings.timeout
                && first.transport.pipelines(&store.transport)
        };
        match groups.iter_mut().find(joins) {
            Some((_, (_, mine))) => mine.push(bucket),
            None => groups.push((store, (server, vec![bucket]))),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}
