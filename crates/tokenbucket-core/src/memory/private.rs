//! Segments without a name: a sealed memfd, which the next image of a master adopts, or plain memory.

use super::error::system;
use super::header::load;
use super::mapping::Mapping;
use super::{Backing, Layout, Segment, SegmentError, check_limit};
use rustix::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use rustix::fs::{self, MemfdFlags, SealFlags};
use rustix::io::Errno;

const SEALS: SealFlags = SealFlags::SHRINK
    .union(SealFlags::GROW)
    .union(SealFlags::SEAL);

impl Segment {
    /// Makes a segment that only this process and its children have.
    ///
    /// # Errors
    /// When neither a memfd nor an anonymous mapping can be made.
    pub fn private(layout: Layout) -> Result<Self, SegmentError> {
        Self::memfd(layout).or_else(|_| Self::anonymous(layout))
    }

    /// Makes a private segment in a sealed memfd.
    ///
    /// # Errors
    /// When the system has no memfd or no memory.
    pub fn memfd(layout: Layout) -> Result<Self, SegmentError> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        // Some hosts insist that it cannot be executed; old kernels do not know the flag.
        let fd = fs::memfd_create("tokenbucket", flags | MemfdFlags::NOEXEC_SEAL)
            .or_else(|_| fs::memfd_create("tokenbucket", flags))
            .map_err(system("memfd_create"))?;
        check_limit(layout)?;
        fs::ftruncate(&fd, layout.size() as u64).map_err(system("ftruncate"))?;
        fs::fcntl_add_seals(&fd, SEALS).map_err(system("sealing"))?;
        let mapping = Mapping::create(Some(fd.as_fd()), layout)?;
        Ok(Self::new(mapping, Backing::Memfd(fd)))
    }

    /// Makes a private segment that is lost when the master executes itself.
    ///
    /// # Errors
    /// If the system has no memory for it.
    pub fn anonymous(layout: Layout) -> Result<Self, SegmentError> {
        Ok(Self::new(
            Mapping::create(None, layout)?,
            Backing::Anonymous,
        ))
    }

    /// Adopts the memfd segment that the same master made before it executed itself anew.
    ///
    /// # Errors
    /// When the descriptor is not that segment. It is then left open and unchanged.
    pub fn adopt(fd: RawFd, nonce: u64, layout: Layout) -> Result<Self, SegmentError> {
        if fd < 0 {
            return Err(SegmentError::System("fstat", Errno::BADF));
        }
        // SAFETY: not -1, and borrowed for the checks only; a number that is not open fails the
        // first of them.
        let candidate = unsafe { BorrowedFd::borrow_raw(fd) };
        let stat = fs::fstat(candidate).map_err(system("fstat"))?;
        let seals = fs::fcntl_get_seals(candidate).map_err(system("reading the seals"))?;
        if !seals.contains(SEALS) {
            return Err(SegmentError::Unsealed);
        }
        if stat.st_uid != rustix::process::geteuid().as_raw() {
            return Err(SegmentError::Owner(stat.st_uid));
        }
        let mapping = Mapping::open(candidate, &stat, layout)?;
        if load(&mapping.header().nonce) != nonce {
            return Err(SegmentError::Nonce);
        }
        let owned = rustix::io::fcntl_dupfd_cloexec(candidate, 0).map_err(system("dup"))?;
        // SAFETY: the checks above showed that this number is the descriptor that an earlier image
        // of this process left open for us, so no other code owns it.
        drop(unsafe { OwnedFd::from_raw_fd(fd) });
        Ok(Self::new(mapping, Backing::Memfd(owned)))
    }

    /// Gives the segment up, but leaves its descriptor open: the next image of this process adopts it.
    pub fn leave(self) {
        if let Backing::Memfd(fd) = self.backing {
            std::mem::forget(fd);
        }
    }

    /// Keeps the memfd open, or closes it, when this process executes a program.
    ///
    /// # Errors
    /// When the descriptor is closed.
    pub fn keep_on_exec(&self, keep: bool) -> Result<(), SegmentError> {
        let Backing::Memfd(fd) = &self.backing else {
            return Ok(());
        };
        let mut flags = rustix::io::fcntl_getfd(fd).map_err(system("fcntl"))?;
        flags.set(rustix::io::FdFlags::CLOEXEC, !keep);
        rustix::io::fcntl_setfd(fd, flags).map_err(system("fcntl"))
    }
}
