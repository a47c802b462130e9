//! The knowledge of a thread about the servers of a fleet.

use super::cluster::NO_ADDRESS;
use super::dsn::Dsn;
use super::node::Node;
use gcra::Timestamp;
use std::collections::HashMap;
use std::sync::Arc;

/// The servers of a fleet, and which of them keeps a slot.
#[derive(Debug, Default)]
pub struct Known {
    /// The servers that keep keys; empty before a fleet has been asked.
    pub nodes: Vec<Arc<Node>>,
    /// For each slot, the index of its server, or a greater number if there is none. There is one
    /// slot outside clusters.
    pub slots: Vec<u16>,
    /// The servers to ask, in this order.
    pub seeds: Vec<Arc<Node>>,
    /// The instant at which the fleet was last asked.
    pub asked_at: Option<Timestamp>,
    /// The instant at which the last question that got an answer was sent.
    pub answer_of: Option<Timestamp>,
    /// The configuration epoch of a sentinel's answer; 0 without sentinels.
    pub epoch: u64,
    /// The server that sent the last redirection.
    pub redirected_by: Option<Arc<Node>>,
}

impl Known {
    pub fn node(&self, slot: usize) -> Option<&Arc<Node>> {
        let index = *self.slots.get(slot)?;
        self.nodes.get(usize::from(index))
    }

    /// Returns the index of the server at an address. Adds the server if it is new.
    pub fn index(&mut self, dsn: Dsn) -> u16 {
        let found = self.nodes.iter().position(|node| *node.dsn == dsn);
        let index = found.unwrap_or_else(|| {
            self.nodes.push(Arc::new(Node::new(dsn)));
            self.nodes.len() - 1
        });
        // The index fits, because a cluster has at most 16,384 servers that keep slots.
        u16::try_from(index).unwrap_or_default()
    }

    /// Replaces the servers of all slots. Servers that are known already keep their state. If the
    /// address of a server is unknown now, the slot keeps the server that it had.
    pub fn replace(&mut self, mut slots: Vec<u16>, dsns: impl Iterator<Item = Dsn>) {
        let known: HashMap<_, _> = self.nodes.iter().map(|node| (&*node.dsn, node)).collect();
        let node = |dsn: Dsn| match known.get(&dsn) {
            Some(node) => Arc::clone(node),
            None => Arc::new(Node::new(dsn)),
        };
        let mut nodes: Vec<_> = dsns.map(node).collect();
        let mut kept = HashMap::new();
        for (slot, index) in slots.iter_mut().enumerate() {
            if *index == NO_ADDRESS
                && let Some(node) = self.node(slot)
            {
                *index = *kept.entry(Arc::as_ptr(node)).or_insert_with(|| {
                    nodes.push(Arc::clone(node));
                    u16::try_from(nodes.len() - 1).unwrap_or(NO_ADDRESS)
                });
            }
        }
        (self.slots, self.nodes) = (slots, nodes);
    }

    /// Lists the servers to ask the next time: servers that keep slots, then the other seeds.
    pub fn list_seeds(&mut self, configured: &[Dsn]) {
        let is_known = |seed: &&Dsn| self.nodes.iter().any(|node| *node.dsn == **seed);
        let others = configured.iter().filter(|seed| !is_known(seed));
        let others = others.map(|dsn| Arc::new(Node::new(dsn.clone())));
        let mut seeds: Vec<_> = self.nodes.iter().cloned().chain(others).collect();
        // Servers that fail now are asked last.
        seeds.sort_by_key(|seed| seed.is_suspect());
        self.seeds = seeds;
    }

    /// Asks this server after all others the next time.
    pub fn ask_last(&mut self, seed: &Node) {
        self.seeds.sort_by_key(|other| other.dsn == seed.dsn);
    }

    /// Asks this server before all others the next time.
    pub fn ask_first(&mut self, seed: &Node) {
        self.seeds.sort_by_key(|other| other.dsn != seed.dsn);
    }
}
