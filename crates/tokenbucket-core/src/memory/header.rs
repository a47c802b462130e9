//! The header of a segment: filled by the process that makes it, checked by all others.

use super::SegmentError;
use super::error::system;
use super::layout::{Layout, PAGE};
use crate::clock::boot_clock;
use rustix::io::Errno;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicU64, Ordering};

/// `tokenbkt`, so that `xxd` shows it.
const MAGIC: u64 = u64::from_le_bytes(*b"tokenbkt");

/// The first page.
#[repr(C, align(4096))]
#[derive(Debug)]
pub(super) struct Header {
    /// [`MAGIC`], written last: a segment without it is not finished.
    magic: AtomicU64,
    /// The layout's version.
    version: AtomicU64,
    /// The layout's shape.
    shape: AtomicU64,
    /// Bytes in all.
    size: AtomicU64,
    /// Random: the secret of whatever lies in the segment.
    pub(super) secret: [AtomicU64; 2],
    /// The boot, the host and the view of its clock that all instants belong to.
    clock_domain: [AtomicU64; 3],
    /// Random: a re-executed master recognises its own segment by it.
    pub(super) nonce: AtomicU64,
    /// When the segment was made.
    pub(super) created: AtomicU64,
}

impl Header {
    /// Fills a zeroed header; the magic last.
    pub(super) fn fill(&self, layout: Layout) -> Result<(), SegmentError> {
        let store = |field: &AtomicU64, value: u64| field.store(value, Ordering::Relaxed);
        store(&self.version, layout.version);
        store(&self.shape, layout.shape);
        store(&self.size, layout.size() as u64);
        for field in &self.secret {
            store(field, random()?);
        }
        store(&self.nonce, random()?);
        for (field, value) in self.clock_domain.iter().zip(clock_domain()) {
            store(field, value);
        }
        store(&self.created, boot_clock());
        // Release: a process that sees the magic sees the rest.
        self.magic.store(MAGIC, Ordering::Release);
        Ok(())
    }

    pub(super) fn check(&self, layout: Layout) -> Result<(), SegmentError> {
        // Acquire: pairs with the release in `fill`.
        if self.magic.load(Ordering::Acquire) != MAGIC {
            return Err(SegmentError::Magic);
        }
        let version = load(&self.version);
        if version != layout.version {
            return Err(SegmentError::Version(version, layout.version));
        }
        if [load(&self.shape), load(&self.size)] != [layout.shape, layout.size() as u64] {
            return Err(SegmentError::Shape);
        }
        if self.clock_domain.each_ref().map(load) != clock_domain() {
            return Err(SegmentError::ClockDomain);
        }
        Ok(())
    }
}

/// Relaxed: the acquiring load of the magic has ordered all fields.
pub(super) fn load(field: &AtomicU64) -> u64 {
    field.load(Ordering::Relaxed)
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

/// Returns the boot and the time namespace: instants of one mean nothing in another.
///
/// The inode of a namespace is its number, the one that the link names.
fn clock_domain() -> [u64; 3] {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let digits: String = boot.chars().filter(char::is_ascii_hexdigit).collect();
    let boot = u128::from_str_radix(&digits, 16).unwrap_or_default();
    let namespace = std::fs::metadata("/proc/self/ns/time").map_or(0, |file| file.ino());
    // Each half of the boot's name.
    #[allow(clippy::cast_possible_truncation)]
    [boot as u64, (boot >> 64) as u64, namespace]
}

const _: () = assert!(size_of::<Header>() == PAGE);
