//! Segments with a name: a file that several masters and command-line processes share.
//!
//! An existing file keeps its size, its mode and its group, whatever the settings of the process
//! that opens it. A sparse copy of a segment gets the pages that it lacks. All checks use the
//! descriptor, never the path.

use super::error::system;
use super::mapping::Mapping;
use super::{Backing, Layout, Segment, SegmentError, check_limit};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd};
use rustix::fs::{self, AtFlags, CWD, FallocateFlags, FileType, Mode, OFlags, SeekFrom, Stat};
use rustix::io::Errno;
use std::path::Path;

/// The permissions of a new named segment.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// The permission bits.
    pub mode: u32,
    /// The group that owns a new file, if the operator has configured one.
    pub group: Option<u32>,
}

impl Segment {
    /// Opens the named segment at `path`, or creates it with `layout` if it is missing. `existing`
    /// returns the layout of a file with this size in bytes, or `None` if no segment has this size.
    /// Fails if the file fails a check or cannot be created. A refused file is not changed.
    pub fn named(
        path: &Path,
        access: Access,
        layout: Layout,
        existing: impl Fn(u64) -> Option<Layout>,
    ) -> Result<Self, SegmentError> {
        if !path.is_absolute() || path.file_name().is_none() {
            return Err(SegmentError::Path);
        }
        // If several processes create the file at once, only the first process can link it. The
        // other processes then open that file.
        for _ in 0..8 {
            match Self::open(path, access, layout.version, &existing) {
                Err(SegmentError::System(_, Errno::NOENT)) => {}
                opened => return opened,
            }
            match Self::create(path, access, layout) {
                Err(SegmentError::System(_, Errno::EXIST)) => {}
                created => return created,
            }
        }
        Err(SegmentError::System("opening", Errno::AGAIN))
    }

    /// Opens and checks an existing file.
    fn open(
        path: &Path,
        access: Access,
        version: u64,
        existing: impl Fn(u64) -> Option<Layout>,
    ) -> Result<Self, SegmentError> {
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = fs::open(path, flags, Mode::empty()).map_err(system("opening"))?;
        let stat = fs::fstat(&fd).map_err(system("fstat"))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(SegmentError::NotRegular);
        }
        if stat.st_uid != 0 && stat.st_uid != rustix::process::geteuid().as_raw() {
            return Err(SegmentError::Owner(stat.st_uid));
        }
        // The owner has chosen the group and its rights. But if every user can write to the file,
        // the settings of this process must allow that, too.
        if stat.st_mode & 0o002 & !access.mode != 0 {
            return Err(SegmentError::Mode(stat.st_mode & 0o777));
        }
        // The type of this field differs between architectures.
        #[allow(clippy::useless_conversion)]
        let links = u64::from(stat.st_nlink);
        if links != 1 {
            return Err(SegmentError::Links(links));
        }
        // On a full disk, to read a hole in a mapping is a SIGBUS.
        if fs::seek(&fd, SeekFrom::Data(0)) != Ok(0) {
            return Err(SegmentError::Magic);
        }
        let mapping = Mapping::open(fd.as_fd(), &stat, version, |size| {
            existing(size).ok_or(SegmentError::Shape)
        })?;
        allocate_holes(fd.as_fd(), &stat)?;
        Ok(Self::new(mapping, Backing::Named(path.to_owned(), fd)))
    }

    /// Creates a file without a name, fills it, and then links it to `path`. So other processes
    /// never open an unfinished file.
    fn create(path: &Path, access: Access, layout: Layout) -> Result<Self, SegmentError> {
        let folder = path.parent().ok_or(SegmentError::Path)?;
        let mode = Mode::from_raw_mode(access.mode);
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let fd = fs::open(folder, flags, Mode::RUSR | Mode::WUSR).map_err(|errno| match errno {
            // The error means a missing folder, because the file does not have a name yet.
            Errno::NOENT => SegmentError::NoFolder,
            errno => SegmentError::System("opening the folder", errno),
        })?;
        if let Some(group) = access.group {
            let group = rustix::process::Gid::from_raw(group);
            fs::fchown(&fd, None, Some(group)).map_err(system("giving it to the group"))?;
        }
        fs::fchmod(&fd, mode).map_err(system("fchmod"))?;
        check_limit(layout)?;
        // Allocates every page now. So a full disk causes an error here, and not a SIGBUS later.
        fs::fallocate(&fd, FallocateFlags::empty(), 0, layout.size() as u64)
            .map_err(system("fallocate"))?;
        let mapping = Mapping::create(Some(fd.as_fd()), layout)?;
        let link = format!("/proc/self/fd/{}", fd.as_raw_fd());
        fs::linkat(CWD, &link, CWD, path, AtFlags::SYMLINK_FOLLOW).map_err(system("linking"))?;
        Ok(Self::new(mapping, Backing::Named(path.to_owned(), fd)))
    }
}

/// Allocates the pages that a copy of a segment lacks. So a full disk causes an error here, and not
/// a SIGBUS when a slot is written.
fn allocate_holes(fd: BorrowedFd<'_>, stat: &Stat) -> Result<(), SegmentError> {
    /// The unit of `st_blocks`.
    const BLOCK: u64 = 512;
    let size = stat.st_size.cast_unsigned();
    // The type of this field differs between architectures.
    #[allow(clippy::useless_conversion)]
    let blocks = u64::try_from(stat.st_blocks).unwrap_or_default();
    if size == 0 || blocks.saturating_mul(BLOCK) >= size {
        return Ok(());
    }
    fs::fallocate(fd, FallocateFlags::empty(), 0, size).map_err(system("allocating its pages"))
}
