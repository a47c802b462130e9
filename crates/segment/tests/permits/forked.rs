//! Forked processes of tests.

use rustix::process::{Pid, Signal, getpid, set_parent_process_death_signal};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Forks. Runs `work` in the child, which ends with the exit status 0 if `work` does not panic, and
/// is killed when its parent ends.
pub fn fork(work: impl FnOnce()) -> Pid {
    let parent = getpid();
    // SAFETY: this process has one thread, so the child may do everything that the parent may.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "fork: {}", std::io::Error::last_os_error());
    if let Some(pid) = Pid::from_raw(pid) {
        return pid;
    }
    set_parent_process_death_signal(Some(Signal::KILL)).ok();
    if rustix::process::getppid() != Some(parent) {
        exit(1);
    }
    let worked = catch_unwind(AssertUnwindSafe(work));
    exit(i32::from(worked.is_err()))
}

/// Ends this child at once.
pub fn exit(code: i32) -> ! {
    // SAFETY: the parent's destructors do not run.
    unsafe { libc::_exit(code) }
}
