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

use super::counters::{self, SHARDS, Shard};
use super::diagnostics::Diagnostics;
use super::layout::{Geometry, Header, Line, MAGIC, VERSION};
use crate::clock::{BootClock, Clock, Ticks};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use rustix::fs::{
    self, AtFlags, FallocateFlags, FileType, MemfdFlags, Mode, OFlags, SealFlags, SeekFrom,
};
use rustix::io::Errno;
use rustix::mm::{self, Advice, MapFlags, ProtFlags};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};

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

/// Who may use a named segment.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// Permission bits.
    pub mode: u32,
    /// The group that the file is given to.
    pub group: Option<u32>,
}

/// Why a segment could not be had.
#[derive(Debug, thiserror::Error)]
pub enum SegmentError {
    /// The system said no.
    #[error("{0}: {1}")]
    System(&'static str, #[source] Errno),
    /// It is no plain file.
    #[error("not a regular file")]
    NotRegular,
    /// Its owner could change its size under us.
    #[error("owned by uid {0}, neither this user nor root")]
    Owner(u32),
    /// More people may write to it than the settings say.
    #[error("mode {0:04o} is wider than allowed")]
    Mode(u32),
    /// It has another name somewhere.
    #[error("has {0} hard links instead of one")]
    Links(u64),
    /// It was made with other settings.
    #[error("size {0} instead of {1}: made with other settings")]
    Size(u64, u64),
    /// It is something else, or unfinished.
    #[error("not a tokenbucket segment")]
    Magic,
    /// It was made by another release.
    #[error("layout version {0} instead of {VERSION}")]
    Version(u64),
    /// It was made with other settings.
    #[error("made with other settings")]
    Geometry,
    /// Its instants mean nothing on this clock.
    #[error("made before the last boot, or under another clock; remove it")]
    ClockDomain,
    /// Somebody could still change its size.
    #[error("not sealed")]
    Unsealed,
    /// Not the segment that was handed over.
    #[error("another segment than the one handed over")]
    Nonce,
    /// There is no folder to make it in.
    #[error("its folder is missing")]
    NoFolder,
    /// The path cannot be a file's.
    #[error("not an absolute path of a file")]
    Path,
}

const SEALS: SealFlags = SealFlags::SHRINK
    .union(SealFlags::GROW)
    .union(SealFlags::SEAL);

fn system(what: &'static str) -> impl Fn(Errno) -> SegmentError {
    move |errno| SegmentError::System(what, errno)
}

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
        let fd = fs::memfd_create("tokenbucket", flags).map_err(system("memfd_create"))?;
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
        drop(unsafe { <OwnedFd as std::os::fd::FromRawFd>::from_raw_fd(fd) });
        segment.backing = Backing::Memfd(owned);
        Ok(segment)
    }

    /// The named segment at `path`, made if it is not there.
    ///
    /// # Errors
    /// When the file fails a check, or cannot be made. A file that is there is never changed.
    pub fn named(path: &Path, access: Access, settings: Settings) -> Result<Self, SegmentError> {
        if !path.is_absolute() || path.file_name().is_none() {
            return Err(SegmentError::Path);
        }
        // Of several who make it at once, one links first and the others open what it linked.
        for _ in 0..8 {
            match Self::open(path, access, settings) {
                Err(SegmentError::System(_, Errno::NOENT)) => {}
                opened => return opened,
            }
            match Self::create(path, access, settings) {
                Err(SegmentError::System(_, Errno::EXIST)) => {}
                created => return created,
            }
        }
        Err(SegmentError::System("opening", Errno::AGAIN))
    }

    /// Every check is made on the descriptor, never on the path.
    fn open(path: &Path, access: Access, settings: Settings) -> Result<Self, SegmentError> {
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = fs::open(path, flags, Mode::empty()).map_err(system("opening"))?;
        let stat = fs::fstat(&fd).map_err(system("fstat"))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(SegmentError::NotRegular);
        }
        if stat.st_uid != 0 && stat.st_uid != rustix::process::geteuid().as_raw() {
            return Err(SegmentError::Owner(stat.st_uid));
        }
        if stat.st_mode & 0o777 & !access.mode != 0 {
            return Err(SegmentError::Mode(stat.st_mode & 0o777));
        }
        // A field whose width differs between architectures.
        #[allow(clippy::useless_conversion)]
        let links = u64::from(stat.st_nlink);
        if links != 1 {
            return Err(SegmentError::Links(links));
        }
        Self::check_size(&stat, settings.geometry)?;
        let mut segment = Self::map(Some(fd.as_fd()), settings)?;
        segment.check_header()?;
        segment.backing = Backing::Named(path.to_owned());
        Ok(segment)
    }

    /// Made without a name, filled, then linked: nobody ever sees half of it.
    fn create(path: &Path, access: Access, settings: Settings) -> Result<Self, SegmentError> {
        let folder = path.parent().ok_or(SegmentError::Path)?;
        let mode = Mode::from_raw_mode(access.mode);
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let fd = fs::open(folder, flags, Mode::RUSR | Mode::WUSR).map_err(|errno| match errno {
            // Not the file, which is to be made.
            Errno::NOENT => SegmentError::NoFolder,
            errno => SegmentError::System("opening the folder", errno),
        })?;
        if let Some(group) = access.group {
            let group = rustix::process::Gid::from_raw(group);
            fs::fchown(&fd, None, Some(group)).map_err(system("giving it to the group"))?;
        }
        fs::fchmod(&fd, mode).map_err(system("fchmod"))?;
        // Every page now: a full disk is an error here instead of a SIGBUS later.
        let size = settings.geometry.size() as u64;
        fs::fallocate(&fd, FallocateFlags::empty(), 0, size).map_err(system("fallocate"))?;
        let mut segment = Self::map(Some(fd.as_fd()), settings)?;
        segment.initialise()?;
        let link = format!("/proc/self/fd/{}", fd.as_raw_fd());
        fs::linkat(
            fs::CWD,
            link.as_str(),
            fs::CWD,
            path,
            AtFlags::SYMLINK_FOLLOW,
        )
        .map_err(system("linking"))?;
        segment.backing = Backing::Named(path.to_owned());
        Ok(segment)
    }

    fn check_size(stat: &fs::Stat, geometry: Geometry) -> Result<(), SegmentError> {
        let (found, wanted) = (stat.st_size.cast_unsigned(), geometry.size() as u64);
        if found == wanted {
            Ok(())
        } else {
            Err(SegmentError::Size(found, wanted))
        }
    }

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

    /// Fills the header of zeroed memory; the magic last.
    fn initialise(&self) -> Result<(), SegmentError> {
        let header = self.header();
        let store = |field: &AtomicU64, value: u64| field.store(value, Ordering::Relaxed);
        store(&header.version, VERSION);
        store(&header.lines, self.geometry.lines as u64);
        store(&header.size, self.geometry.size() as u64);
        for field in &header.secret {
            store(field, random()?);
        }
        store(&header.nonce, random()?);
        for (field, value) in header.clock_domain.iter().zip(clock_domain()) {
            store(field, value);
        }
        store(&header.created, BootClock.now());
        // Release: whoever sees the magic sees the rest.
        header.magic.store(MAGIC, Ordering::Release);
        Ok(())
    }

    fn check_header(&self) -> Result<(), SegmentError> {
        let header = self.header();
        let load = |field: &AtomicU64| field.load(Ordering::Relaxed);
        // Acquire: pairs with the release in `initialise`.
        if header.magic.load(Ordering::Acquire) != MAGIC {
            return Err(SegmentError::Magic);
        }
        if load(&header.version) != VERSION {
            return Err(SegmentError::Version(load(&header.version)));
        }
        let geometry = [self.geometry.lines as u64, self.geometry.size() as u64];
        if [load(&header.lines), load(&header.size)] != geometry {
            return Err(SegmentError::Geometry);
        }
        if header.clock_domain.each_ref().map(load) != clock_domain() {
            return Err(SegmentError::ClockDomain);
        }
        Ok(())
    }

    pub(super) fn header(&self) -> &Header {
        // SAFETY: `base` is page-aligned and the mapping begins with a header; every bit pattern of
        // its atomics is valid. The reference lives no longer than the mapping.
        unsafe { self.base.cast::<Header>().as_ref() }
    }

    #[inline]
    pub(super) fn shards(&self) -> &[Shard; SHARDS] {
        // SAFETY: as for the header; `Geometry::size` leaves room for all shards at this offset,
        // which is a multiple of their alignment.
        unsafe { self.base.add(Geometry::SHARDS_AT).cast().as_ref() }
    }

    #[inline]
    pub(super) fn lines(&self) -> &[Line] {
        // SAFETY: as for the header; `Geometry::size` leaves room for `lines` lines at this offset,
        // which is a multiple of 64.
        unsafe {
            let first = self.base.add(Geometry::LINES_AT).cast::<Line>();
            std::slice::from_raw_parts(first.as_ptr(), self.geometry.lines)
        }
    }

    #[inline]
    pub(super) fn diagnostics(&self) -> Option<&Diagnostics> {
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

    /// The lines that were ever written, in runs, as numbers of lines.
    ///
    /// Only to look at a page that was never written would take memory for it.
    #[must_use]
    pub fn written_lines(&self) -> Vec<Range<usize>> {
        let lines = self.geometry.lines;
        let Backing::Memfd(fd) = &self.backing else {
            return vec![0..lines];
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
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: the range is the mapping made in `map`; no reference into it outlives `self`.
        unsafe { mm::munmap(self.base.as_ptr().cast(), self.geometry.size()) }.ok();
    }
}

fn random() -> Result<u64, SegmentError> {
    let mut bytes = [0; 8];
    let filled = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
        .map_err(system("getrandom"))?;
    if filled == bytes.len() {
        Ok(u64::from_le_bytes(bytes))
    } else {
        Err(SegmentError::System("getrandom", Errno::AGAIN))
    }
}

/// The boot and the time namespace: instants of one mean nothing in another.
fn clock_domain() -> [u64; 3] {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let digits: String = boot.chars().filter(char::is_ascii_hexdigit).collect();
    let boot = u128::from_str_radix(&digits, 16).unwrap_or_default();
    let namespace = std::fs::read_link("/proc/self/ns/time").unwrap_or_default();
    let namespace = namespace.as_os_str().as_bytes();
    let number = namespace.iter().filter(|byte| byte.is_ascii_digit());
    let number = number.fold(0u64, |number, &digit| {
        number
            .wrapping_mul(10)
            .wrapping_add(u64::from(digit - b'0'))
    });
    // Each half of the boot's name.
    #[allow(clippy::cast_possible_truncation)]
    [boot as u64, (boot >> 64) as u64, number]
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
