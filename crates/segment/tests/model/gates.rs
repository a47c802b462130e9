//! Gates make loom try every order of accesses.
//!
//! Loom reorders a write only with the *last* access before the write. If two threads load a value
//! one after the other, loom drops the first load. Loom then never tries the interleavings in which
//! a write comes before that load. So every access first passes the gates of its slot or clock. A
//! gate is a relaxed store that no thread reads. Gates order no other accesses, but loom tries all
//! orders of these stores.

use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread::ThreadId;
use std::sync::Mutex;

/// Makes loom try all orders of the accesses that come right after the gates.
///
/// Each thread has one gate. A reader passes its own gate, and a writer passes all gates. The order
/// of two readers does not matter, so loom does not try both orders.
pub struct Gates([AtomicU64; THREADS]);

/// The number of threads: two that are spawned, and the thread that spawns them.
const THREADS: usize = 3;

impl Gates {
    pub fn new() -> Self {
        Self(std::array::from_fn(|_| AtomicU64::new(0)))
    }

    pub fn pass(&self, thread: usize) {
        self.0[thread].store(0, Ordering::Relaxed);
    }

    /// Passes all gates and then calls `write`, without interleavings in between.
    pub fn write<R>(&self, write: impl FnOnce() -> R) -> R {
        self.pass(0);
        loom::stop_exploring();
        (1..THREADS).for_each(|thread| self.pass(thread));
        let written = write();
        loom::explore();
        written
    }
}

/// An atomic with gates.
pub struct Gated {
    gates: Gates,
    value: AtomicU64,
}

impl Gated {
    pub fn new(value: u64) -> Self {
        Self {
            gates: Gates::new(),
            value: AtomicU64::new(value),
        }
    }

    pub fn read(&self, thread: usize, read: impl FnOnce(&AtomicU64) -> u64) -> u64 {
        self.gates.pass(thread);
        read(&self.value)
    }

    pub fn write<R>(&self, write: impl FnOnce(&AtomicU64) -> R) -> R {
        self.gates.write(|| write(&self.value))
    }
}

/// The threads of a scenario, numbered in the order of their first calls.
#[derive(Default)]
pub struct Threads(Mutex<Vec<ThreadId>>);

impl Threads {
    /// Returns the number of the running thread.
    pub fn current(&self) -> usize {
        let this = loom::thread::current().id();
        let mut threads = self.0.lock().unwrap();
        let known = threads.iter().position(|&thread| thread == this);
        known.unwrap_or_else(|| {
            threads.push(this);
            threads.len() - 1
        })
    }
}
