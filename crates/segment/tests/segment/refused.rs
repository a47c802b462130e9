//! Tests files that are refused as named segments. Refused files stay unchanged.

use crate::{Folder, PRIVATE, SETTINGS, is_root, layout, named, named_with};
use gcra::{TICKS_PER_SECOND, boot_clock};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::io::Errno;
use segment::host::{HostSettings, VERSION};
use segment::memory::{Access, SegmentError};
use std::fs::{self, OpenOptions};
use std::os::unix::fs::{FileExt, PermissionsExt, chown, symlink};
use std::path::Path;

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
    named(&folder.file(), PRIVATE).unwrap();
    folder
}

/// Returns the reason why the file at `path` is refused. Asserts that the file is unchanged.
fn why(path: &Path, access: Access, settings: HostSettings) -> SegmentError {
    let before = fs::read(path).unwrap();
    let refused = named_with(path, access, settings).expect_err("refused");
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
    // A link to a missing file is refused too, without creating a file.
    let dangling = folder.0.join("dangling");
    symlink(folder.0.join("nothing"), &dangling).unwrap();
    let refused = named(&dangling, PRIVATE).unwrap_err();
    assert!(matches!(refused, SegmentError::System(_, Errno::LOOP)));
    assert!(!folder.0.join("nothing").exists());
}

#[test]
fn what_is_no_file() {
    let folder = Folder::new();
    let fifo = folder.0.join("fifo");
    mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let refused = named(&fifo, PRIVATE).unwrap_err();
    assert!(matches!(refused, SegmentError::NotRegular), "{refused:?}");
    let refused = named(&folder.0, PRIVATE).unwrap_err();
    assert!(matches!(refused, SegmentError::System(_, Errno::ISDIR)));
    let null = Path::new("/dev/null");
    let refused = named(null, PRIVATE).unwrap_err();
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
fn a_file_that_every_user_can_write_to() {
    let folder = made();
    let permit = |mode| {
        let permissions = fs::Permissions::from_mode(mode);
        fs::set_permissions(folder.file(), permissions).unwrap();
    };
    for mode in [0o666, 0o602, 0o777] {
        permit(mode);
        assert_refused!(&folder.file(), SegmentError::Mode(_));
    }
    let access = Access {
        mode: 0o666,
        group: None,
    };
    named(&folder.file(), access).expect("the settings allow it");
    for mode in [0o660, 0o604, 0o640] {
        permit(mode);
        named(&folder.file(), PRIVATE).expect("the owner allows it");
    }
}

#[test]
fn a_file_that_is_cut_or_extended() {
    let folder = made();
    let size = layout().size() as u64;
    let resize = |size| {
        let file = OpenOptions::new().write(true).open(folder.file()).unwrap();
        file.set_len(size).unwrap();
    };
    for other in [size + 1, 2 * size, 1 << 40, size - 1, size - 4096, 4096] {
        resize(other);
        let refused = named(&folder.file(), PRIVATE).unwrap_err();
        assert!(
            matches!(refused, SegmentError::Size(found, whole) if (found, whole) == (other, size)),
            "{refused:?}"
        );
    }
    for other in [4095, 8, 1, 0] {
        resize(other);
        assert_refused!(&folder.file(), SegmentError::Magic);
    }
}

#[test]
fn other_settings() {
    let folder = made();
    // The size is the same, because it is rounded up to whole pages.
    let mut other = SETTINGS;
    other.lines = SETTINGS.lines - 1;
    assert_eq!(other.layout().size(), layout().size());
    let refused = why(&folder.file(), PRIVATE, other);
    assert!(matches!(refused, SegmentError::Shape), "{refused:?}");
    for lines in [SETTINGS.lines, 4 * SETTINGS.lines, 128 * SETTINGS.lines] {
        other = HostSettings {
            lines,
            diagnostics: true,
            ..SETTINGS
        };
        let refused = why(&folder.file(), PRIVATE, other);
        assert!(matches!(refused, SegmentError::Shape), "{refused:?}");
    }
}

#[test]
fn another_layout_version_is_named_also_if_its_size_is_invalid() {
    let folder = made();
    patch(&folder.file(), VERSION_AT, VERSION - 1);
    let file = OpenOptions::new().write(true).open(folder.file()).unwrap();
    file.set_len(layout().size() as u64 + 12_345).unwrap();
    let refused = why(&folder.file(), PRIVATE, SETTINGS);
    let expected = format!("layout version {} instead of {VERSION}", VERSION - 1);
    assert_eq!(refused.to_string(), expected);
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
    let refused = spoilt(LINES_AT, u64::MAX);
    assert!(matches!(refused, SegmentError::Shape), "{refused:?}");
    let refused = spoilt(SIZE_AT, u64::MAX);
    assert!(
        matches!(refused, SegmentError::Size(_, u64::MAX)),
        "{refused:?}"
    );
    for part in 0..3 {
        let at = CLOCK_DOMAIN_AT + part * FIELD;
        let refused = spoilt(at, field(&path, at) ^ 1);
        assert!(matches!(refused, SegmentError::ClockDomain), "{refused:?}");
    }
    // If the boot ids cannot be read, only the clock shows that the host has restarted.
    let hour = 3600 * TICKS_PER_SECOND;
    let refused = spoilt(CREATED_AT, boot_clock().0 + hour);
    assert!(matches!(refused, SegmentError::ClockDomain), "{refused:?}");
    named(&path, PRIVATE).expect("all is as it was");
}

#[test]
fn a_file_of_something_else() {
    let folder = Folder::new();
    let size = layout().size();
    fs::write(folder.file(), vec![b'x'; size]).unwrap();
    fs::set_permissions(folder.file(), fs::Permissions::from_mode(0o600)).unwrap();
    assert_refused!(&folder.file(), SegmentError::Magic);
}
