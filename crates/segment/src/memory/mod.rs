//! The segment: memory that processes share. A process creates a segment, or it adopts or opens an
//! existing one and checks it.
//!
//! - **memfd**: a sealed file without a name. Children inherit the mapping. A master that
//!   re-executes itself (php-fpm on USR2) adopts the memfd by its descriptor, so a reload resets no
//!   limit.
//! - **anonymous**: used where memfd is not available. It is lost when the master re-executes
//!   itself.
//! - **named**: a file that several masters and command-line processes share.
//!
//! A segment returns regions by size and alignment. The types in the regions do not matter.
//!
//! Invariants of every mapped segment:
//! - It is finished, because the magic is written last.
//! - It has the layout that this process expects for its size, and its instants were measured on
//!   the clock of this boot.
//! - Only users with write access can truncate it. A memfd is sealed, and a named file belongs to
//!   this user or to root.
#![allow(unsafe_code)]

mod error;
pub mod fork;
mod header;
mod layout;
mod mapping;
mod named;
mod private;
mod record_lock;

pub use error::SegmentError;
pub use layout::{Layout, Place};
pub use mapping::{Region, Shareable};
pub use named::Access;

use gcra::{Ticks, Timestamp, boot_clock};
use header::load;
use mapping::Mapping;
use rustix::fd::{AsRawFd, OwnedFd, RawFd};
use rustix::fs::{self, SeekFrom};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use std::iter;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

/// A mapped segment. The memory stays mapped until the segment and all its regions are dropped. The
/// file of a named segment is never deleted.
#[derive(Debug)]
pub struct Segment {
    mapping: Arc<Mapping>,
    backing: Backing,
}

/// The kind of memory behind a segment.
#[derive(Debug)]
pub enum Backing {
    /// A sealed memfd.
    Memfd(OwnedFd),
    Anonymous,
    /// The path and the open file of a named segment. The file stays open, because record locks end
    /// when it is closed.
    Named(PathBuf, OwnedFd),
}

impl Segment {
    fn new(mapping: Mapping, backing: Backing) -> Self {
        Self {
            mapping: Arc::new(mapping),
            backing,
        }
    }

    /// Returns the region at `place`. Panics if the place is not of this segment's layout.
    pub fn region<T: Shareable>(&self, place: &Place<T>) -> Region<T> {
        Region::new(&self.mapping, place)
    }

    /// Returns the index ranges of the values in `region` that may have been written.
    ///
    /// Reading a page that was never written would allocate the page. Only a memfd records which
    /// pages were written. For other segments, the whole region is returned.
    pub fn written<T: Shareable>(&self, region: &Region<T>) -> impl Iterator<Item = Range<usize>> {
        let all = region.len();
        let (start, size) = (region.offset() as u64, size_of::<T>() as u64);
        let number = move |values: u64| usize::try_from(values).unwrap_or(usize::MAX).min(all);
        let mut whole = Some(0..all);
        let mut from = start;
        iter::from_fn(move || {
            let Backing::Memfd(fd) = &self.backing else {
                return whole.take();
            };
            // Each seek passes its own start, because other processes may move the offset of the
            // shared descriptor.
            let data = fs::seek(fd, SeekFrom::Data(from)).ok()?;
            from = fs::seek(fd, SeekFrom::Hole(data)).ok()?;
            let first = number(data.saturating_sub(start) / size);
            let end = number(from.saturating_sub(start).div_ceil(size));
            (first < end).then_some(first..end)
        })
    }

    /// Returns the kind of memory behind the segment.
    pub const fn backing(&self) -> &Backing {
        &self.backing
    }

    /// Returns the number of the memfd's descriptor, if there is a memfd.
    pub fn descriptor(&self) -> Option<RawFd> {
        match &self.backing {
            Backing::Memfd(fd) => Some(fd.as_raw_fd()),
            _ => None,
        }
    }

    /// Returns the size of the segment in bytes.
    pub fn size(&self) -> usize {
        self.mapping.size
    }

    /// Returns the segment's random secret.
    pub fn secret(&self) -> [u64; 2] {
        self.mapping.header().secret.each_ref().map(load)
    }

    /// Returns the random number by which [`Segment::adopt`] recognises the segment.
    pub fn nonce(&self) -> u64 {
        load(&self.mapping.header().nonce)
    }

    /// Returns the ticks from the boot clock to the Unix time when the segment was created. The
    /// result is at most 2^61 in both directions, whatever the segment contains.
    pub fn wall_difference(&self) -> i64 {
        let difference = load(&self.mapping.header().wall_difference).cast_signed();
        difference.clamp(-(1 << 61), 1 << 61)
    }

    /// Returns the time in ticks since the segment was created.
    pub fn age(&self) -> Ticks {
        let created = Timestamp(load(&self.mapping.header().created));
        boot_clock().saturating_since(created)
    }
}

/// Checks that this process may create a file of this size. The system would kill a process that
/// exceeds the limit.
fn check_limit(layout: Layout) -> Result<(), SegmentError> {
    let limit = getrlimit(Resource::Fsize).current.unwrap_or(u64::MAX);
    if layout.size() as u64 <= limit {
        Ok(())
    } else {
        Err(SegmentError::System("the limit on file sizes", Errno::FBIG))
    }
}
