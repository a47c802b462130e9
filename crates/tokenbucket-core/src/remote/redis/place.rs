//! A place: the servers of one DSN, and which of them keeps a key.
//!
//! A single server keeps all keys. Sentinels know the primary that keeps all keys. In a cluster, a
//! key has one of 16,384 slots, and each server knows the servers of all slots.
//!
//! A thread keeps what it has learned of a fleet between PHP requests. It asks the fleet again
//! after a redirection, at most once a second, and twice a second while a server fails. It asks
//! sentinels every ten seconds, because a primary that was replaced may not know it. It also asks
//! them before it connects to a primary, because a primary that was replaced and restarted believes
//! for seconds that it is one.

use super::cluster::{self, SLOTS};
use super::dsn::{Dsn, Fleet, Kind};
use super::node::{Node, server};
use crate::clock::{TICKS_PER_SECOND, Ticks, Timestamp, boot_clock};
use crate::remote::{Cause, Server};
use parking_lot::Mutex;
use redis::{Cmd, cmd};
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
/// The index of a slot that no server keeps. A cluster has fewer servers.
const NO_SERVER: u16 = u16::MAX;
/// The most servers that one call asks where the records are.
const MOST_GUIDES: usize = 5;

thread_local! {
    /// Each thread has its own, so that a fork cannot leave one locked.
    static FLEETS: RefCell<Vec<Arc<Place>>> = const { RefCell::new(Vec::new()) };
}

/// The servers of a DSN, and which of them keeps a key.
#[derive(Debug)]
pub struct Place {
    /// The address of the single server, or of the fleet.
    pub dsn: Dsn,
    /// The single server, or the fleet as a whole. The breaker of a fleet opens if no server of it
    /// says where the records are.
    pub whole: Arc<Server>,
    known: Mutex<Known>,
}

/// The knowledge of a thread about a place.
#[derive(Debug, Default)]
struct Known {
    /// The servers that keep keys; empty before a fleet has been asked.
    nodes: Vec<Arc<Node>>,
    /// For each slot, the index of its server or [`NO_SERVER`]. There is one slot outside clusters.
    slots: Vec<u16>,
    /// The servers to ask, in this order.
    guides: Vec<Arc<Node>>,
    /// The instant at which the fleet was last asked.
    asked_at: Option<Timestamp>,
    /// The instant at which the question was sent whose answer is known.
    answer_of: Option<Timestamp>,
}

impl Known {
    fn node(&self, slot: usize) -> Option<&Arc<Node>> {
        let index = *self.slots.get(slot)?;
        self.nodes.get(usize::from(index))
    }

    /// Returns the server at an address. Adds the server if it is new.
    fn index(&mut self, dsn: Dsn) -> u16 {
        let found = self.nodes.iter().position(|node| *node.dsn == dsn);
        let index = found.unwrap_or_else(|| {
            self.nodes.push(Arc::new(Node::new(dsn)));
            self.nodes.len() - 1
        });
        // A cluster has at most 16,384 servers that keep slots.
        u16::try_from(index).unwrap_or_default()
    }

    /// Replaces the servers of all slots. Servers that are known already keep their state.
    fn replace(&mut self, slots: Vec<u16>, mut nodes: Vec<Arc<Node>>) {
        for node in &mut nodes {
            if let Some(known) = self.nodes.iter().find(|known| known.dsn == node.dsn) {
                *node = Arc::clone(known);
            }
        }
        (self.slots, self.nodes) = (slots, nodes);
    }

    /// Lists the servers to ask the next time: servers that keep slots, then the other seeds.
    fn list_guides(&mut self, seeds: &[Dsn]) {
        let is_known = |seed: &&Dsn| self.nodes.iter().any(|node| *node.dsn == **seed);
        let others = seeds.iter().filter(|seed| !is_known(seed));
        let others = others.map(|dsn| Arc::new(Node::new(dsn.clone())));
        let mut guides: Vec<_> = self.nodes.iter().cloned().chain(others).collect();
        // Servers that fail now are asked last.
        guides.sort_by_key(|guide| guide.is_suspect());
        self.guides = guides;
    }
}

impl Place {
    /// Returns the place of a DSN. Equal DSNs of a fleet have one place in a thread.
    #[must_use]
    pub fn of(dsn: Dsn) -> Arc<Self> {
        if dsn.fleet.is_none() {
            let node = Arc::new(Node::new(dsn.clone()));
            let whole = Arc::clone(&node.server);
            let (nodes, slots) = (vec![node], vec![0]);
            return Arc::new(Self::new(dsn, whole, nodes, slots));
        }
        FLEETS.with_borrow_mut(|fleets| {
            if let Some(place) = fleets.iter().find(|place| place.dsn == dsn) {
                return Arc::clone(place);
            }
            if fleets.len() == MOST {
                fleets.remove(0);
            }
            let whole = Arc::new(server(&dsn));
            let place = Arc::new(Self::new(dsn, whole, Vec::new(), Vec::new()));
            fleets.push(Arc::clone(&place));
            place
        })
    }

    fn new(dsn: Dsn, whole: Arc<Server>, nodes: Vec<Arc<Node>>, slots: Vec<u16>) -> Self {
        let guides = dsn.fleet.iter().flat_map(|fleet| fleet.guides.iter());
        let known = Known {
            nodes,
            slots,
            guides: guides.map(|dsn| Arc::new(Node::new(dsn.clone()))).collect(),
            asked_at: None,
            answer_of: None,
        };
        let known = Mutex::new(known);
        Self { dsn, whole, known }
    }

    /// Returns the slot of a key. Outside clusters all keys have the same slot.
    #[must_use]
    pub fn slot(&self, key: &[u8]) -> usize {
        if self.dsn.is_cluster() {
            cluster::slot(key)
        } else {
            0
        }
    }

    /// Returns the server that keeps a key. Returns `None` if the fleet has not been asked yet, or
    /// no server of a cluster keeps the slot.
    #[must_use]
    pub fn node(&self, key: &[u8]) -> Option<Arc<Node>> {
        self.known.lock().node(self.slot(key)).cloned()
    }

    /// Returns the server that keeps a key, or `None` if the fleet must be asked first.
    #[must_use]
    pub fn sure_node(&self, key: &[u8]) -> Option<Arc<Node>> {
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

    fn has_sentinels(&self) -> bool {
        let fleet = self.dsn.fleet.as_ref();
        fleet.is_some_and(|fleet| matches!(fleet.kind, Kind::Sentinel { .. }))
    }

    /// Returns true if another server may keep a key now, and the fleet may be asked. `is_open` is
    /// true if the breaker of the key's server is open.
    #[must_use]
    pub fn must_ask(&self, key: &[u8], is_open: bool) -> bool {
        let Some(fleet) = &self.dsn.fleet else {
            return false;
        };
        let known = self.known.lock();
        let Some(node) = known.node(self.slot(key)) else {
            return false;
        };
        let period = match fleet.kind {
            _ if is_open || node.is_suspect() => RETRY,
            Kind::Sentinel { .. } => SENTINEL_PERIOD,
            Kind::Cluster { .. } => return false,
        };
        is_due(known.asked_at, period)
    }

    /// Asks the fleet where the records are. Each server gets an equal share of the time until
    /// `deadline`. One share is left for the call that follows. A cluster that is known is not
    /// asked again at once, because it may have no server for the slot of a key.
    ///
    /// # Errors
    /// Returns the last error if no server gives an answer, or [`Cause::Unserved`] if the fleet was
    /// asked a moment ago.
    pub fn ask(&self, deadline: Timestamp) -> Result<(), Cause> {
        let Some(fleet) = &self.dsn.fleet else {
            return Ok(());
        };
        let mut guides = {
            let mut known = self.known.lock();
            let is_known = self.dsn.is_cluster() && !known.nodes.is_empty();
            if is_known && !is_due(known.asked_at, RETRY) {
                return Err(Cause::Unserved);
            }
            known.asked_at = Some(boot_clock());
            known.guides.clone()
        };
        guides.truncate(MOST_GUIDES);
        let mut last = Cause::Timeout;
        for (index, guide) in guides.iter().enumerate() {
            let now = boot_clock();
            let shares = (guides.len() - index + 1) as Ticks;
            let share = deadline.saturating_since(now) / shares;
            match self.ask_one(fleet, guide, now + share) {
                Ok(()) => return Ok(()),
                Err(cause) => last = cause,
            }
            let mut known = self.known.lock();
            // Ask this server after all others the next time.
            known.guides.retain(|other| other.dsn != guide.dsn);
            known.guides.push(Arc::clone(guide));
        }
        Err(last)
    }

    /// Asks one server of a cluster after it has replied, at most once a second. A failure has no
    /// effect.
    pub fn refresh(&self, guide: &Node, deadline: Timestamp) {
        let Some(fleet) = &self.dsn.fleet else { return };
        let now = boot_clock();
        let mut known = self.known.lock();
        if is_due(known.asked_at, PAUSE) {
            known.asked_at = Some(now);
            drop(known);
            self.ask_one(fleet, guide, deadline).ok();
        }
    }

    fn ask_one(&self, fleet: &Fleet, guide: &Node, deadline: Timestamp) -> Result<(), Cause> {
        let at = |endpoint| self.dsn.at(endpoint, fleet.server_name.as_ref());
        let asked_at = boot_clock();
        let reply = guide.ask(question(&fleet.kind), deadline)?;
        let mut fresh = Known::default();
        match &fleet.kind {
            Kind::Sentinel { .. } => {
                let [host, port] = reply.as_sequence().unwrap_or_default() else {
                    return Err(Cause::Answer("this sentinel does not know the primary"));
                };
                let endpoint = cluster::endpoint(host, port, &guide.dsn.endpoint);
                let endpoint = endpoint.ok_or(Cause::Answer("an address is expected"))?;
                fresh.slots = vec![fresh.index(at(endpoint))];
            }
            Kind::Cluster { .. } => {
                fresh.slots = vec![NO_SERVER; SLOTS];
                for range in cluster::ranges(&reply, &guide.dsn.endpoint)? {
                    let index = fresh.index(at(range.endpoint));
                    fresh.slots[range.slots].fill(index);
                }
                if fresh.nodes.is_empty() {
                    return Err(Cause::Answer("this server knows no slots"));
                }
            }
        }
        let mut known = self.known.lock();
        known.replace(fresh.slots, fresh.nodes);
        known.answer_of = Some(asked_at);
        if let Kind::Cluster { .. } = fleet.kind {
            known.list_guides(&fleet.guides);
        }
        Ok(())
    }

    /// Returns the server that an error names, and true if the redirection holds for one command
    /// only. Returns `None` if `error` is not a redirection, or if this is not a cluster.
    #[must_use]
    pub fn redirect(
        &self,
        key: &[u8],
        from: &Node,
        error: &str,
        to: &str,
    ) -> Option<(Arc<Node>, bool)> {
        let fleet = self.dsn.fleet.as_ref().filter(|_| self.dsn.is_cluster())?;
        let endpoint = cluster::target(to, &from.dsn.endpoint)?;
        let dsn = self.dsn.at(endpoint, fleet.server_name.as_ref());
        match error {
            "MOVED" => {
                let mut known = self.known.lock();
                let index = known.index(dsn);
                if let Some(slot) = known.slots.get_mut(self.slot(key)) {
                    *slot = index;
                }
                known
                    .nodes
                    .get(usize::from(index))
                    .cloned()
                    .map(|node| (node, false))
            }
            "ASK" => {
                let known = self.known.lock();
                let node = known.nodes.iter().find(|node| *node.dsn == dsn);
                let node = node.cloned().unwrap_or_else(|| Arc::new(Node::new(dsn)));
                Some((node, true))
            }
            _ => None,
        }
    }
}

fn question(kind: &Kind) -> Cmd {
    match kind {
        Kind::Sentinel { primary } => {
            let mut command = cmd("SENTINEL");
            command.arg("get-master-addr-by-name").arg(primary);
            command
        }
        Kind::Cluster { .. } => {
            let mut command = cmd("CLUSTER");
            command.arg("SLOTS");
            command
        }
    }
}

fn is_due(asked_at: Option<Timestamp>, period: Ticks) -> bool {
    asked_at.is_none_or(|at| boot_clock().saturating_since(at) >= period)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::remote::endpoint::Endpoint;

    /// Returns a place that has been asked `age` ticks ago.
    fn asked(dsn: &str, age: Ticks) -> Place {
        let dsn = Dsn::parse(dsn).unwrap();
        let node = Arc::new(Node::new(dsn.at(dsn.endpoint.clone(), None)));
        let whole = Arc::clone(&node.server);
        let slots = if dsn.is_cluster() { SLOTS } else { 1 };
        let place = Place::new(dsn, whole, vec![node], vec![0; slots]);
        place.known.lock().asked_at = Some(boot_clock() - age);
        place
    }

    #[test]
    fn sentinels_are_asked_every_ten_seconds_and_clusters_after_failures() {
        let seconds = |count: Ticks| count * TICKS_PER_SECOND;
        let sentinel = |age| asked("redis+sentinel://h/p", age);
        let cluster = |age| asked("redis+cluster://h", age);
        assert!(!sentinel(seconds(9)).must_ask(b"", false));
        assert!(sentinel(seconds(10)).must_ask(b"", false));
        assert!(!cluster(seconds(3600)).must_ask(b"key", false));
        for asked in [sentinel, cluster] {
            assert!(!asked(seconds(1) / 4).must_ask(b"key", true));
            assert!(asked(seconds(1) / 2).must_ask(b"key", true));
        }
        assert!(!asked("redis://h", seconds(3600)).must_ask(b"", true));
    }

    #[test]
    fn a_moved_slot_is_learned_and_an_asking_one_is_not() {
        let place = asked("redis+cluster://h", 0);
        let home = place.node(b"foo").unwrap();
        let port = |node: &Node| match &node.dsn.endpoint {
            Endpoint::Tcp { port, .. } => *port,
            Endpoint::Unix { .. } => 0,
        };
        let (node, asking) = place.redirect(b"foo", &home, "ASK", "12182 :7").unwrap();
        assert_eq!((port(&node), asking), (7, true));
        assert_eq!(port(&place.node(b"foo").unwrap()), 6379);
        let (node, asking) = place.redirect(b"foo", &home, "MOVED", "12182 :8").unwrap();
        assert_eq!((port(&node), asking), (8, false));
        assert_eq!(port(&place.node(b"foo").unwrap()), 8);
        assert_eq!(port(&place.node(b"bar").unwrap()), 6379);
        assert!(place.redirect(b"foo", &home, "ERR", "12182 :8").is_none());
        let single = asked("redis://h", 0);
        assert!(
            single
                .redirect(b"foo", &home, "MOVED", "12182 :8")
                .is_none()
        );
    }
}
