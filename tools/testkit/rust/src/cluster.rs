//! A Redis cluster with three primaries.

use crate::places::take_places;
use crate::redis::{Redis, major_version};
use crate::{Proxy, eventually, free_port};

pub const PRIMARIES: usize = 3;

/// The servers of a cluster: [`PRIMARIES`], then their replicas, if there are any.
pub struct Cluster {
    pub nodes: Vec<Redis>,
    /// A proxy before each server. Servers announce the ports of the proxies.
    pub proxies: Vec<Proxy>,
}

impl Cluster {
    /// Starts a cluster in which a server counts as down after half a second. Each primary has one
    /// replica if `replicas` is true.
    pub fn start(replicas: bool) -> Self {
        take_places(3);
        let count = if replicas { 2 * PRIMARIES } else { PRIMARIES };
        // Before Redis 7, the port for other servers is always 10,000 higher than that for clients.
        let has_bus_option = major_version() >= 7;
        let start = |_| {
            // The server's port is not known yet.
            let proxy = Proxy::tcp(0);
            let (announced, bus) = (proxy.port().to_string(), free_port());
            let text = bus.to_string();
            let mut options = vec!["--cluster-enabled", "yes"];
            options.extend(["--cluster-announce-port", &announced]);
            if has_bus_option {
                options.extend(["--cluster-port", &text]);
            }
            options.extend(["--cluster-node-timeout", "500"]);
            // A failover that is given up is logged.
            options.extend(["--loglevel", "notice"]);
            options.extend(["--cluster-replica-validity-factor", "0"]);
            options.extend(["--cluster-require-full-coverage", "no"]);
            // Without this, a primary waits for five seconds before it sends its data.
            options.extend(["--repl-diskless-sync-delay", "0"]);
            // A replica is listed after it has received something, at least a ping.
            options.extend(["--repl-ping-replica-period", "1"]);
            let node = Redis::start(&options);
            let bus = if has_bus_option {
                bus
            } else {
                node.port() + 10_000
            };
            proxy.lead(node.port());
            (bus, (node, proxy))
        };
        let (bus, started): (Vec<_>, Vec<_>) = (0..count).map(start).unzip();
        let (nodes, proxies) = started.into_iter().unzip();
        let cluster = Self { nodes, proxies };
        cluster.join(&bus);
        cluster.replicate();
        let is_ready = || cluster.nodes.iter().all(|node| cluster.is_ready(node));
        assert!(eventually(is_ready));
        cluster
    }

    fn join(&self, bus: &[u16]) {
        for (index, node) in self.nodes.iter().enumerate() {
            // Gives each server another epoch. A server accepts an epoch only before it knows other
            // servers.
            node.cli(&["CLUSTER", "SET-CONFIG-EPOCH", &(index + 1).to_string()]);
        }
        for (index, node) in self.nodes.iter().enumerate() {
            for (other, bus) in self.nodes.iter().zip(bus).skip(index + 1) {
                let port = other.port().to_string();
                node.cli(&["CLUSTER", "MEET", "127.0.0.1", &port, &bus.to_string()]);
            }
        }
        for (index, node) in self.nodes.iter().take(PRIMARIES).enumerate() {
            let slots = 16384usize;
            let mine = index * slots / PRIMARIES..(index + 1) * slots / PRIMARIES;
            let mine: Vec<_> = mine.map(|slot| slot.to_string()).collect();
            let words = ["CLUSTER", "ADDSLOTS"].into_iter();
            let words: Vec<_> = words.chain(mine.iter().map(String::as_str)).collect();
            node.cli(&words);
        }
    }

    fn replicate(&self) {
        let (primaries, replicas) = self.nodes.split_at(PRIMARIES);
        for (replica, primary) in replicas.iter().zip(primaries) {
            let id = id(primary);
            assert!(eventually(|| {
                replica.cli(&["CLUSTER", "REPLICATE", &id]) == "OK"
            }));
        }
    }

    /// Reports whether a server knows the announced ports and the slots of all servers.
    fn is_ready(&self, node: &Redis) -> bool {
        let slots = node.cli(&["CLUSTER", "SLOTS"]);
        let ports = |line: &&str| {
            let known = |proxy: &Proxy| proxy.port().to_string() == **line;
            self.proxies.iter().any(known)
        };
        node.cli(&["CLUSTER", "INFO"]).contains("cluster_state:ok")
            && slots.lines().filter(ports).count() == self.nodes.len()
    }

    /// Returns the index of the server that keeps a key now.
    pub fn owner(&self, key: &str) -> usize {
        let keeps = |node: &Redis| matches!(&*node.cli(&["EXISTS", key]), "0" | "1");
        self.nodes.iter().position(keeps).unwrap()
    }

    /// Begins to move the slot of a key from one server to another.
    pub fn migrate(&self, key: &str, from: usize, to: usize) {
        let slot = self.nodes[from].cli(&["CLUSTER", "KEYSLOT", key]);
        let (source, target) = (id(&self.nodes[from]), id(&self.nodes[to]));
        self.nodes[to].cli(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &source]);
        self.nodes[from].cli(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &target]);
    }

    /// Moves all keys in a key's slot, and then the slot itself.
    pub fn finish_migration(&self, key: &str, from: usize, to: usize) {
        let slot = self.nodes[from].cli(&["CLUSTER", "KEYSLOT", key]);
        let keys = self.nodes[from].cli(&["CLUSTER", "GETKEYSINSLOT", &slot, "100"]);
        let port = self.nodes[to].port().to_string();
        for key in keys.lines() {
            let moved = self.nodes[from].cli(&["MIGRATE", "127.0.0.1", &port, key, "0", "1000"]);
            assert_eq!(moved, "OK");
        }
        let target = id(&self.nodes[to]);
        for index in [to, from] {
            self.nodes[index].cli(&["CLUSTER", "SETSLOT", &slot, "NODE", &target]);
        }
    }

    /// Promotes the replica of a primary. Returns when all servers know it.
    pub fn fail_over(&self, primary: usize) {
        let replica = &self.nodes[PRIMARIES + primary];
        let is_primary = || replica.cli(&["ROLE"]).starts_with("master");
        let given_up = || replica.log().matches("failover timed out").count();
        // A replica is promoted only after it has copied the primary's data. An accepted command is
        // repeated only after the server has given up, because Redis 6 would start anew.
        assert!(eventually(|| {
            let before = given_up();
            replica.cli(&["CLUSTER", "FAILOVER"]) == "OK"
                && eventually(|| is_primary() || given_up() > before)
                && is_primary()
        }));
        let id = id(replica);
        // The slots of a primary follow eight other fields.
        let owns = |line: &str| line.starts_with(&id) && line.split(' ').count() > 8;
        let knows = |node: &Redis| node.cli(&["CLUSTER", "NODES"]).lines().any(owns);
        assert!(eventually(|| self.nodes.iter().all(knows)));
    }

    /// Returns the number of round trips through all proxies.
    pub fn round_trips(&self) -> u64 {
        self.proxies.iter().map(Proxy::round_trips).sum()
    }
}

fn id(node: &Redis) -> String {
    node.cli(&["CLUSTER", "MYID"])
}
