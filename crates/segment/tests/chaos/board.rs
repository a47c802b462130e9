//! The journal of the workers. The journal is in memory that the workers share with the supervisor,
//! so the death of a worker does not erase the journal.
//!
//! Invariants: Each worker has a lane, to which only one process at a time writes. An entry of the
//! journal is valid only if its index is below the length. So a worker that is killed while it
//! writes an entry loses only that entry.

use gcra::{Ticks, Timestamp};
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use segment::slots::protocol::Point;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed, Ordering::SeqCst};

pub const WORKERS: usize = 8;
const ENTRIES: usize = 1 << 20;

/// The contents of the shared memory.
#[repr(C)]
pub struct Sheet {
    deaths: [AtomicU64; Point::ALL.len()],
    pub lanes: [Lane; WORKERS],
}

/// A sheet in memory that forked processes share. The death of a worker does not erase it. Pages
/// that are never written use no memory.
pub struct Board(NonNull<Sheet>);

impl Board {
    pub fn new() -> Self {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::SHARED | MapFlags::NORESERVE;
        let hint = std::ptr::null_mut();
        // SAFETY: the kernel chooses a free address, so the new mapping aliases nothing.
        let base = unsafe { mmap_anonymous(hint, size_of::<Sheet>(), protection, flags) };
        Self(NonNull::new(base.expect("a shared mapping").cast()).unwrap())
    }

    /// Returns the sheet for the static variables of a worker.
    pub fn of_worker(&self) -> &'static Sheet {
        // SAFETY: only forked workers use the longer lifetime, and they never unmap the mapping.
        unsafe { self.0.as_ref() }
    }
}

impl Deref for Board {
    type Target = Sheet;

    fn deref(&self) -> &Sheet {
        // SAFETY: the mapping is page-aligned and has the size of a sheet. Its bytes are zero,
        // which is a valid value. The mapping lives as long as `self`.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        // SAFETY: the range is the mapping made in `new`. No reference into it outlives `self`.
        unsafe { munmap(self.0.as_ptr().cast(), size_of::<Sheet>()) }.ok();
    }
}

#[repr(C, align(64))]
pub struct Lane {
    /// The number of calls that returned.
    pub calls: AtomicU64,
    /// The number of grants that were written into a slot, whether they are in the journal or not.
    pub written: AtomicU64,
    /// The number of valid entries.
    length: AtomicU64,
    entries: [Entry; ENTRIES],
}

#[repr(C)]
struct Entry {
    key: AtomicU64,
    now: AtomicU64,
    cost: AtomicU64,
}

/// One call that was granted.
#[derive(Clone, Copy, Debug)]
pub struct Grant {
    pub key: u64,
    pub now: Timestamp,
    pub cost: Ticks,
}

impl Lane {
    /// Adds a grant to the journal. Returns `false` if the lane is full.
    pub fn note(&self, grant: Grant) -> bool {
        let length = self.length.load(Relaxed);
        let Some(entry) = self.entries.get(usize::try_from(length).unwrap()) else {
            return false;
        };
        entry.key.store(grant.key, Relaxed);
        entry.now.store(grant.now.0, Relaxed);
        entry.cost.store(grant.cost, Relaxed);
        self.length.store(length + 1, SeqCst);
        true
    }

    pub fn length(&self) -> u64 {
        self.length.load(SeqCst)
    }

    fn grants(&self) -> impl Iterator<Item = Grant> {
        let entries = &self.entries[..usize::try_from(self.length()).unwrap()];
        entries.iter().map(|entry| Grant {
            key: entry.key.load(Relaxed),
            now: Timestamp(entry.now.load(Relaxed)),
            cost: entry.cost.load(Relaxed),
        })
    }
}

impl Sheet {
    pub fn dies(&self, point: Point) {
        self.deaths[point as usize].fetch_add(1, SeqCst);
    }

    pub fn deaths(&self) -> [u64; Point::ALL.len()] {
        self.deaths.each_ref().map(|count| count.load(SeqCst))
    }

    pub fn sum(&self, field: impl Fn(&Lane) -> &AtomicU64) -> u64 {
        self.lanes.iter().map(|lane| field(lane).load(SeqCst)).sum()
    }

    pub fn length(&self) -> u64 {
        self.lanes.iter().map(Lane::length).sum()
    }

    pub fn grants(&self) -> impl Iterator<Item = Grant> {
        self.lanes.iter().flat_map(Lane::grants)
    }
}
