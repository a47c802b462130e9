//! What loom must be shown to try every order of accesses.
//!
//! Loom races a write with the *last* access alone. A load that another thread's load follows is
//! forgotten, and with it the interleavings in which the write comes first. So every access passes
//! gates of what it accesses: relaxed stores that nobody reads, which order nothing but are tried in
//! every order.

use loom::sync::atomic::{AtomicU64, Ordering};

/// Makes loom try all orders of what comes right after them.
///
/// A gate for each thread: readers pass their own and writers all, so that two readers, whose order
/// does not matter, are not tried in both.
pub struct Gates([AtomicU64; THREADS]);

/// Two that are spawned, and the one that spawns them.
const THREADS: usize = 3;

impl Gates {
    pub fn new() -> Self {
        Self(std::array::from_fn(|_| AtomicU64::new(0)))
    }

    pub fn pass(&self, thread: usize) {
        self.0[thread].store(0, Ordering::Relaxed);
    }

    /// Passes all gates and writes, as one step.
    pub fn write<R>(&self, write: impl FnOnce() -> R) -> R {
        self.pass(0);
        loom::stop_exploring();
        (1..THREADS).for_each(|thread| self.pass(thread));
        let written = write();
        loom::explore();
        written
    }
}
