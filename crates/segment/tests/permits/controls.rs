//! Controls: limiters whose permits do not end with their holder. The campaign must catch each of
//! them. The model has the controls of single rules of the protocol.

use crate::Test;
use crate::campaign::{Limiter, PATIENCE, Supervisor, work};
use crate::sheet::{Board, Sheet};
use gcra::clock::{Ticks, boot_clock};
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

pub const TESTS: &[Test] = &[
    ("control: a counter loses the permits of the dead", counter),
    (
        "control: permits with a time to live are held twice",
        expiry,
    ),
];

/// The time of one part of a control.
const PART: Duration = Duration::from_millis(500);
const LIMIT: u64 = 3;

/// Counts the permits, as INCR and DECR do.
struct Counter<'a>(&'a Sheet);

impl Limiter for Counter<'_> {
    fn take(&mut self, key: usize) -> Option<usize> {
        let more = |count| (count < LIMIT).then_some(count + 1);
        let before = self.0.counted[key].fetch_update(SeqCst, SeqCst, more);
        before.ok().and_then(|count| usize::try_from(count).ok())
    }

    fn give_back(&mut self, key: usize) {
        self.0.counted[key].fetch_sub(1, SeqCst);
    }
}

fn counter() {
    let begin = Instant::now();
    let board = Board::new();
    let run = |life: u64, end: Instant| work(&board, life, end, &mut Counter(&board));
    while begin.elapsed() < PATIENCE {
        Supervisor::new(&board, true).run(PART, &run, &|| {});
        // All workers have ended, so a counter at the limit counts lost permits.
        if board
            .counted
            .iter()
            .any(|count| count.load(SeqCst) == LIMIT)
        {
            return;
        }
    }
    panic!("the counter was never wrong");
}

/// Permits that expire before some workers have finished.
struct Expiry<'a> {
    sheet: &'a Sheet,
    held: Option<(usize, u64)>,
}

const TIME_TO_LIVE: Ticks = 100_000;

impl Limiter for Expiry<'_> {
    fn take(&mut self, key: usize) -> Option<usize> {
        let now = boot_clock().0;
        let until = now + TIME_TO_LIVE;
        let mut cells = self.sheet.expiries[key].iter().take(3);
        let cell = cells.position(|cell| {
            let old = cell.load(SeqCst);
            old <= now && cell.compare_exchange(old, until, SeqCst, SeqCst).is_ok()
        });
        self.held = cell.map(|cell| (cell, until));
        cell
    }

    fn give_back(&mut self, key: usize) {
        if let Some((cell, until)) = self.held.take() {
            let cell = &self.sheet.expiries[key][cell];
            cell.compare_exchange(until, 0, SeqCst, SeqCst).ok();
        }
    }
}

fn expiry() {
    let begin = Instant::now();
    let board = Board::new();
    let run = |life: u64, end: Instant| {
        let mut expiry = Expiry {
            sheet: &board,
            held: None,
        };
        work(&board, life, end, &mut expiry);
    };
    while begin.elapsed() < PATIENCE {
        Supervisor::new(&board, true).run(PART, &run, &|| {});
        if board.shared.load(SeqCst) > 0 {
            return;
        }
    }
    panic!("no permit was held twice");
}
