//! The client of Redis and compatible servers. Each decision is one script, on the server's clock.
//!
//! The `redis` crate encodes commands and parses replies. `node.rs` opens the connections itself,
//! because the crate's connections do not keep a deadline. `topology.rs` finds the server of a key.
//! This module converts steps and other changes to arguments, and replies to results.

mod abandoned;
mod cluster;
mod commands;
pub mod dsn;
mod flight;
mod known;
mod node;
pub mod permits;
mod placement;
mod script;
mod sentinel;
mod survey;
#[cfg(test)]
mod tests;
mod topology;

use super::key::{Kind, kind_key, redis_key};
use super::transport::BucketChange;
use super::{
    Cause, Pipelined, Reply, Server, StateKind, StepRequest, Transport, Visit, Wanted, record,
};
pub use commands::ServerReplies;
use dsn::Dsn;
use flight::Flight;
use gcra::{Put, Refill, TICKS_PER_MICROSECOND, Timestamp, boot_clock};
pub use redis::{Cmd, Value};
pub use script::{Argument, CLOCK, RECORD, Script};
use std::slice;
use std::sync::Arc;
pub use topology::Route;
use topology::Topology;

/// The head of scripts on buckets. It must follow [`RECORD`].
const BUCKET: &str = include_str!("bucket.lua");

static TAKE: Script = Script::new(&[
    CLOCK,
    include_str!("take.lua"),
    RECORD,
    BUCKET,
    include_str!("step.lua"),
]);
static SLICE: Script = Script::new(&[
    RECORD,
    CLOCK,
    BUCKET,
    include_str!("slice.lua"),
    include_str!("step.lua"),
]);
static TAKE_ALL: Script = Script::new(&[RECORD, CLOCK, BUCKET, include_str!("take_all.lua")]);
static PUT: Script = Script::new(&[RECORD, CLOCK, BUCKET, include_str!("put.lua")]);

/// A client of a Redis server, of the primary that sentinels know, or of a cluster.
#[derive(Debug)]
pub struct Redis {
    topology: Arc<Topology>,
    /// The prefix that [`Redis::under`] puts before every key. `prefix` begins with these bytes.
    root: Vec<u8>,
    prefix: Vec<u8>,
}

impl Redis {
    /// Creates a client of the server at `dsn`. A bucket's key consists of `prefix` and the
    /// identifier, or of the beginning and a hash of these; see [`redis_key`].
    pub fn new(dsn: Dsn, prefix: &[u8]) -> Self {
        Self::under(b"", dsn, prefix)
    }

    /// Creates a client like [`Redis::new`] that puts `root` before every key. `root` is the prefix
    /// of another client, which puts it before every key, too.
    pub fn under(root: &[u8], dsn: Dsn, prefix: &[u8]) -> Self {
        Self {
            root: root.to_vec(),
            prefix: [root, prefix].concat(),
            topology: Topology::of(dsn),
        }
    }

    /// Returns true if the keys are spread over the servers of a cluster or a ring.
    pub fn is_spread(&self) -> bool {
        self.topology.dsn.is_cluster() || self.topology.dsn.is_ring()
    }

    /// Returns the prefix of the key of `identifier`.
    ///
    /// In a cluster, a hash tag in an identifier could send all keys to one server, and clients may
    /// choose identifiers. So `{}` is put before an identifier with a brace, unless the DSN
    /// allows hash tags. After an empty hash tag, the whole key selects the slot.
    fn guarded_prefix(&self, identifier: &[u8]) -> Vec<u8> {
        let dsn = &self.topology.dsn;
        let guards = dsn.is_cluster() && !dsn.has_hash_tags() && identifier.contains(&b'{');
        let guard: &[u8] = if guards { b"{}" } else { b"" };
        [&self.prefix, guard].concat()
    }

    /// Returns the key of a record that is not a bucket. It consists of the root of
    /// [`Redis::under`] and `key`, without the storage's prefix.
    pub fn raw_name(&self, key: &[u8]) -> Vec<u8> {
        [&self.root, key].concat()
    }
}

/// Converts an age to microseconds. Rounds down, because a bucket that was empty later holds less.
fn micros_ago(age: Option<i64>) -> Argument<'static> {
    age.map_or(Argument::Word(b""), |age| {
        Argument::Number(age.div_euclid(TICKS_PER_MICROSECOND.cast_signed()))
    })
}

/// Converts the age of a state to microseconds. The state was read before its record was lost.
/// Rounds up, so that the restored state is not too late.
fn lost_ago(seen: Option<i64>) -> Argument<'static> {
    micros_ago(seen.map(|age| age + TICKS_PER_MICROSECOND.cast_signed()))
}

/// Returns a number of a reply. Fails if the number is negative or too large.
fn number(value: &Value) -> Result<u64, Cause> {
    match value {
        // Our scripts return numbers up to 2^53 + 1.
        Value::Int(number @ 0..=0x003f_ffff_ffff_ffff) => Ok(number.cast_unsigned()),
        _ => Err(Cause::Answer("a number is missing")),
    }
}

/// Returns the kind of a state that a script found.
fn found(kind: &Value) -> Result<StateKind, Cause> {
    Ok(match number(kind)? {
        0 => StateKind::Record,
        1 => StateKind::Nothing,
        2 => StateKind::Restored,
        3 => StateKind::SetBack,
        4 => StateKind::Shorter,
        _ => return Err(Cause::Answer("the kind of the state is unknown")),
    })
}

/// Reads the reply of `step.lua`.
fn taken(value: &Value) -> Result<Reply, Cause> {
    let none = &Value::Int(0);
    let (state, now, kind, extra) = match value.as_sequence() {
        Some([state, now]) => (state, now, none, none),
        Some([state, now, kind]) => (state, now, kind, none),
        Some([state, now, kind, extra]) => (state, now, kind, extra),
        _ => return Err(Cause::Answer("two to four numbers are expected")),
    };
    let state = number(state)?;
    let empty_at = Timestamp((state / 2).saturating_mul(TICKS_PER_MICROSECOND));
    Ok(Reply {
        found: found(kind)?,
        extra: number(extra)?.saturating_mul(TICKS_PER_MICROSECOND),
        ..Reply::new(state % 2 == 1, clock(now)?, empty_at)
    })
}

/// The least time that a server can reply, in microseconds: in the year 2001.
const LEAST_TIME: u64 = 1_000_000_000_000_000;

/// Converts the time of a server in a reply, which is in microseconds.
fn clock(value: &Value) -> Result<Timestamp, Cause> {
    if number(value)? < LEAST_TIME {
        return Err(Cause::Answer("the server's time is implausible"));
    }
    instant(value)
}

/// Converts an instant of a reply, which is in microseconds.
fn instant(value: &Value) -> Result<Timestamp, Cause> {
    let micros = number(value)?;
    Ok(Timestamp(micros.saturating_mul(TICKS_PER_MICROSECOND)))
}

/// Converts [`Step::max_wait`], a whole number of microseconds.
const fn floored(max_wait: i64) -> Argument<'static> {
    Argument::Number(max_wait.div_euclid(TICKS_PER_MICROSECOND.cast_signed()))
}

/// Returns the arguments of `take.lua`. A step that only takes tokens needs the first three.
fn arguments(request: &StepRequest) -> Vec<Argument<'static>> {
    let step = &request.step;
    let mut arguments = vec![
        Argument::micros(step.cost),
        Argument::micros(step.span),
        match request.seen {
            None if request.is_cached => Argument::Word(b"-"),
            seen => lost_ago(seen),
        },
    ];
    let starts = starts(step.refill);
    let only_takes = step.is_plain() && step.max_wait == 0 && step.cost > 0 && !step.dry;
    if !only_takes || request.first.is_some() {
        arguments.extend([
            Argument::micros(step.refill.tick().max(TICKS_PER_MICROSECOND)),
            Argument::micros(step.max_debt),
            floored(step.max_wait),
            Argument::Number(i64::from(step.dry)),
            match request.wanted {
                Wanted::Place => Argument::Word(b"-"),
                _ => micros_ago(request.first),
            },
        ]);
    }
    arguments.extend(starts.into_iter().flatten());
    arguments
}

/// Returns the starts of four windows, if the refill has windows.
fn starts(refill: Refill) -> Option<[Argument<'static>; 4]> {
    match refill {
        Refill::Windows(windows) => Some(windows.starts().map(|it| Argument::micros(it.0))),
        _ => None,
    }
}

fn changing(put: &Put, seen: Option<i64>) -> Vec<Argument<'static>> {
    match *put {
        Put::Refund(it) => vec![
            Argument::Word(b"refund"),
            Argument::micros(it.cost),
            Argument::micros(it.span),
            lost_ago(seen),
            // A refund that undoes no particular take sends the greatest record. This is later than
            // any state, so that the refund returns the whole cost.
            Argument::micros(it.taken.0.min(record::GREATEST * TICKS_PER_MICROSECOND)),
            Argument::micros(it.in_debt),
        ],
        Put::Uncount {
            cost,
            windows,
            is_undo,
        } => {
            // An undo passes only the start and the end of the window of its take, so that the
            // script cannot choose another window.
            let starts = windows.starts();
            let starts = if is_undo { &starts[1..3] } else { &starts[..] };
            let words = [Argument::Word(b"uncount"), Argument::micros(cost)];
            let starts = starts.iter().map(|start| Argument::micros(start.0));
            words.into_iter().chain(starts).collect()
        }
        Put::Advance { until } => vec![Argument::Word(b"advance"), Argument::micros(until.0)],
        Put::Reset { span } => vec![Argument::Word(b"reset"), Argument::micros(span)],
        Put::Bootstrap { age, span } => vec![
            Argument::Word(b"bootstrap"),
            micros_ago(Some(age)),
            Argument::micros(span),
        ],
        Put::Raise { age, span } => vec![
            Argument::Word(b"raise"),
            micros_ago(Some(age)),
            Argument::micros(span),
            lost_ago(seen),
        ],
    }
}

impl Transport for Redis {
    type Route = Route;

    fn identity(&self) -> Vec<u8> {
        // With hash tags, the records have other names, so the store has another identity.
        let tags = u64::from(self.topology.dsn.has_hash_tags());
        let id = self.topology.whole.id ^ tags;
        [&id.to_ne_bytes(), self.prefix.as_slice()].concat()
    }

    fn name(&self, identifier: &[u8]) -> Vec<u8> {
        redis_key(&self.guarded_prefix(identifier), identifier)
    }

    fn name_of(&self, kind: Kind, identifier: &[u8]) -> Vec<u8> {
        kind_key(kind, &self.guarded_prefix(identifier), identifier)
    }

    fn route(&self, name: &[u8]) -> Result<Route, Arc<Server>> {
        match self.topology.confirmed_node(name) {
            Some(node) => Ok(Route { node, asks: false }),
            None => Err(Arc::clone(&self.topology.whole)),
        }
    }

    fn server(route: &Route) -> &Arc<Server> {
        &route.node.server
    }

    fn fleet(&self, route: &Route, is_open: bool) -> Option<Arc<Server>> {
        let must_ask = self.topology.must_ask(&route.node, is_open);
        must_ask.then(|| Arc::clone(&self.topology.whole))
    }

    fn locate(&self, name: &[u8], deadline: Timestamp) -> Result<Option<Route>, Cause> {
        self.topology.survey(deadline)?;
        if boot_clock() >= deadline {
            // The servers that were asked used up the time, and not the server of the record.
            return Err(Cause::Timeout);
        }
        // The answer to a question of this call is never too old, so any known node will do.
        let node = self.topology.node(name);
        Ok(node.map(|node| Route { node, asks: false }))
    }

    fn toward(&self, server: &Server, asks: bool) -> Option<Route> {
        let node = self.topology.node_of(server)?;
        Some(Route { node, asks })
    }

    fn refresh(&self, deadline: Timestamp) {
        self.topology.refresh(deadline);
    }

    fn take(visit: &Visit<'_, Self>, request: &StepRequest) -> Result<Reply, Cause> {
        let mut arguments = arguments(request);
        let Wanted::Slice {
            extra: extra @ 1..,
            life,
            ..
        } = request.wanted
        else {
            return taken(&visit.run(&TAKE, &[&request.name], &arguments)?);
        };
        arguments.extend([Argument::micros(extra), Argument::micros(life)]);
        let reply = taken(&visit.run(&SLICE, &[&request.name], &arguments)?)?;
        if reply.extra > extra {
            return Err(Cause::Answer("more tokens ahead than were asked for"));
        }
        Ok(reply)
    }

    fn put(
        visit: &Visit<'_, Self>,
        name: &[u8],
        put: &Put,
        seen: Option<i64>,
    ) -> Result<(), Cause> {
        let arguments = changing(put, seen);
        let value = visit.run(&PUT, &[name], &arguments)?;
        match number(&value)? {
            1 => Ok(()),
            _ => Err(Cause::Clock(clock(&value)?)),
        }
    }

    fn joins(&self, mine: &[u8], other: &Self, its: &[u8]) -> bool {
        if self.topology.dsn != other.topology.dsn {
            return false;
        }
        let (mine, its) = (self.name(mine), other.name(its));
        if self.is_one_server() == Some(false) {
            return mine == its;
        }
        self.topology.slot(&mine) == self.topology.slot(&its)
    }

    fn take_all(
        visit: &Visit<'_, Self>,
        requests: &[StepRequest],
    ) -> Result<Option<Vec<Reply>>, Cause> {
        let are_several = requests.iter().any(|it| it.name != requests[0].name);
        if are_several && !visit.store.is_spread() && !visit.is_one_server()? {
            return Ok(None);
        }
        let keys: Vec<_> = requests.iter().map(|request| &request.name).collect();
        let arguments = requests.iter().flat_map(|request| {
            [
                Argument::micros(request.step.cost),
                Argument::micros(request.step.span),
                lost_ago(request.seen),
                floored(request.step.max_wait),
            ]
        });
        let mut arguments: Vec<_> = arguments.collect();
        let starts = || requests.iter().map(|request| starts(request.step.refill));
        if starts().any(|starts| starts.is_some()) {
            let none = [Argument::Word(b""); 4];
            arguments.extend(starts().flat_map(|starts| starts.unwrap_or(none)));
        }
        let value = visit.run(&TAKE_ALL, &keys, &arguments)?;
        let numbers = value
            .as_sequence()
            .filter(|numbers| numbers.len() == 2 * requests.len() + 2);
        let Some([granted, now, states @ ..]) = numbers else {
            return Err(Cause::Answer("not as many numbers as were asked for"));
        };
        let (granted, now) = (number(granted)? != 0, clock(now)?);
        let reply = |state: &[Value]| {
            Ok(Reply {
                found: found(&state[1])?,
                ..Reply::new(granted, now, instant(&state[0])?)
            })
        };
        let replies = states.chunks_exact(2).map(reply);
        replies.collect::<Result<_, Cause>>().map(Some)
    }
}

impl Pipelined for Redis {
    type Flight<'a> = Flight<'a>;

    fn pipelines(&self, other: &Self) -> bool {
        self.topology.dsn == other.topology.dsn
    }

    fn looks_up(route: &Route) -> bool {
        route.node.looks_up()
    }

    fn launch<'a>(
        visit: &Visit<'_, Self>,
        requests: &[&'a StepRequest],
    ) -> Result<Flight<'a>, Cause> {
        Flight::begin(visit, requests.to_vec())
    }

    fn put_each(
        visit: &Visit<'_, Self>,
        changes: &[BucketChange<'_>],
        refused: &mut dyn FnMut(usize, Cause),
    ) -> Result<(), Cause> {
        let (topology, node) = (&visit.store.topology, &visit.route.node);
        let runs = changes
            .iter()
            .map(|it| (slice::from_ref(&it.name), changing(it.put, it.seen)));
        let runs: Vec<_> = runs.collect();
        let (is_member, deadline) = (topology.dsn.is_cluster(), visit.deadline);
        node.run_each(is_member, &PUT, &runs, 0, deadline, |index, value| {
            let read = match topology.elsewhere(changes[index].name, node, &value) {
                Some(route) => Err(route.into()),
                None => script::read(node, &PUT, value).map(drop),
            };
            if let Err(cause) = read {
                refused(index, cause);
            }
        })
    }
}
