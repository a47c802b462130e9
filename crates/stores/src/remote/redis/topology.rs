//! A topology: the servers of one DSN, and which of them keeps a key.
//!
//! A single server keeps all keys. Sentinels know the primary that keeps all keys. In a cluster, a
//! key has one of 16,384 slots, and each server knows the servers of all slots. In a ring, the
//! servers know nothing of each other, and ketama chooses the server of a key without a request.
//!
//! A thread keeps what it has learned of a fleet between PHP requests. It asks the fleet again
//! after a redirection, at most once a second, and twice a second while a server fails. It asks
//! sentinels every ten seconds, because a primary that was replaced may not know it. It also asks
//! them before it connects to a primary, because a primary that was replaced and restarted believes
//! for seconds that it is one.
//!
//! A sentinel that lost contact with the others may name an old primary. So its answer is compared
//! with the answers of others if it says itself that the primary is down, if that server fails, or
//! if its configuration is older than a known one. The newest configuration wins.

use super::cluster::{self, Map};
use super::dsn::{Dsn, Fleet, FleetKind};
use super::known::Known;
use super::node::{Node, server};
use super::sentinel::{self, SentinelReport};
use super::survey;
use crate::remote::ketama::{Distribution, ListedServer, Ring};
use crate::remote::race::{self, Race};
use crate::remote::{Cause, Server};
use gcra::{TICKS_PER_SECOND, Ticks, Timestamp, boot_clock};
use parking_lot::Mutex;
use redis::{Cmd, Value, cmd};
use std::cell::RefCell;
use std::sync::Arc;

/// The most fleets that a thread remembers. A thread usually uses only a few.
const MOST: usize = 64;
/// The least time between two questions to a fleet.
const PAUSE: Ticks = TICKS_PER_SECOND;
/// The same while a server fails, so that calls follow a failover within a second.
const RETRY: Ticks = TICKS_PER_SECOND / 2;
/// The time after which sentinels are asked again.
const SENTINEL_PERIOD: Ticks = 10 * TICKS_PER_SECOND;
/// The age of a sentinel's answer up to which a process connects to the primary in it. A process
/// that cannot connect asks at most this often.
const FRESH: Ticks = TICKS_PER_SECOND / 10;
/// The most servers that one call asks where the records are.
const MOST_SEEDS: usize = 5;

thread_local! {
    /// Each thread has its own list, because a lock that another thread holds during a fork would
    /// stay locked in the child.
    static FLEETS: RefCell<Vec<Arc<Topology>>> = const { RefCell::new(Vec::new()) };
}

/// The servers of a DSN, and which of them keeps a key.
#[derive(Debug)]
pub struct Topology {
    /// The address of the single server, or of the fleet.
    pub dsn: Dsn,
    /// The single server, or the fleet as a whole. The breaker of a fleet opens if no server of it
    /// says where the records are.
    pub whole: Arc<Server>,
    /// Chooses the server of a key in a ring.
    ring: Option<Ring>,
    known: Mutex<Known>,
}

/// The server that keeps a key.
#[derive(Clone, Debug)]
pub struct Route {
    pub(super) node: Arc<Node>,
    /// True if the server keeps only this key, so that each command needs ASKING.
    pub(super) asks: bool,
}

impl From<Route> for Cause {
    /// Converts the route that a server named instead of executing a request.
    fn from(route: Route) -> Self {
        Self::Redirected {
            server: Arc::clone(&route.node.server),
            asks: route.asks,
        }
    }
}

/// The answer of a server of a fleet to the question where the records are.
enum FleetAnswer {
    Primary(SentinelReport),
    Slots(Map),
}

impl Topology {
    /// Returns the topology of a DSN. Equal DSNs of a fleet have one topology in a thread.
    pub fn of(dsn: Dsn) -> Arc<Self> {
        if dsn.fleet.is_none() {
            let node = Arc::new(Node::new(dsn.clone()));
            let whole = Arc::clone(&node.server);
            let (nodes, slots) = (vec![node], vec![0]);
            return Arc::new(Self::new(dsn, whole, nodes, slots));
        }
        FLEETS.with_borrow_mut(|fleets| {
            if let Some(topology) = fleets.iter().find(|topology| topology.dsn == dsn) {
                return Arc::clone(topology);
            }
            if fleets.len() == MOST {
                fleets.remove(0);
            }
            let whole = Arc::new(server(&dsn));
            let topology = Arc::new(Self::new(dsn, whole, Vec::new(), Vec::new()));
            fleets.push(Arc::clone(&topology));
            topology
        })
    }

    fn new(dsn: Dsn, whole: Arc<Server>, nodes: Vec<Arc<Node>>, slots: Vec<u16>) -> Self {
        let seeds = dsn.fleet.iter().flat_map(|fleet| fleet.seeds.iter());
        let seeds = seeds.map(|dsn| Arc::new(Node::new(dsn.clone()))).collect();
        let mut known = Known {
            nodes,
            slots,
            seeds,
            ..Known::default()
        };
        let ring = ring(&dsn);
        if ring.is_some() {
            // Each server has a slot of its own.
            known.nodes.clone_from(&known.seeds);
            known.slots = (0..).take(known.nodes.len()).collect();
        }
        let known = Mutex::new(known);
        Self {
            dsn,
            whole,
            ring,
            known,
        }
    }

    /// Returns the slot of a key. In a ring, this is the index of its server. On a single server
    /// and its replicas, all keys have the same slot.
    pub fn slot(&self, key: &[u8]) -> usize {
        match &self.ring {
            Some(ring) => ring.place(key),
            None if self.dsn.is_cluster() => cluster::slot(key),
            None => 0,
        }
    }

    /// Returns the server that keeps a key. Returns `None` if the fleet has not been asked yet, or
    /// no server of a cluster keeps the slot.
    pub fn node(&self, key: &[u8]) -> Option<Arc<Node>> {
        self.known.lock().node(self.slot(key)).cloned()
    }

    /// Returns the server that keeps a key, or `None` if the fleet must be asked first.
    pub fn confirmed_node(&self, key: &[u8]) -> Option<Arc<Node>> {
        let (node, answer_of) = {
            let known = self.known.lock();
            (known.node(self.slot(key)).cloned()?, known.answer_of)
        };
        let now = boot_clock();
        let is_sure = !self.has_sentinels()
            || answer_of.is_some_and(|at| now.saturating_since(at) < FRESH)
            || node.is_connected(now + FRESH);
        is_sure.then_some(node)
    }

    /// Returns the fleet if its servers know which of them keeps a key.
    fn asked_fleet(&self) -> Option<&Fleet> {
        self.dsn.fleet.as_deref().filter(|_| self.ring.is_none())
    }

    fn has_sentinels(&self) -> bool {
        let fleet = self.dsn.fleet.as_ref();
        fleet.is_some_and(|fleet| matches!(fleet.kind, FleetKind::Sentinel { .. }))
    }

    /// Returns true if another server than `node` may keep its keys now, and the fleet may be
    /// asked. `is_open` is true if the breaker of `node` is open.
    pub fn must_ask(&self, node: &Node, is_open: bool) -> bool {
        let Some(fleet) = self.asked_fleet() else {
            return false;
        };
        let period = match fleet.kind {
            _ if is_open || node.is_suspect() => RETRY,
            FleetKind::Sentinel { .. } => SENTINEL_PERIOD,
            _ => return false,
        };
        is_due(self.known.lock().asked_at, period)
    }

    /// Asks the fleet where the records are, several servers at once if the first one does not
    /// reply soon. If the server of a key may be known already, half of the time until `deadline`
    /// is left for the call that follows. A cluster that is known is not asked again at once,
    /// because it may have no server for the slot of a key. Fails with the first error if no server
    /// gives an answer, or [`Cause::Unserved`] if the fleet was asked a moment ago.
    pub fn survey(&self, deadline: Timestamp) -> Result<(), Cause> {
        let Some(fleet) = self.asked_fleet() else {
            return Ok(());
        };
        let now = boot_clock();
        let (mut seeds, is_known) = {
            let mut known = self.known.lock();
            let is_known = !known.nodes.is_empty();
            if is_known && self.dsn.is_cluster() && !is_due(known.asked_at, RETRY) {
                return Err(Cause::Unserved);
            }
            known.asked_at = Some(now);
            (known.seeds.clone(), is_known)
        };
        seeds.truncate(MOST_SEEDS);
        let deadline = if is_known {
            now.midpoint(deadline)
        } else {
            deadline
        };
        let commands = question(&fleet.kind).into();
        let questions = |seed| survey::questions(seed, &commands, deadline);
        let head_start = race::head_start(seeds.len(), deadline);
        let race = Race::new(seeds.iter().flat_map(questions), head_start, deadline);
        let (mut first, mut best) = (None, None);
        for (seed, replies) in race {
            let replies = replies.and_then(|(replies, result)| result.map(|()| replies));
            let replies = replies.inspect_err(|_| seed.suspect());
            match replies.and_then(|replies| read(&fleet.kind, seed, &replies)) {
                Ok(answer) if self.is_sure(&answer) => {
                    self.learn(fleet, seed, answer);
                    return Ok(());
                }
                Ok(answer) => best = [(seed, answer)].into_iter().chain(best).max_by_key(rank),
                Err(cause) => drop(first.get_or_insert(cause)),
            }
            self.known.lock().ask_last(seed);
        }
        let (seed, answer) = best.ok_or(first.unwrap_or(Cause::Timeout))?;
        self.learn(fleet, seed, answer);
        Ok(())
    }

    /// Asks the server that sent the last redirection, at most once a second, because it knows the
    /// slots better than this process. A failure has no effect.
    pub fn refresh(&self, deadline: Timestamp) {
        let now = boot_clock();
        if now >= deadline {
            return;
        }
        let seed = {
            let mut known = self.known.lock();
            if !is_due(known.asked_at, PAUSE) {
                return;
            }
            known.asked_at = Some(now);
            known.redirected_by.take()
        };
        if let (Some(fleet), Some(seed)) = (&self.dsn.fleet, seed) {
            let replies = seed.send(&question(&fleet.kind), deadline);
            let answer = replies.and_then(|replies| read(&fleet.kind, &seed, &replies));
            if let Ok(answer) = answer {
                self.learn(fleet, &seed, answer);
            }
        }
    }

    /// Returns true if no other server needs to be asked. The answer of a sentinel is doubtful if
    /// the primary is down or fails, or if another sentinel knew a newer configuration.
    fn is_sure(&self, answer: &FleetAnswer) -> bool {
        let FleetAnswer::Primary(report) = answer else {
            return true;
        };
        let known = self.known.lock();
        let fails = |node: &Arc<Node>| node.is_suspect() && node.dsn.endpoint == report.endpoint;
        !report.is_down && report.epoch >= known.epoch && !known.node(0).is_some_and(fails)
    }

    /// Replaces what is known by the answer of `seed`. An answer that was long on its way is used,
    /// too.
    fn learn(&self, fleet: &Fleet, seed: &Node, answer: FleetAnswer) {
        let at = |endpoint| self.dsn.at(endpoint, fleet.server_name.as_ref());
        let mut known = self.known.lock();
        known.answer_of = Some(boot_clock());
        match answer {
            FleetAnswer::Primary(report) => {
                known.replace(vec![0], [at(report.endpoint)].into_iter());
                known.epoch = report.epoch;
                known.ask_first(seed);
            }
            FleetAnswer::Slots(map) => {
                let has_gaps = map.has_gaps();
                known.replace(map.slots, map.endpoints.into_iter().map(at));
                known.list_seeds(&fleet.seeds);
                if has_gaps {
                    // Another server may know the servers that this one does not know.
                    known.ask_last(seed);
                } else {
                    known.ask_first(seed);
                }
            }
        }
    }

    /// Returns the known server that breakers and messages show as `server`.
    pub fn node_of(&self, server: &Server) -> Option<Arc<Node>> {
        let known = self.known.lock();
        let mut nodes = known.nodes.iter();
        nodes.find(|node| *node.server == *server).cloned()
    }

    /// Returns the route on which a command must be repeated that `node` refused; `None` if `reply`
    /// is no such refusal. It leads to the same server if that one may accept the command soon.
    pub fn elsewhere(&self, key: &[u8], node: &Arc<Node>, reply: &Value) -> Option<Route> {
        let Value::ServerError(error) = reply else {
            return None;
        };
        match error.code() {
            "TRYAGAIN" | "CLUSTERDOWN" if self.dsn.is_cluster() => {
                let node = self.node(key).unwrap_or_else(|| Arc::clone(node));
                Some(Route { node, asks: false })
            }
            code => self.redirect(key, node, code, error.details()?),
        }
    }

    /// Returns the route to the server that an error names. Returns `None` if `error` is not a
    /// redirection, or if this is not a cluster.
    fn redirect(&self, key: &[u8], from: &Arc<Node>, error: &str, to: &str) -> Option<Route> {
        let fleet = self.dsn.fleet.as_ref().filter(|_| self.dsn.is_cluster())?;
        let asks = match error {
            "MOVED" => false,
            "ASK" => true,
            _ => return None,
        };
        let endpoint = cluster::target(to, &from.dsn.endpoint)?;
        let mut known = self.known.lock();
        let index = known.index(self.dsn.at(endpoint, fleet.server_name.as_ref()));
        if !asks {
            if let Some(slot) = known.slots.get_mut(self.slot(key)) {
                *slot = index;
            }
            known.redirected_by = Some(Arc::clone(from));
        }
        let node = known.nodes.get(usize::from(index)).cloned();
        node.map(|node| Route { node, asks })
    }
}

/// Ranks the answers of sentinels: by the configuration epoch, and then by whether the primary is
/// up.
fn rank((_, answer): &(&Arc<Node>, FleetAnswer)) -> (u64, bool) {
    match answer {
        FleetAnswer::Primary(report) => (report.epoch, !report.is_down),
        FleetAnswer::Slots(_) => (0, false),
    }
}

fn read(kind: &FleetKind, seed: &Node, replies: &[Value]) -> Result<FleetAnswer, Cause> {
    let from = &seed.dsn.endpoint;
    match (kind, replies) {
        (_, [Value::ServerError(error), ..]) => Err(seed.refused(error)),
        (FleetKind::Sentinel { .. }, _) => {
            SentinelReport::read(replies, from).map(FleetAnswer::Primary)
        }
        (FleetKind::Cluster { .. }, [slots]) => Map::read(slots, from).map(FleetAnswer::Slots),
        _ => Err(Cause::Answer("one reply is expected")),
    }
}

fn question(kind: &FleetKind) -> Vec<Cmd> {
    match kind {
        FleetKind::Sentinel { primary } => sentinel::question(primary),
        FleetKind::Cluster { .. } => {
            let mut command = cmd("CLUSTER");
            command.arg("SLOTS");
            vec![command]
        }
        FleetKind::Ring { .. } => Vec::new(),
    }
}

/// Returns the ring of a DSN, if it is one.
fn ring(dsn: &Dsn) -> Option<Ring> {
    let fleet = dsn.fleet.as_ref()?;
    let FleetKind::Ring { weights } = &fleet.kind else {
        return None;
    };
    let servers = fleet.seeds.iter().zip(weights);
    let servers = servers.map(|(seed, &weight)| ListedServer {
        endpoint: seed.endpoint.clone(),
        weight,
    });
    let servers: Vec<_> = servers.collect();
    Some(Ring::new(&servers, Distribution::Ketama))
}

fn is_due(asked_at: Option<Timestamp>, period: Ticks) -> bool {
    asked_at.is_none_or(|at| boot_clock().saturating_since(at) >= period)
}

#[cfg(test)]
mod tests {
    use super::super::cluster::SLOTS;
    use super::*;
    use crate::remote::endpoint::Endpoint;

    /// Returns a topology that has been asked `age` ticks ago.
    fn asked(dsn: &str, age: Ticks) -> Topology {
        let dsn = Dsn::parse(dsn).unwrap();
        let node = Arc::new(Node::new(dsn.at(dsn.endpoint.clone(), None)));
        let whole = Arc::clone(&node.server);
        let slots = if dsn.is_cluster() { SLOTS } else { 1 };
        let topology = Topology::new(dsn, whole, vec![node], vec![0; slots]);
        topology.known.lock().asked_at = Some(boot_clock() - age);
        topology
    }

    #[test]
    fn sentinels_are_asked_every_ten_seconds_and_clusters_after_failures() {
        let seconds = |count: Ticks| count * TICKS_PER_SECOND;
        let must_ask = |dsn, age, is_open| {
            let topology = asked(dsn, age);
            let node = topology.node(b"key").unwrap();
            topology.must_ask(&node, is_open)
        };
        let (sentinel, cluster) = ("redis+sentinel://h/p", "redis+cluster://h");
        assert!(!must_ask(sentinel, seconds(9), false));
        assert!(must_ask(sentinel, seconds(10), false));
        assert!(!must_ask(cluster, seconds(3600), false));
        for dsn in [sentinel, cluster] {
            assert!(!must_ask(dsn, seconds(1) / 4, true));
            assert!(must_ask(dsn, seconds(1) / 2, true));
        }
        assert!(!must_ask("redis://h", seconds(3600), true));
    }

    #[test]
    fn a_ring_knows_the_server_of_each_key_by_its_weights() {
        let dsn = Dsn::parse("redis+ring://h:1,h:2,h:3/4?weights=1,3,1").unwrap();
        let topology = Topology::of(dsn);
        let mut keys = [0; 3];
        for n in 0..1_000 {
            let key = format!("k{n}");
            let node = topology.confirmed_node(key.as_bytes()).unwrap();
            assert!(!topology.must_ask(&node, true));
            assert_eq!((node.dsn.database, &node.dsn.fleet), (4, &None));
            keys[topology.slot(key.as_bytes())] += 1;
        }
        assert!(keys[1] > 500 && keys[0].min(keys[2]) > 100, "{keys:?}");
        assert!(topology.survey(Timestamp::ZERO).is_ok());
    }

    #[test]
    fn a_moved_slot_is_learned_and_an_asking_one_is_not() {
        let topology = asked("redis+cluster://h", 0);
        let home = topology.node(b"foo").unwrap();
        let port = |node: &Node| match &node.dsn.endpoint {
            Endpoint::Tcp { port, .. } => *port,
            Endpoint::Unix { .. } => 0,
        };
        let route = topology.redirect(b"foo", &home, "ASK", "12182 :7").unwrap();
        assert_eq!((port(&route.node), route.asks), (7, true));
        assert_eq!(port(&topology.node(b"foo").unwrap()), 6379);
        let route = topology
            .redirect(b"foo", &home, "MOVED", "12182 :8")
            .unwrap();
        assert_eq!((port(&route.node), route.asks), (8, false));
        assert_eq!(port(&topology.node(b"foo").unwrap()), 8);
        assert_eq!(port(&topology.node(b"bar").unwrap()), 6379);
        assert!(
            topology
                .redirect(b"foo", &home, "ERR", "12182 :8")
                .is_none()
        );
        let single = asked("redis://h", 0);
        assert!(
            single
                .redirect(b"foo", &home, "MOVED", "12182 :8")
                .is_none()
        );
    }
}
