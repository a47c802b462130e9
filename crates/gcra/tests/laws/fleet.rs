//! A model of many hosts that call one used-up bucket on a server, with and without places. It
//! counts round trips and grants. It gives the table in `docs/how-to/several-hosts.md`.
//!
//! A host denies by the latest state that it has read in a reply. One of its calls at a time
//! asks the server if the state allows at most one. All clocks show the same time.

use crate::ahead::Numbers;
use gcra::ahead::{Place, Terms};
use gcra::clock::{EPOCH, TICKS_PER_MICROSECOND as US, TICKS_PER_SECOND, Ticks, Timestamp};
use gcra::{Outcome, Patience, Step};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The time from a host to the server, and back.
const WAY: Ticks = 150 * US;
/// The time in which the server runs a script.
const SCRIPT: Ticks = 12 * US;

/// The callers of a bucket.
#[derive(Clone, Copy)]
struct Plan {
    hosts: usize,
    /// The mean time until a caller calls again.
    pause: Ticks,
    /// The workers of a host, which call again after each decision. 0 for callers that come at
    /// random.
    workers: u64,
    /// The tokens that are added in a second.
    rate: u64,
    capacity: u64,
    take_ahead: Ticks,
    seconds: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Call,
    /// A request reaches the server. It was sent at the first instant, by a caller with this
    /// patience.
    Request(Timestamp, Ticks),
    /// A reply arrives: the instant of the request, the caller's patience, the wait for the tokens
    /// or `None` for a denial, and the ticks from the server's instant to the state.
    Reply(Timestamp, Ticks, Option<Ticks>, i64),
}

#[derive(Clone)]
struct Host {
    /// The state that the host knows of.
    bound: Timestamp,
    is_asking: bool,
    /// The calls that wait for the reply of another one.
    waiting: u64,
    cell: Option<Place>,
    grants: u64,
}

struct Fleet {
    plan: Plan,
    terms: Terms,
    numbers: Numbers,
    events: BinaryHeap<Reverse<(Timestamp, u64, usize, Event)>>,
    count: u64,
    hosts: Vec<Host>,
    empty_at: Timestamp,
    /// The instant at which the server is idle.
    idle: Timestamp,
    trips: u64,
}

/// The round trips and grants after the first second.
#[derive(Debug)]
struct Report {
    trips: u64,
    grants: u64,
    /// The grants of the host with the fewest and of that with the most, in hundredths of the mean.
    shares: [u64; 2],
}

impl Report {
    /// Asserts that the hosts needed about one round trip a grant, lost few grants of the plan, and
    /// had similar shares.
    fn assert_good(&self, plan: Plan) {
        assert!(5 * self.trips <= 6 * self.grants, "{self:?}");
        let due = plan.rate * plan.seconds;
        assert!(100 * self.grants >= 97 * due, "{self:?}");
        assert!(self.shares[0] >= 50 && self.shares[1] <= 200, "{self:?}");
    }
}

impl Fleet {
    fn new(plan: Plan) -> Self {
        let cost = TICKS_PER_SECOND / plan.rate;
        let host = Host {
            bound: Timestamp::ZERO,
            is_asking: false,
            waiting: 0,
            cell: None,
            grants: 0,
        };
        let mut fleet = Self {
            plan,
            terms: Terms {
                cost,
                span: plan.capacity * cost,
                take_ahead: plan.take_ahead,
            },
            numbers: Numbers(7),
            events: BinaryHeap::new(),
            count: 0,
            hosts: vec![host; plan.hosts],
            empty_at: Timestamp::ZERO,
            idle: EPOCH,
            trips: 0,
        };
        for host in 0..plan.hosts {
            for _ in 0..plan.workers.max(1) {
                fleet.call_later(host, EPOCH);
            }
        }
        fleet
    }

    fn push(&mut self, at: Timestamp, host: usize, event: Event) {
        self.count += 1;
        self.events.push(Reverse((at, self.count, host, event)));
    }

    /// Lets a caller of the host call again: after about its pause, or at random.
    fn call_later(&mut self, host: usize, now: Timestamp) {
        let part = self.numbers.below(1 << 30) as f64 / f64::from(1 << 30);
        let factor = match self.plan.workers {
            0 => -(1.0 - part).ln(),
            _ => 0.5 + part,
        };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let pause = (self.plan.pause as f64 * factor) as Ticks;
        self.push(now + pause, host, Event::Call);
    }

    fn run(mut self) -> Report {
        let (warm, end) = (
            EPOCH + TICKS_PER_SECOND,
            EPOCH + (1 + self.plan.seconds) * TICKS_PER_SECOND,
        );
        let mut trips = None;
        while let Some(Reverse((now, _, host, event))) = self.events.pop() {
            if now >= warm && trips.is_none() {
                trips = Some(self.trips);
                self.hosts.iter_mut().for_each(|host| host.grants = 0);
            }
            if now >= end {
                break;
            }
            self.happen(now, host, event);
        }
        let grants: Vec<_> = self.hosts.iter().map(|host| host.grants).collect();
        let sum: u64 = grants.iter().sum();
        let share = |grants: u64| 100 * grants * self.plan.hosts as u64 / sum.max(1);
        Report {
            trips: self.trips - trips.unwrap(),
            grants: sum,
            shares: [
                share(*grants.iter().min().unwrap()),
                share(*grants.iter().max().unwrap()),
            ],
        }
    }

    fn happen(&mut self, now: Timestamp, host: usize, event: Event) {
        match event {
            Event::Call => {
                if self.plan.workers == 0 {
                    self.call_later(host, now);
                }
                self.decide(host, now);
            }
            Event::Request(sent, patience) => {
                let begins = now.max(self.idle);
                self.idle = begins + SCRIPT;
                let step = Step::new(self.terms.cost, self.terms.span);
                let outcome = step
                    .with(Patience::Wait(patience))
                    .decide(self.empty_at, begins);
                self.empty_at = outcome.empty_at;
                let Outcome { empty_at, now, .. } = outcome;
                let wait = outcome.granted().then(|| empty_at.saturating_since(now));
                let reply = Event::Reply(sent, patience, wait, empty_at.signed_since(now));
                self.push(self.idle + WAY, host, reply);
            }
            Event::Reply(sent, patience, wait, ahead) => {
                let it = &mut self.hosts[host];
                it.is_asking = false;
                it.bound = it.bound.max(sent.saturating_add_signed(ahead));
                if patience > 0 && wait.is_none() {
                    it.cell = it.cell.map(Place::forgotten);
                }
                if let Some(wait @ 1..) = wait {
                    it.cell = Place::granted(&self.terms, sent, now, wait).or(it.cell);
                }
                self.end(host, now, wait == Some(0));
                for _ in 0..std::mem::take(&mut self.hosts[host].waiting) {
                    self.decide(host, now);
                }
            }
        }
    }

    /// Decides a call.
    fn decide(&mut self, host: usize, now: Timestamp) {
        let terms = self.terms;
        let it = &mut self.hosts[host];
        if let Some(wait) = it.cell.and_then(|place| place.wait(&terms, now)) {
            if wait == 0 {
                it.cell = it.cell.map(Place::used);
            }
            return self.end(host, now, wait == 0);
        }
        let may_ask = terms.take_ahead > 0 && it.cell.is_some_and(|it| it.may_ask(&terms, now));
        let patience = if may_ask && !it.is_asking {
            terms.take_ahead
        } else {
            0
        };
        if it.bound + terms.cost > now + patience {
            self.end(host, now, false);
        } else if it.is_asking && it.bound + 2 * terms.cost > now {
            it.waiting += 1;
        } else {
            it.is_asking = true;
            self.trips += 1;
            self.push(now + WAY, host, Event::Request(now, patience));
        }
    }

    /// Ends a call with its decision.
    fn end(&mut self, host: usize, now: Timestamp, granted: bool) {
        let it = &mut self.hosts[host];
        if granted {
            it.grants += 1;
        } else {
            it.cell = Some(Place::denied(it.cell, &self.terms, now));
        }
        if self.plan.workers > 0 {
            self.call_later(host, now);
        }
    }
}

const MS: Ticks = 1000 * US;

/// 200 hosts share a thousand calls a second, and get 50 times as many.
const CROWD: Plan = Plan {
    hosts: 200,
    pause: 4 * MS,
    workers: 0,
    rate: 1000,
    capacity: 1000,
    take_ahead: 0,
    seconds: 4,
};

#[test]
fn two_hundred_hosts_need_about_one_round_trip_a_grant() {
    let run = |take_ahead| {
        let report = Fleet::new(Plan {
            take_ahead,
            ..CROWD
        })
        .run();
        println!("{} ms: {report:?}", take_ahead / MS);
        report
    };
    let (polling, short, long) = (run(0), run(50 * MS), run(300 * MS));
    assert!(polling.trips > 20 * polling.grants, "{polling:?}");
    assert!(
        short.trips > 2 * short.grants && 6 * short.trips < polling.trips,
        "too short for so many hosts: {short:?}"
    );
    long.assert_good(CROWD);
}

#[test]
fn workers_that_call_again_at_once_need_about_one_round_trip_a_grant() {
    for (rate, take_ahead) in [(20, 600 * MS), (1000, 50 * MS)] {
        let plan = Plan {
            hosts: 8,
            pause: MS,
            workers: 4,
            rate,
            capacity: rate,
            take_ahead,
            seconds: 10,
        };
        let report = Fleet::new(plan).run();
        println!("{rate} a second: {report:?}");
        report.assert_good(plan);
    }
}

/// Hosts that are denied less than eight times between two of their grants keep the right to ask.
#[test]
fn hosts_with_a_few_times_their_share_of_calls_need_about_one_round_trip_a_grant() {
    for pause in [1000, 2500, 4000] {
        let plan = Plan {
            hosts: 8,
            pause: pause * US,
            take_ahead: 50 * MS,
            seconds: 10,
            ..CROWD
        };
        let report = Fleet::new(plan).run();
        println!("a call in {pause} µs: {report:?}");
        assert!(5 * report.trips <= 6 * report.grants, "{report:?}");
    }
}

/// Hosts with few calls must not give up tokens for places that they do not use.
#[test]
fn random_callers_lose_few_grants() {
    for (pause, rate, capacity) in [(1000, 10, 10), (100, 100, 100), (454, 100, 100)] {
        let run = |take_ahead| {
            let plan = Plan {
                hosts: 50,
                pause: pause * MS,
                workers: 0,
                rate,
                capacity,
                take_ahead,
                seconds: 20,
            };
            Fleet::new(plan).run().grants
        };
        let (without, with) = (run(0), run(750 * MS));
        println!("a call in {pause} ms, {rate} a second: {with} of {without}");
        assert!(100 * with >= 95 * without, "{pause}: {with} of {without}");
    }
}
