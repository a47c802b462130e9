//! The interface of a remote store: the operations that every kind of server must support. Denial
//! cache, breakers and failure policies are not part of the interface.

use super::Cause;
use super::key::Kind;
use super::race::Task;
use super::server::Server;
use gcra::{Denial, Outcome, Put, Step, Ticks, Timestamp, Verdict};
use std::sync::Arc;

/// A request to run a step.
#[derive(Clone, Debug)]
pub struct StepRequest {
    /// The bucket's name in the store, which [`Transport::name`] returns.
    pub name: Vec<u8>,
    /// The step. All its times are whole microseconds.
    pub step: Step,
    /// The ticks since a bucket without a record was empty, as the caller proposes; negative if it
    /// will be empty in the future. With `None`, such a bucket is full.
    pub first: Option<i64>,
    /// An upper bound of the ticks since the bucket was empty, from this host's denial cache. It
    /// restores a record that the store has lost.
    pub seen: Option<i64>,
    /// True if the denial cache may keep the reply.
    pub is_cached: bool,
    pub wanted: Wanted,
}

/// The purpose of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// The step.
    Call,
    /// The numbers of the bucket, for a step that even a full bucket denies. The step is dry.
    Numbers,
    /// The step, or its tokens for later if they are not there yet ([`gcra::ahead`]). Only on
    /// Redis. The step has a `max_wait`.
    Place,
    /// The step, which only takes tokens, and some tokens for later ([`gcra::slice`]). Only on
    /// Redis.
    Slice {
        /// The estimate from which `extra` was computed.
        estimate: u32,
        /// The most ticks to take ahead, which may be 0.
        extra: Ticks,
        /// The time for which the host may use them.
        life: Ticks,
    },
}

impl StepRequest {
    /// Returns the request for a step on a bucket that is full if it has no record. The denial
    /// cache does not keep the reply.
    pub const fn new(name: Vec<u8>, step: Step) -> Self {
        Self {
            name,
            step,
            first: None,
            seen: None,
            is_cached: false,
            wanted: Wanted::Call,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct BucketChange<'a> {
    /// The bucket's name in the store.
    pub name: &'a [u8],
    pub put: &'a Put,
    pub seen: Option<i64>,
}

/// The reply of a store, on the store's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    pub outcome: Outcome,
    /// The kind of the state that the store found.
    pub found: StateKind,
    /// The ticks that the store granted ahead with the step. The state is the one after them.
    pub extra: Ticks,
}

/// The kind of the state that a store found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateKind {
    /// The bucket had a record.
    Record,
    /// The bucket had a record that was written under shorter spans only. The bucket counts as full
    /// before the tokens of the step's span are refilled. So the state is no lower bound for it.
    Shorter,
    /// The bucket had no record, or was reset.
    Nothing,
    /// The record was lost, and was restored from [`StepRequest::seen`].
    Restored,
    /// The record was written in the future, so the store's clock was set back since. The store
    /// moved the state back by the same time.
    SetBack,
}

impl Reply {
    /// Creates the reply for a bucket that has a record.
    pub const fn new(granted: bool, now: Timestamp, empty_at: Timestamp) -> Self {
        let verdict = if granted {
            Verdict::Granted
        } else {
            Verdict::Denied(Denial::Insufficient)
        };
        Self {
            outcome: Outcome::new(verdict, empty_at, now),
            found: StateKind::Record,
            extra: 0,
        }
    }
}

/// The replies to steps in one pipeline, or the refusals of single requests, with the indexes of
/// the steps. The second part is the failure of the server that gave no replies to the other steps.
pub type Flown = (Vec<(usize, Result<Reply, Cause>)>, Result<(), Cause>);

/// A call to a store: its client, the server that the call goes to, and its end.
#[derive(Debug)]
pub struct Visit<'a, T: Transport> {
    pub store: &'a T,
    /// The server that keeps the record of the call, as far as is known.
    pub route: T::Route,
    /// The instant of the boot clock at which the call ends.
    pub deadline: Timestamp,
}

impl<'a, T: Transport> Visit<'a, T> {
    /// Returns a visit to the server that keeps the record `name`; `None` if the server is not
    /// known yet.
    pub fn to(store: &'a T, name: &[u8], deadline: Timestamp) -> Option<Self> {
        let route = store.route(name).ok()?;
        Some(Self {
            store,
            route,
            deadline,
        })
    }
}

/// The client of one kind of store. It does not use the denial cache, breakers or failure policies.
pub trait Transport: Sized {
    /// The server that keeps a record, and what a call to it needs.
    type Route;

    /// True if the server's clock decides, and false if each client's clock does.
    const ONE_CLOCK: bool = true;

    /// Returns bytes that identify the store: endpoints, user, database, prefix.
    fn identity(&self) -> Vec<u8>;

    /// Returns the name of the bucket `identifier` in the store.
    fn name(&self, identifier: &[u8]) -> Vec<u8>;

    /// Returns the name of the record of this kind that belongs to the bucket `identifier`.
    fn name_of(&self, _kind: Kind, identifier: &[u8]) -> Vec<u8> {
        self.name(identifier)
    }

    /// Returns the route to the record `name`, which [`Transport::name`] returns. If the server is
    /// not known yet, returns the servers to ask with [`Transport::locate`]. They have one name and
    /// one breaker.
    fn route(&self, name: &[u8]) -> Result<Self::Route, Arc<Server>>;

    fn server(route: &Self::Route) -> &Arc<Server>;

    /// Returns the servers to ask, if another server may keep the record of the route now.
    /// `is_open` is true if the breaker of the route's server is open.
    fn fleet(&self, _route: &Self::Route, _is_open: bool) -> Option<Arc<Server>> {
        None
    }

    /// Asks which servers keep the records, and waits for the answer until `deadline` at most.
    /// Returns the route to the record `name`, or `None` if no server keeps it. Fails if no server
    /// answers in time.
    fn locate(&self, name: &[u8], deadline: Timestamp) -> Result<Option<Self::Route>, Cause> {
        let _ = deadline;
        Ok(self.route(name).ok())
    }

    /// Returns the route to the server of a [`Cause::Redirected`].
    fn toward(&self, _server: &Server, _asks: bool) -> Option<Self::Route> {
        None
    }

    /// After a redirection, asks which servers keep the records, and waits for the answer until
    /// `deadline` at most. A failure has no effect.
    fn refresh(&self, _deadline: Timestamp) {}

    /// Runs one step. Fails if the store cannot decide, or does not reply before the deadline.
    fn take(visit: &Visit<'_, Self>, request: &StepRequest) -> Result<Reply, Cause>;

    /// Changes a bucket. `seen` has the same meaning as in [`StepRequest`]. Fails if the store
    /// cannot make the change, or does not reply before the deadline.
    fn put(visit: &Visit<'_, Self>, name: &[u8], put: &Put, seen: Option<i64>)
    -> Result<(), Cause>;

    /// Reports whether one operation can run steps on the buckets of both identifiers, `mine` in
    /// this store and `its` in the other store.
    fn joins(&self, _mine: &[u8], _other: &Self, _its: &[u8]) -> bool {
        false
    }

    /// Takes the tokens of all steps or of none, in one operation. Must only be called if
    /// [`Transport::joins`] is true for all buckets. Unless all steps are granted, each outcome is
    /// a denial with the state that the store found. Returns `None` if one operation cannot do this
    /// after all. Then nothing was taken, and [`Transport::joins`] is false from then on.
    fn take_all(
        _visit: &Visit<'_, Self>,
        _requests: &[StepRequest],
    ) -> Result<Option<Vec<Reply>>, Cause> {
        Err(Cause::Answer("one bucket at a time"))
    }
}

/// A transport that runs steps and changes on several buckets of one server in one pipeline.
pub trait Pipelined: Transport {
    /// Steps that were sent, and whose replies are awaited.
    type Flight<'a>: Task<Output = Flown>;

    /// Reports whether one pipeline can run steps on buckets of both stores, if these buckets are
    /// on one server.
    fn pipelines(&self, other: &Self) -> bool;

    /// Reports whether a call on the route must first look up the name of a host. A lookup may take
    /// many seconds, in which nothing else continues.
    fn looks_up(route: &Self::Route) -> bool;

    /// Sends each step on its own, and waits for no reply. So one thread can use several servers at
    /// once. All buckets must be on one server. Runs none of the steps that it refuses with
    /// [`Cause::Redirected`]. If the server fails, it is unknown whether steps without a reply were
    /// executed.
    fn launch<'a>(
        visit: &Visit<'_, Self>,
        requests: &[&'a StepRequest],
    ) -> Result<Self::Flight<'a>, Cause>;

    /// Makes each change. Passes the refusal of a single request to `refused` with the index of the
    /// change. All buckets must be on one server. Fails if the server fails. It is unknown which
    /// changes were made.
    fn put_each(
        visit: &Visit<'_, Self>,
        changes: &[BucketChange<'_>],
        refused: &mut dyn FnMut(usize, Cause),
    ) -> Result<(), Cause>;
}
