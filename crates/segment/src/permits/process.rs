//! The number of this process among the owners of permits.
//!
//! A process draws its number from a counter in the segment when it needs one, and again after a
//! fork. So a number is never used again. Then the process locks the byte with this number; see
//! [`crate::memory`]. All threads of a process share its number.
//!
//! Code of another module drops all locks of the process if it opens and closes the segment's file.
//! The kernel does not report that. So a process locks its number again when it takes its first
//! permit of a request, and after one of its permits was taken over.

use super::protocol::{PermitPoint, PermitVariant};
use super::word::Owner;
use crate::memory::Segment;
use crate::memory::fork::generation;
use rustix::io::Errno;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};

/// The counter from which processes draw their numbers.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct Numbers {
    /// The number that was drawn last.
    last: AtomicU64,
}

/// The most numbers that a process draws in one call. A number is locked already only if another
/// program locks parts of the file, or has changed the counter.
const DRAWS: u32 = 64;

/// The reason why a process cannot hold permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    /// The segment is anonymous memory, so there is no file to lock.
    #[error("the shared memory has no file, because memfd is not available")]
    Anonymous,
    /// The kernel or a security module refuses the lock.
    #[error("fcntl(F_SETLK): {0}")]
    Lock(Errno),
    /// Another program has locked parts of the segment's file.
    #[error("another program has locked the segment's file")]
    Occupied,
    /// The counter is beyond the last number.
    #[error("the numbers of processes are used up")]
    UsedUp,
}

/// This process as an owner of permits.
#[derive(Debug, Default)]
pub(crate) struct Process {
    /// Upper 28 bits: the fork generation in which the number was drawn. Lower 36 bits: the number,
    /// or 0.
    drawn: AtomicU64,
    /// True if the lock of the number may be lost.
    is_doubted: AtomicBool,
    tickets: AtomicU64,
}

impl Process {
    /// Returns the number of this process, if it has drawn one.
    #[inline]
    pub(super) fn owner(&self) -> Option<Owner> {
        // Acquire: another thread may have drawn the number. It locked the number before this
        // thread writes any word.
        let drawn = self.drawn.load(Acquire);
        let is_current = drawn >> Owner::BITS == current_generation();
        Owner::new(drawn & ((1 << Owner::BITS) - 1)).filter(|_| is_current)
    }

    /// Makes the next [`Process::enter`] lock the number of this process again.
    pub(super) fn doubt(&self) {
        // Relaxed, because no other memory depends on it.
        self.is_doubted.store(true, Relaxed);
    }

    /// Returns the number of this process. If it has none, draws and locks one.
    #[inline]
    pub(super) fn enter<V: PermitVariant>(
        &self,
        numbers: &Numbers,
        segment: &Segment,
    ) -> Result<Owner, Unavailable> {
        match self.owner() {
            Some(owner) if !self.is_doubted.load(Relaxed) => Ok(owner),
            owner => self.lock::<V>(owner, numbers, segment),
        }
    }

    /// Locks the number again, or draws another one.
    #[cold]
    #[inline(never)]
    fn lock<V: PermitVariant>(
        &self,
        owner: Option<Owner>,
        numbers: &Numbers,
        segment: &Segment,
    ) -> Result<Owner, Unavailable> {
        self.is_doubted.store(false, Relaxed);
        let locked = owner.filter(|owner| segment.lock(owner.number()) == Ok(true));
        let entered = locked.map_or_else(|| self.draw::<V>(numbers, segment), Ok);
        if entered.is_err() {
            self.doubt();
        }
        entered
    }

    fn draw<V: PermitVariant>(
        &self,
        numbers: &Numbers,
        segment: &Segment,
    ) -> Result<Owner, Unavailable> {
        let before = self.drawn.load(Acquire);
        for _ in 0..DRAWS {
            // Relaxed, because the number must only be unique.
            let number = numbers.last.fetch_add(1, Relaxed).wrapping_add(1);
            let owner = Owner::new(number).ok_or(Unavailable::UsedUp)?;
            V::reached(PermitPoint::Drawn);
            match segment.lock(number) {
                Ok(true) => {}
                Ok(false) => continue,
                Err(Errno::OPNOTSUPP) => return Err(Unavailable::Anonymous),
                Err(error) => return Err(Unavailable::Lock(error)),
            }
            V::reached(PermitPoint::Locked);
            let drawn = current_generation() << Owner::BITS | number;
            // Two threads may draw at the same time. Then both use the number that was stored
            // first. The other number stays locked, and no process uses it.
            let stored = self.drawn.compare_exchange(before, drawn, Release, Acquire);
            return Ok(stored.map_or_else(|_| self.owner().unwrap_or(owner), |_| owner));
        }
        Err(Unavailable::Occupied)
    }

    /// Returns the next number of a counter of this process, which wraps around.
    #[inline]
    pub(super) fn ticket(&self) -> u64 {
        // Relaxed, because the number must only be unique.
        self.tickets.fetch_add(1, Relaxed)
    }
}

/// Returns the low 28 bits of the fork generation. A process would need 2^28 ancestors to have the
/// same bits as one of them.
fn current_generation() -> u64 {
    u64::from(generation()) & ((1 << (u64::BITS - Owner::BITS)) - 1)
}
