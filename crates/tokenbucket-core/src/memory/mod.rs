//! The mapping that processes share: made, adopted or opened, and checked.
//!
//! - **memfd**: a sealed file without a name. Children inherit the mapping. A master that executes
//!   itself anew (php-fpm on USR2) adopts it by its descriptor, so a reload resets no limit.
//! - **anonymous**: where memfd is not available. Lost when the master executes itself.
//! - **named**: a file that several masters and the command line share.
//!
//! The mapping hands out regions by size and alignment, and knows nothing of the types in them.
//!
//! Invariant: what is mapped is finished (the magic is written last), has the layout that this
//! process expects, belongs to this boot's clock, and cannot be truncated by another user: a memfd is
//! sealed, a named file belongs to this user or to root.
#![allow(unsafe_code)]

mod error;
pub(crate) mod fork;
mod header;
mod layout;
mod mapping;
mod named;
mod private;

pub use error::SegmentError;
pub use layout::{Layout, Place};
pub use mapping::{Region, Shareable};
pub use named::Access;

use crate::clock::{Ticks, boot_clock};
use header::load;
use mapping::Mapping;
use rustix::fd::{AsRawFd, OwnedFd, RawFd};
use rustix::fs::{self, SeekFrom};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

/// A mapped segment. It stays mapped while it or one of its regions lives; a named file is never
/// unlinked.
#[derive(Debug)]
pub struct Segment {
    mapping: Arc<Mapping>,
    backing: Backing,
}

/// The kind of memory that is mapped.
#[derive(Debug)]
pub enum Backing {
    /// A sealed memfd.
    Memfd(OwnedFd),
    /// Nothing but the mapping.
    Anonymous,
    /// A file.
    Named(PathBuf),
}

impl Segment {
    fn new(mapping: Mapping, backing: Backing) -> Self {
        Self {
            mapping: Arc::new(mapping),
            backing,
        }
    }

    /// Hands out the region at `place`.
    ///
    /// # Panics
    /// When the place is not of this segment's layout.
    #[must_use]
    pub fn region<T: Shareable>(&self, place: &Place<T>) -> Region<T> {
        Region::new(&self.mapping, place)
    }

    /// Returns which values of a region were ever written, as runs of their numbers.
    ///
    /// Reading a page that was never written would allocate it. Only a memfd can tell; of other
    /// segments the whole region is returned.
    #[must_use]
    pub fn written<T: Shareable>(&self, region: &Region<T>) -> Vec<Range<usize>> {
        let all = 0..region.len();
        let Backing::Memfd(fd) = &self.backing else {
            return Vec::from([all]);
        };
        let (start, size) = (region.offset() as u64, size_of::<T>() as u64);
        let number = |values: u64| usize::try_from(values).unwrap_or(usize::MAX).min(all.end);
        let mut runs = Vec::new();
        let mut from = 0;
        // Each search names its start, so it does not matter who else moves the descriptor's offset.
        while let Ok(data) = fs::seek(fd, SeekFrom::Data(from))
            && let Ok(hole) = fs::seek(fd, SeekFrom::Hole(data))
        {
            let first = number(data.saturating_sub(start) / size);
            runs.push(first..number(hole.saturating_sub(start).div_ceil(size)));
            from = hole;
        }
        runs
    }

    /// Returns what is behind the memory.
    #[must_use]
    pub const fn backing(&self) -> &Backing {
        &self.backing
    }

    /// Returns the memfd's number, if there is one.
    #[must_use]
    pub fn descriptor(&self) -> Option<RawFd> {
        match &self.backing {
            Backing::Memfd(fd) => Some(fd.as_raw_fd()),
            _ => None,
        }
    }

    /// Returns the bytes in all.
    #[must_use]
    pub fn size(&self) -> usize {
        self.mapping.size
    }

    /// Returns the segment's random secret.
    #[must_use]
    pub fn secret(&self) -> [u64; 2] {
        self.mapping.header().secret.each_ref().map(load)
    }

    /// Returns the number by which [`Segment::adopt`] recognises the segment.
    #[must_use]
    pub fn nonce(&self) -> u64 {
        load(&self.mapping.header().nonce)
    }

    /// Returns the time since the segment was made.
    #[must_use]
    pub fn age(&self) -> Ticks {
        let created = load(&self.mapping.header().created);
        boot_clock().saturating_sub(created)
    }
}

/// Checks whether this process may make a file so long: the system would kill it for trying.
fn check_limit(layout: Layout) -> Result<(), SegmentError> {
    let limit = getrlimit(Resource::Fsize).current.unwrap_or(u64::MAX);
    if layout.size() as u64 <= limit {
        Ok(())
    } else {
        Err(SegmentError::System("the limit on file sizes", Errno::FBIG))
    }
}
