//! Quotas: their calls, which are repeated at the end of a window as those of PHP are.

use crate::plan::Plan;
use crate::work::{Work, failed};
use crate::world::{MICRO, SECOND, WALL, here};
use gcra::{
    Decision, Denial, Limit, Outcome, Put, Refill, Step, Ticket, Timestamp, Verdict, Windows,
};
use prove::call::{Call, Kind, Outcome as Seen};
use prove::rules::{Broken, Rules};
use prove::windows;
use stores::remote::{Answered, Remote, Stopwatch, TimeLeft};

/// A history usually has so many windows, and the judge reads no more than this number.
const USUAL: u64 = 20;
const MOST: u64 = 64;

/// The number of a bucket's quota is greater by this.
pub const QUOTA: usize = 100;

const NAMES: [&[u8]; 4] = [b"b0~quota", b"b1~quota", b"b2~quota", b"b3~quota"];

/// The limit of a quota, and the seconds of its windows.
#[derive(Clone, Copy)]
struct Quota {
    limit: u64,
    seconds: u32,
}

impl Quota {
    fn of(bucket: usize, plan: &Plan) -> Self {
        Self {
            limit: 1 + plan.limits[bucket].capacity % 8,
            seconds: (plan.duration() / SECOND / USUAL + 1 + bucket as u64) as u32,
        }
    }

    fn length(self) -> u64 {
        u64::from(self.seconds) * SECOND
    }

    /// Returns the windows around an instant.
    fn windows(self, now: Timestamp) -> Windows {
        let start = now.0 / self.length() * self.length();
        Windows::new(Timestamp(start), [self.seconds; 3])
    }
}

impl Work {
    /// Takes tokens from a quota, or gives one back.
    pub fn quota(&self, bucket: usize) {
        let quota = Quota::of(bucket, &here().plan);
        let (client, number) = (self.client(bucket), QUOTA + bucket);
        let key = client.hasher().key(NAMES[bucket]);
        let windows = || quota.windows(client.unix_time(key));
        let limit = Limit::counting(quota.limit, quota.seconds);
        let limit = limit.unwrap_or_else(|error| panic!("{error:?}"));
        if here().chance.one_in(8) {
            self.begin_other(number, Kind::Refund, 1);
            let put = Put::Uncount {
                cost: limit.step_whole(1).cost,
                windows: windows(),
                is_undo: false,
            };
            let answer = client.put(key, &put);
            self.judge(bucket, &answer);
            self.end(number, |call| {
                call.outcome = match &answer {
                    Ok(answer) if !answer.fallback => Seen::Done,
                    _ => failed(&answer),
                }
            });
            return;
        }
        let tokens = 1 + here().chance.below(3);
        self.begin_other(number, Kind::Take, tokens);
        let step = |windows| Step {
            refill: Refill::Windows(windows),
            ..limit.step_whole(tokens)
        };
        let (start, first) = (Stopwatch::start(), windows());
        let mut last = step(first);
        let mut answer = client.take(key, &last, None);
        let is_late = |outcome: &Outcome| {
            last.is_outside(outcome) || !outcome.granted() && client.unix_time(key) >= first.end()
        };
        if answer
            .as_ref()
            .is_ok_and(|it| !it.fallback && is_late(&it.value))
        {
            last = step(Windows {
                is_repeat: true,
                ..windows()
            });
            let (index, step) = (0, last);
            let left = TimeLeft::since(&start, client.timeout());
            let mut result = None;
            let ticket = Ticket { index, key, step };
            answer = Remote::take_each(&[(client, ticket)], Some(left), |_, it| result = Some(it))
                .map(|()| result.unwrap_or_else(|| unreachable!("each step has a result")));
        }
        self.judge(bucket, &answer);
        self.end(number, |call| call.outcome = seen(&limit, &last, &answer));
    }
}

fn seen(limit: &Limit, step: &Step, answer: &Answered<Outcome>) -> Seen {
    match answer {
        Ok(it) if it.fallback => Seen::Unknown,
        Ok(it) if it.value.granted() => Seen::Done,
        Ok(it) if it.value.verdict == Verdict::Denied(Denial::Contended) => Seen::Excused,
        Ok(it) => Seen::Denied {
            retry_after: Decision::new(limit, step, &it.value).retry_after,
        },
        Err(_) => failed(answer),
    }
}

/// Returns what breaks a rule of [`prove::windows`].
pub fn judge(bucket: usize, calls: &[Call], plan: &Plan) -> Vec<String> {
    let quota = Quota::of(bucket, plan);
    let first = (WALL / quota.length() + 1) * quota.length() - WALL;
    let starts: Vec<_> = (0..MOST).map(|it| first + it * quota.length()).collect();
    let calls = calls
        .iter()
        .filter(|it| it.start < starts[MOST as usize - 1]);
    let calls: Vec<_> = calls.copied().collect();
    let windows = windows::Windows::new(quota.limit, 0, &starts);
    let rules = Rules {
        tick: MICRO,
        ..Rules::EXACT
    };
    told("quota", windows::judge(&calls, &windows, &rules))
}

/// Returns the messages for faults by the rules of a judge.
pub fn told(kind: &str, broken: Vec<Broken>) -> Vec<String> {
    let found = broken.into_iter().zip(1..).filter(|(it, _)| it.count > 0);
    found
        .map(|(it, rule)| format!("({kind} {rule}) {}, the first of {}", it.first, it.count))
        .collect()
}
