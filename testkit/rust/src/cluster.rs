//! A Redis cluster with three primaries.

use crate::redis::Redis;
use crate::{Proxy, Upstream, eventually, free_port};

/// The number of primaries.
pub const PRIMARIES: usize = 3;

/// The servers of a cluster: [`PRIMARIES`], then their replicas, if there are any.
pub struct Cluster {
    /// The servers.
    pub nodes: Vec<Redis>,
    /// A proxy before each server. Servers announce the ports of the proxies.
    pub proxies: Vec<Proxy>,
}

impl Cluster {
    /// Starts a cluster in which a server counts as down after half a second. Each primary has one
    /// replica if `replicas` is true.
    pub fn start(replicas: bool) -> Self {
        let count = if replicas { 2 * PRIMARIES } else { PRIMARIES };
        let bus: Vec<String> = (0..count).map(|_| free_port().to_string()).collect();
        let start = |bus: &String| {
            let mut options = vec!["--cluster-enabled", "yes", "--cluster-port", bus];
            options.extend(["--cluster-node-timeout", "500"]);
            options.extend(["--cluster-replica-validity-factor", "0"]);
            options.extend(["--cluster-require-full-coverage", "no"]);
            // Without this, a primary waits for five seconds before it sends its data.
            options.extend(["--repl-diskless-sync-delay", "0"]);
            // A replica is listed after it has received something, at least a ping.
            options.extend(["--repl-ping-replica-period", "1"]);
            Redis::start(&options)
        };
        let nodes: Vec<Redis> = bus.iter().map(start).collect();
        let proxy = |node: &Redis| Proxy::tcp(Upstream::Tcp(node.port()));
        let proxies = nodes.iter().map(proxy).collect();
        let cluster = Self { nodes, proxies };
        cluster.join(&bus);
        cluster.replicate();
        let is_ready = || cluster.nodes.iter().all(|node| cluster.is_ready(node));
        assert!(eventually(is_ready) || eventually(is_ready));
        cluster
    }

    fn join(&self, bus: &[String]) {
        for (index, node) in self.nodes.iter().enumerate() {
            let port = self.proxies[index].port().to_string();
            node.cli(&["CONFIG", "SET", "cluster-announce-port", &port]);
            // Distinct epochs, which a server accepts only before it knows others.
            node.cli(&["CLUSTER", "SET-CONFIG-EPOCH", &(index + 1).to_string()]);
        }
        for (index, node) in self.nodes.iter().enumerate() {
            for (other, bus) in self.nodes.iter().zip(bus).skip(index + 1) {
                let port = other.port().to_string();
                node.cli(&["CLUSTER", "MEET", "127.0.0.1", &port, bus]);
            }
        }
        for (index, node) in self.nodes.iter().take(PRIMARIES).enumerate() {
            let slots = 16384usize;
            let first = (index * slots / PRIMARIES).to_string();
            let last = ((index + 1) * slots / PRIMARIES - 1).to_string();
            node.cli(&["CLUSTER", "ADDSLOTSRANGE", &first, &last]);
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

    /// Moves the keys of the slot of a key, and the slot.
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

    /// Promotes the replica of a primary. Returns when the other primaries know it.
    pub fn fail_over(&self, primary: usize) {
        let replica = &self.nodes[PRIMARIES + primary];
        // The replica must have copied the primary's data before.
        assert!(eventually(|| {
            replica.cli(&["CLUSTER", "FAILOVER"]);
            replica.cli(&["ROLE"]).starts_with("master")
        }));
    }

    /// Returns the number of round trips through all proxies.
    pub fn round_trips(&self) -> u64 {
        self.proxies.iter().map(Proxy::round_trips).sum()
    }
}

fn id(node: &Redis) -> String {
    node.cli(&["CLUSTER", "MYID"])
}
