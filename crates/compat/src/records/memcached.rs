//! Records on memcached: one item each, on this host's wall clock.

use super::{Found, Next, Records, Swapped};
use stores::remote::memcached::wire::Item;
use stores::remote::memcached::{life, wall_ticks};
use stores::remote::{Cause, Memcached, Visit};

/// Converts an item. Reads the clock after the item, so that a denial is true at that instant.
fn found(item: Option<Item>) -> Found {
    let version = item.as_ref().map(|item| (item.cas, item.left));
    Found {
        record: item.map(|item| item.value),
        now: wall_ticks(),
        item: version.unwrap_or_default(),
    }
}

impl Records for Memcached {
    fn read(visit: &Visit<'_, Self>, key: &[u8]) -> Result<Found, Cause> {
        let read = visit.route.with(visit.deadline, |server| server.read(key));
        read.map(found)
    }

    fn swap(visit: &Visit<'_, Self>, key: &[u8], seen: &Found, next: &Next) -> Swapped {
        let (version, left) = seen.item;
        let version = seen.record.as_ref().map(|_| version);
        let life = life(seen.now.saturating_add(next.life), seen.now, left);
        let (written, item) = visit.route.with(visit.deadline, |server| {
            server.write(key, &next.record, life, version)
        })?;
        Ok((!written).then(|| found(item)))
    }
}
