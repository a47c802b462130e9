//! Steps on several buckets, each decided on its own. Steps on one server share a pipeline.

use super::denial_cache::Entry;
use super::{
    Answer, Ask, Blame, Failed, Failure, OnFailure, Remote, Reply, Server, Transport, sure,
};
use crate::clock::{Timestamp, boot_clock};
use crate::key::Key;
use crate::slots::counters::By;
use crate::step::{Outcome, Step};
use std::iter::{once, repeat_with};
use std::sync::Arc;

/// The most steps in one pipeline. Their replies fit into the buffers of a connection, so a server
/// never waits for a client that is still sending.
const MOST: usize = 500;

/// A step that is sent to its server.
struct Request {
    /// The index of the step.
    index: usize,
    ask: Ask,
    /// The bucket's entry in the denial cache.
    hint: Option<Entry>,
}

/// The input of [`Remote::take_each`].
struct Each<'a, 'h, T> {
    buckets: &'a [(&'a Remote<'h, T>, Key<'a>)],
    steps: &'a [Step],
}

impl<T: Transport> Remote<'_, T> {
    /// Runs each step on its own, and passes each result to `decided` with the index of the step.
    /// The settings of each bucket's own store apply. Steps on one server share a pipeline if their
    /// stores have the same timeout.
    ///
    /// # Errors
    /// Fails if a store fails and its policy is [`OnFailure::Throw`]. Steps without a result were
    /// then not decided, or their results are unknown.
    pub fn take_each(
        buckets: &[(&Self, Key<'_>)],
        steps: &[Step],
        mut decided: impl FnMut(usize, Answer<Outcome>),
    ) -> Result<(), Failure> {
        let each = Each { buckets, steps };
        for (_, indexes) in each.pipelines() {
            each.run(&indexes, &mut decided)?;
        }
        Ok(())
    }
}

impl<T: Transport> Each<'_, '_, T> {
    /// Returns the servers and the indexes of the steps of each pipeline, in order.
    fn pipelines(&self) -> Vec<(Arc<Server>, Vec<usize>)> {
        let mut pipelines: Vec<(Arc<Server>, Vec<usize>)> = Vec::new();
        for (index, &(store, key)) in self.buckets.iter().enumerate() {
            let name = store.transport.name(key.identifier);
            let server = store.transport.server(&name);
            // A server that is not known yet keeps all records of its pipeline.
            let server = server.unwrap_or_else(|guides| guides);
            let joins = |(other, indexes): &&mut (Arc<Server>, Vec<usize>)| {
                let first = self.buckets[indexes[0]].0;
                indexes.len() < MOST
                    && server == *other
                    && store.settings.timeout == first.settings.timeout
                    && first.transport.pipelines(&store.transport)
            };
            match pipelines.iter_mut().find(joins) {
                Some((_, indexes)) => indexes.push(index),
                None => pipelines.push((server, vec![index])),
            }
        }
        pipelines
    }

    /// Runs the steps of one pipeline.
    fn run(
        &self,
        indexes: &[usize],
        decided: &mut impl FnMut(usize, Answer<Outcome>),
    ) -> Result<(), Failure> {
        let now = boot_clock();
        let mut requests = Vec::with_capacity(indexes.len());
        for &index in indexes {
            let (store, key) = self.buckets[index];
            match store.prepare(key, &self.steps[index], now) {
                Ok((ask, hint)) => requests.push(Request { index, ask, hint }),
                Err(denied) => decided(index, sure(denied)),
            }
        }
        // Hashing long identifiers has taken time, which is no part of the timeout.
        let now = boot_clock();
        for request in &mut requests {
            let (store, _) = self.buckets[request.index];
            store.set_seen(&mut request.ask, request.hint.as_ref(), now);
        }
        for (request, failed) in self.call(&requests, now, decided) {
            decided(request.index, self.fall_back(request, failed)?);
        }
        Ok(())
    }

    /// Sends requests at `now`, and passes each result to `decided`. Returns the requests that
    /// failed, those of policies that throw first. If several failed for one cause, the first of
    /// them has the cause.
    fn call<'r>(
        &self,
        requests: &'r [Request],
        now: Timestamp,
        decided: &mut impl FnMut(usize, Answer<Outcome>),
    ) -> Vec<(&'r Request, Option<Failed>)> {
        let mut failures = Vec::new();
        let Some(first) = requests.first() else {
            return failures;
        };
        let asks: Vec<_> = requests.iter().map(|request| &request.ask).collect();
        let mut open: Vec<_> = requests.iter().map(Some).collect();
        let (store, _) = self.buckets[first.index];
        let deadline = now + store.settings.timeout;
        let server = store.server(&first.ask.name, now, deadline);
        let mut send = |server: &Arc<Server>, transport: &T| {
            let mut failed = None;
            transport.take_each(&asks, deadline, &mut |place, reply| {
                let request = &requests[place];
                match reply {
                    Ok(reply) => decided(request.index, self.learn(request, &reply, now)),
                    Err(cause) if cause.blame() == Blame::Store => return failed = Some(cause),
                    Err(cause) => {
                        let breaker = store.breaker(server);
                        breaker.record(cause.kind(), &cause.brief(), boot_clock());
                        failures.push((request, Some((Arc::clone(server), cause))));
                    }
                }
                open[place] = None;
            })?;
            failed.map_or(Ok(()), Err)
        };
        let called = server.and_then(|server| {
            // A server sends a step to another server only if it is the only one of its pipeline.
            store.call_counted(&server, now, deadline, |transport, server| {
                send(server, transport)
            })
        });
        let throws = |request: &&Request| self.policy(request) == OnFailure::Throw;
        let mut open: Vec<_> = open.into_iter().flatten().collect();
        open.sort_by_key(|request| !throws(request));
        failures.extend(
            open.into_iter()
                .zip(once(called.err()).chain(repeat_with(|| None))),
        );
        failures.sort_by_key(|(request, _)| !throws(request));
        failures
    }

    fn policy(&self, request: &Request) -> OnFailure {
        self.buckets[request.index].0.settings.on_failure
    }

    /// Records and counts the reply to a request that was sent at `sent`.
    fn learn(&self, request: &Request, reply: &Reply, sent: Timestamp) -> Answer<Outcome> {
        let (store, key) = self.buckets[request.index];
        let step = &self.steps[request.index];
        store.learn(key, step, reply, request.hint.as_ref(), sent);
        store.note_clock(reply);
        store.count(key, step, By::Store, reply.outcome.granted());
        sure(reply.outcome)
    }

    /// Decides a step by its failure policy. `failed` is `None` if another step reports the
    /// failure.
    fn fall_back(
        &self,
        request: &Request,
        failed: Option<Failed>,
    ) -> Result<Answer<Outcome>, Failure> {
        let (store, key) = self.buckets[request.index];
        let step = &self.steps[request.index];
        let stand_in = |policy| store.stand_in(policy, key, step, None);
        if let Some((server, cause)) = failed {
            return store.fall_back(&server, cause, |policy, _| stand_in(policy));
        }
        let policy = self.policy(request);
        store.host.slots().count(policy.event());
        Ok(Answer {
            value: stand_in(policy),
            warning: None,
            stood_in: true,
        })
    }
}
