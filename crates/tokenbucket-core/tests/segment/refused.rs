//! Tests of files that are refused as named segments. They are not changed.

use crate::{Folder, PRIVATE, SETTINGS, is_root, layout};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::io::Errno;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::{FileExt, PermissionsExt, chown, symlink};
use std::path::Path;
use tokenbucket_core::host::{Settings, VERSION};
use tokenbucket_core::memory::{Access, Segment, SegmentError};
use tokenbucket_core::{TICKS_PER_SECOND, boot_clock};

const FIELD: u64 = 8;
const MAGIC_AT: u64 = 0;
const VERSION_AT: u64 = FIELD;
const LINES_AT: u64 = 2 * FIELD;
const SIZE_AT: u64 = 3 * FIELD;
const CLOCK_DOMAIN_AT: u64 = 6 * FIELD;
const CREATED_AT: u64 = 10 * FIELD;

/// Returns a folder with a finished segment that no process has open.
fn made() -> Folder {
    let folder = Folder::new();
    Segment::named(&folder.file(), PRIVATE, layout()).unwrap();
    folder
}

/// Returns the reason why the file at `path` is refused. Asserts that the file is unchanged.
fn why(path: &Path, access: Access, settings: Settings) -> SegmentError {
    let before = fs::read(path).unwrap();
    let refused = Segment::named(path, access, settings.layout()).expect_err("refused");
    assert_eq!(
        fs::read(path).unwrap(),
        before,
        "{refused:?} changed the file"
    );
    refused
}

macro_rules! assert_refused {
    ($path:expr, $reason:pat) => {
        let refused = why($path, PRIVATE, SETTINGS);
        assert!(matches!(refused, $reason), "{refused:?}");
    };
}

fn patch(path: &Path, at: u64, field: u64) {
    let file = OpenOptions::new().write(true).open(path).unwrap();
    file.write_all_at(&field.to_le_bytes(), at).unwrap();
}

fn field(path: &Path, at: u64) -> u64 {
    let mut bytes = [0; 8];
    let file = fs::File::open(path).unwrap();
    file.read_exact_at(&mut bytes, at).unwrap();
    u64::from_le_bytes(bytes)
}

#[test]
fn a_symbolic_link() {
    let folder = made();
    let link = folder.0.join("link");
    symlink(folder.file(), &link).unwrap();
    assert_refused!(&link, SegmentError::System(_, Errno::LOOP));
    // A link to a missing file is refused, too, and no file is created.
    let dangling = folder.0.join("dangling");
    symlink(folder.0.join("nothing"), &dangling).unwrap();
    let refused = Segment::named(&dangling, PRIVATE, layout()).unwrap_err();
    assert!(matches!(refused, SegmentError::System(_, Errno::LOOP)));
    assert!(!folder.0.join("nothing").exists());
}

#[test]
fn what_is_no_file() {
    let folder = Folder::new();
    let fifo = folder.0.join("fifo");
    mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let refused = Segment::named(&fifo, PRIVATE, layout()).unwrap_err();
    assert!(matches!(refused, SegmentError::NotRegular), "{refused:?}");
    let refused = Segment::named(&folder.0, PRIVATE, layout()).unwrap_err();
    assert!(matches!(refused, SegmentError::System(_, Errno::ISDIR)));
    let null = Path::new("/dev/null");
    let refused = Segment::named(null, PRIVATE, layout()).unwrap_err();
    assert!(matches!(refused, SegmentError::NotRegular), "{refused:?}");
}

#[test]
fn a_strangers_file() {
    if !is_root() {
        println!("skipped: only root can give a file away");
        return;
    }
    let folder = made();
    chown(folder.file(), Some(12_345), None).unwrap();
    assert_refused!(&folder.file(), SegmentError::Owner(12_345));
}

#[test]
fn a_file_with_another_name() {
    let folder = made();
    fs::hard_link(folder.file(), folder.0.join("other")).unwrap();
    assert_refused!(&folder.file(), SegmentError::Links(2));
}

#[test]
fn a_wider_mode() {
    let folder = made();
    for mode in [0o666, 0o660, 0o604, 0o602, 0o700] {
        let permissions = fs::Permissions::from_mode(mode);
        fs::set_permissions(folder.file(), permissions).unwrap();
        assert_refused!(&folder.file(), SegmentError::Mode(_));
    }
}

#[test]
fn another_size() {
    let folder = made();
    let size = layout().size() as u64;
    for other in [0, 1, size - 1, size + 1, 2 * size] {
        let file = OpenOptions::new().write(true).open(folder.file()).unwrap();
        file.set_len(other).unwrap();
        assert_refused!(&folder.file(), SegmentError::Size(_, _));
    }
}

#[test]
fn other_settings() {
    let folder = made();
    let mut other = SETTINGS;
    other.lines *= 2;
    let refused = why(&folder.file(), PRIVATE, other);
    assert!(matches!(refused, SegmentError::Size(_, _)), "{refused:?}");
    // The size is the same, because it is rounded up to whole pages.
    other.lines = SETTINGS.lines - 1;
    assert_eq!(other.layout().size(), layout().size());
    let refused = why(&folder.file(), PRIVATE, other);
    assert!(matches!(refused, SegmentError::Shape), "{refused:?}");
    other = Settings {
        diagnostics: true,
        ..SETTINGS
    };
    let refused = why(&folder.file(), PRIVATE, other);
    assert!(matches!(refused, SegmentError::Size(_, _)), "{refused:?}");
}

#[test]
fn another_header() {
    let folder = made();
    let path = folder.file();
    let spoilt = |at: u64, value: u64| {
        let good = field(&path, at);
        patch(&path, at, value);
        let refused = why(&path, PRIVATE, SETTINGS);
        patch(&path, at, good);
        refused
    };
    for magic in [0, 1, u64::MAX] {
        let refused = spoilt(MAGIC_AT, magic);
        assert!(matches!(refused, SegmentError::Magic), "{refused:?}");
    }
    let refused = spoilt(VERSION_AT, VERSION + 1);
    assert!(matches!(refused, SegmentError::Version(found, VERSION) if found == VERSION + 1));
    for at in [LINES_AT, SIZE_AT] {
        let refused = spoilt(at, u64::MAX);
        assert!(matches!(refused, SegmentError::Shape), "{refused:?}");
    }
    for part in 0..3 {
        let at = CLOCK_DOMAIN_AT + part * FIELD;
        let refused = spoilt(at, field(&path, at) ^ 1);
        assert!(matches!(refused, SegmentError::ClockDomain), "{refused:?}");
    }
    // If the boot ids cannot be read, only the clock tells that the host has restarted.
    let hour = 3600 * TICKS_PER_SECOND;
    let refused = spoilt(CREATED_AT, boot_clock() + hour);
    assert!(matches!(refused, SegmentError::ClockDomain), "{refused:?}");
    Segment::named(&path, PRIVATE, layout()).expect("all is as it was");
}

#[test]
fn a_file_of_something_else() {
    let folder = Folder::new();
    let size = layout().size();
    fs::write(folder.file(), vec![b'x'; size]).unwrap();
    fs::set_permissions(folder.file(), fs::Permissions::from_mode(0o600)).unwrap();
    assert_refused!(&folder.file(), SegmentError::Magic);
}
