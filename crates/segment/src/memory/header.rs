//! The header of a segment. The process that creates the segment fills the header. Every other
//! process checks it.

use super::SegmentError;
use super::error::system;
use super::layout::{Layout, PAGE};
use gcra::{boot_clock, unix_time};
use rustix::io::Errno;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicU64, Ordering};

/// The first eight bytes of a segment: the text `tokenbkt`, which is easy to see in `xxd`.
const MAGIC: u64 = u64::from_le_bytes(*b"tokenbkt");

/// The first page of a segment.
#[repr(C, align(4096))]
#[derive(Debug)]
pub(super) struct Header {
    /// [`MAGIC`]. This field is written last, so a segment without the magic is not finished.
    magic: AtomicU64,
    /// The layout's version.
    version: AtomicU64,
    /// The layout's shape.
    shape: AtomicU64,
    /// The size of the segment in bytes.
    size: AtomicU64,
    /// A random secret for the contents of the segment.
    pub(super) secret: [AtomicU64; 2],
    /// The two halves of the boot id, and the number of the time namespace. They identify the clock
    /// on which all instants in the segment were measured.
    clock_domain: [AtomicU64; 3],
    /// A random number by which a re-executed master recognises its own segment.
    pub(super) nonce: AtomicU64,
    /// The instant at which the segment was created.
    pub(super) created: AtomicU64,
    /// The ticks from the boot clock to the Unix time at that instant. May be negative.
    pub(super) wall_difference: AtomicU64,
}

impl Header {
    /// Fills a zeroed header. Writes the magic last.
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
        let created = boot_clock();
        store(&self.created, created.0);
        store(
            &self.wall_difference,
            unix_time().signed_since(created).cast_unsigned(),
        );
        // Release: a process that reads the magic can then read the other fields.
        self.magic.store(MAGIC, Ordering::Release);
        Ok(())
    }

    /// Checks that a file of `size` bytes is a finished segment of this layout version.
    pub(super) fn identify(&self, size: u64, version: u64) -> Result<(), SegmentError> {
        // Acquire: pairs with the release in `fill`.
        if self.magic.load(Ordering::Acquire) != MAGIC {
            return Err(SegmentError::Magic);
        }
        let found = load(&self.version);
        if found != version {
            return Err(SegmentError::Version(found, version));
        }
        let created = load(&self.size);
        if created != size {
            return Err(SegmentError::Size(size, created));
        }
        Ok(())
    }

    /// Checks that the segment has this layout, and that its instants are of this boot.
    pub(super) fn check(&self, layout: Layout) -> Result<(), SegmentError> {
        if load(&self.shape) != layout.shape {
            return Err(SegmentError::Shape);
        }
        // If no boot id can be read, both are 0. Then only the clock may show that the host has
        // restarted.
        let is_of_this_boot = load(&self.created) <= boot_clock().0;
        let (theirs, ours) = (self.clock_domain.each_ref().map(load), clock_domain());
        let has_boot_id = |[first, second, _]: [u64; 3]| first != 0 || second != 0;
        if has_boot_id(theirs) != has_boot_id(ours) {
            return Err(SegmentError::BootId);
        }
        if theirs != ours || !is_of_this_boot {
            return Err(SegmentError::ClockDomain);
        }
        Ok(())
    }
}

/// Reads a field. Relaxed: the acquiring load of the magic has ordered all fields.
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

/// Returns the two halves of the boot id, and the number of the time namespace. Instants of another
/// boot or time namespace cannot be compared.
///
/// The number of a namespace is the inode of its file. A part that cannot be read is 0.
fn clock_domain() -> [u64; 3] {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let digits: String = boot.chars().filter(char::is_ascii_hexdigit).collect();
    let boot = u128::from_str_radix(&digits, 16).unwrap_or_default();
    let namespace = std::fs::metadata("/proc/self/ns/time").map_or(0, |file| file.ino());
    // Each cast takes one half of the boot id.
    #[allow(clippy::cast_possible_truncation)]
    [boot as u64, (boot >> 64) as u64, namespace]
}

const _: () = assert!(size_of::<Header>() == PAGE);
