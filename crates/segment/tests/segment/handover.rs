//! A memfd is sealed. A master that re-executes itself hands the number of its descriptor over to
//! the new image.

use crate::{Folder, SETTINGS, empties, is_root, layout, store};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, OwnedFd, RawFd};
use rustix::fs::{self, MemfdFlags, SealFlags};
use rustix::io::{Errno, FdFlags, fcntl_dupfd_cloexec, fcntl_getfd};
use segment::host::VERSION;
use segment::memory::{Backing, Segment, SegmentError};
use std::fs::File;
use std::os::fd::FromRawFd;

/// The lowest descriptor number of these tests. Nothing else uses such high numbers, so a closed
/// number stays closed.
const HIGH: RawFd = 500;

fn descriptor(segment: &Segment) -> &OwnedFd {
    match segment.backing() {
        Backing::Memfd(fd) => fd,
        other => panic!("{other:?}"),
    }
}

/// Returns the number of a descriptor that no object owns, like one that an earlier image of the
/// process left open.
fn left_open(fd: impl AsFd) -> RawFd {
    fcntl_dupfd_cloexec(fd, HIGH).unwrap().into_raw_fd()
}

fn is_open(fd: RawFd) -> bool {
    // SAFETY: the number is borrowed for one system call, which returns an error if it is closed.
    fcntl_getfd(unsafe { BorrowedFd::borrow_raw(fd) }).is_ok()
}

/// Returns the reason why the descriptor is refused. Asserts that the descriptor stays open.
fn why(fd: impl AsFd, nonce: u64) -> SegmentError {
    let number = left_open(fd);
    let refused = Segment::adopt(number, nonce, layout()).expect_err("refused");
    assert!(is_open(number), "{refused:?} closed it");
    // SAFETY: `left_open` created the descriptor, and no other object owns it.
    drop(unsafe { OwnedFd::from_raw_fd(number) });
    refused
}

#[test]
fn the_next_image_sees_the_same_buckets() {
    let first = Segment::memfd(layout()).unwrap();
    let (nonce, number) = (first.nonce(), left_open(descriptor(&first)));
    let first = store(first);
    assert!(empties(&first, b"key"));
    let second = Segment::adopt(number, nonce, layout()).unwrap();
    assert!(!is_open(number), "the number handed over would leak");
    let flags = fcntl_getfd(descriptor(&second)).unwrap();
    assert!(flags.contains(FdFlags::CLOEXEC));
    let second = store(second);
    assert!(!empties(&second, b"key"));
    assert!(empties(&second, b"other") && !empties(&first, b"other"));
    // The third image of the master has the same buckets.
    let number = left_open(descriptor(second.segment()));
    drop((first, second));
    let third = store(Segment::adopt(number, nonce, layout()).unwrap());
    assert!(!empties(&third, b"key"));
}

#[test]
fn another_segment_is_refused() {
    let segment = Segment::memfd(layout()).unwrap();
    let refused = why(descriptor(&segment), segment.nonce() ^ 1);
    assert!(matches!(refused, SegmentError::Nonce), "{refused:?}");
    let mut larger = SETTINGS;
    larger.lines *= 2;
    let larger = Segment::memfd(larger.layout()).unwrap();
    let refused = why(descriptor(&larger), larger.nonce());
    assert!(matches!(refused, SegmentError::Size(_, _)), "{refused:?}");
}

#[test]
fn a_segment_of_another_release_is_refused_with_both_versions() {
    let segment = Segment::memfd(layout()).unwrap();
    rustix::io::pwrite(descriptor(&segment), &(VERSION + 1).to_ne_bytes(), 8).unwrap();
    let expected = format!("layout version {} instead of {VERSION}", VERSION + 1);
    let refused = why(descriptor(&segment), segment.nonce());
    assert_eq!(refused.to_string(), expected);
    // The other release may have another size, too.
    let mut larger = SETTINGS;
    larger.lines *= 2;
    let larger = Segment::memfd(larger.layout()).unwrap();
    rustix::io::pwrite(descriptor(&larger), &(VERSION + 1).to_ne_bytes(), 8).unwrap();
    let refused = why(descriptor(&larger), larger.nonce());
    assert_eq!(refused.to_string(), expected);
}

#[test]
fn an_unsealed_memfd_is_refused() {
    let size = layout().size() as u64;
    let all = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
    for missing in [all, SealFlags::SHRINK, SealFlags::GROW, SealFlags::SEAL] {
        let memfd = fs::memfd_create("test", MemfdFlags::ALLOW_SEALING).unwrap();
        fs::ftruncate(&memfd, size).unwrap();
        fs::fcntl_add_seals(&memfd, all - missing).unwrap();
        let refused = why(&memfd, 0);
        assert!(matches!(refused, SegmentError::Unsealed), "{refused:?}");
    }
    let memfd = fs::memfd_create("test", MemfdFlags::ALLOW_SEALING).unwrap();
    fs::ftruncate(&memfd, size).unwrap();
    fs::fcntl_add_seals(&memfd, all).unwrap();
    let refused = why(&memfd, 0);
    assert!(matches!(refused, SegmentError::Magic), "{refused:?}");
}

#[test]
fn a_strangers_memfd_is_refused() {
    if !is_root() {
        println!("skipped: only root can give a memfd away");
        return;
    }
    let segment = Segment::memfd(layout()).unwrap();
    let stranger = rustix::process::Uid::from_raw(12_345);
    fs::fchown(descriptor(&segment), Some(stranger), None).unwrap();
    let refused = why(descriptor(&segment), segment.nonce());
    assert!(
        matches!(refused, SegmentError::Owner(12_345)),
        "{refused:?}"
    );
}

#[test]
fn what_is_no_memfd_is_refused() {
    let folder = Folder::new();
    let file = File::create_new(folder.file()).unwrap();
    file.set_len(layout().size() as u64).unwrap();
    assert!(matches!(
        why(&file, 0),
        SegmentError::System(_, Errno::INVAL)
    ));
    let (reader, _writer) = std::io::pipe().unwrap();
    assert!(matches!(
        why(&reader, 0),
        SegmentError::System(_, Errno::INVAL)
    ));
}

#[test]
fn a_number_that_is_not_open_is_refused() {
    // For system calls, -100 means the working directory.
    for number in [HIGH - 1, RawFd::MAX, -1, -2, -100, RawFd::MIN] {
        let refused = Segment::adopt(number, 0, layout()).unwrap_err();
        assert!(
            matches!(refused, SegmentError::System(_, Errno::BADF)),
            "{number}: {refused:?}"
        );
    }
}

#[test]
fn other_users_cannot_open_it_through_proc() {
    let segment = Segment::memfd(layout()).unwrap();
    let stat = fs::fstat(descriptor(&segment)).unwrap();
    assert_eq!(stat.st_mode & 0o7777, 0o600);
}

#[test]
fn nobody_can_change_its_size() {
    let segment = Segment::memfd(layout()).unwrap();
    let size = layout().size() as u64;
    for other in [0, size - 1, size + 4096] {
        assert_eq!(fs::ftruncate(descriptor(&segment), other), Err(Errno::PERM));
    }
    let more = fs::fcntl_add_seals(descriptor(&segment), SealFlags::WRITE);
    assert_eq!(more, Err(Errno::PERM));
}

#[test]
fn only_a_master_about_to_execute_itself_keeps_it_open() {
    let segment = Segment::private(layout()).unwrap();
    let closes = || fcntl_getfd(descriptor(&segment)).unwrap() == FdFlags::CLOEXEC;
    assert!(closes());
    segment.keep_on_exec(true).unwrap();
    assert!(!closes());
    segment.keep_on_exec(true).unwrap();
    assert!(!closes());
    segment.keep_on_exec(false).unwrap();
    assert!(closes());
    assert!(descriptor(&segment).as_raw_fd() >= 0);
    let anonymous = Segment::anonymous(layout()).unwrap();
    anonymous.keep_on_exec(true).unwrap();
    assert!(matches!(anonymous.backing(), Backing::Anonymous));
}
