//! The parts that the tests of killed processes share: forked workers, memory that workers and
//! their supervisor share, and random numbers.

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use rustix::process::{Pid, Signal, getpid, set_parent_process_death_signal};
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A type that consists of atomics, and for which zeroed memory is a valid value.
///
/// # Safety
/// Every bit pattern of zeros must be a valid value.
pub unsafe trait Sheet {}

/// A sheet in memory that forked processes share. The death of a worker does not erase it. Pages
/// that are never written use no memory.
pub struct Board<S: Sheet>(NonNull<S>);

impl<S: Sheet> Board<S> {
    pub fn new() -> Self {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::SHARED | MapFlags::NORESERVE;
        let hint = std::ptr::null_mut();
        // SAFETY: the kernel chooses a free address, so the new mapping aliases nothing.
        let base = unsafe { mmap_anonymous(hint, size_of::<S>(), protection, flags) };
        Self(NonNull::new(base.expect("a shared mapping").cast()).unwrap())
    }

    /// Returns the sheet for the static variables of a worker.
    pub fn of_worker(&self) -> &'static S {
        // SAFETY: only forked workers use the longer lifetime, and they never unmap the mapping.
        unsafe { self.0.as_ref() }
    }
}

impl<S: Sheet> Deref for Board<S> {
    type Target = S;

    fn deref(&self) -> &S {
        // SAFETY: the mapping is page-aligned and has the size of a sheet. Its bytes are zero,
        // which is a valid value. The mapping lives as long as `self`.
        unsafe { self.0.as_ref() }
    }
}

impl<S: Sheet> Drop for Board<S> {
    fn drop(&mut self) {
        // SAFETY: the range is the mapping made in `new`. No reference into it outlives `self`.
        unsafe { munmap(self.0.as_ptr().cast(), size_of::<S>()) }.ok();
    }
}

/// Random numbers from a xorshift generator, which need not be secret.
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// The state of the dice of this process.
static DICE: AtomicU64 = AtomicU64::new(1);

/// Sets the seed of [`roll`] in this process.
pub fn seed(seed: u64) {
    DICE.store(seed | 1, Relaxed);
}

/// Returns the next random number of this process.
pub fn roll() -> u64 {
    let mut dice = Dice(DICE.load(Relaxed));
    let rolled = dice.roll();
    DICE.store(dice.0, Relaxed);
    // The low bits of a xorshift generator are less random than its high bits.
    rolled >> 8
}

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
