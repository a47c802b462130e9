//! Distinguishes a process from its children without a system call.

use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The number of forks of this process and its ancestors since the first segment was mapped.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// Returns a number that differs between a process and its children.
pub fn generation() -> u32 {
    FORKS.load(Relaxed)
}

/// Counts forks from now on.
pub(super) fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the handler only adds to an atomic, which is allowed after a fork. The C library
        // removes the handler when this library is unloaded.
        unsafe { libc::pthread_atfork(None, None, Some(forked)) };
    });
}

extern "C" fn forked() {
    FORKS.fetch_add(1, Relaxed);
}
