//! The work of a worker: calls of all kinds, one after another, as PHP code makes them.
#![allow(unsafe_code)]

use crate::chance::Chance;
use crate::history;
use crate::plan::{Limit, Part, Plan, USUALLY_LATE};
use crate::table;
use crate::worker::Record;
use crate::world::{World, here};
use gcra::{Key, Outcome, Patience, Put, Step};
use prove::call::{Call, Kind, Outcome as Seen, TOKEN};
use stores::remote::redis::dsn::Dsn;
use stores::remote::{Answered, Cause, Failure, OnFailure, Redis, Remote};

const NAMES: [&[u8]; 4] = [b"b0", b"b1", b"b2", b"b3"];

/// The clients of a worker: one for each server, or one for a cluster.
pub struct Clients(Vec<Remote<'static, Redis>>);

impl Clients {
    fn new(world: &World, host: usize) -> Self {
        let host = &world.hosts[host];
        // SAFETY: a host is replaced and dropped only after its workers and their clients.
        let segment: &'static segment::Host = unsafe { &*std::ptr::from_ref(&*host.segment) };
        let client = |dsn: String| {
            let dsn = Dsn::parse(&dsn).unwrap_or_else(|error| panic!("{error}"));
            Remote::new(Redis::new(dsn, b"p:"), host.settings, segment)
        };
        let servers = (1..=world.plan.servers).map(|it| format!("10.0.0.{it}:6379"));
        let servers: Vec<_> = servers.collect();
        if world.plan.is_cluster {
            return Self(vec![client(format!(
                "redis+cluster://{}",
                servers.join(",")
            ))]);
        }
        if world.plan.is_proxied {
            return Self(vec![client(format!("redis://{}", servers[0]))]);
        }
        let servers = servers.iter().map(|it| client(format!("redis://{it}")));
        Self(servers.collect())
    }
}

/// The calls of one worker.
pub struct Work {
    pub host: usize,
    clients: &'static Clients,
    pub limits: Vec<Limit>,
}

/// How a call takes tokens.
#[derive(Clone, Copy)]
pub struct Take {
    pub bucket: usize,
    pub tokens: u64,
    pub floor: u64,
    /// The longest debt in ticks.
    pub wait: u64,
}

impl Take {
    pub const fn one(bucket: usize) -> Self {
        let (tokens, floor, wait) = (1, 0, 0);
        Self {
            bucket,
            tokens,
            floor,
            wait,
        }
    }
}

/// Runs a worker until all calls of the history have begun.
pub fn work(index: usize) {
    let world = here();
    let host = world.workers[index].host;
    let clients = Box::new(Clients::new(world, host));
    let clients = world.workers[index].clients.insert(clients);
    // SAFETY: the clients live until the worker has ended.
    let clients = unsafe { &*std::ptr::from_ref(&**clients) };
    let limits = world.plan.limits.clone();
    let mut work = Work {
        host,
        clients,
        limits,
    };
    while here().calls < here().plan.calls {
        let world = here();
        world.calls += 1;
        let limits = world.plan.limits_of(host, world.now);
        work.limits.copy_from_slice(limits);
        work.one();
        let world = here();
        let (now, denials) = (world.now, world.current().denials);
        let World { chance, plan, .. } = world;
        World::wait(match plan.tide {
            None => now + chance.below(plan.pause),
            Some(tide) => tide.next(chance, now, plan.pause, denials),
        });
    }
}

/// Reports whether the failure policy has decided the call, or it has failed.
pub fn has_failed<R>(answer: &Answered<R>) -> bool {
    !matches!(answer, Ok(answer) if !answer.fallback)
}

/// Returns what is known of a call that failed.
pub fn failed<R>(answer: &Answered<R>) -> Seen {
    match answer {
        Err(Failure {
            cause: Cause::Waiting,
            ..
        }) => Seen::Excused,
        _ => Seen::Unknown,
    }
}

impl Work {
    pub fn client(&self, bucket: usize) -> &Remote<'static, Redis> {
        &self.clients.0[bucket % self.clients.0.len()]
    }

    pub fn key(&self, bucket: usize) -> Key<'static> {
        self.client(bucket).hasher().key(NAMES[bucket])
    }

    /// Returns tokens in the unit of the judge, for which a token takes as long as under the first
    /// limit.
    fn amount(&self, bucket: usize, tokens: u64) -> i128 {
        let first = here().plan.limits[bucket].token;
        i128::from(tokens * self.limits[bucket].token) * TOKEN / i128::from(first)
    }

    fn one(&self) {
        let World {
            chance, plan, now, ..
        } = here();
        let bucket = pick(chance, self.limits.len());
        let plain = Take::one(bucket);
        let few = 1 + chance.below(4);
        let kind = match plan.tide {
            None => rare(chance, plan),
            Some(tide) => in_tide(chance, plan, tide.is_greedy(*now)),
        };
        match kind {
            Some(Part::Many) => self.take(Take {
                tokens: few,
                ..plain
            }),
            Some(Part::Floor) => self.take(Take {
                floor: few,
                ..plain
            }),
            Some(Part::Charge) => self.take(Take {
                tokens: few,
                wait: gcra::MAX_WAIT,
                ..plain
            }),
            Some(Part::Refund) => self.refund(bucket),
            Some(Part::Clear) => self.reset(bucket),
            Some(Part::Reserve) => self.reserve(bucket),
            Some(Part::Block) => self.block(bucket),
            Some(Part::Each) => self.each(),
            Some(Part::All) => self.all(),
            Some(Part::Permit) => self.permit(bucket),
            Some(Part::Quota) => self.quota(bucket),
            Some(Part::Lockout) => self.guess(bucket),
            _ => self.take(plain),
        }
    }

    /// Begins calls on these buckets.
    pub fn begin(&self, calls: impl IntoIterator<Item = (usize, Kind, u64)>) {
        let world = here();
        let times = (world.now, world.now);
        let host = self.host as u32 + 1;
        let worker = world.current();
        worker.running.clear();
        worker
            .running
            .extend(calls.into_iter().map(|(bucket, kind, tokens)| {
                let cost = self.amount(bucket, tokens);
                let call = Call {
                    host,
                    cost,
                    ..history::call(kind, Seen::Unknown, times)
                };
                Record { bucket, call }
            }));
        (worker.stopped, worker.harmed) = (0, 0);
    }

    /// Begins a call that is judged by other rules than buckets are.
    pub fn begin_other(&self, number: usize, kind: Kind, tokens: u64) {
        let world = here();
        let call = Call {
            host: self.host as u32 + 1,
            cost: i128::from(tokens) * TOKEN,
            ..history::call(kind, Seen::Unknown, (world.now, world.now))
        };
        let worker = world.current();
        let bucket = number;
        worker.running = vec![Record { bucket, call }];
        (worker.stopped, worker.harmed) = (0, 0);
    }

    /// Ends the call that runs on a bucket. `change` completes what is known of it.
    pub fn end(&self, bucket: usize, change: impl FnOnce(&mut Call)) -> Record {
        let world = here();
        let (now, linger, index) = (world.now, world.plan.linger(), world.index());
        let running = &mut world.current().running;
        let place = running.iter().position(|it| it.bucket == bucket);
        let mut record = running.remove(place.unwrap_or_else(|| unreachable!("it runs")));
        record.call.end = now;
        change(&mut record.call);
        if record.call.outcome == Seen::Unknown {
            record.call.end += linger;
        }
        world.history.note(now, index, || table::line(&record));
        world.mix(record.call.cost as u64 ^ record.call.wait);
        world.history.add(record);
        record
    }

    /// Judges how long the call took, and whether it may have failed.
    pub fn judge<R>(&self, bucket: usize, answer: &Answered<R>) {
        here().judge_time();
        if has_failed(answer) {
            here().judge_failure(bucket);
        }
    }

    /// Ends a call that took or wanted tokens.
    pub fn taken(&self, take: Take, step: &Step, answer: &Answered<Outcome>) {
        self.judge(take.bucket, answer);
        let record = self.end(take.bucket, |call| {
            call.floor = self.amount(take.bucket, take.floor);
            call.outcome = match answer {
                Ok(it) if it.fallback => Seen::Unknown,
                Ok(it) if it.value.granted() => Seen::Done,
                Ok(it) => {
                    let wait = step.retry_after(it.value.empty_at, it.value.now);
                    // A place whose reply was late is used later than it is due.
                    let Plan {
                        late, take_ahead, ..
                    } = here().plan;
                    let is_true = late == USUALLY_LATE || take_ahead == 0;
                    Seen::Denied {
                        retry_after: is_true.then_some(wait),
                    }
                }
                Err(_) => failed(answer),
            };
        });
        let (limit, world) = (self.limits[take.bucket], here());
        let denials = &mut world.current().denials;
        *denials = match record.call.outcome {
            Seen::Done => 0,
            _ => *denials + 1,
        };
        match answer {
            Ok(it) if it.fallback && it.value.granted() => self.local(record),
            Ok(it) if it.value.granted() => world.history.used += take.tokens * limit.token,
            _ => {}
        }
        world.judge_denial(record, step, limit);
    }

    pub fn step(&self, take: Take) -> Step {
        let Limit { token, .. } = self.limits[take.bucket];
        let step = Step::new(take.tokens * token, self.limits[take.bucket].span());
        match take {
            Take { floor: 1.., .. } => step.with(Patience::Leave(take.floor * token)),
            Take { wait: 1.., .. } => step.with(Patience::Wait(take.wait)),
            _ => step,
        }
    }

    fn take(&self, take: Take) {
        let (step, bucket) = (self.step(take), take.bucket);
        let kind = if take.wait > 0 {
            Kind::Charge
        } else {
            Kind::Take
        };
        self.begin([(bucket, kind, take.tokens)]);
        let answer = self.client(bucket).take(self.key(bucket), &step, None);
        self.taken(take, &step, &answer);
    }

    /// Ends a change that succeeded or whose outcome is unknown.
    pub fn changed<R>(&self, bucket: usize, answer: &Answered<R>) {
        self.judge(bucket, answer);
        let record = self.end(bucket, |call| {
            call.outcome = if has_failed(answer) {
                failed(answer)
            } else {
                Seen::Done
            };
        });
        if matches!(answer, Ok(it) if it.fallback) {
            self.local(record);
        }
        // A drain moves the state forward. A change that may come later leaves what is asked until
        // then.
        if record.call.kind != Kind::Drain {
            let Call {
                host, start, end, ..
            } = record.call;
            let is_done = record.call.outcome == Seen::Done;
            let since = if is_done { end } else { start };
            here()
                .history
                .cleared
                .insert((host as usize, bucket, self.limits[bucket]), since);
        }
    }

    /// Notes that this host's own bucket has decided a call.
    fn local(&self, mut record: Record) {
        let world = here();
        if world.plan.policy == OnFailure::Local {
            (record.call.outcome, record.call.end) = (Seen::Done, world.now);
            // The host's clock may be fast.
            record.call.wait -= record.call.wait / 1000;
            world.history.add_local(record);
        }
    }

    /// Changes a bucket.
    fn put(&self, (bucket, kind, tokens): (usize, Kind, u64), put: &Put) {
        self.begin([(bucket, kind, tokens)]);
        let answer = self.client(bucket).put(self.key(bucket), put);
        self.changed(bucket, &answer);
    }

    fn refund(&self, bucket: usize) {
        let limit = self.limits[bucket];
        self.put(
            (bucket, Kind::Refund, 1),
            &Put::refund(limit.token, limit.span()),
        );
    }

    fn reset(&self, bucket: usize) {
        let span = self.limits[bucket].span();
        self.put((bucket, Kind::Reset, 0), &Put::Reset { span });
    }

    /// Blocks a bucket for some tokens' time, or drains it. Then it may be reset at once.
    fn block(&self, bucket: usize) {
        let limit = self.limits[bucket];
        let chance = &mut here().chance;
        let (left, wait) = match chance.one_in(2) {
            true => (1, chance.below(8) * limit.token),
            false => (chance.below(limit.capacity), 0),
        };
        self.begin([(bucket, Kind::Drain, left)]);
        here().current().running[0].call.wait = wait;
        let age = (left * limit.token).cast_signed() - wait.cast_signed();
        let answer = self
            .client(bucket)
            .raise(self.key(bucket), age, limit.span());
        self.changed(bucket, &answer);
        if here().plan.has(Part::Clear) && here().chance.one_in(2) {
            self.reset(bucket);
        }
    }
}

/// Returns a bucket; the first ones are used more.
pub fn pick(chance: &mut Chance, count: usize) -> usize {
    let first = chance.below(count as u64);
    chance.below(first + 1) as usize
}

/// Does the same in a tide.
fn in_tide(chance: &mut Chance, plan: &Plan, is_greedy: bool) -> Option<Part> {
    let part = match chance.below(if is_greedy { 800 } else { 100 }) {
        0 => Part::Clear,
        1 => Part::Refund,
        2..8 => Part::Reserve,
        8..16 => Part::All,
        16 => Part::Each,
        17 => Part::Floor,
        18..24 => Part::Many,
        _ => return None,
    };
    plan.has(part).then_some(part)
}

/// Returns a kind of calls that the plan has; usually none.
fn rare(chance: &mut Chance, plan: &Plan) -> Option<Part> {
    let part = match chance.below(1000 / plan.zeal) {
        0..3 => Part::Clear,
        3..6 => Part::Refund,
        6..10 => Part::Reserve,
        10..13 => Part::Block,
        13..15 => Part::Charge,
        20..40 => Part::Floor,
        40..80 => Part::Many,
        80..100 => Part::Each,
        100..120 => Part::All,
        120..132 => Part::Permit,
        132..164 if plan.has(Part::ServerClock) => return None,
        132..148 => Part::Quota,
        148..164 => Part::Lockout,
        _ => return None,
    };
    plan.has(part).then_some(part)
}
