//! The client of memcached. It changes a bucket's item by compare-and-swap, on this host's wall
//! clock.
//!
//! ```text
//! known about the item          sent in one write
//! nothing                       write if missing        +  read
//! its state                     write if unchanged      +  read
//! its state, which denies       read
//! ```
//!
//! A grant takes one round trip if no other client takes from the bucket meanwhile. After a lost
//! race, the same reply contains the new state. A denial is returned only for a state that was read
//! in this call.
//!
//! If the clocks of hosts differ by e seconds, up to rate × 2e additional tokens are granted in any
//! window. A step never moves a state back. Correcting the state that a host with a fast clock
//! wrote would grant tokens without limit. Instead, a host follows a clock that is a little ahead
//! of its own ([`clock`]).

mod clock;
mod flight;
pub mod servers;
mod update;
pub mod wire;

use super::back_off::is_over;
use super::connections::Connections;
use super::endpoint::Endpoint;
use super::ketama::{Distribution, Ring};
use super::key::{Kind, item_key, kind_key, shared_key};
use super::stream::{Stream, looks_up};
use super::transport::BucketChange;
use super::{Cause, Pipelined, Reply, Server, StepRequest, Transport, Visit, record};
use flight::ItemFlight;
use gcra::{
    Denial, Put, Refill, Refund, TICKS_PER_MICROSECOND, TICKS_PER_SECOND, Timestamp, Verdict,
    boot_clock, empty_at, wall_clock,
};
use segment::slots::word::Lifetime;
use std::sync::Arc;
use update::{ItemChange, ItemState, ItemUpdate, update};
use wire::Connection;

thread_local! {
    static CONNECTIONS: Connections<Endpoint, Connection> = const { Connections::new() };
}

/// The number of lost races after which a call is denied.
const TRIES: u32 = 64;
/// The seconds that an item lives longer than it is needed.
///
/// memcached counts seconds by a timer, which may fire late. A timer event shortly after the full
/// second counts for two seconds, and an event after a pause of the process counts for more. An
/// item that is stored right before such an event still gets the old time, so it expires too early.
/// With a margin of one second, items sometimes expire at once.
pub const LONGER: u64 = 10;
/// The longest relative time to live, in seconds. memcached takes greater numbers as Unix times on
/// the clock that the server had when it started. That clock may be wrong.
const LONGEST_RELATIVE: i64 = 30 * 86_400;

#[derive(Debug)]
pub struct ItemServer {
    endpoint: Endpoint,
    /// The server, as breakers and messages show it.
    server: Arc<Server>,
}

#[derive(Debug)]
pub struct Memcached {
    nodes: Vec<Arc<ItemServer>>,
    ring: Ring,
    prefix: Vec<u8>,
    /// The prefix that [`Memcached::among`] puts before every key. `prefix` begins with these
    /// bytes.
    client_prefix: Vec<u8>,
    /// The number of leading bytes of a key that are left out when the key's server is chosen.
    places_from: usize,
}

impl Memcached {
    /// Creates a client that spreads buckets over `servers`, of which there must be at least one. A
    /// bucket's key consists of `prefix` and the identifier.
    pub fn new(servers: &[servers::ListedServer], prefix: &[u8]) -> Self {
        Self::among(servers, Distribution::default(), prefix, b"", true)
    }

    /// Creates a client like [`Memcached::new`] that uses the same keys and servers as another
    /// client. That client begins every key with `client_prefix`. It chooses the server by the
    /// whole key if `places_prefix` is true, otherwise by the key without `client_prefix`.
    pub fn among(
        servers: &[servers::ListedServer],
        distribution: Distribution,
        prefix: &[u8],
        client_prefix: &[u8],
        places_prefix: bool,
    ) -> Self {
        let node = |server: &servers::ListedServer| {
            let name = format!("memcached at {}", server.endpoint);
            let (endpoint, server) = (
                &server.endpoint,
                Server::new(&name.clone().into_bytes(), name),
            );
            Arc::new(ItemServer {
                server: Arc::new(match endpoint {
                    Endpoint::Unix { .. } => server.at_path(),
                    Endpoint::Tcp { .. } => server,
                }),
                endpoint: endpoint.clone(),
            })
        };
        Self {
            nodes: servers.iter().map(node).collect(),
            ring: Ring::new(servers, distribution),
            prefix: [client_prefix, prefix].concat(),
            client_prefix: client_prefix.to_vec(),
            places_from: if places_prefix {
                0
            } else {
                client_prefix.len()
            },
        }
    }

    /// Returns the key of an item that ext-memcache calls `name`; see
    /// [`shared_key`](super::key::shared_key).
    pub fn shared_key(&self, name: &[u8], room: usize) -> Vec<u8> {
        shared_key(&[self.client_prefix.as_slice(), name].concat(), room)
    }

    /// Returns the index of the server that keeps the item `key`.
    pub fn place(&self, key: &[u8]) -> usize {
        self.ring.place(key.get(self.places_from..).unwrap_or(key))
    }

    /// Returns the server that keeps the item `key`.
    pub fn node(&self, key: &[u8]) -> &Arc<ItemServer> {
        &self.nodes[self.place(key)]
    }
}

impl ItemServer {
    /// Runs `exchange` on a connection to the server, before `deadline`.
    ///
    /// `exchange` must return `Ok` only if it has read every reply. The connection is then kept for
    /// later calls. Otherwise the connection is closed.
    pub fn with<R>(
        &self,
        deadline: Timestamp,
        exchange: impl FnOnce(&mut Connection) -> Result<R, Cause>,
    ) -> Result<R, Cause> {
        let mut connection = match idle(&self.endpoint, deadline) {
            Some(connection) => connection,
            None => Connection::new(Stream::connect(&self.endpoint, deadline)?),
        };
        let answer = exchange(&mut connection)?;
        CONNECTIONS.with(|idle| idle.keep(&self.endpoint, connection));
        Ok(answer)
    }
}

/// Takes an idle connection that is still open.
fn idle(endpoint: &Endpoint, deadline: Timestamp) -> Option<Connection> {
    while let Some(mut connection) = CONNECTIONS.with(|idle| idle.take(endpoint)) {
        if connection.is_quiet() {
            connection.set_deadline(deadline);
            return Some(connection);
        }
    }
    None
}

/// Returns the time to live of an item in seconds, or 0 for no expiry. The item lives [`LONGER`]
/// seconds beyond `full_at`, and at least `left` seconds. It does not expire if `left` is negative,
/// or if it must live longer than 30 days.
pub fn life(full_at: Timestamp, now: Timestamp, left: i64) -> i64 {
    if left < 0 {
        return 0;
    }
    let needed = full_at.saturating_since(now).div_ceil(TICKS_PER_SECOND) + LONGER;
    // The cast is safe, because instants are below 2^62 ticks.
    let seconds = needed.cast_signed().max(left);
    if seconds <= LONGEST_RELATIVE {
        seconds
    } else {
        0
    }
}

/// Returns the current instant of this host's wall clock, in whole microseconds.
pub fn wall_ticks() -> Timestamp {
    // The number stays below 2^52 for a century.
    let micros = u64::try_from(wall_clock().as_micros()).unwrap_or(record::GREATEST);
    Timestamp(micros * TICKS_PER_MICROSECOND)
}

impl Transport for Memcached {
    type Route = Arc<ItemServer>;

    const ONE_CLOCK: bool = false;

    fn identity(&self) -> Vec<u8> {
        let ids = self.nodes.iter().flat_map(|it| it.server.id.to_ne_bytes());
        ids.chain(self.prefix.iter().copied()).collect()
    }

    fn name(&self, identifier: &[u8]) -> Vec<u8> {
        item_key(&self.prefix, identifier)
    }

    fn name_of(&self, kind: Kind, identifier: &[u8]) -> Vec<u8> {
        kind_key(kind, &self.prefix, identifier)
    }

    fn route(&self, name: &[u8]) -> Result<Arc<ItemServer>, Arc<Server>> {
        Ok(Arc::clone(self.node(name)))
    }

    fn server(node: &Arc<ItemServer>) -> &Arc<Server> {
        &node.server
    }

    fn take(visit: &Visit<'_, Self>, request: &StepRequest) -> Result<Reply, Cause> {
        let deadline = visit.deadline;
        let take = |connection: &mut _| take(connection, request, deadline);
        visit.route.with(deadline, take)?.ok_or(Cause::Record)
    }

    fn put(
        visit: &Visit<'_, Self>,
        name: &[u8],
        put: &Put,
        seen: Option<i64>,
    ) -> Result<(), Cause> {
        let mut result = Ok(());
        Self::put_each(
            visit,
            &[BucketChange { name, put, seen }],
            &mut |_, cause| {
                result = Err(cause);
            },
        )?;
        result
    }
}

impl Pipelined for Memcached {
    type Flight<'a> = ItemFlight<'a>;

    fn pipelines(&self, _other: &Self) -> bool {
        true
    }

    fn looks_up(server: &Arc<ItemServer>) -> bool {
        let is_connected = CONNECTIONS.with(|idle| idle.has(&server.endpoint));
        !is_connected && looks_up(&server.endpoint)
    }

    fn launch<'a>(
        visit: &Visit<'_, Self>,
        requests: &[&'a StepRequest],
    ) -> Result<ItemFlight<'a>, Cause> {
        ItemFlight::begin(Arc::clone(&visit.route), requests, visit.deadline)
    }

    fn put_each(
        visit: &Visit<'_, Self>,
        changes: &[BucketChange<'_>],
        refused: &mut dyn FnMut(usize, Cause),
    ) -> Result<(), Cause> {
        let changes = changes.iter().map(|&BucketChange { name, put, seen }| {
            let seen = seen.filter(|_| matches!(put, Put::Refund(_) | Put::Raise { .. }));
            let decide = |record: ItemState, now: Timestamp, _: u32| change(put, record, now);
            ItemChange::new(name, None, false, seen, decide)
        });
        let mut changes: Vec<_> = changes.collect();
        // After a lost race, the change is tried again until the deadline, because a refund must
        // not be denied.
        visit.route.with(visit.deadline, |connection| {
            update(connection, &mut changes, Timestamp::MAX)
        })?;
        for (index, change) in changes.into_iter().enumerate() {
            if change.result().is_none() {
                refused(index, Cause::Record);
            }
        }
        Ok(())
    }
}

/// Runs one step. Returns `None` if the item is invalid.
fn take(
    connection: &mut Connection,
    request: &StepRequest,
    deadline: Timestamp,
) -> Result<Option<Reply>, Cause> {
    let patience = patience(deadline);
    let decide = |record: ItemState, now: Timestamp, lost: u32| {
        let reply = decide_one(record, request, now, gives_up(lost, patience));
        let after = reply.outcome.empty_at;
        if after == record.empty_at {
            return ItemUpdate::Keep(reply);
        }
        let lifetime = record.lifetime_after(&request.step);
        ItemUpdate::Write(reply, after, after + request.step.lifetime(), lifetime)
    };
    let known = connection.recall(&request.name);
    ItemChange::new(&request.name, known, false, request.seen, decide).run(connection, patience)
}

/// Returns the instant at which to stop writing: halfway to the deadline. A later write may get no
/// reply in time, and its outcome would be unknown.
fn patience(deadline: Timestamp) -> Timestamp {
    boot_clock().midpoint(deadline)
}

fn gives_up(lost: u32, patience: Timestamp) -> bool {
    lost == TRIES || (lost > 0 && is_over(patience))
}

/// Decides a step on a record. If `gives_up` is true, a step that would change the record is
/// denied.
fn decide_one(record: ItemState, request: &StepRequest, now: Timestamp, gives_up: bool) -> Reply {
    let mut outcome = record.decide(request, now);
    if let Refill::Windows(windows) = request.step.refill {
        // Reply with this clock, which may be behind the followed one, because the caller has
        // chosen the windows by this clock.
        let now = wall_ticks();
        outcome.now = if outcome.granted() {
            windows.within(now)
        } else {
            now
        };
    }
    if gives_up && outcome.empty_at != record.empty_at {
        outcome.verdict = Verdict::Denied(Denial::Contended);
        outcome.empty_at = record.empty_at;
    }
    let found = record.found(&request.step);
    Reply {
        outcome,
        found,
        extra: 0,
    }
}

/// Decides steps on one record in order, each like [`decide_one`].
fn decide_each(
    mut record: ItemState,
    requests: &[&StepRequest],
    now: Timestamp,
    gives_up: bool,
) -> ItemUpdate<Vec<Reply>> {
    let before = record.empty_at;
    let mut full_at = Timestamp::ZERO;
    let mut replies = Vec::with_capacity(requests.len());
    for request in requests {
        let reply = decide_one(record, request, now, gives_up);
        replies.push(reply);
        if record.empty_at != reply.outcome.empty_at {
            record.lifetime = record.lifetime_after(&request.step);
        }
        record.empty_at = reply.outcome.empty_at;
        full_at = full_at.max(record.empty_at + request.step.lifetime());
    }
    if record.empty_at == before {
        return ItemUpdate::Keep(replies);
    }
    ItemUpdate::Write(replies, record.empty_at, full_at, record.lifetime)
}

/// Decides a change of a bucket other than a step.
fn change(put: &Put, record: ItemState, now: Timestamp) -> ItemUpdate<()> {
    let (state, full_at) = match *put {
        // The bucket is full, so there is nothing to refund. Write a record, so that no host
        // restores one that was lost before the refund.
        Put::Refund(refund) if record.is_absent() => (Timestamp::ZERO, now + refund.span),
        Put::Refund(refund) => {
            // `Put::worth` needs an instant that is not before any step on the item. `now` is such
            // an instant, because the clock was read after the item, and the write succeeds only if
            // the item is unchanged.
            let state = refund.after(record.empty_at, now);
            (state.floor(TICKS_PER_MICROSECOND), state + refund.span)
        }
        Put::Uncount { cost, windows, .. } => {
            let state = windows.refunded(record.empty_at, cost);
            if state == record.empty_at {
                return ItemUpdate::Keep(());
            }
            (state, windows.end())
        }
        Put::Advance { until } => {
            let state = until.max(record.empty_at);
            (state, state)
        }
        Put::Reset { span } => (Timestamp::ZERO, now + span),
        Put::Bootstrap { age, span } => {
            let state = empty_at(now, age).ceil(TICKS_PER_MICROSECOND);
            if !record.is_absent() || state + span <= now {
                return ItemUpdate::Keep(());
            }
            (state, state + span)
        }
        Put::Raise { age, span } => {
            let state = empty_at(now, age).ceil(TICKS_PER_MICROSECOND);
            let state = state.max(record.empty_at);
            (state, state + span)
        }
    };
    let lifetime = lifetime_of(put, record, state);
    ItemUpdate::Write((), state, full_at, lifetime)
}

/// Returns the lifetime of an item in this state after a change.
fn lifetime_of(put: &Put, record: ItemState, state: Timestamp) -> Lifetime {
    match *put {
        Put::Refund(Refund { span, .. })
        | Put::Bootstrap { span, .. }
        | Put::Raise { span, .. }
            if state != Timestamp::ZERO =>
        {
            record.lifetime.max(Lifetime::covering(span))
        }
        _ => Lifetime::LEAST,
    }
}
