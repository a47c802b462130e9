//! The rules that only a simulator can judge, because it knows the true time and the servers'
//! states.

use crate::plan::{Limit, USUALLY_LATE};
use crate::worker::Record;
use crate::world::{MILLI, SECOND, WALL, World};
use gcra::{Step, Timestamp};
use prove::call::{Kind, Outcome};

/// The time by which a call may exceed its timeout: the sleep of a worker that waits for another
/// one, and the steps of the simulator.
const MARGIN: u64 = 3 * MILLI;
/// The time after which a breaker has closed, apart from two timeouts: the longest pause after an
/// outage of two seconds. A probe whose worker was stopped keeps the breaker for two timeouts.
const CLOSED: u64 = 5 * SECOND;
/// The nanoseconds by which a server's clock is rounded, and a state.
const ROUNDING: u64 = 2000;

impl World {
    /// No call takes longer than its timeout, apart from the time for which the simulator stopped
    /// it.
    pub fn judge_time(&mut self) {
        let (now, timeout, worker) = (self.now, self.plan.timeout, self.index());
        let it = self.current();
        let Some(start) = it.running.first().map(|it| it.call.start) else {
            return;
        };
        let took = (now - start).saturating_sub(it.stopped);
        if took > timeout + timeout / 512 + MARGIN {
            self.history.faults.push(format!(
                "(time) a call of worker {worker} at {start} took {took} ns with a timeout of {timeout}"
            ));
        }
    }

    /// A call fails, or is decided by the failure policy, only if its server or the way to it has
    /// failed. So the breaker of a server that works again closes in time, and no server pays for
    /// another one.
    pub fn judge_failure(&mut self, bucket: usize) {
        if self.plan.late < USUALLY_LATE {
            // So many calls time out that breakers open.
            return;
        }
        let (worker, harmed) = (self.index(), self.current().harmed);
        // A breaker closes only when calls come.
        let silence = self.plan.tide.map_or(0, |it| it.length);
        let closed = CLOSED + 2 * self.plan.timeout + silence;
        // Three failures open a breaker, and some of them may be lost messages.
        let host = worker % self.plan.hosts;
        let [third, .., last] = self.hosts[host].harmed_at;
        let is_opened = third + 2 * closed > self.now && last + closed > self.now;
        let mut servers = (0..self.plan.servers).filter(|&it| self.plan.needs(it, bucket));
        if harmed != 0 || servers.any(|it| !self.history.is_well(it, self.now, 0)) {
            self.hosts[host].harmed_at.rotate_left(1);
            self.hosts[host].harmed_at[2] = self.now;
        }
        if is_opened {
            return;
        }
        let is_well = |server: usize| {
            let is_well = self.history.is_well(server, self.now, closed);
            harmed >> server & 1 == 0 && is_well
        };
        let mut servers = (0..self.plan.servers).filter(|&it| self.plan.needs(it, bucket));
        if servers.all(is_well) {
            self.history.faults.push(format!(
                "(blame) a call of worker {worker} on bucket {bucket} failed at {}, and its server has worked for {closed} ns",
                self.now
            ));
        }
    }

    /// A denial of a plain take is right if the server would have denied it at some instant of the
    /// call. A cached denial may be older, but not older than the host's last change that moved the
    /// state back.
    pub fn judge_denial(&mut self, Record { bucket, call }: Record, step: &Step, limit: Limit) {
        let is_plain = call.kind == Kind::Take && matches!(call.outcome, Outcome::Denied { .. });
        let oldest = call.start.saturating_sub(self.plan.oldest());
        let history = &mut self.history;
        if !is_plain || self.plan.take_ahead > 0 || history.stepped_at > oldest {
            return;
        }
        let key = (call.host as usize, bucket, limit);
        let cleared = history
            .cleared
            .get(&key)
            .copied()
            .filter(|&it| it <= call.start)
            .unwrap_or(0);
        let from = oldest.max(cleared).saturating_sub(ROUNDING);
        let changes = &history.changes[bucket];
        let first = changes
            .partition_point(|it| it.at <= from)
            .saturating_sub(1);
        // A state that was written before a step of the server's clock means another instant now.
        if changes
            .get(first)
            .is_none_or(|it| it.at < history.stepped_at)
        {
            return;
        }
        let step = Step {
            span: limit.span(),
            ..*step
        };
        // Hosts restore a lost record from what they know. A denial does not write it.
        let known = changes[..first]
            .iter()
            .filter(|it| it.at < history.stepped_at);
        // Within a state, the bucket holds least at its beginning.
        let states = changes[first..].iter().take_while(|it| it.at <= call.end);
        let mut states = states.chain(known);
        let is_right = states.any(|it| {
            let now = (WALL + it.at.max(from)).saturating_add_signed(it.clock);
            let outcome = step
                .dry()
                .decide(Timestamp(it.state), Timestamp(now + ROUNDING));
            !outcome.granted()
        });
        if !is_right {
            history.faults.push(format!(
                "(denial) bucket {bucket} denied host {} between {} and {}, and the server would have granted all the time since {from}",
                call.host, call.start, call.end
            ));
        }
    }
}
