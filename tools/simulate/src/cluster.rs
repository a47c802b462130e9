//! The servers of keys: in a cluster, with slots on their way, and behind a proxy.

use crate::keys::bucket;
use crate::world::World;

/// The slots of a cluster.
const SLOTS: usize = 16_384;

/// Returns the slot of a key, as a cluster computes it.
fn slot(key: &[u8]) -> usize {
    let step = |crc: u16, _| (crc << 1) ^ if crc & 0x8000 == 0 { 0 } else { 0x1021 };
    let crc = key.iter().fold(0, |crc, &byte| {
        (0..8).fold(crc ^ u16::from(byte) << 8, step)
    });
    usize::from(crc) % SLOTS
}

/// Hashes a key as twemproxy does by default. Neighbouring names have nearly the same hash.
fn hash(key: &[u8]) -> u32 {
    let step = |hash: u32, &byte: &u8| (hash ^ u32::from(byte)).wrapping_mul(0x1b3);
    key.iter().fold(0x8422_2325, step)
}

impl World {
    /// Returns the server that executes a command: behind a proxy, that of its first key.
    pub fn behind(&self, server: usize, words: &[&[u8]]) -> usize {
        let (&[b"EVAL" | b"EVALSHA", _, _, key, ..] | &[b"ZREM", key, ..]) = words else {
            return server;
        };
        let servers = self.plan.servers;
        match (self.plan.is_proxied, key) {
            (false, _) => server,
            (true, [b'p', b':', b'b', _] | [b'p', b':', b'b', _, b'~', ..]) => {
                bucket(key) % servers
            }
            (true, _) => ((u64::from(hash(key)) * servers as u64) >> 32) as usize,
        }
    }

    /// Returns the server that keeps a slot.
    fn keeper(&self, slot: usize) -> usize {
        let moved = self.moved.get(&slot).copied();
        moved.unwrap_or(slot * self.plan.servers / SLOTS)
    }

    /// Returns the redirection of a command that reaches another server than that of its key.
    pub fn elsewhere(&self, server: usize, asking: bool, key: &[u8]) -> Option<String> {
        if !self.plan.is_cluster {
            return None;
        }
        let slot = slot(key);
        let (keeper, next) = (self.keeper(slot), self.moving.get(&slot).copied());
        let (word, to) = match next {
            Some(next) if server == keeper => ("ASK", next),
            Some(next) if server == next && asking => return None,
            None if server == keeper => return None,
            _ => ("MOVED", keeper),
        };
        Some(format!("{word} {slot} 10.0.0.{}:6379", to + 1))
    }

    /// Begins to move the slot of a bucket or of another record. Its key is on the other server
    /// from now on.
    pub fn moves(&mut self) {
        let bucket = self.chance.below(self.plan.limits.len() as u64);
        let kind = self.chance.of(&["", "", "~permits", "~quota", "~lockout"]);
        let key = format!("p:b{bucket}{kind}");
        let slot = slot(key.as_bytes());
        let next = self.chance.below(self.plan.servers as u64) as usize;
        let from = self.keeper(slot);
        if self.plan.is_cluster && from != next && !self.moving.contains_key(&slot) {
            self.moving.insert(slot, next);
            let (from, to) = (&self.servers[from].keys, &self.servers[next].keys);
            from.borrow_mut()
                .migrate(key.as_bytes(), &mut to.borrow_mut());
        }
    }

    /// Ends all moves: the other servers keep the slots now.
    pub fn moved_all(&mut self) {
        let moving = std::mem::take(&mut self.moving);
        self.moved.extend(moving);
    }

    /// Returns the reply to CLUSTER SLOTS.
    pub fn slots(&self) -> String {
        let firsts = (0..self.plan.servers).map(|it| (it * SLOTS).div_ceil(self.plan.servers));
        let moved = self.moved.keys().flat_map(|&slot| [slot, slot + 1]);
        let mut starts: Vec<_> = firsts.chain(moved).filter(|&it| it < SLOTS).collect();
        starts.sort_unstable();
        starts.dedup();
        let mut text = format!("*{}\r\n", starts.len());
        for (index, &first) in starts.iter().enumerate() {
            let last = starts.get(index + 1).map_or(SLOTS, |&it| it) - 1;
            let address = format!("10.0.0.{}", self.keeper(first) + 1);
            text += &format!("*3\r\n:{first}\r\n:{last}\r\n*2\r\n");
            text += &format!("${}\r\n{address}\r\n:6379\r\n", address.len());
        }
        text
    }
}
