//! Ids of workers: of processes, or of threads in a thread-safe PHP.
//!
//! The kernel gives each thread an id of its own. The first thread of a process has the id of the
//! process. So processes and threads can own shards and lookups in the same way.

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use std::sync::atomic::{AtomicU32, Ordering};

/// Makes `worker` the owner if there is none, or if the owner is dead. Returns whether this
/// succeeded. Also succeeds if `worker` is the owner already.
pub fn claim(owner: &AtomicU32, worker: Pid, order: Ordering) -> bool {
    let found = owner.load(order);
    let is_free = match Pid::from_raw(found.cast_signed()) {
        None => true,
        // Linux also accepts the id of a thread here. Only SRCH means that the worker is dead. Any
        // other error means that it exists.
        Some(pid) => pid == worker || test_kill_process(pid) == Err(Errno::SRCH),
    };
    let mine = worker.as_raw_nonzero().get().cast_unsigned();
    is_free && owner.compare_exchange(found, mine, order, order).is_ok()
}

/// Waits until the kernel reports that a thread has ended. This is shortly after it was joined.
#[cfg(test)]
pub fn wait_for_end(thread: Pid) {
    while test_kill_process(thread) != Err(Errno::SRCH) {
        std::thread::yield_now();
    }
}
