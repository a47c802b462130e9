//! Processes lose their locks, cannot lock, or hand their segment over.

use crate::child::Child;
use crate::processes::{holder, key, take};
use crate::{Test, host, settings};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use rustix::io::{Errno, fcntl_dupfd_cloexec, fcntl_getfd};
use segment::host::Host;
use segment::memory::{Access, Backing, Segment};
use segment::permits::{Refusal, Unavailable, word};
use segment::slots::counters::Event;
use std::path::PathBuf;

pub const TESTS: &[Test] = &[
    ("a lost lock is renewed", renews),
    ("a permit that was taken over is not released", foreign),
    (
        "a process locks again in its next request, and after a takeover",
        locks_again,
    ),
    ("processes share the permits of a named segment", named),
    ("an adopted segment keeps the permits of workers", adopts),
    ("a process without a lock gets no permit", unavailable),
    (
        "a process draws another number if its own is locked",
        redraws,
    ),
];

/// Drops the locks of this process, as PHP code can: opens the segment's file and closes it.
fn lose_lock(host: &Host) {
    let Backing::Memfd(fd) = host.segment().backing() else {
        panic!("a memfd");
    };
    drop(fd.try_clone().unwrap());
}

fn renews() {
    let host = host();
    let mut child = Child::start(|parent| {
        let mut permit = take(&host, b"k", 1).unwrap();
        assert!(host.permits().renew(&mut permit) && host.permits().holds(permit));
        lose_lock(&host);
        assert!(host.permits().renew(&mut permit));
        parent.reached();
        parent.wait();
        assert!(host.permits().holds(permit) && host.permits().release(permit));
    });
    child.wait();
    assert_eq!(take(&host, b"k", 1), None);
    child.go_on();
    child.join();
}

fn foreign() {
    let host = host();
    let mut child = Child::start(|parent| {
        let mut permit = take(&host, b"k", 1).unwrap();
        lose_lock(&host);
        parent.reached();
        parent.wait();
        assert!(!host.permits().renew(&mut permit) && !host.permits().holds(permit));
        assert!(!host.permits().release(permit));
    });
    child.wait();
    let permit = take(&host, b"k", 1).expect("the lock is lost");
    child.go_on();
    child.join();
    assert!(host.permits().holds(permit));
    assert_eq!(host.slots().totals().get(Event::PermitForeign), 1);
}

fn locks_again() {
    let host = host();
    for is_next_request in [true, false] {
        let mut child = Child::start(|parent| {
            let permit = take(&host, b"k", 1).unwrap();
            lose_lock(&host);
            if is_next_request {
                assert!(host.permits().release(permit));
                host.permits().doubt_lock();
            } else {
                parent.reached();
                parent.wait();
                assert!(!host.permits().release(permit));
            }
            take(&host, b"k", 1).unwrap();
            parent.reached();
            parent.wait();
        });
        child.wait();
        if !is_next_request {
            let permit = take(&host, b"k", 1).expect("the lock is lost");
            assert!(host.permits().release(permit));
            child.go_on();
            child.wait();
        }
        assert_eq!(take(&host, b"k", 1), None, "the worker has locked again");
        child.go_on();
        child.join();
    }
}

fn named() {
    let name = format!("permits-{}", std::process::id());
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let access = Access {
        mode: 0o600,
        group: None,
    };
    let open = || {
        let make =
            |layout| Segment::named(&path, access, layout, |size| settings().layout_of(size));
        Host::new(settings(), make).expect("a named segment")
    };
    let mut child = Child::start(|parent| {
        let host: Host = open();
        take(&host, b"k", 1).expect("a permit");
        parent.reached();
        parent.wait();
    });
    child.wait();
    let host: Host = open();
    assert_eq!(take(&host, b"k", 1), None);
    child.kill();
    assert!(take(&host, b"k", 1).is_some());
    std::fs::remove_file(&path).unwrap();
}

fn adopts() {
    let first = host();
    let worker = holder(&first, b"k", 2);
    // A descriptor that no object owns, like one that an earlier image of the process left open.
    let Backing::Memfd(fd) = first.segment().backing() else {
        panic!("a memfd");
    };
    let number = fcntl_dupfd_cloexec(fd.as_fd(), 100).unwrap();
    let raw = number.as_raw_fd();
    std::mem::forget(number);
    let nonce = first.segment().nonce();
    drop(first);
    let adopt = |layout| Segment::adopt(raw, nonce, layout);
    let next: Host = Host::new(settings(), adopt).unwrap();
    assert!(take(&next, b"k", 2).is_some());
    assert_eq!(take(&next, b"k", 2), None, "the worker is alive");
    worker.kill();
    assert!(take(&next, b"k", 2).is_some());
    let is_closed = |error| error == Errno::BADF;
    // SAFETY: the number is borrowed for one system call, which fails because it is closed.
    let closed = fcntl_getfd(unsafe { BorrowedFd::borrow_raw(raw) });
    assert!(closed.is_err_and(is_closed));
}

/// Locks `length` bytes behind the byte of the number 0, in this process.
fn lock_numbers(host: &Host, length: i64) -> OwnedFd {
    let Backing::Memfd(fd) = host.segment().backing() else {
        panic!("a memfd");
    };
    let copy = fcntl_dupfd_cloexec(fd.as_fd(), 100).unwrap();
    let lock = libc::flock {
        l_type: i16::try_from(libc::F_WRLCK).unwrap(),
        l_whence: i16::try_from(libc::SEEK_SET).unwrap(),
        l_start: 1 << 62,
        l_len: length,
        l_pid: 0,
    };
    // SAFETY: the descriptor is open, and the structure outlives the call.
    let locked = unsafe { libc::fcntl(copy.as_raw_fd(), libc::F_SETLK, &raw const lock) };
    assert_eq!(locked, 0);
    copy
}

fn redraws() {
    let host = host();
    let mut other = Child::start(|parent| {
        let _fd = lock_numbers(&host, 11);
        parent.reached();
        parent.wait();
    });
    other.wait();
    let permit = take(&host, b"k", 1).expect("a number that is not locked");
    assert_eq!(word::owner(permit.word).number(), 11);
    other.kill();
}

fn unavailable() {
    let anonymous: Host = Host::new(settings(), Segment::anonymous).unwrap();
    let refused = anonymous.permits().acquire(key(&anonymous, b"k"), 1);
    assert_eq!(refused, Err(Refusal::Unavailable));
    assert_eq!(anonymous.permits().check(), Err(Unavailable::Anonymous));
    assert_eq!(anonymous.permits().held(key(&anonymous, b"k"), 1), 0);
    let host = host();
    let mut other = Child::start(|parent| {
        let _fd = lock_numbers(&host, 1 << 40);
        parent.reached();
        parent.wait();
    });
    other.wait();
    assert_eq!(host.permits().check(), Err(Unavailable::Occupied));
    other.kill();
    assert_eq!(host.permits().check(), Ok(()));
    // Any other error, for example because of a limit on locks, a closed descriptor or a security
    // module.
    let Backing::Memfd(fd) = host.segment().backing() else {
        panic!("a memfd");
    };
    let child = Child::start(|_| {
        // SAFETY: the child closes its copy of the descriptor, and ends before it is used again.
        drop(unsafe { OwnedFd::from_raw_fd(fd.as_raw_fd()) });
        let refused = host.permits().check();
        assert!(matches!(refused, Err(Unavailable::Lock(_))), "{refused:?}");
    });
    child.join();
}
