//! The worker that runs: its calls, clocks and waits.
#![allow(unsafe_code)]

use crate::permits::Place;
use crate::plan::{LONGEST_STOP, Part};
use crate::threads::{Destructor, Thread, Waiting};
use crate::work::Clients;
use crate::world::{Event, Host, MILLI, Timed, WALL, World, here};
use libc::c_int;
use prove::call::Call;
use std::cmp::Reverse;
use std::ptr::null;

/// A call that runs, and its bucket.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    pub bucket: usize,
    pub call: Call,
}

pub struct Worker {
    pub host: usize,
    pub process: c_int,
    /// Counts its waits.
    pub waits: u32,
    pub thread: Option<Thread>,
    pub yielder: *const Waiting,
    /// The destructors of its thread-local values.
    pub ends: Vec<Destructor>,
    /// The sockets that it waits for.
    pub watched: Vec<u32>,
    /// It is killed at the end of its wait.
    pub dies: bool,
    /// The time for which the simulator has stopped it since its call began.
    pub stopped: u64,
    /// A bit for each server to which, or from which, a message of its call was lost or late.
    pub harmed: u64,
    /// The denials since its last grant.
    pub denials: u32,
    /// The place of the permit that it holds or asks for in [`crate::permits::Permits`].
    pub permit: Option<Place>,
    /// The calls that run.
    pub running: Vec<Record>,
    /// Its clients, which are no part of its stack.
    pub clients: Option<Box<Clients>>,
}

impl Worker {
    pub fn new(host: usize) -> Self {
        Self {
            host,
            process: 0,
            waits: 0,
            thread: None,
            yielder: null(),
            ends: Vec::new(),
            watched: Vec::new(),
            dies: false,
            stopped: 0,
            harmed: 0,
            denials: 0,
            permit: None,
            running: Vec::new(),
            clients: None,
        }
    }
}

/// The clocks and the waits of the worker that runs.
impl World {
    pub fn current(&mut self) -> &mut Worker {
        &mut self.workers[self.current]
    }

    pub fn index(&self) -> usize {
        self.current
    }

    /// Returns the time of the worker's host, some nanoseconds or a turn of others later.
    pub fn reads_clock(&mut self, wall: bool) -> u64 {
        if self.chance.below(4) > 0 || self.is_making {
            self.now += 50;
        } else {
            let pause = match self.chance.below(20_000) {
                0 if self.plan.has(Part::Stop) => 50 * MILLI + self.chance.below(LONGEST_STOP),
                0..40 => self.chance.below(2 * MILLI),
                _ => 200 + self.chance.below(3000),
            };
            let until = self.now + pause;
            let worker = self.current();
            worker.stopped += pause;
            if pause > MILLI {
                worker.harmed = u64::MAX;
            }
            Self::wait(until);
        }
        let world = here();
        if wall || world.is_making {
            return world.now + if wall { WALL } else { 0 };
        }
        let Host { offset, drift, .. } = world.hosts[world.workers[world.current].host];
        let drift = i128::from(world.now) * i128::from(drift) / 1_000_000;
        offset + world.now.saturating_add_signed(drift as i64)
    }

    /// Wakes a worker that waits for this socket.
    pub fn wake(&mut self, worker: usize, socket: u32) {
        if self.workers[worker].watched.contains(&socket) {
            let resume = Event::Resume(worker, self.workers[worker].waits);
            self.at(self.now, resume);
        }
    }

    /// Makes the running worker wait until an instant of the true clock, or until it is woken.
    pub fn wait(until: u64) {
        let world = here();
        let worker = &mut world.workers[world.current];
        worker.waits += 1;
        worker.dies =
            !worker.running.is_empty() && world.plan.has(Part::Kill) && world.chance.one_in(5000);
        let (dies, wait, yielder) = (worker.dies, worker.waits, worker.yielder);
        if dies || !world.passes(wait, until) {
            // SAFETY: the yielder is on the stack of the worker that runs.
            unsafe { (*yielder).suspend(until) };
        }
    }

    /// Delivers messages until the wait of the running worker is over. Returns false if another
    /// worker has a turn before, or a fault begins or ends.
    fn passes(&mut self, wait: u32, until: u64) -> bool {
        loop {
            match self.events.peek() {
                Some(Reverse(Timed(at, _, event))) if *at <= until => match *event {
                    Event::Resume(worker, it) if (worker, it) == (self.current, wait) => {
                        self.next();
                        return true;
                    }
                    Event::Resume(worker, it) if self.workers[worker].waits != it => {
                        self.next();
                    }
                    Event::Message(_) => self.step(),
                    _ => return false,
                },
                _ => {
                    self.now = self.now.max(until);
                    return true;
                }
            }
        }
    }
}
