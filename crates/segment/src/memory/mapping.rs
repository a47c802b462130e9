//! Mapped memory, and the regions in it. A region keeps its mapping alive.

use super::error::system;
use super::header::Header;
use super::layout::{Layout, PAGE, Place};
use super::{SegmentError, fork};
use rustix::fd::BorrowedFd;
use rustix::fs;
use rustix::io::Errno;
use rustix::mm::{self, Advice, MapFlags, ProtFlags};
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;

/// Memory that several processes may map. It is unmapped when dropped.
#[derive(Debug)]
pub(super) struct Mapping {
    base: NonNull<u8>,
    pub(super) size: usize,
}

// SAFETY: the mapping holds nothing but atomics, and the fields of this struct never change.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps zeroed memory and fills the header. The memory is the file `fd`, or anonymous if `fd`
    /// is `None`.
    pub(super) fn create(fd: Option<BorrowedFd<'_>>, layout: Layout) -> Result<Self, SegmentError> {
        let mapping = Self::map(fd, layout.size())?;
        mapping.header().fill(layout)?;
        Ok(mapping)
    }

    /// Maps a file that another process has filled. Checks its header. `choose` returns the layout
    /// for the size of the file.
    pub(super) fn open(
        fd: BorrowedFd<'_>,
        stat: &fs::Stat,
        version: u64,
        choose: impl FnOnce(u64) -> Result<Layout, SegmentError>,
    ) -> Result<Self, SegmentError> {
        let found = stat.st_size.cast_unsigned();
        let size = usize::try_from(found).map_err(|_| SegmentError::Magic)?;
        if size < PAGE {
            return Err(SegmentError::Magic);
        }
        let mapping = Self::map(Some(fd), size)?;
        mapping.header().identify(found, version)?;
        mapping.header().check(choose(found)?)?;
        Ok(mapping)
    }

    fn map(fd: Option<BorrowedFd<'_>>, size: usize) -> Result<Self, SegmentError> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let hint = std::ptr::null_mut();
        let base = match fd {
            // SAFETY: the kernel chooses a free address, so the new mapping aliases no memory of
            // ours. The size of the file was checked or just set. It cannot shrink, because a memfd
            // is sealed, and a named file belongs to this user or to root.
            Some(fd) => unsafe { mm::mmap(hint, size, protection, MapFlags::SHARED, fd, 0) },
            // SAFETY: as above, but without a file.
            None => unsafe { mm::mmap_anonymous(hint, size, protection, MapFlags::SHARED) },
        }
        .map_err(system("mmap"))?;
        let base =
            NonNull::new(base.cast::<u8>()).ok_or(SegmentError::System("mmap", Errno::NOMEM))?;
        // SAFETY: the range is the mapping that was just made. The advice only keeps the range out
        // of core dumps.
        unsafe { mm::madvise(base.as_ptr().cast(), size, Advice::LinuxDontDump) }.ok();
        fork::watch();
        Ok(Self { base, size })
    }

    pub(super) fn header(&self) -> &Header {
        // SAFETY: `base` is page-aligned, and every layout begins with a header. Any bytes are
        // valid for its atomics. The reference lives no longer than the mapping.
        unsafe { self.base.cast::<Header>().as_ref() }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range is the mapping made in `map`. Regions keep `self` alive while they use
        // it.
        unsafe { mm::munmap(self.base.as_ptr().cast(), self.size) }.ok();
    }
}

/// A type that other processes may write to at any time.
///
/// # Safety
/// The type consists of atomics only, and any bytes are a valid value.
pub unsafe trait Shareable: Sync {}

/// A run of values in a segment. It keeps the segment mapped.
#[derive(Debug)]
pub struct Region<T> {
    first: NonNull<T>,
    count: usize,
    mapping: Arc<Mapping>,
}

// SAFETY: a region hands out shared references only, and a `Shareable` type is `Sync`.
unsafe impl<T: Shareable> Send for Region<T> {}
// SAFETY: as above.
unsafe impl<T: Shareable> Sync for Region<T> {}

impl<T: Shareable> Region<T> {
    /// Returns the region at `place`. Panics if the place exceeds the mapping.
    pub(super) fn new(mapping: &Arc<Mapping>, place: &Place<T>) -> Self {
        assert!(place.at + place.count * size_of::<T>() <= mapping.size);
        Self {
            // SAFETY: the assertion above has shown that the place lies within the mapping.
            first: unsafe { mapping.base.add(place.at) }.cast(),
            count: place.count,
            mapping: Arc::clone(mapping),
        }
    }

    /// Returns the number of bytes of the segment before the region.
    pub(super) fn offset(&self) -> usize {
        self.first.addr().get() - self.mapping.base.addr().get()
    }
}

impl<T: Shareable> Deref for Region<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: `new` has checked that the values lie within the mapping, and `self` keeps it
        // mapped. A place is aligned for `T`, and the mapping begins on a page. Any bytes are valid
        // for `T`.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.count) }
    }
}
