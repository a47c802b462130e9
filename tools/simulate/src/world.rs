//! The simulated world: time, hosts, workers, and the events that connect them.
//!
//! One thread runs everything. Each reading of a clock, each sleep and each wait for a socket is a
//! point at which another worker may run, time may pass, or the worker may be stopped or killed.
#![allow(unsafe_code)]

use crate::chance::Chance;
use crate::history::History;
use crate::network::{Connection, Message};
use crate::plan::{Part, Plan};
use crate::server::Server;
use crate::threads::Threads;
use crate::work;
use crate::worker::Worker;
use libc::c_int;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

pub const MICRO: u64 = 1_000;
pub const MILLI: u64 = 1_000_000;
pub const SECOND: u64 = 1_000_000_000;
/// The instant of the true clock at which the world begins, and the wall clock then.
const BEGINNING: u64 = SECOND;
pub const WALL: u64 = 1_800_000_000 * SECOND;

/// The world, and the world while a worker runs.
static ANY: AtomicPtr<World> = AtomicPtr::new(null_mut());
static RUNS: AtomicPtr<World> = AtomicPtr::new(null_mut());

/// Returns the world of the worker that runs. No reference is kept while the worker waits.
#[inline]
pub fn world() -> Option<&'static mut World> {
    // SAFETY: the pointer is set only while the world exists. There is one thread, and each
    // function that gets the reference has dropped it before another worker runs.
    unsafe { RUNS.load(Relaxed).as_mut() }
}

/// Returns the world of the worker that runs, for code of workers.
#[inline]
pub fn here() -> &'static mut World {
    world().unwrap_or_else(|| unreachable!("a worker runs"))
}

/// Returns the world, also between the turns of workers.
pub fn any() -> Option<&'static mut World> {
    // SAFETY: as above.
    unsafe { ANY.load(Relaxed).as_mut() }
}

pub enum Event {
    /// A worker continues, unless it has continued since it began its wait of this number.
    Resume(usize, u32),
    /// A message reaches a server or a client.
    Message(Message),
    Fault,
    Heal(Part, usize),
}

/// An event with its instant and its number, which order events.
pub struct Timed(pub u64, pub u64, pub Event);

impl PartialEq for Timed {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for Timed {}
impl PartialOrd for Timed {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Timed {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.0, self.1).cmp(&(other.0, other.1))
    }
}

/// A machine with a segment.
pub struct Host {
    pub segment: Box<segment::Host>,
    /// The boot clock is ahead of the true clock by this, and by this many millionths of it.
    pub offset: u64,
    pub drift: i64,
    pub settings: stores::remote::Settings,
    /// The ends of its last three calls that failed because a server was ill, or a message was lost
    /// or late.
    pub harmed_at: [u64; 3],
}

pub struct World {
    pub plan: Plan,
    pub now: u64,
    pub chance: Chance,
    sequence: u64,
    pub events: BinaryHeap<Reverse<Timed>>,
    pub hosts: Vec<Host>,
    pub workers: Vec<Worker>,
    /// The workers that have not ended.
    alive: usize,
    pub current: usize,
    threads: Threads,
    processes: c_int,
    pub connections: Vec<Connection>,
    pub servers: Vec<Server>,
    /// The slots of a cluster that another server keeps than at first, and those on their way.
    pub moved: BTreeMap<usize, usize>,
    pub moving: BTreeMap<usize, usize>,
    pub history: History,
    pub calls: u64,
    digest: u64,
    /// A host is made, by no worker.
    pub is_making: bool,
}

impl World {
    /// Runs the history of a plan, and returns it with its digest.
    pub fn run(plan: &Plan, is_told: bool) -> (History, u64) {
        let count = plan.hosts * plan.workers;
        let mut world = Box::new(Self {
            now: BEGINNING,
            chance: Chance::new(plan.seed),
            sequence: 0,
            events: BinaryHeap::new(),
            hosts: Vec::new(),
            workers: Vec::new(),
            alive: count,
            current: 0,
            threads: Threads::new(count),
            processes: 1000,
            connections: Vec::new(),
            servers: (0..plan.servers).map(|_| Server::new(plan)).collect(),
            moved: BTreeMap::new(),
            moving: BTreeMap::new(),
            history: History::new(plan, is_told),
            calls: 0,
            digest: plan.seed,
            is_making: false,
            plan: plan.clone(),
        });
        ANY.store(&raw mut *world, Relaxed);
        for _ in 0..plan.hosts {
            let host = world.host();
            world.hosts.push(host);
        }
        for index in 0..count {
            world.workers.push(Worker::new(index % plan.hosts));
            world.start(index);
        }
        let first = world.now + world.chance.below(2 * SECOND);
        world.at(first, Event::Fault);
        while world.alive > 0 {
            world.step();
        }
        for index in 0..count {
            world.bury(index);
        }
        ANY.store(null_mut(), Relaxed);
        (world.history, world.digest)
    }

    /// Makes a host, whose segment reads clocks and chance as a worker does.
    fn host(&mut self) -> Host {
        let offset = self.chance.below(1000 * SECOND);
        let drift = self.chance.below(1000) as i64 - 500;
        let settings = self.plan.settings(&mut self.chance);
        let lines = segment::host::lines(1 << 12);
        let size = segment::host::HostSettings {
            lines,
            diagnostics: false,
            evict: true,
        };
        self.is_making = true;
        RUNS.store(self, Relaxed);
        let segment = segment::Host::new(size, segment::memory::Segment::private);
        RUNS.store(null_mut(), Relaxed);
        self.is_making = false;
        let segment = Box::new(segment.unwrap_or_else(|error| panic!("{error}")));
        Host {
            segment,
            offset,
            drift,
            settings,
            harmed_at: [0; 3],
        }
    }

    /// Starts a worker's process, after a pause.
    fn start(&mut self, index: usize) {
        self.processes += 1;
        let thread = self.threads.spawn(index, move |yielder| {
            here().workers[index].yielder = yielder;
            work::work(index);
        });
        let pause = self.chance.below(50 * MILLI);
        let worker = &mut self.workers[index];
        worker.thread = Some(thread);
        worker.process = self.processes;
        worker.waits += 1;
        let resume = Event::Resume(index, worker.waits);
        self.at(self.now + pause, resume);
    }

    pub fn at(&mut self, at: u64, event: Event) {
        self.sequence += 1;
        self.events.push(Reverse(Timed(at, self.sequence, event)));
    }

    /// Mixes what happens into the digest of the history.
    pub fn mix(&mut self, value: u64) {
        self.digest = (self.digest ^ value)
            .wrapping_mul(0x0100_0000_01b3)
            .rotate_left(23);
    }

    pub fn next(&mut self) -> Option<Event> {
        let Reverse(Timed(at, _, event)) = self.events.pop()?;
        self.now = self.now.max(at);
        self.mix(at);
        Some(event)
    }

    pub fn step(&mut self) {
        match self.next() {
            Some(Event::Resume(worker, wait)) if self.workers[worker].waits == wait => {
                self.turn(worker);
            }
            Some(Event::Message(message)) => self.delivers(message),
            Some(Event::Fault) => self.breaks(),
            Some(Event::Heal(fault, server)) => self.heals(fault, server),
            Some(Event::Resume(..)) | None => {}
        }
    }

    /// Gives a worker its turn, or kills it.
    fn turn(&mut self, index: usize) {
        if std::mem::take(&mut self.workers[index].dies) {
            self.kill(index);
            return self.start(index);
        }
        let Some(mut thread) = self.workers[index].thread.take() else {
            return;
        };
        self.current = index;
        self.threads.enter(index);
        let here: *mut Self = self;
        ANY.store(here, Relaxed);
        RUNS.store(here, Relaxed);
        let until = thread.resume();
        RUNS.store(null_mut(), Relaxed);
        // SAFETY: the world outlives the turn.
        let here = unsafe { &mut *here };
        here.workers[index].thread = Some(thread);
        if let Some(until) = until {
            let resume = Event::Resume(index, here.workers[index].waits);
            here.at(until, resume);
        } else {
            here.alive -= 1;
            here.bury(index);
        }
    }

    /// Kills a worker: its calls end where they are, and the kernel closes its connections.
    fn kill(&mut self, index: usize) {
        let linger = self.plan.linger();
        for record in std::mem::take(&mut self.workers[index].running) {
            self.history.killed(record, self.now + linger);
        }
        if let Some(permit) = self.workers[index].permit.take() {
            self.history.permit(permit).dies(self.now, linger);
        }
        self.history.note(self.now, index, || "killed".into());
        for it in self.connections.iter_mut().filter(|it| it.worker == index) {
            it.is_closed = true;
        }
        self.bury(index);
        self.workers[index].watched.clear();
        self.workers[index].dies = false;
    }

    fn bury(&mut self, index: usize) {
        let Some(thread) = self.workers[index].thread.take() else {
            return;
        };
        thread.kill();
        let worker = &mut self.workers[index];
        let (ends, clients) = (std::mem::take(&mut worker.ends), worker.clients.take());
        let here: *mut Self = self;
        ANY.store(here, Relaxed);
        // SAFETY: the destructors close sockets, and do not use `threads`.
        unsafe { (*here).threads.bury(index, ends, || drop(clients)) };
    }

    /// Kills all workers of a host and makes its segment anew.
    pub fn reboot(&mut self, host: usize) {
        let is_alive = |it: &Worker| it.host == host && it.thread.is_some();
        let all = 0..self.workers.len();
        let all: Vec<_> = all.filter(|&it| is_alive(&self.workers[it])).collect();
        all.iter().for_each(|&worker| self.kill(worker));
        let settings = self.hosts[host].settings;
        self.hosts[host] = Host {
            settings,
            ..self.host()
        };
        all.iter().for_each(|&worker| self.start(worker));
    }
}
