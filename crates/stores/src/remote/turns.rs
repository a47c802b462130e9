//! The pipelines of a call that have not begun: the order in which they begin, and the time that
//! each has.

use super::cached::PreparedStep;
use super::{Pipelined, Remote, Server};
use gcra::{Timestamp, boot_clock};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The most steps in one pipeline. Their replies fit into the buffers of a connection, so a server
/// never waits for a client that is still sending.
const MOST: usize = 500;

/// A step that is sent to its server.
pub struct PendingStep {
    pub index: usize,
    pub prepared: PreparedStep,
}

/// The steps of a pipeline that has not begun, and their server as far as it is known.
pub struct Waiting {
    pub server: Arc<Server>,
    pub steps: Vec<PendingStep>,
}

/// The pipelines of a call, which take turns at each server.
pub struct Turns {
    pub waiting: Vec<Waiting>,
    /// The servers that have a pipeline.
    pub running: HashSet<u64>,
    pub start: Timestamp,
    /// The instants at which servers replied, from which the time of their next pipeline counts.
    pub replied: HashMap<u64, Timestamp>,
}

impl Turns {
    pub fn new(waiting: Vec<Waiting>) -> Self {
        let (running, replied) = (HashSet::new(), HashMap::new());
        // Hashing long identifiers has taken time, which is no part of the timeout.
        let start = boot_clock();
        Self {
            waiting,
            running,
            start,
            replied,
        }
    }

    fn is_free(&self, waiting: &Waiting) -> bool {
        !self.running.contains(&waiting.server.login)
    }

    /// Removes and returns the next pipeline that may begin.
    pub fn next(&mut self, may_begin: impl Fn(&Waiting) -> bool) -> Option<Waiting> {
        let mut waiting = self.waiting.iter();
        let place = waiting.position(|it| self.is_free(it) && may_begin(it))?;
        Some(self.waiting.remove(place))
    }

    /// Returns the instant at which a pipeline may begin that waits for no other one to its server.
    pub fn next_at(&self, patience: Timestamp) -> Timestamp {
        let waits = self.waiting.iter().any(|it| self.is_free(it));
        if waits { patience } else { Timestamp::MAX }
    }

    pub fn since(&self, server: &Server) -> Timestamp {
        let replied = self.replied.get(&server.login);
        replied.copied().unwrap_or(self.start)
    }
}

/// Returns `deadline`, or an instant that leaves half of the time to `others`.
pub fn leaving(others: bool, deadline: Timestamp) -> Timestamp {
    if others {
        boot_clock().midpoint(deadline).min(deadline)
    } else {
        deadline
    }
}

/// Groups `buckets` by their servers, in order. Each of `buckets` consists of the bucket, its store
/// and the name of its record. A group can be one pipeline, because its stores have the same
/// timeout.
pub fn by_server<'a, 'h: 'a, T: Pipelined + 'a, I>(
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
