//! Memory that the workers share with their supervisor. A worker notes here what it holds.
//!
//! Invariant: a worker notes a permit after it was granted, and erases the note before it releases
//! the permit. A worker that is about to be killed is marked first. So two notes of workers that
//! are not marked, for one permit, prove that two live workers held it.

use crate::forked;
use segment::permits::protocol::Point;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// The greatest limit of a campaign.
pub const MOST: usize = 16;
/// The number of keys for which workers compete.
pub const KEYS: usize = 3;
/// The most workers that a campaign starts, one after the other.
pub const LIVES: usize = 1 << 17;

/// The contents of the shared memory.
#[repr(C)]
pub struct Sheet {
    pub deaths: [AtomicU64; Point::ALL.len()],
    pub granted: AtomicU64,
    pub denied: AtomicU64,
    pub contended: AtomicU64,
    pub table_full: AtomicU64,
    /// Permits that two live workers held at the same time.
    pub shared: AtomicU64,
    /// Permits that a live worker held but could not release.
    pub lost: AtomicU64,
    /// The life of the worker that holds a permit; 0 if none does. Lives begin with 1.
    notes: [[AtomicU64; MOST]; KEYS],
    /// 1 for each life that is about to end by a signal.
    ending: [AtomicU64; LIVES],
    /// For controls: the permits that are counted, and the instants at which they expire.
    pub counted: [AtomicU64; KEYS],
    pub expiries: [[AtomicU64; MOST]; KEYS],
}

// SAFETY: it consists of atomic integers, for which zero is a valid value.
unsafe impl forked::Sheet for Sheet {}

/// A sheet that forked processes share.
pub type Board = forked::Board<Sheet>;

impl Sheet {
    /// Marks a worker that is about to be killed.
    pub fn ends(&self, life: u64) {
        self.ending[usize::try_from(life).unwrap()].store(1, SeqCst);
    }

    /// Notes that the worker `life` holds a permit.
    pub fn holds(&self, key: usize, cell: usize, life: u64) {
        let before = self.notes[key][cell].swap(life, SeqCst);
        let is_alive = self.ending[usize::try_from(before).unwrap()].load(SeqCst) == 0;
        if before != 0 && is_alive {
            self.shared.fetch_add(1, SeqCst);
        }
    }

    /// Erases the note.
    pub fn gives_back(&self, key: usize, cell: usize, life: u64) {
        self.notes[key][cell]
            .compare_exchange(life, 0, SeqCst, SeqCst)
            .ok();
    }

    /// Erases the notes of dead workers. All workers must have ended.
    pub fn forget(&self) {
        for note in self.notes.as_flattened() {
            note.store(0, SeqCst);
        }
    }
}
