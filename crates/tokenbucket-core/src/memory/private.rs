//! Segments without a name: a sealed memfd, which the next image of a master adopts, or plain memory.

use super::error::system;
use super::{Backing, Segment, SegmentError, Settings};
use crate::host::{Geometry, Line};
use rustix::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use rustix::fs::{self, MemfdFlags, SealFlags, SeekFrom};
use rustix::io::Errno;
use std::ops::Range;
use std::sync::atomic::Ordering;

const SEALS: SealFlags = SealFlags::SHRINK
    .union(SealFlags::GROW)
    .union(SealFlags::SEAL);

impl Segment {
    /// A segment that only this process and its children have.
    ///
    /// # Errors
    /// When neither a memfd nor an anonymous mapping is to be had.
    pub fn private(settings: Settings) -> Result<Self, SegmentError> {
        Self::memfd(settings).or_else(|_| Self::anonymous(settings))
    }

    /// A private segment in a sealed memfd.
    ///
    /// # Errors
    /// When the system has no memfd or no memory.
    pub fn memfd(settings: Settings) -> Result<Self, SegmentError> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        // Some hosts insist that it cannot be executed; old kernels do not know the flag.
        let fd = fs::memfd_create("tokenbucket", flags | MemfdFlags::NOEXEC_SEAL)
            .or_else(|_| fs::memfd_create("tokenbucket", flags))
            .map_err(system("memfd_create"))?;
        Self::check_limit(settings.geometry)?;
        fs::ftruncate(&fd, settings.geometry.size() as u64).map_err(system("ftruncate"))?;
        fs::fcntl_add_seals(&fd, SEALS).map_err(system("sealing"))?;
        let mut segment = Self::map(Some(fd.as_fd()), settings)?;
        segment.initialise()?;
        segment.backing = Backing::Memfd(fd);
        Ok(segment)
    }

    /// A private segment that does not survive the master's executing itself.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn anonymous(settings: Settings) -> Result<Self, SegmentError> {
        let segment = Self::map(None, settings)?;
        segment.initialise()?;
        Ok(segment)
    }

    /// The memfd segment that the same master made before it executed itself anew.
    ///
    /// # Errors
    /// When the descriptor is anything but that segment; it is then left alone.
    pub fn adopt(fd: RawFd, nonce: u64, settings: Settings) -> Result<Self, SegmentError> {
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
        Self::check_size(&stat, settings.geometry)?;
        let mut segment = Self::map(Some(candidate), settings)?;
        segment.check_header()?;
        if segment.header().nonce.load(Ordering::Relaxed) != nonce {
            return Err(SegmentError::Nonce);
        }
        let owned = rustix::io::fcntl_dupfd_cloexec(candidate, 0).map_err(system("dup"))?;
        // SAFETY: the checks above showed that this number is the descriptor that an earlier image
        // of this process left open for us, so nobody else owns it.
        drop(unsafe { OwnedFd::from_raw_fd(fd) });
        segment.backing = Backing::Memfd(owned);
        Ok(segment)
    }

    /// Unmaps the segment, but leaves its descriptor open for the next image of this process to adopt.
    pub fn leave(mut self) {
        // Dropping the rest unmaps.
        if let Backing::Memfd(fd) = std::mem::replace(&mut self.backing, Backing::Anonymous) {
            std::mem::forget(fd);
        }
    }

    /// Lets the memfd survive, or not, when this process executes a program.
    ///
    /// # Errors
    /// When the descriptor is gone.
    pub fn keep_on_exec(&self, keep: bool) -> Result<(), SegmentError> {
        let Backing::Memfd(fd) = &self.backing else {
            return Ok(());
        };
        let mut flags = rustix::io::fcntl_getfd(fd).map_err(system("fcntl"))?;
        flags.set(rustix::io::FdFlags::CLOEXEC, !keep);
        rustix::io::fcntl_setfd(fd, flags).map_err(system("fcntl"))
    }

    /// The lines that were ever written, in runs, as numbers of lines.
    ///
    /// Only to look at a page that was never written would take memory for it.
    #[must_use]
    pub(crate) fn written_lines(&self) -> Vec<Range<usize>> {
        let lines = self.geometry.lines;
        let Backing::Memfd(fd) = &self.backing else {
            return Vec::from([Range {
                start: 0,
                end: lines,
            }]);
        };
        let mut runs = Vec::new();
        let mut from = 0;
        let end = self.geometry.size() as u64;
        // Who else moves the descriptor's offset meanwhile does not matter: each search names its start.
        while let Ok(data) = fs::seek(fd, SeekFrom::Data(from))
            && let Ok(hole) = fs::seek(fd, SeekFrom::Hole(data))
        {
            let line = |offset: u64| {
                let offset = usize::try_from(offset).unwrap_or(usize::MAX);
                offset.saturating_sub(Geometry::LINES_AT) / size_of::<Line>()
            };
            let run = line(data).min(lines)..line(hole + (size_of::<Line>() as u64 - 1)).min(lines);
            if !run.is_empty() {
                runs.push(run);
            }
            from = hole;
            if hole >= end {
                break;
            }
        }
        runs
    }
}
