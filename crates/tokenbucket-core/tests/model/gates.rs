//! Gates make loom try every order of accesses.
//!
//! Loom reorders a write only with the *last* access before it. If another thread's load follows a
//! load, loom forgets the first load. It then never tries the interleavings in which the write
//! comes before that load. So every access first passes the gates of the slot or clock that it
//! accesses. A gate is a relaxed store that no thread reads. It orders nothing, but loom tries all
//! orders of these stores.

use loom::sync::atomic::{AtomicU64, Ordering};

/// Makes loom try all orders of the accesses that come right after the gates.
///
/// There is a gate for each thread. A reader passes its own gate, and a writer passes all gates. So
/// two readers, whose order does not matter, are not tried in both orders.
pub struct Gates([AtomicU64; THREADS]);

/// Two threads that are spawned, and the one that spawns them.
const THREADS: usize = 3;

impl Gates {
    pub fn new() -> Self {
        Self(std::array::from_fn(|_| AtomicU64::new(0)))
    }

    pub fn pass(&self, thread: usize) {
        self.0[thread].store(0, Ordering::Relaxed);
    }

    /// Passes all gates and writes, in one step.
    pub fn write<R>(&self, write: impl FnOnce() -> R) -> R {
        self.pass(0);
        loom::stop_exploring();
        (1..THREADS).for_each(|thread| self.pass(thread));
        let written = write();
        loom::explore();
        written
    }
}
