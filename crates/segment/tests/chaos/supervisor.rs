//! The supervisor starts worker processes, kills and stops some of them, and replaces dead workers.
//!
//! From time to time the supervisor stops all workers, at any instruction, and audits the table.
//! The invariants must hold at every instant.

use crate::board::{Board, Sheet, WORKERS};
use crate::dice::Dice;
use crate::fate::{self, Mood};
use crate::forked::fork;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, waitpid};
use std::ops::AddAssign;
use std::time::{Duration, Instant};

/// The time in which the workers must end after the last kill or stop. No call takes this long,
/// even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
const BETWEEN_AUDITS: Duration = Duration::from_millis(100);

/// The treatment of the workers in a run.
#[derive(Clone, Copy, Debug)]
pub struct Treatment {
    pub mood: Mood,
    /// True if workers are also killed and stopped from outside, at any instruction.
    pub outside: bool,
    pub time: Duration,
}

/// The number of kills, stops and audits in a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    pub kills: u64,
    pub stops: u64,
    pub audits: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.kills += other.kills;
        self.stops += other.stops;
        self.audits += other.audits;
    }
}

struct Worker {
    pid: Pid,
    stopped: Option<Instant>,
}

pub struct Supervisor<'a> {
    board: &'static Sheet,
    treatment: Treatment,
    work: &'a dyn Fn(usize, u64),
    dice: Dice,
    workers: [Option<Worker>; WORKERS],
    tally: Tally,
}

impl Drop for Supervisor<'_> {
    fn drop(&mut self) {
        for worker in self.workers.iter().flatten() {
            kill_process(worker.pid, Signal::KILL).ok();
            waitpid(Some(worker.pid), WaitOptions::empty()).ok();
        }
    }
}

impl<'a> Supervisor<'a> {
    /// Creates a supervisor. Each worker calls `work` with its lane and a seed. `work` must return
    /// when the time of the run is over.
    pub fn new(board: &'a Board, treatment: Treatment, work: &'a dyn Fn(usize, u64)) -> Self {
        Self {
            board: board.of_worker(),
            treatment,
            work,
            dice: Dice(0x9e37_79b9_7f4a_7c15 ^ u64::from(std::process::id())),
            workers: [const { None }; WORKERS],
            tally: Tally::default(),
        }
    }

    /// Runs the workers until the time is over, or until `audit` returns `false`. `audit` is called
    /// while all workers are stopped. Returns an error if a worker hangs or panics.
    pub fn run(mut self, audit: &mut dyn FnMut() -> bool) -> Result<Tally, String> {
        let end = Instant::now() + self.treatment.time;
        let mut audited = Instant::now();
        for lane in 0..WORKERS {
            self.start(lane);
        }
        while Instant::now() < end {
            std::thread::sleep(Duration::from_micros(300 + self.dice.roll() % 1500));
            if self.treatment.outside {
                self.strike();
            }
            self.resume(false);
            self.reap(true)?;
            if audited.elapsed() > BETWEEN_AUDITS {
                self.tally.audits += 1;
                self.freeze()?;
                let content = audit();
                self.resume(true);
                if !content {
                    return Ok(self.tally);
                }
                audited = Instant::now();
            }
        }
        self.finish()
    }

    fn finish(mut self) -> Result<Tally, String> {
        let begin = Instant::now();
        while self.workers.iter().any(Option::is_some) {
            if begin.elapsed() > PATIENCE {
                return Err("a worker hangs".to_owned());
            }
            self.resume(true);
            std::thread::sleep(Duration::from_millis(1));
            self.reap(false)?;
        }
        Ok(self.tally)
    }

    fn start(&mut self, lane: usize) {
        let seed = self.dice.roll();
        let pid = fork(|| {
            fate::enter(self.board, lane, self.treatment.mood, seed);
            (self.work)(lane, seed);
        });
        let stopped = None;
        self.workers[lane] = Some(Worker { pid, stopped });
    }

    /// Kills or stops one random worker at its current instruction.
    fn strike(&mut self) {
        let victim = usize::try_from(self.dice.roll() % WORKERS as u64).unwrap();
        let stop = self.dice.roll().is_multiple_of(4);
        if let Some(worker) = &self.workers[victim] {
            let signal = if stop { Signal::STOP } else { Signal::KILL };
            kill_process(worker.pid, signal).ok();
        }
    }

    /// Resumes each worker that was stopped longer than a random time ago. Resumes all stopped
    /// workers if `all`.
    fn resume(&mut self, all: bool) {
        for worker in self.workers.iter_mut().flatten() {
            let Some(since) = worker.stopped else {
                continue;
            };
            let sleep = Duration::from_micros(500 + self.dice.roll() % 20_000);
            if all || since.elapsed() > sleep {
                kill_process(worker.pid, Signal::CONT).ok();
                worker.stopped = None;
            }
        }
    }

    /// Stops all workers at once.
    fn freeze(&mut self) -> Result<(), String> {
        for worker in self.workers.iter().flatten() {
            kill_process(worker.pid, Signal::STOP).ok();
        }
        for lane in 0..WORKERS {
            while let Some(Worker { pid, stopped: None }) = self.workers[lane] {
                if let Ok(Some((_, status))) = waitpid(Some(pid), WaitOptions::UNTRACED) {
                    self.ended(lane, status)?;
                }
            }
        }
        Ok(())
    }

    /// Waits for the workers that have stopped or died, without blocking. Replaces the dead workers
    /// if `again`.
    fn reap(&mut self, again: bool) -> Result<(), String> {
        for lane in 0..WORKERS {
            let options = WaitOptions::NOHANG | WaitOptions::UNTRACED;
            if let Some(worker) = &self.workers[lane]
                && let Ok(Some((_, status))) = waitpid(Some(worker.pid), options)
            {
                self.ended(lane, status)?;
            }
            if again && self.workers[lane].is_none() {
                self.start(lane);
            }
        }
        Ok(())
    }

    fn ended(&mut self, lane: usize, status: WaitStatus) -> Result<(), String> {
        if status.stopped() {
            self.tally.stops += 1;
            if let Some(worker) = &mut self.workers[lane] {
                worker.stopped = Some(Instant::now());
            }
            return Ok(());
        }
        self.workers[lane] = None;
        if status.terminating_signal() == Some(Signal::KILL.as_raw()) {
            self.tally.kills += 1;
            return Ok(());
        }
        match status.exit_status() {
            Some(0) => Ok(()),
            _ => Err(format!("a worker ended with {status:?}")),
        }
    }
}
