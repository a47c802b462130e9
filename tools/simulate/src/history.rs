//! The record of a history: the calls of each bucket, and the states that the servers kept.

use crate::permits::{PERMIT, Permits};
use crate::plan::{Limit, Plan};
use crate::quotas::QUOTA;
use crate::worker::Record;
use crate::world::WALL;
use prove::call::{Call, Kind, Outcome, TOKEN};
use std::collections::BTreeMap;

/// The numbers of the buckets that a host keeps while a store fails begin here, times the number of
/// the host.
pub const LOCAL: usize = 1000;

/// A change of a bucket on its server.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    /// The true instant.
    pub at: u64,
    /// The instant at which the bucket is empty, on the server's clock.
    pub state: u64,
    /// The nanoseconds by which the server's clock is ahead.
    pub clock: i64,
}

/// An instant, a worker, and what happened.
pub type Line = (u64, usize, String);

#[derive(Default)]
pub struct History {
    pub calls: BTreeMap<usize, Vec<Call>>,
    /// The changes of each bucket.
    pub changes: Vec<Vec<Change>>,
    /// The loss of each bucket that has no record since.
    absent: Vec<Option<(u64, u64)>>,
    /// The end of the last change of a bucket that moved its state back, by host, bucket and limit;
    /// its start if it may have failed.
    pub cleared: BTreeMap<(usize, usize, Limit), u64>,
    /// The permits of each bucket's identifier.
    pub permits: Vec<Permits>,
    /// The faults that only the simulator can see.
    pub faults: Vec<String>,
    /// For each server, the faults that it has now, and the end of the last one.
    ill: Vec<(u32, u64)>,
    /// The last instant at which a step of a server's clock or a failover may have an effect.
    pub stepped_at: u64,
    /// The times whose changes a failover may have undone.
    pub reverted: Vec<(u64, u64)>,
    /// The ticks that servers granted, and those that calls used.
    pub charged: u64,
    pub used: u64,
    pub messages: u64,
    pub lines: Vec<Line>,
    is_told: bool,
}

/// Returns a call of a kind between two instants.
pub fn call(kind: Kind, outcome: Outcome, (start, end): (u64, u64)) -> Call {
    let (host, cost, floor, wait) = (0, 0, 0, 0);
    Call {
        host,
        start,
        end,
        kind,
        cost,
        floor,
        outcome,
        wait,
    }
}

impl History {
    pub fn new(plan: &Plan, is_told: bool) -> Self {
        Self {
            changes: vec![Vec::new(); plan.limits.len()],
            absent: vec![None; plan.limits.len()],
            permits: vec![Permits::default(); plan.limits.len()],
            ill: vec![(0, 0); plan.servers],
            is_told,
            ..Self::default()
        }
    }

    pub fn add(&mut self, Record { bucket, call }: Record) {
        self.calls.entry(bucket).or_default().push(call);
    }

    /// Adds a call that may also have had an effect on the host's own bucket.
    pub fn add_local(&mut self, Record { bucket, call }: Record) {
        let bucket = LOCAL * call.host as usize + bucket;
        self.add(Record { bucket, call });
    }

    /// Adds a call whose worker was killed. It may have an effect until `end`.
    pub fn killed(&mut self, mut record: Record, end: u64) {
        if record.bucket == PERMIT {
            return;
        }
        record.call.end = end;
        self.add(record);
        let is_bucket = record.bucket < QUOTA;
        if is_bucket && matches!(record.call.kind, Kind::Refund | Kind::Reset | Kind::Cancel) {
            // The host's own bucket may have got the tokens while the store failed.
            self.add_local(record);
        }
    }

    /// Adds a line to the table, if there is one.
    pub fn note(&mut self, at: u64, worker: usize, what: impl FnOnce() -> String) {
        if self.is_told {
            self.lines.push((at, worker, what()));
        }
    }

    /// Notes ticks that a server has granted, and the ticks of a token. A host may keep them for
    /// `wait`.
    pub fn stored(&mut self, bucket: usize, at: u64, (ticks, token): (u64, u64), wait: u64) {
        self.charged += ticks;
        let stored = call(Kind::Stored, Outcome::Done, (at.saturating_sub(1000), at));
        let cost = i128::from(ticks) * TOKEN / i128::from(token);
        let call = Call {
            cost,
            wait,
            ..stored
        };
        self.add(Record { bucket, call });
    }

    /// Notes that a bucket may have lost its last writes, and the state that it has now. Without a
    /// record, hosts still deny from the last state until the next write.
    pub fn lost(&mut self, bucket: usize, times: (u64, u64), change: Option<Change>) {
        match change {
            Some(change) => {
                self.event(bucket, Kind::Lost, Outcome::Done, times);
                self.changes[bucket].push(change);
            }
            None => self.absent[bucket] = self.absent[bucket].or(Some(times)),
        }
    }

    /// Notes that a server's clock was set back. At the next call, the bucket has the debt again
    /// that it had at the last change, or is empty.
    pub fn set_back(&mut self, bucket: usize, times: (u64, u64)) {
        let debt = self.changes[bucket].last().map_or(0, |it| {
            let written = (WALL + it.at).saturating_add_signed(it.clock);
            it.state.saturating_sub(written)
        });
        let drain = call(Kind::Drain, Outcome::Unknown, times);
        let call = Call {
            wait: debt,
            ..drain
        };
        self.add(Record { bucket, call });
    }

    /// Notes a change of a bucket on its server.
    pub fn changed(&mut self, bucket: usize, change: Change) {
        if let Some((start, end)) = self.absent[bucket].take() {
            let times = (start, end.max(change.at));
            self.event(bucket, Kind::Lost, Outcome::Done, times);
        }
        self.changes[bucket].push(change);
        self.note(change.at, usize::MAX, || {
            let empty_at = change.state.wrapping_sub(WALL) as f64 / 1e9;
            format!("b{bucket} is empty at {empty_at:.6} s on the server's clock")
        });
    }

    /// Notes that a request may have left this many tokens.
    pub fn restored(&mut self, bucket: usize, at: u64, left: u64) {
        let drain = call(Kind::Drain, Outcome::Unknown, (at, at));
        let cost = i128::from(left) * TOKEN;
        let call = Call { cost, ..drain };
        self.add(Record { bucket, call });
    }

    /// Notes what happened to a bucket without a call.
    pub fn event(&mut self, bucket: usize, kind: Kind, outcome: Outcome, times: (u64, u64)) {
        let call = call(kind, outcome, times);
        self.add(Record { bucket, call });
    }

    pub fn broke(&mut self, server: usize) {
        self.ill[server].0 += 1;
    }

    pub fn healed(&mut self, server: usize, at: u64) {
        self.ill[server] = (self.ill[server].0 - 1, at);
    }

    /// Reports whether a server has worked for longer than `time`.
    pub fn is_well(&self, server: usize, now: u64, time: u64) -> bool {
        let (faults, last) = self.ill[server];
        faults == 0 && now - last > time
    }
}
