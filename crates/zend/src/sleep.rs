//! Sleeps that end when a signal arrives.

use super::system;
use std::time::Duration;
use std::{mem, ptr};

/// The longest sleep without a look at the clock, which also advances while the host is suspended.
/// It is less than a second.
const NAP: Duration = Duration::from_millis(500);

/// The end of a sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slept {
    /// No time is left.
    ToTheEnd,
    /// A signal arrived that PHP must handle.
    Signalled,
    /// Another interrupt of PHP is pending, such as that of a profiler.
    Interrupted,
}

/// Sleeps until `left` returns no time. Signals arrive only while the thread sleeps, so each of
/// them ends the sleep.
pub fn sleep(left: impl Fn() -> Duration) -> Slept {
    let blocked = Blocked::all();
    loop {
        let nap = left().min(NAP);
        if nap.is_zero() {
            return Slept::ToTheEnd;
        }
        if system::is_interrupted() {
            return Slept::Interrupted;
        }
        if blocked.nap(nap) && system::is_interrupted() {
            return Slept::Signalled;
        }
    }
}

/// Blocks all signals of this thread, except during [`Blocked::nap`].
struct Blocked {
    before: libc::sigset_t,
}

impl Blocked {
    fn all() -> Self {
        // SAFETY: the bytes 0 are valid for a set of signals, and the functions write to both sets.
        unsafe {
            let (mut all, mut before) = (mem::zeroed(), mem::zeroed());
            libc::sigfillset(&raw mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
            Self { before }
        }
    }

    /// Sleeps for `nap`, which is less than a second. Returns true if a signal ended the sleep.
    fn nap(&self, nap: Duration) -> bool {
        let time = libc::timespec {
            tv_sec: 0,
            tv_nsec: nap.subsec_nanos().into(),
        };
        // SAFETY: ppoll gets no descriptors, and both values live during the call. It sets the mask
        // of signals and restores it atomically.
        let result =
            unsafe { libc::ppoll(ptr::null_mut(), 0, &raw const time, &raw const self.before) };
        result != 0
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        // SAFETY: the set was read from this thread.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, ptr::null_mut());
        }
    }
}
