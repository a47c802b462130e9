//! The memory that processes share: made, adopted or opened, and checked.
//!
//! - **memfd**: a sealed file without a name. Children inherit the mapping; a master that executes
//!   itself anew (php-fpm on USR2) adopts it by its descriptor, so a reload resets no limit.
//! - **anonymous**: where memfd is not to be had. Lost when the master executes itself.
//! - **named**: a file that several masters and the command line share.
//!
//! Invariant: what is mapped is finished (the magic is written last), is of the geometry asked for,
//! belongs to this boot's clock, and cannot be truncated by a stranger: a memfd is sealed, a named
//! file belongs to this user or to root.
#![allow(unsafe_code)]

mod error;
mod header;
mod named;
mod private;

pub use error::SegmentError;
pub use named::Access;

use crate::clock::{BootClock, Clock, Ticks};
use crate::host::{Geometry, Header, Line};
use crate::remote::breaker::Breakers;
use crate::remote::denial_cache::{HintSet, Hints};
use crate::slots::counters::{self, SHARDS, Shard};
use crate::slots::diagnostics::Diagnostics;
use error::system;
use rustix::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use rustix::fs;
use rustix::io::Errno;
use rustix::mm::{self, Advice, MapFlags, ProtFlags};
use rustix::process::{Resource, getrlimit};
use std::path::PathBuf;
use std::ptr::NonNull;
use std::sync::Once;
use std::sync::atomic::Ordering;

/// A mapped segment. Unmapped when dropped; a named file is never unlinked.
#[derive(Debug)]
pub struct Segment {
    base: NonNull<u8>,
    geometry: Geometry,
    backing: Backing,
    evict: bool,
}

// SAFETY: everything in the mapping is an atomic; the other fields are not changed after creation.
unsafe impl Send for Segment {}
// SAFETY: as above.
unsafe impl Sync for Segment {}

/// What is behind the memory.
#[derive(Debug)]
pub enum Backing {
    /// A sealed memfd.
    Memfd(OwnedFd),
    /// Nothing but the mapping.
    Anonymous,
    /// A file.
    Named(PathBuf),
}

/// What a segment should be like.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// How large each part is.
    pub geometry: Geometry,
    /// Whether a bucket that is not full may be forgotten when there is no other place.
    pub evict: bool,
}

impl Segment {
    /// Whether a file is as long as the geometry wants it.
    fn check_size(stat: &fs::Stat, geometry: Geometry) -> Result<(), SegmentError> {
        let (found, wanted) = (stat.st_size.cast_unsigned(), geometry.size() as u64);
        if found == wanted {
            Ok(())
        } else {
            Err(SegmentError::Size(found, wanted))
        }
    }

    /// Whether this process may make a file so long: trying would be answered by a signal that kills.
    fn check_limit(geometry: Geometry) -> Result<(), SegmentError> {
        let limit = getrlimit(Resource::Fsize).current.unwrap_or(u64::MAX);
        if geometry.size() as u64 <= limit {
            Ok(())
        } else {
            Err(SegmentError::System("the limit on file sizes", Errno::FBIG))
        }
    }

    /// Maps a file, or plain memory.
    fn map(fd: Option<BorrowedFd<'_>>, settings: Settings) -> Result<Self, SegmentError> {
        let size = settings.geometry.size();
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let hint = std::ptr::null_mut();
        let base = match fd {
            // SAFETY: a fresh mapping at an address that the kernel chooses aliases nothing of ours.
            // The size of the file was checked or just set, and cannot shrink (see the invariant).
            Some(fd) => unsafe { mm::mmap(hint, size, protection, MapFlags::SHARED, fd, 0) },
            // SAFETY: as above, without a file.
            None => unsafe { mm::mmap_anonymous(hint, size, protection, MapFlags::SHARED) },
        }
        .map_err(system("mmap"))?;
        let base =
            NonNull::new(base.cast::<u8>()).ok_or(SegmentError::System("mmap", Errno::NOMEM))?;
        // SAFETY: the range is the mapping just made; the advice only keeps it out of core dumps.
        unsafe { mm::madvise(base.as_ptr().cast(), size, Advice::LinuxDontDump) }.ok();
        choose_shards_after_fork();
        Ok(Self {
            base,
            geometry: settings.geometry,
            backing: Backing::Anonymous,
            evict: settings.evict,
        })
    }

    pub(crate) fn header(&self) -> &Header {
        // SAFETY: `base` is page-aligned and the mapping begins with a header; every bit pattern of
        // its atomics is valid. The reference lives no longer than the mapping.
        unsafe { self.base.cast::<Header>().as_ref() }
    }

    #[inline]
    pub(crate) fn shards(&self) -> &[Shard; SHARDS] {
        // SAFETY: as for the header; `Geometry::size` leaves room for all shards at this offset,
        // which is a multiple of their alignment.
        unsafe { self.base.add(Geometry::SHARDS_AT).cast().as_ref() }
    }

    #[inline]
    pub(crate) fn lines(&self) -> &[Line] {
        // SAFETY: as for the header; `Geometry::size` leaves room for `lines` lines at this offset,
        // which is a multiple of 64.
        unsafe {
            let first = self.base.add(Geometry::LINES_AT).cast::<Line>();
            std::slice::from_raw_parts(first.as_ptr(), self.geometry.lines)
        }
    }

    /// The breakers of remote stores.
    #[must_use]
    pub(crate) fn breakers(&self) -> &Breakers {
        // SAFETY: as for the header; `Geometry::size` leaves room for them at this offset, which is a
        // multiple of their alignment.
        unsafe { self.base.add(Geometry::BREAKERS_AT).cast().as_ref() }
    }

    /// The denial hints of remote stores.
    #[must_use]
    pub(crate) fn hints(&self) -> Hints<'_> {
        // SAFETY: as for the header; `Geometry::size` leaves room for so many sets at this offset, a
        // multiple of 64.
        let sets = unsafe {
            let first = self.base.add(self.geometry.hints_at()).cast::<HintSet>();
            std::slice::from_raw_parts(first.as_ptr(), self.geometry.hint_sets())
        };
        Hints::new(sets)
    }

    #[inline]
    pub(crate) fn diagnostics(&self) -> Option<&Diagnostics> {
        if !self.geometry.diagnostics {
            return None;
        }
        // SAFETY: as for the header; with diagnostics `Geometry::size` leaves room for them at this
        // offset, a multiple of their alignment.
        Some(unsafe {
            self.base
                .add(self.geometry.diagnostics_at())
                .cast()
                .as_ref()
        })
    }

    /// Whether a bucket that is not full may be forgotten when there is no other place.
    #[inline]
    #[must_use]
    pub const fn may_evict(&self) -> bool {
        self.evict
    }

    /// What is behind the memory.
    #[must_use]
    pub const fn backing(&self) -> &Backing {
        &self.backing
    }

    /// The memfd's number, if there is one.
    #[must_use]
    pub fn descriptor(&self) -> Option<RawFd> {
        match &self.backing {
            Backing::Memfd(fd) => Some(fd.as_raw_fd()),
            _ => None,
        }
    }

    /// How large each part is.
    #[must_use]
    pub const fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// What [`Segment::adopt`] recognises it by.
    #[must_use]
    pub fn nonce(&self) -> u64 {
        self.header().nonce.load(Ordering::Relaxed)
    }

    /// How long ago it was made.
    #[must_use]
    pub fn age(&self) -> Ticks {
        let created = self.header().created.load(Ordering::Relaxed);
        BootClock.now().saturating_sub(created)
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: the range is the mapping made in `map`; no reference into it outlives `self`.
        unsafe { mm::munmap(self.base.as_ptr().cast(), self.geometry.size()) }.ok();
    }
}

/// A child must not count in its parent's shard.
fn choose_shards_after_fork() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the handler only stores to an atomic, which is allowed after a fork. The C library
        // forgets it when this library is unloaded.
        unsafe { libc::pthread_atfork(None, None, Some(counters::forked)) };
    });
}
