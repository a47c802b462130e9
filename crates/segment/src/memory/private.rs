//! Segments without a name: a sealed memfd, which a re-executed master adopts, or anonymous memory.

use super::error::system;
use super::header::load;
use super::mapping::Mapping;
use super::{Backing, Layout, Segment, SegmentError, check_limit};
use rustix::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use rustix::fs::{self, MemfdFlags, Mode, SealFlags};
use rustix::io::Errno;

const SEALS: SealFlags = SealFlags::SHRINK
    .union(SealFlags::GROW)
    .union(SealFlags::SEAL);

impl Segment {
    /// Creates a segment that only this process and its children can use. Fails if neither a memfd
    /// nor an anonymous mapping can be created.
    pub fn private(layout: Layout) -> Result<Self, SegmentError> {
        Self::memfd(layout).or_else(|_| Self::anonymous(layout))
    }

    /// Creates a private segment in a sealed memfd. Fails if the system does not support memfd or
    /// does not have enough memory.
    pub fn memfd(layout: Layout) -> Result<Self, SegmentError> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        // Some hosts forbid a memfd that can be executed. Old kernels do not support the flag
        // NOEXEC_SEAL, so the second attempt omits the flag.
        let fd = fs::memfd_create("tokenbucket", flags | MemfdFlags::NOEXEC_SEAL)
            .or_else(|_| fs::memfd_create("tokenbucket", flags))
            .map_err(system("memfd_create"))?;
        // A memfd is created with the mode 0777 or 0666. Without this change, another user could
        // open it through `/proc`.
        fs::fchmod(&fd, Mode::RUSR | Mode::WUSR).map_err(system("fchmod"))?;
        check_limit(layout)?;
        fs::ftruncate(&fd, layout.size() as u64).map_err(system("ftruncate"))?;
        fs::fcntl_add_seals(&fd, SEALS).map_err(system("sealing"))?;
        let mapping = Mapping::create(Some(fd.as_fd()), layout)?;
        Ok(Self::new(mapping, Backing::Memfd(fd)))
    }

    /// Creates a private segment that is lost when the master re-executes itself. Fails if the
    /// system does not have enough memory for it.
    pub fn anonymous(layout: Layout) -> Result<Self, SegmentError> {
        Ok(Self::new(
            Mapping::create(None, layout)?,
            Backing::Anonymous,
        ))
    }

    /// Adopts the memfd segment that the same master created before it re-executed itself.
    ///
    /// Duplicates `fd` and closes it, which drops all record locks of this process on the memfd.
    /// The only such locks are those of the earlier image, because the new image had no segment
    /// before this call. Fails if the descriptor is not that segment. It is then left open and
    /// unchanged.
    pub fn adopt(fd: RawFd, nonce: u64, layout: Layout) -> Result<Self, SegmentError> {
        if fd < 0 {
            return Err(SegmentError::System("fstat", Errno::BADF));
        }
        // SAFETY: `fd` is not -1, and it is borrowed for the checks only. If `fd` is not open, the
        // first check fails.
        let candidate = unsafe { BorrowedFd::borrow_raw(fd) };
        let stat = fs::fstat(candidate).map_err(system("fstat"))?;
        let seals = fs::fcntl_get_seals(candidate).map_err(system("reading the seals"))?;
        if !seals.contains(SEALS) {
            return Err(SegmentError::Unsealed);
        }
        if stat.st_uid != rustix::process::geteuid().as_raw() {
            return Err(SegmentError::Owner(stat.st_uid));
        }
        let wanted = layout.size() as u64;
        let mapping = Mapping::open(candidate, &stat, layout.version, |found| {
            let is_wanted = found == wanted;
            is_wanted
                .then_some(layout)
                .ok_or(SegmentError::Size(found, wanted))
        })?;
        if load(&mapping.header().nonce) != nonce {
            return Err(SegmentError::Nonce);
        }
        let owned = rustix::io::fcntl_dupfd_cloexec(candidate, 0).map_err(system("dup"))?;
        // SAFETY: the checks above have shown that `fd` is the descriptor that an earlier image of
        // this process left open for this image. So no other code owns it.
        drop(unsafe { OwnedFd::from_raw_fd(fd) });
        Ok(Self::new(mapping, Backing::Memfd(owned)))
    }

    /// Drops the segment but leaves its descriptor open, so that the next image of this process can
    /// adopt it.
    pub fn leave(self) {
        if let Backing::Memfd(fd) = self.backing {
            std::mem::forget(fd);
        }
    }

    /// Sets whether the memfd stays open when this process executes a program. Fails if the
    /// descriptor is closed.
    pub fn keep_on_exec(&self, keep: bool) -> Result<(), SegmentError> {
        let Backing::Memfd(fd) = &self.backing else {
            return Ok(());
        };
        let mut flags = rustix::io::fcntl_getfd(fd).map_err(system("fcntl"))?;
        flags.set(rustix::io::FdFlags::CLOEXEC, !keep);
        rustix::io::fcntl_setfd(fd, flags).map_err(system("fcntl"))
    }
}
