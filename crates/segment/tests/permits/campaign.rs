//! Workers take permits while they are killed and stopped.
//!
//! From time to time all workers are stopped, at any instruction. Then the permits that live
//! workers hold and those that the supervisor can take must add up to the limit.

use crate::Test;
use crate::fate::{self, Meant};
use crate::forked::{fork, roll};
use crate::processes::{key, take};
use crate::sheet::{Board, KEYS, LIVES, MOST, Sheet};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use segment::host::Host;
use segment::permits::protocol::{Acquired, Permit, Variant};
use segment::permits::word;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

pub const TESTS: &[Test] = &[
    ("campaign: fewer permits than workers", || campaign(3, true)),
    ("campaign: as many permits as workers", || {
        campaign(WORKERS, true);
    }),
    ("campaign: nobody is killed", || campaign(2, false)),
    ("campaign: workers die at each marked point", each_point),
];

/// The number of workers that run at the same time.
pub const WORKERS: usize = 6;
/// How long a campaign waits for what it needs to see.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// A limiter, from which a worker takes one permit of a key at a time.
pub trait Limiter {
    /// Takes a permit of the key, and returns the number of its cell. Returns `None` if denied.
    fn take(&mut self, key: usize) -> Option<usize>;
    /// Gives the permit back.
    fn give_back(&mut self, key: usize);
}

/// The limiter of this crate.
pub struct Permits<'a, V> {
    pub host: &'a Host,
    pub sheet: &'a Sheet,
    pub limit: usize,
    pub held: Option<Permit>,
    pub variant: std::marker::PhantomData<V>,
}

pub fn name(key: usize) -> [u8; 9] {
    let mut name = *b"hot key 0";
    name[8] += u8::try_from(key).unwrap();
    name
}

impl<V: Variant> Limiter for Permits<'_, V> {
    fn take(&mut self, hot: usize) -> Option<usize> {
        let permits = self.host.permits_in::<V>();
        // Keys that are used once fill the region with cells that others reclaim.
        let once = roll().to_le_bytes();
        let once = permits.acquire(key(self.host, &once), 1).expect("a lock");
        let limit = u16::try_from(self.limit).unwrap();
        let acquired = permits.acquire(key(self.host, &name(hot)), limit);
        let counter = |counter: &AtomicU64| counter.fetch_add(1, SeqCst);
        match acquired.expect("a lock") {
            Acquired::Granted { permit, .. } => self.held = Some(permit),
            Acquired::Denied => drop(counter(&self.sheet.denied)),
            Acquired::Contended => drop(counter(&self.sheet.contended)),
            Acquired::TableFull => drop(counter(&self.sheet.table_full)),
        }
        if let Acquired::Granted { permit, .. } = once {
            permits.release(permit);
        }
        self.held.map(|permit| usize::from(word::cell(permit.word)))
    }

    fn give_back(&mut self, _: usize) {
        let is_released = |permit| self.host.permits_in::<V>().release(permit);
        if !self.held.take().is_some_and(is_released) {
            self.sheet.lost.fetch_add(1, SeqCst);
        }
    }
}

/// Takes and gives back permits until `end`, and notes them on the sheet.
pub fn work(sheet: &Sheet, life: u64, end: Instant, limiter: &mut impl Limiter) {
    while Instant::now() < end {
        let key = usize::try_from(roll() % KEYS as u64).unwrap();
        let Some(cell) = limiter.take(key) else {
            std::thread::yield_now();
            continue;
        };
        sheet.holds(key, cell, life);
        sheet.granted.fetch_add(1, SeqCst);
        match roll() % 16 {
            0 => std::thread::sleep(Duration::from_micros(roll() % 400)),
            1..4 => std::thread::yield_now(),
            _ => (0..roll() % 512).for_each(|_| std::hint::spin_loop()),
        }
        sheet.gives_back(key, cell, life);
        limiter.give_back(key);
    }
}

/// Starts workers, kills and stops them, and replaces the dead ones.
pub struct Supervisor<'a> {
    board: &'a Board,
    is_deadly: bool,
    lives: u64,
    workers: [Option<(Pid, u64)>; WORKERS],
}

impl Drop for Supervisor<'_> {
    fn drop(&mut self) {
        for index in 0..WORKERS {
            self.strike(index, Signal::KILL);
            self.reap(index, WaitOptions::empty());
        }
    }
}

impl<'a> Supervisor<'a> {
    pub fn new(board: &'a Board, is_deadly: bool) -> Self {
        Self {
            board,
            is_deadly,
            lives: 0,
            workers: [None; WORKERS],
        }
    }

    /// Runs workers for a time. Each of them calls `run` with the number of its life. Calls `audit`
    /// while all workers are stopped.
    pub fn run(&mut self, time: Duration, run: &dyn Fn(u64, Instant), audit: &dyn Fn()) {
        fate::enter(self.board.of_worker(), 0, false, self.lives ^ 0x9e37_79b9);
        let end = Instant::now() + time;
        let mut next = Instant::now() + Duration::from_millis(50);
        while Instant::now() < end {
            for index in 0..WORKERS {
                self.reap(index, WaitOptions::NOHANG);
                if self.workers[index].is_none() {
                    self.start(index, end, run);
                }
            }
            std::thread::sleep(Duration::from_micros(300 + roll() % 1500));
            let victim = usize::try_from(roll()).unwrap() % WORKERS;
            if self.is_deadly && roll().is_multiple_of(4) {
                self.strike(victim, Signal::KILL);
            }
            let stopped = usize::try_from(roll()).unwrap() % WORKERS;
            self.strike(stopped, Signal::STOP);
            std::thread::sleep(Duration::from_micros(roll() % 3000));
            self.strike(stopped, Signal::CONT);
            if Instant::now() > next {
                self.freeze();
                audit();
                (0..WORKERS).for_each(|index| self.strike(index, Signal::CONT));
                next = Instant::now() + Duration::from_millis(50);
            }
        }
        for index in 0..WORKERS {
            self.reap(index, WaitOptions::empty());
        }
        self.board.forget();
    }

    fn start(&mut self, index: usize, end: Instant, run: &dyn Fn(u64, Instant)) {
        self.lives += 1;
        let life = self.lives;
        assert!(usize::try_from(life).unwrap() < LIVES);
        let seed = roll() << 8;
        let pid = fork(|| {
            fate::enter(self.board.of_worker(), life, self.is_deadly, seed);
            run(life, end);
        });
        self.workers[index] = Some((pid, life));
    }

    fn strike(&self, index: usize, signal: Signal) {
        if let Some((pid, life)) = self.workers[index] {
            if signal == Signal::KILL {
                self.board.ends(life);
            }
            kill_process(pid, signal).ok();
        }
    }

    /// Stops all workers, and waits until each of them has stopped or ended.
    fn freeze(&mut self) {
        for index in 0..WORKERS {
            self.strike(index, Signal::STOP);
            self.reap(index, WaitOptions::UNTRACED);
        }
    }

    fn reap(&mut self, index: usize, options: WaitOptions) {
        let Some((pid, _)) = self.workers[index] else {
            return;
        };
        if let Some((_, status)) = waitpid(Some(pid), options).unwrap()
            && !status.stopped()
        {
            self.workers[index] = None;
            let is_killed = status.terminating_signal() == Some(Signal::KILL.as_raw());
            assert!(is_killed || status.exit_status() == Some(0), "{status:?}");
        }
    }
}

/// The time of one campaign.
pub fn time() -> Duration {
    let seconds = std::env::var("TOKENBUCKET_CHAOS_SECONDS").ok();
    let seconds = seconds.and_then(|seconds| seconds.parse::<f64>().ok());
    Duration::from_secs_f64(seconds.unwrap_or(9.0) / 3.0)
}

/// Runs a campaign with a variant of the protocol.
pub fn run<V: Variant>(board: &Board, limit: usize, is_deadly: bool, time: Duration) {
    assert!(limit <= MOST);
    let host = crate::host();
    let run = |life: u64, end: Instant| {
        let mut permits = Permits::<V> {
            host: &host,
            sheet: board,
            limit,
            held: None,
            variant: std::marker::PhantomData,
        };
        work(board, life, end, &mut permits);
    };
    let audit = || everything_is_usable(&host, limit);
    Supervisor::new(board, is_deadly).run(time, &run, &audit);
    for hot in 0..KEYS {
        let limit = u16::try_from(limit).unwrap();
        assert_eq!(host.permits().held(key(&host, &name(hot)), limit), 0);
    }
    everything_is_usable(&host, limit);
    assert_eq!(host.permits().held_of_all_keys(), 0);
}

/// Takes all permits that live workers do not hold. All workers must be stopped or have ended.
fn everything_is_usable(host: &Host, limit: usize) {
    let cut = u16::try_from(limit).unwrap();
    for hot in 0..KEYS {
        let held = host.permits().held(key(host, &name(hot)), cut);
        let permits: Vec<_> = std::iter::from_fn(|| take(host, &name(hot), cut)).collect();
        assert_eq!(held + permits.len(), limit, "permits are lost");
        for permit in permits {
            assert!(host.permits().release(permit));
        }
    }
}

fn campaign(limit: usize, is_deadly: bool) {
    let board = Board::new();
    let begin = Instant::now();
    run::<Meant>(&board, limit, is_deadly, time());
    // On a slow machine, the workers need more time.
    while board.granted.load(SeqCst) < 1_000 && begin.elapsed() < PATIENCE {
        run::<Meant>(&board, limit, is_deadly, time());
    }
    judge(&board, limit);
}

/// Checks the bounds of a campaign.
fn judge(sheet: &Sheet, limit: usize) {
    let read = |counter: &AtomicU64| counter.load(SeqCst);
    println!(
        "{} granted, {} denied, {} contended, {} without a slot, deaths {:?}",
        read(&sheet.granted),
        read(&sheet.denied),
        read(&sheet.contended),
        read(&sheet.table_full),
        sheet.deaths.each_ref().map(read),
    );
    assert!(read(&sheet.granted) > 0);
    assert_eq!(read(&sheet.shared), 0, "two live workers held one permit");
    assert_eq!(read(&sheet.lost), 0, "a live worker lost a permit");
    assert_eq!(read(&sheet.table_full), 0, "the region is nearly empty");
    if limit >= WORKERS {
        // A worker that asks for a permit holds none, so some permit is always free.
        assert_eq!(read(&sheet.denied), 0, "a false denial");
    }
}

/// Runs campaigns until a worker has died at each marked point.
fn each_point() {
    let board = Board::new();
    let begin = Instant::now();
    let is_spared = || board.deaths.iter().any(|deaths| deaths.load(SeqCst) == 0);
    while is_spared() && begin.elapsed() < PATIENCE {
        run::<Meant>(&board, 3, true, time());
        judge(&board, 3);
    }
    assert!(!is_spared(), "nobody died at some point");
}
