//! Lockouts: attempts, and successes that clear the failures.

use crate::plan::Plan;
use crate::quotas::told;
use crate::work::{Work, failed};
use crate::world::{MICRO, MILLI, here};
use compat::lockout::take;
use gcra::lockout::{Lockout, UNIT};
use gcra::{Denial, Outcome, Timestamp, Verdict, boot_clock};
use prove::call::{Call, Kind, Outcome as Seen};
use prove::lockouts;
use prove::rules::Rules;
use stores::remote::{Kind as Record, Transport};

/// The number of a bucket's lockout is greater by this.
pub const LOCKOUT: usize = 200;

const NAMES: [&[u8]; 4] = [b"b0", b"b1", b"b2", b"b3"];

fn rules(bucket: usize, plan: &Plan) -> lockouts::Lockout {
    let choice = plan.seed + bucket as u64;
    let block = plan.duration() / [1000, 200, 50][choice as usize % 3];
    let block = block.max(MILLI);
    lockouts::Lockout {
        attempts: 1 + choice % 4,
        block,
        factor: [1000, 2000, 3000][choice as usize / 3 % 3],
        longest: 8 * block,
        unit: UNIT,
    }
}

impl Work {
    /// Makes an attempt under a lockout, or clears its failures after a success.
    pub fn guess(&self, bucket: usize) {
        let rules = rules(bucket, &here().plan);
        let lockout = Lockout {
            attempts: rules.attempts,
            block: rules.block,
            factor: rules.factor as f64 / 1000.0,
            max_block: rules.longest,
            unit: UNIT,
            one_clock: true,
        };
        let (client, number) = (self.client(bucket), LOCKOUT + bucket);
        let succeeds = here().chance.one_in(12);
        let kind = if succeeds { Kind::Reset } else { Kind::Take };
        let decide = |state, now| match succeeds {
            true => Lockout::succeed(state, now),
            false => lockout.attempt(state, now),
        };
        let name = client.transport().name_of(Record::Lockout, NAMES[bucket]);
        self.begin_other(number, kind, 1);
        let answer = client.operate(
            &name,
            |visit| take(visit, &name, decide, rules.longest),
            |_, _| Outcome::denied(Denial::Unavailable, Timestamp::ZERO, boot_clock()),
        );
        self.judge(bucket, &answer);
        self.end(number, |call| {
            call.outcome = match &answer {
                Ok(it) if it.fallback => Seen::Unknown,
                Ok(it) if it.value.granted() => Seen::Done,
                Ok(it) if it.value.verdict == Verdict::Denied(Denial::Contended) => Seen::Excused,
                Ok(it) => Seen::Denied {
                    retry_after: lockout.decision(&it.value, false).0.retry_after,
                },
                Err(_) => failed(&answer),
            }
        });
    }
}

/// Returns what breaks a rule of [`prove::lockouts`].
pub fn judge(bucket: usize, calls: &[Call], plan: &Plan) -> Vec<String> {
    let allowances = Rules {
        tick: MICRO,
        ..Rules::EXACT
    };
    let broken = lockouts::judge(calls, &rules(bucket, plan), &allowances);
    told("lockout", broken)
}
