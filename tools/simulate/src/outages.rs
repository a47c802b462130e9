//! The faults of servers and hosts: when they begin, what they do, and how they end.

use crate::history::LOCAL;
use crate::lockouts::LOCKOUT;
use crate::plan::{FAULTS, LONGEST_STOP, PARTS, Part};
use crate::quotas::QUOTA;
use crate::world::{Event, MICRO, MILLI, SECOND, World};
use prove::call::{Kind, Outcome};

impl World {
    /// A server breaks.
    pub fn breaks(&mut self) {
        let index = self.chance.below(self.plan.servers as u64) as usize;
        let fault = PARTS[self.chance.below(FAULTS) as usize];
        let rest = self.chance.below(self.plan.calm);
        self.at(self.now + 500 * MILLI + rest, Event::Fault);
        if !self.plan.has(fault) {
            return;
        }
        let host = self.chance.below(self.plan.hosts as u64) as usize;
        let lasts = 50 * MILLI + self.chance.below(SECOND);
        let it = &mut self.servers[index];
        match fault {
            Part::Refuse | Part::Restart => {
                it.refuses = true;
                self.reset_all(index);
            }
            Part::Hang => it.stopped_until = self.now + lasts.min(LONGEST_STOP),
            Part::Flush => {
                it.keys.borrow_mut().clear();
                self.lose(index, self.now, self.now);
                // A host restores the state that it saw before a reset.
                self.history.stepped_at = self.now + self.plan.oldest();
            }
            Part::Failover => it.replica = Some(it.keys.borrow().clone()),
            Part::ForgetScripts => it.known.clear(),
            Part::Loading => it.refusal = Some("LOADING Redis is loading the dataset in memory"),
            Part::ReadOnly => it.refusal = Some("READONLY You can't write against a replica."),
            Part::OutOfMemory => it.refusal = Some("OOM command not allowed"),
            Part::ServerClock => {
                let step = self.chance.below(2 * SECOND / MICRO) as i64 - (SECOND / MICRO) as i64;
                // The servers of a cluster keep one clock. If clocks differ, more is granted.
                for (server, it) in self.servers.iter_mut().enumerate() {
                    let steps = self.plan.is_cluster || server == index;
                    it.clock += if steps { step } else { 0 };
                }
                let until = self.now + (-step).max(0) as u64 * MICRO;
                for bucket in self.buckets(index) {
                    self.history.set_back(bucket, (self.now, until));
                }
                self.lose(index, self.now, self.now);
                self.history.stepped_at = until;
            }
            Part::Reboot => {
                self.reboot(host);
                for bucket in 0..self.plan.limits.len() {
                    let (own, times) = (LOCAL * (host + 1) + bucket, (self.now, self.now));
                    self.history.event(own, Kind::Lost, Outcome::Done, times);
                }
            }
            Part::Move => self.moves(),
            _ => return,
        }
        self.history.broke(index);
        self.history.note(self.now, usize::MAX, || {
            format!("{fault:?} of server {index} or host {host}")
        });
        let lasts = if fault == Part::Failover {
            lasts.min(100 * MILLI)
        } else {
            lasts
        };
        self.at(self.now + lasts, Event::Heal(fault, index));
    }

    pub fn heals(&mut self, fault: Part, index: usize) {
        let (it, now) = (&mut self.servers[index], self.now);
        match fault {
            Part::Refuse => it.refuses = false,
            Part::Restart => {
                it.refuses = false;
                it.known.clear();
            }
            Part::Loading | Part::ReadOnly | Part::OutOfMemory => it.refusal = None,
            Part::Failover => {
                if let Some(keys) = it.replica.take() {
                    it.keys.replace(keys);
                    self.reset_all(index);
                    if !crate::planted(31) {
                        // Denials that were cached before a lost reset are true again.
                        let until = now + self.plan.oldest();
                        self.lose(index, now - 100 * MILLI, until);
                        self.history.stepped_at = until;
                        self.history.reverted.push((now - 100 * MILLI, now));
                    }
                }
            }
            Part::Move => self.moved_all(),
            _ => {}
        }
        self.history.healed(index, now);
        self.history.note(now, usize::MAX, || {
            format!("{fault:?} of server {index} is over")
        });
    }

    /// Notes that a server may have lost the last writes of its buckets, and the states that it has
    /// now.
    fn lose(&mut self, server: usize, start: u64, end: u64) {
        for bucket in self.buckets(server) {
            if !crate::planted(44) {
                self.history.permits[bucket].lost(start, self.now);
            }
            for number in [QUOTA + bucket, LOCKOUT + bucket] {
                let times = (start, end.max(self.now));
                self.history.event(number, Kind::Lost, Outcome::Done, times);
            }
            let key = format!("p:b{bucket}");
            let keeps = |&it: &usize| {
                self.plan.keeps(it, bucket) && self.elsewhere(it, true, key.as_bytes()).is_none()
            };
            let keeper = (0..self.plan.servers).find(keeps);
            let change = keeper.map(|it| self.servers[it].state(bucket, self.now));
            self.history
                .lost(bucket, (start, end), change.filter(|it| it.state > 0));
        }
    }

    /// Returns the buckets that a server may keep.
    fn buckets(&self, server: usize) -> Vec<usize> {
        let all = 0..self.plan.limits.len();
        all.filter(|&it| self.plan.keeps(server, it)).collect()
    }
}
