//! Record locks on bytes of a segment's file. They tell the processes of a segment apart, and the
//! kernel drops them when a process dies.
//!
//! The locked bytes lie far behind the end of the file. A lock belongs to the process, and a forked
//! child does not inherit it. The kernel drops it before `waitpid()` returns, also after SIGKILL.
//! No process id is compared, so containers with their own PID namespaces can share a named
//! segment.
//!
//! Invariant: the process closes no other descriptor of the file, because the kernel then drops all
//! of its locks on the file. So a named segment keeps its descriptor open, and
//! [`Segment::adopt`], which closes one, runs before the process takes a lock.

use super::{Backing, Segment};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd};
use rustix::io::Errno;
use std::io;

/// The byte of the lock with the number 0.
const FIRST: i64 = 1 << 62;
/// The numbers below this one have a byte.
const NUMBERS: u64 = 1 << 62;

impl Segment {
    /// Locks the byte with this number for this process, until the process dies. Returns `false` if
    /// another process holds the lock, and `true` if this process holds it already. Fails with the
    /// error of the system call, or `OPNOTSUPP` if the segment has no file.
    pub(crate) fn lock(&self, number: u64) -> Result<bool, Errno> {
        match record_lock(self.file()?, libc::F_SETLK, number) {
            Ok(_) => Ok(true),
            Err(Errno::AGAIN) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Reports whether another process has locked the byte with this number. Locks of this process
    /// are never reported.
    pub(crate) fn is_locked_elsewhere(&self, number: u64) -> Result<bool, Errno> {
        let found = record_lock(self.file()?, libc::F_GETLK, number)?;
        Ok(i32::from(found.l_type) != libc::F_UNLCK)
    }

    /// Returns the descriptor of the segment's file.
    fn file(&self) -> Result<BorrowedFd<'_>, Errno> {
        match &self.backing {
            Backing::Memfd(fd) | Backing::Named(_, fd) => Ok(fd.as_fd()),
            Backing::Anonymous => Err(Errno::OPNOTSUPP),
        }
    }
}

/// Calls `fcntl` for an exclusive lock on one byte. Returns the lock as the kernel left it.
fn record_lock(fd: BorrowedFd<'_>, command: i32, number: u64) -> Result<libc::flock, Errno> {
    if number >= NUMBERS {
        return Err(Errno::INVAL);
    }
    // The two constants are at most 2.
    #[allow(clippy::cast_possible_truncation)]
    let mut lock = libc::flock {
        l_type: libc::F_WRLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: FIRST | number.cast_signed(),
        l_len: 1,
        l_pid: 0,
    };
    // SAFETY: the descriptor is open, and `lock` is a valid structure that outlives the call. Both
    // commands read and write nothing else.
    let result = unsafe { libc::fcntl(fd.as_raw_fd(), command, &raw mut lock) };
    if result == 0 {
        Ok(lock)
    } else {
        let error = io::Error::last_os_error();
        Err(Errno::from_io_error(&error).unwrap_or(Errno::INVAL))
    }
}
