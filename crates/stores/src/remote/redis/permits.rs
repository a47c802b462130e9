//! The permits of concurrency limits that a server keeps.
//!
//! A server does not learn of the death of a client, so each permit has a lease on the server's
//! clock.
//!
//! Invariant: at each instant of the server's clock, at most `limit` leases of a key have not
//! ended. Each holder has a token that is never used again. So a late release or removal cannot end
//! the permit of another holder.

use super::abandoned::{self, Abandoned};
use super::script::{Argument, CLOCK, Script};
use super::{Redis, number};
use crate::remote::{Cause, Visit};
use gcra::{TICKS_PER_MICROSECOND, Ticks, Timestamp, boot_clock};
use redis::{Value, cmd};
use rustix::rand::{GetRandomFlags, getrandom};
use segment::memory::fork::generation;
use std::sync::Arc;

static PERMITS: Script = Script::new(&[CLOCK, include_str!("permits.lua")]);

/// The longest lease: 36 years, in ticks. So the end of a lease is below 2^52 microseconds.
pub const LONGEST_LEASE: Ticks = 1 << 60;

/// A permit on a server.
#[derive(Debug)]
pub struct Lease {
    /// The key of the set.
    pub(crate) name: Vec<u8>,
    pub(crate) member: Vec<u8>,
    pub(crate) length: Ticks,
    /// The instant of this host's clock before which the lease does not end, unless the server
    /// loses its data or its clock is set forward.
    pub(crate) lasts_until: Timestamp,
    /// A forked child does not hold the permits of its parent.
    generation: u32,
}

impl Lease {
    /// Draws a token. The lease begins now or later.
    pub(crate) fn draw(name: &[u8], length: Ticks) -> Result<Self, Cause> {
        let length = length.clamp(TICKS_PER_MICROSECOND, LONGEST_LEASE);
        let micros = length / TICKS_PER_MICROSECOND;
        let member = format!("{:032x}:{micros}", random()?);
        Ok(Self {
            name: name.to_vec(),
            member: member.into_bytes(),
            length,
            lasts_until: boot_clock() + length,
            generation: generation(),
        })
    }

    pub(crate) fn is_own(&self) -> bool {
        self.generation == generation()
    }

    /// Has the permit removed with a later call to `redis`.
    pub(crate) fn abandon(&self, redis: &Redis) {
        let login = redis.topology.whole.login;
        let abandoned = Abandoned::new(login, &self.name, &self.member, self.length);
        abandoned::add([abandoned]);
    }
}

/// Returns 128 random bits.
fn random() -> Result<u128, Cause> {
    let mut bytes = [0; 16];
    // The kernel never interrupts so short a read.
    getrandom(&mut bytes, GetRandomFlags::empty()).map_err(|error| Cause::Random(error.into()))?;
    Ok(u128::from_ne_bytes(bytes))
}

/// The reply of `permits.lua`.
pub(crate) struct Report {
    pub is_done: bool,
    held: u64,
    pub ended: u64,
    pub is_set_back: bool,
}

impl Report {
    fn read(value: &Value) -> Result<Self, Cause> {
        let Some([is_done, held, ended, is_set_back]) = value.as_sequence() else {
            return Err(Cause::Answer("four numbers are expected"));
        };
        Ok(Self {
            is_done: number(is_done)? != 0,
            held: number(held)?,
            ended: number(ended)?,
            is_set_back: number(is_set_back)? != 0,
        })
    }

    /// Returns the permits that are held, at most `limit`.
    pub fn held(&self, limit: u16) -> u16 {
        u16::try_from(self.held).unwrap_or(limit).min(limit)
    }
}

impl Visit<'_, Redis> {
    /// Runs `permits.lua`. The same request removes abandoned permits from the set. A second round
    /// trip removes those from other sets on the server, if there are any.
    pub(crate) fn change_permits(
        &self,
        name: &[u8],
        verb: &'static [u8],
        member: &[u8],
        limit: Option<u16>,
    ) -> Result<Report, Cause> {
        let login = self.store.topology.whole.login;
        let abandoned = abandoned::take(|it| it.login == login && it.name == name);
        let limit = limit.map_or(Argument::Word(b""), |limit| Argument::Number(limit.into()));
        let mut arguments = vec![Argument::Word(verb), Argument::Word(member), limit];
        arguments.extend(abandoned.iter().map(|it| Argument::Word(&it.member)));
        let reply = self.run(&PERMITS, &[name], &arguments);
        if reply.is_ok() {
            self.remove_abandoned();
        } else {
            abandoned::add(abandoned);
        }
        Report::read(&reply?)
    }

    /// Removes abandoned permits from all sets on the server of this visit.
    fn remove_abandoned(&self) {
        let (topology, node) = (&self.store.topology, &self.route.node);
        let is_there = |name: &[u8]| {
            let keeper = topology.node(name);
            keeper.is_some_and(|keeper| Arc::ptr_eq(&keeper, node))
        };
        let login = topology.whole.login;
        let abandoned = abandoned::take(|it| it.login == login && is_there(&it.name));
        if abandoned.is_empty() {
            return;
        }
        let removal = |it: &Abandoned| {
            let mut removal = cmd("ZREM");
            removal.arg(&it.name).arg(&it.member);
            removal
        };
        let removals: Vec<_> = abandoned.iter().map(removal).collect();
        if node.send(&removals, self.deadline).is_err() {
            abandoned::add(abandoned);
        }
    }
}
