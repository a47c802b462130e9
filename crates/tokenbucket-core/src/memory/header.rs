//! The header of a segment: filled once, checked by whoever did not fill it.

use super::error::system;
use super::{Segment, SegmentError};
use crate::clock::{BootClock, Clock};
use crate::host::{MAGIC, VERSION};
use rustix::io::Errno;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicU64, Ordering};

impl Segment {
    /// Fills the header of zeroed memory; the magic last.
    pub(super) fn initialise(&self) -> Result<(), SegmentError> {
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

    pub(super) fn check_header(&self) -> Result<(), SegmentError> {
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
