//! Counters as ext-memcache keeps integers: decimal text with its flags for integers.

use super::{CounterGroup, Life, MinuteCounters, Name, parse};
use stores::remote::memcached::LONGER;
use stores::remote::memcached::wire::{Connection, MetaCommand, MetaOp, MetaReply};
use stores::remote::{Cause, Memcached, Visit};

/// The client flags of ext-memcache for an integer.
const INTEGER: u32 = 768;
/// The most counters in one write. The replies to a larger write could fill the buffers of both
/// sides, and then both would wait.
const AT_ONCE: usize = 512;

impl MinuteCounters for Memcached {
    fn by_server(&self, names: &[Name]) -> Vec<CounterGroup> {
        let mut groups: Vec<(usize, CounterGroup)> = Vec::new();
        for (place, name) in names.iter().enumerate() {
            let key = self.shared_key(name, 0);
            let server = self.place(&key);
            let found = groups.iter().position(|group| group.0 == server);
            let index = found.unwrap_or_else(|| {
                groups.push((server, CounterGroup::default()));
                groups.len() - 1
            });
            let group = &mut groups[index].1;
            group.places.push(place);
            group.keys.push(key);
        }
        groups.into_iter().map(|group| group.1).collect()
    }

    /// Takes one round trip for each `AT_ONCE` counters, and another one if the first counter would
    /// expire too soon.
    fn count(
        visit: &Visit<'_, Self>,
        keys: &[Name],
        life: Option<Life>,
    ) -> Result<Vec<u64>, Cause> {
        let Some(first) = keys.first() else {
            return Ok(Vec::new());
        };
        visit.route.with(visit.deadline, |connection| {
            let (mut counts, mut life) = (Vec::with_capacity(keys.len()), life);
            for keys in keys.chunks(AT_ONCE) {
                let counted = usize::from(life.is_some());
                let up = life.iter().flat_map(|life| count_up(first, *life));
                let read = keys[counted..].iter();
                let read = read.map(|key| MetaCommand::new(MetaOp::Get, key.as_slice()).flag("v"));
                let found = connection.exchange(up.chain(read))?;
                // Skip the first reply, which only shows whether the counter was created.
                for found in &found[counted..] {
                    counts.push(number(found)?);
                }
                if let Some(life) = life.take() {
                    let left = found[1].number(b't').unwrap_or(-1);
                    prolong(connection, first, left, life)?;
                }
            }
            Ok(counts)
        })
    }
}

/// Creates a counter if it is missing, then increments it. An increment alone would not set the
/// flags.
fn count_up(key: &[u8], life: Life) -> [MetaCommand; 2] {
    let make = MetaCommand::new(MetaOp::Set, key)
        .flag(format!("ME F{INTEGER} T{}", life.whole))
        .value("0");
    let count = MetaCommand::new(MetaOp::Arithmetic, key).flag("v t");
    [make, count]
}

/// Prolongs a counter with `left` seconds to live if it would expire too soon. Such a counter was
/// created for a window of fewer minutes, or in the first second of its minute. In the second case,
/// it may expire too soon because the server's clock was up to two seconds behind when the counter
/// was created.
fn prolong(connection: &mut Connection, key: &[u8], left: i64, life: Life) -> Result<(), Cause> {
    // `rest` already includes a spare second.
    if left >= 0 && left <= i64::from(life.rest) {
        let longer = u64::from(life.rest) + LONGER;
        let touch = MetaCommand::new(MetaOp::Get, key).flag(format!("T{longer}"));
        connection.exchange([touch])?;
    }
    Ok(())
}

/// Returns the count in a counter, or 0 if the counter is missing.
fn number(found: &MetaReply) -> Result<u64, Cause> {
    if found.is_missing() {
        return Ok(0);
    }
    let value = found.value.as_deref();
    let value = value.ok_or(Cause::Answer("not to a counter"))?;
    parse(value).ok_or(Cause::Record)
}
