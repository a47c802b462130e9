//! memcached: compare and swap on one item a bucket, on this host's wall clock.
//!
//! ```text
//! what is known of the item     is sent in one write
//! nothing                       write if there is none  +  read
//! its state, as it was          write if unchanged      +  read
//! its state, and it denies      read
//! ```
//!
//! So a grant is one round trip as long as nobody else takes from the bucket, and whoever loses a race
//! has the new state in the same reply. A denial is told only of a state that was read in this call.
//!
//! Hosts whose clocks differ by e admit up to rate × 2e more in any window, for the state is never
//! moved back: setting right what a fast host wrote would admit without bound.

pub mod ketama;
pub mod key;
pub mod servers;
pub mod wire;

use super::back_off::{is_over, pause};
use super::connections::Connections;
use super::endpoint::Endpoint;
use super::record;
use super::stream::Stream;
use super::{Ask, Cause, Reply, Server, Transport};
use crate::clock::{TICKS_PER_MICROSECOND, TICKS_PER_SECOND, Ticks, boot_clock, wall_clock};
use crate::step::{Denial, Outcome, Verdict};
use crate::store::{Put, UNKNOWN_SPAN, empty_at};
use ketama::{Distribution, Ring};
use key::{item_key, shared_key};
use wire::{Connection, Item};

static CONNECTIONS: Connections<Endpoint, Connection> = Connections::new();

/// After so many lost races a call is denied.
const TRIES: u32 = 64;
/// The seconds that an item lives longer than its record needs.
///
/// memcached counts seconds when a timer wakes it up, which may be late: a tick that comes a little behind the
/// whole second counts for two, one that comes after a stop for as many more, and an item that was stored right
/// before it, at the old time, is gone so much sooner. With one second it was gone at once now and then.
pub const LONGER: u64 = 10;
/// Times to live beyond that are taken for instants.
const LONGEST_RELATIVE: i64 = 30 * 86_400;

/// memcached servers.
#[derive(Debug)]
pub struct Memcached {
    servers: Vec<(Endpoint, Server)>,
    ring: Ring,
    prefix: Vec<u8>,
    /// Stands before every key, `prefix` included, which it is a part of.
    client_prefix: Vec<u8>,
    /// How many bytes of a key do not count in its placement.
    places_from: usize,
}

impl Memcached {
    /// Buckets spread over `servers`, of which there is at least one; a bucket's key is `prefix` and identifier.
    #[must_use]
    pub fn new(servers: &[servers::Server], prefix: &[u8]) -> Self {
        Self::among(servers, Distribution::default(), prefix, b"", true)
    }

    /// As [`Memcached::new`], with the keys and the placement of another client of the same servers.
    /// It begins every key with `client_prefix`, and perhaps places keys by it.
    #[must_use]
    pub fn among(
        servers: &[servers::Server],
        distribution: Distribution,
        prefix: &[u8],
        client_prefix: &[u8],
        places_prefix: bool,
    ) -> Self {
        let named = |server: &servers::Server| {
            let name = format!("memcached at {}", server.endpoint);
            let named = Server::new(&name.clone().into_bytes(), name);
            (server.endpoint.clone(), named)
        };
        Self {
            servers: servers.iter().map(named).collect(),
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

    /// Returns the key of an item that ext-memcache calls `name`; see [`key::shared_key`].
    #[must_use]
    pub fn shared_key(&self, name: &[u8], room: usize) -> Vec<u8> {
        shared_key(&[self.client_prefix.as_slice(), name].concat(), room)
    }

    /// Returns the index of the server that keeps the item `key`.
    #[must_use]
    pub fn place(&self, key: &[u8]) -> usize {
        self.ring.place(key.get(self.places_from..).unwrap_or(key))
    }

    /// Lets `exchange` use a connection to the server that keeps the item `key`, before `deadline`.
    ///
    /// `exchange` returns `Ok` only if it has read every reply: the connection is used again then,
    /// and closed otherwise.
    ///
    /// # Errors
    /// Those of `exchange`, and those of connecting.
    pub fn with<R>(
        &self,
        key: &[u8],
        deadline: Ticks,
        exchange: impl FnOnce(&mut Connection) -> Result<R, Cause>,
    ) -> Result<R, Cause> {
        let (endpoint, _) = &self.servers[self.place(key)];
        let mut connection = Self::connection(endpoint, deadline)?;
        let answer = exchange(&mut connection)?;
        CONNECTIONS.keep(endpoint, connection);
        Ok(answer)
    }

    fn connection(endpoint: &Endpoint, deadline: Ticks) -> Result<Connection, Cause> {
        while let Some(mut connection) = CONNECTIONS.take(endpoint) {
            if connection.is_quiet() {
                connection.set_deadline(deadline);
                return Ok(connection);
            }
        }
        Ok(Connection::new(Stream::connect(endpoint, deadline)?))
    }
}

/// What an item says of its bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Record {
    /// 0 for a bucket that was reset, or that there is no record of.
    empty_at: Ticks,
    /// When there is an item: its version and how long it lives.
    item: Option<(u64, i64)>,
    healed: bool,
}

impl Record {
    /// Reads the record of `item`, or that of a bucket seen `seen` ticks ago. `None` if the item is invalid.
    fn of(item: Option<&Item>, seen: Option<i64>, now: Ticks) -> Option<Self> {
        let empty_at = match item {
            Some(item) => record::parse(&item.value)? * TICKS_PER_MICROSECOND,
            None => seen.map_or(0, |age| floor(empty_at(now, age))),
        };
        Some(Self {
            empty_at,
            item: item.map(|item| (item.cas, item.left)),
            healed: item.is_none() && seen.is_some(),
        })
    }

    fn is_absent(self) -> bool {
        self.empty_at == 0
    }

    fn decide(self, ask: &Ask, now: Ticks) -> Outcome {
        if !self.is_absent() {
            return ask.step.decide(self.empty_at, now);
        }
        // Rounded up: what was empty later holds less.
        let whole = |age| empty_at(now, age).next_multiple_of(TICKS_PER_MICROSECOND);
        ask.step.decide_first(ask.first.map(whole), now)
    }

    /// Writes a state over this record if it is still this one. Whether it was, and the record by then.
    fn replace(
        self,
        connection: &mut Connection,
        key: &[u8],
        state: Ticks,
        full_at: Ticks,
        now: Ticks,
    ) -> Result<(bool, Option<Item>), Cause> {
        let value = (state / TICKS_PER_MICROSECOND).to_string();
        let (version, left) = self.item.unzip();
        let life = life(full_at, now, left.unwrap_or(0));
        connection.write(key, value.as_bytes(), life, version)
    }
}

/// Returns the time to live of an item as the protocol has it: [`LONGER`] than from `now` until
/// `full_at`, and never less than the seconds that it has `left`. 0 is for ever.
#[must_use]
pub fn life(full_at: Ticks, now: Ticks, left: i64) -> i64 {
    if left < 0 {
        return 0;
    }
    let needed = full_at.saturating_sub(now).div_ceil(TICKS_PER_SECOND) + LONGER;
    // Spans are below 2^62 ticks.
    let seconds = needed.cast_signed().max(left);
    if seconds <= LONGEST_RELATIVE {
        return seconds;
    }
    let until = (now / TICKS_PER_SECOND).cast_signed() + seconds;
    // The protocol's instants have 31 bits.
    if until < i64::from(i32::MAX) {
        until
    } else {
        0
    }
}

/// Returns the present instant of this host's wall clock, a whole number of microseconds.
#[must_use]
pub fn wall_ticks() -> Ticks {
    // Below 2^52 for a century.
    let micros = u64::try_from(wall_clock().as_micros()).unwrap_or(record::GREATEST);
    micros * TICKS_PER_MICROSECOND
}

const fn floor(instant: Ticks) -> Ticks {
    instant - instant % TICKS_PER_MICROSECOND
}

impl Transport for Memcached {
    fn identity(&self) -> Vec<u8> {
        let ids = self.servers.iter().flat_map(|(_, s)| s.id.to_ne_bytes());
        ids.chain(self.prefix.iter().copied()).collect()
    }

    fn name(&self, identifier: &[u8]) -> Vec<u8> {
        item_key(&self.prefix, identifier)
    }

    fn server(&self, name: &[u8]) -> &Server {
        &self.servers[self.place(name)].1
    }

    fn take(&self, ask: &Ask, deadline: Ticks) -> Result<Reply, Cause> {
        self.with(&ask.name, deadline, |connection| {
            take(connection, ask, deadline)
        })?
        .ok_or(Cause::Record)
    }

    fn put(&self, name: &[u8], put: &Put, seen: Option<i64>, deadline: Ticks) -> Result<(), Cause> {
        self.with(name, deadline, |connection| {
            change(connection, name, put, seen)
        })?
        .ok_or(Cause::Record)
    }
}

/// The decision on a record as it was seen, with the answer to the caller.
enum Decision<R> {
    /// The record stays as it is.
    Keep(R),
    /// The record changes to this state, which is full at the second instant.
    Write(R, Ticks, Ticks),
}

/// Sees the item, lets `decide` decide, and writes, until a write wins or nothing is to be written.
/// Returns `None` if the item is invalid.
///
/// `known` is the item and whether it was read in this call. `decide` is given the record, the
/// present instant and the number of lost races. After `patience` the item is not read again.
fn update<R>(
    connection: &mut Connection,
    key: &[u8],
    known: (Option<Item>, bool),
    seen: Option<i64>,
    patience: Ticks,
    decide: impl Fn(Record, Ticks, u32) -> Decision<R>,
) -> Result<Option<R>, Cause> {
    let (mut item, mut is_fresh) = known;
    let mut lost = 0;
    loop {
        // Read after the state, so that a denial is true at the instant that it states.
        let now = wall_ticks();
        // A lost record is restored only if it is known to be lost.
        let may_write = is_fresh || item.is_some() || seen.is_none();
        let record = Record::of(item.as_ref(), seen.filter(|_| is_fresh), now);
        match record.map(|record| (record, decide(record, now, lost))) {
            None if is_fresh => return Ok(None),
            Some((_, Decision::Keep(answer))) if is_fresh => return Ok(Some(answer)),
            Some((record, Decision::Write(answer, state, full_at))) if may_write => {
                let (written, there) = record.replace(connection, key, state, full_at, now)?;
                if written {
                    return Ok(Some(answer));
                }
                item = there;
                lost += 1;
                if pause(lost) && !is_over(patience) {
                    // The item has probably changed during the pause.
                    item = connection.read(key)?;
                }
            }
            _ => item = connection.read(key)?,
        }
        is_fresh = true;
    }
}

fn take(connection: &mut Connection, ask: &Ask, deadline: Ticks) -> Result<Option<Reply>, Cause> {
    let (key, step) = (&ask.name, &ask.step);
    let known = (connection.remembered(key).cloned(), false);
    // A later write may have no reply by the deadline, and its fate would be unknown.
    let patience = boot_clock().midpoint(deadline);
    let decide = |record: Record, now: Ticks, lost: u32| {
        let mut outcome = record.decide(ask, now);
        let gives_up = lost == TRIES || (lost > 0 && is_over(patience));
        if gives_up && outcome.empty_at != record.empty_at {
            outcome.verdict = Verdict::Denied(Denial::Contended);
            outcome.empty_at = record.empty_at;
        }
        let reply = Reply {
            outcome,
            absent: record.is_absent(),
            healed: record.healed,
        };
        if outcome.empty_at == record.empty_at {
            return Decision::Keep(reply);
        }
        Decision::Write(reply, outcome.empty_at, outcome.empty_at + step.span())
    };
    update(connection, key, known, ask.seen, patience, decide)
}

/// Tries until the deadline, because a refund must not be refused.
fn change(
    connection: &mut Connection,
    key: &[u8],
    put: &Put,
    seen: Option<i64>,
) -> Result<Option<()>, Cause> {
    let known = (connection.read(key)?, true);
    let seen = seen.filter(|_| matches!(put, Put::Refund { .. }));
    let decide = |record: Record, now: Ticks, _: u32| {
        let (state, full_at) = match *put {
            // There is nothing to refund to, but no host may restore a record that was lost before
            // the refund.
            Put::Refund { burst, .. } if record.is_absent() => (0, now + burst),
            Put::Refund { cost, burst, taken } => {
                // The clock was read after the item, and the item is unchanged when this is written.
                let cost = Put::worth(cost, burst, taken, now);
                let state = Put::refunded(record.empty_at, now, cost, burst);
                (floor(state), state + burst)
            }
            Put::Reset { burst } => (0, now + burst),
            Put::Bootstrap { age } => {
                let state = empty_at(now, age).next_multiple_of(TICKS_PER_MICROSECOND);
                if !record.is_absent() || state + UNKNOWN_SPAN <= now {
                    return Decision::Keep(());
                }
                (state, state + UNKNOWN_SPAN)
            }
        };
        Decision::Write((), state, full_at)
    };
    update(connection, key, known, seen, Ticks::MAX, decide)
}
