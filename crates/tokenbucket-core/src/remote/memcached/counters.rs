//! Counters as ext-memcache keeps integers: decimal text under its flags for them.

use super::wire::{Connection, Found};
use super::{LONGER, Memcached};
use crate::clock::Ticks;
use crate::record::minutes::{self, Life};
use crate::remote::failure::Cause;
use memcache::exp::{MetaCommand, MetaOp};

/// ext-memcache's client flags of an integer.
const INTEGER: u32 = 768;
/// So many counters go into one write: the replies to more could fill both sides' buffers.
const AT_ONCE: usize = 512;

impl Memcached {
    /// The keys, those of one server together, and those of the first key's server first.
    #[must_use]
    pub fn by_server(&self, keys: Vec<Vec<u8>>) -> Vec<Vec<Vec<u8>>> {
        let mut groups: Vec<(usize, Vec<Vec<u8>>)> = Vec::new();
        for key in keys {
            let place = self.place(&key);
            match groups.iter_mut().find(|group| group.0 == place) {
                Some(group) => group.1.push(key),
                None => groups.push((place, vec![key])),
            }
        }
        groups.into_iter().map(|group| group.1).collect()
    }

    /// The sum of some counters, all of one server, the first of which is counted up before if it has a
    /// `life`. One round trip, but that a counter which does not live long enough takes another, once.
    ///
    /// # Errors
    /// When the server did not answer; [`Cause::Record`] when one of them is no counter.
    pub fn count(
        &self,
        keys: &[Vec<u8>],
        life: Option<Life>,
        deadline: Ticks,
    ) -> Result<u64, Cause> {
        let Some(first) = keys.first() else {
            return Ok(0);
        };
        let mut connection = self.connection(first, deadline)?;
        let mut sum = 0u64;
        let mut life = life;
        for keys in keys.chunks(AT_ONCE) {
            let counted = usize::from(life.is_some());
            let up = life.iter().flat_map(|life| count_up(first, *life));
            let read = keys[counted..].iter();
            let read = read.map(|key| MetaCommand::new(MetaOp::Get, key.as_slice()).flag("v"));
            let found = connection.exchange(up.chain(read))?;
            // What comes first tells only whether the counter was made.
            for found in &found[counted..] {
                sum = sum.saturating_add(number(found)?);
            }
            if let Some(life) = life.take() {
                prolong(&mut connection, first, &found[1], life)?;
            }
        }
        self.keep(first, connection);
        Ok(sum)
    }
}

/// Makes a counter if there is none, with the flags that counting up alone would not give it, and counts it up.
fn count_up(key: &[u8], life: Life) -> [MetaCommand; 2] {
    let make = MetaCommand::new(MetaOp::Set, key)
        .flag("ME")
        .flag(format!("F{INTEGER}"))
        .flag(format!("T{}", life.whole))
        .value("0");
    let count = MetaCommand::new(MetaOp::Arithmetic, key)
        .flag("v")
        .flag("t");
    [make, count]
}

/// Whoever counts fewer minutes makes counters that live shorter. And the server's clock may be two seconds behind
/// when a counter is made, which is then gone so much sooner: too soon in the first second of its minute.
fn prolong(
    connection: &mut Connection,
    key: &[u8],
    counted: &Found,
    life: Life,
) -> Result<(), Cause> {
    let left = counted.number(b't').unwrap_or(-1);
    // The rest has a second to spare already.
    if left >= 0 && left <= i64::from(life.rest) {
        let longer = u64::from(life.rest) + LONGER;
        let touch = MetaCommand::new(MetaOp::Get, key).flag(format!("T{longer}"));
        connection.exchange([touch])?;
    }
    Ok(())
}

/// What a counter says; none is 0.
fn number(found: &Found) -> Result<u64, Cause> {
    if found.is_missing() {
        return Ok(0);
    }
    let value = found
        .value
        .as_deref()
        .ok_or(Cause::Answer("not to a counter"))?;
    minutes::parse(value).ok_or(Cause::Record)
}
