//! Tests segments. A segment is created, opened or handed over. Invalid segments are refused.
//!
//! A refused file stays unchanged. A refused descriptor stays open.
#![allow(unsafe_code, clippy::unwrap_used, clippy::expect_used)]

mod diagnostics;
mod forks;
mod handover;
mod named;
mod namespaces;
mod refused;
mod sizing;

use gcra::{Step, TICKS_PER_SECOND};
use segment::host::{Host, HostSettings};
use segment::memory::{Access, Layout, Segment, SegmentError};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

const SETTINGS: HostSettings = HostSettings {
    lines: 64,
    diagnostics: false,
    evict: false,
};

const PRIVATE: Access = Access {
    mode: 0o600,
    group: None,
};

/// A folder for one test, which is deleted afterwards.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Relaxed);
        let name = format!("segment-{}-{number}", std::process::id());
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("segment")
    }

    fn count(&self) -> usize {
        std::fs::read_dir(&self.0).unwrap().count()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn mode_of(path: &std::path::Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

/// Takes all tokens from a bucket with a rate of one token an hour. Returns whether the call was
/// granted. Only the first call for an identifier in a segment is granted.
fn empties(store: &Host, identifier: &[u8]) -> bool {
    let hour = 3600 * TICKS_PER_SECOND;
    let slots = store.slots();
    let key = slots.hasher().key(identifier);
    slots.take(key, &Step::new(hour, hour), None).granted()
}

/// Opens or creates a named segment with [`SETTINGS`].
fn named(path: &Path, access: Access) -> Result<Segment, SegmentError> {
    named_with(path, access, SETTINGS)
}

fn named_with(
    path: &Path,
    access: Access,
    settings: HostSettings,
) -> Result<Segment, SegmentError> {
    Segment::named(path, access, settings.layout(), |size| {
        settings.layout_of(size)
    })
}

fn layout() -> Layout {
    SETTINGS.layout()
}

fn store(segment: Segment) -> Host {
    Host::new(SETTINGS, |_| Ok(segment)).unwrap()
}
