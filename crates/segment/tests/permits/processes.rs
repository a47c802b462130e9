//! Single processes take permits, fork, die, lose their locks, or hand their segment over.

use crate::child::Child;
use crate::{Test, host, settings};
use gcra::key::{Key, KeyHasher};
use rustix::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use rustix::io::fcntl_dupfd_cloexec;
use segment::host::Host;
use segment::memory::{Access, Backing, Segment};
use segment::permits::{Acquired, Permit, Unavailable};
use segment::slots::counters::Event;
use std::collections::HashSet;
use std::path::PathBuf;

pub const TESTS: &[Test] = &[
    ("a limit of permits is granted and then denied", grants),
    ("a released permit is granted again", releases),
    ("a killed process gives its permits back", kills),
    ("a process that ends gives its permits back", ends),
    ("permits of keys and limits are apart", keys),
    ("a permit is inert in a forked child", forks),
    ("a child outlives the parent that holds a permit", orphans),
    (
        "a dead process's permits of any key are reclaimed",
        reclaims,
    ),
    ("a region of held permits is full", fills),
    ("a lost lock is renewed", renews),
    ("a permit that was taken over is not released", foreign),
    ("processes share the permits of a named segment", named),
    ("an adopted segment keeps the permits of workers", adopts),
    (
        "a process draws another number if its own is locked",
        redraws,
    ),
    ("a process without a lock gets no permit", unavailable),
    ("waiting reads words only", waits),
];

pub fn key<'k>(host: &Host, name: &'k [u8]) -> Key<'k> {
    host.slots().hasher().key(name)
}

pub fn take(host: &Host, name: &[u8], limit: u16) -> Option<Permit> {
    match host.permits().acquire(key(host, name), limit) {
        Ok(Acquired::Granted { permit, .. }) => Some(permit),
        Ok(Acquired::Denied) => None,
        other => panic!("{other:?}"),
    }
}

fn taken_back(host: &Host) -> u64 {
    host.slots().totals().get(Event::PermitTakenBack)
}

/// Starts a process that holds a permit until it ends.
fn holder(host: &Host, name: &[u8], limit: u16) -> Child {
    let mut child = Child::start(|parent| {
        take(host, name, limit).expect("a permit");
        parent.reached();
        parent.wait();
    });
    child.wait();
    child
}

fn grants() {
    let host = host();
    for limit in [1, 3, 4, 5, 8, 13, 1024] {
        let name = u64::from(limit).to_le_bytes();
        let mut permits = Vec::new();
        for left in (0..limit).rev() {
            let acquired = host.permits().acquire(key(&host, &name), limit);
            let Ok(Acquired::Granted { permit, free }) = acquired else {
                panic!("{acquired:?}");
            };
            assert_eq!(free, left);
            assert!(host.permits().holds(permit));
            permits.push(permit);
        }
        assert_eq!(take(&host, &name, limit), None);
        assert_eq!(host.permits().held(key(&host, &name), limit), permits.len());
        let places: HashSet<_> = permits.iter().map(|permit| permit.place).collect();
        assert_eq!(places.len(), permits.len());
        for permit in permits {
            assert!(host.permits().release(permit));
        }
        assert_eq!(host.permits().held(key(&host, &name), limit), 0);
    }
    assert_eq!(host.permits().held_of_all_keys(), 0);
}

fn releases() {
    let host = host();
    let first = take(&host, b"k", 1).unwrap();
    assert!(host.permits().release(first));
    assert!(!host.permits().release(first), "released already");
    assert_eq!(host.slots().totals().get(Event::PermitForeign), 1);
    let second = take(&host, b"k", 1).unwrap();
    assert_ne!(first, second);
    assert!(!host.permits().release(first) && host.permits().holds(second));
    assert!(!host.permits().holds(first));
}

fn kills() {
    let host = host();
    for round in 0..50 {
        let children = [(); 3].map(|()| holder(&host, b"k", 3));
        assert_eq!(take(&host, b"k", 3), None);
        assert_eq!(host.permits().held(key(&host, b"k"), 3), 3);
        assert_eq!(host.permits().held_of_all_keys(), 3);
        for child in children {
            child.kill();
        }
        assert_eq!(host.permits().held(key(&host, b"k"), 3), 0);
        let permits = [(); 3].map(|()| take(&host, b"k", 3).expect("a permit"));
        assert_eq!(taken_back(&host), 3 * (round + 1));
        assert!(permits.map(|permit| host.permits().release(permit)) == [true; 3]);
    }
}

fn ends() {
    let host = host();
    let mut child = holder(&host, b"k", 1);
    assert_eq!(take(&host, b"k", 1), None);
    child.go_on();
    child.join();
    assert!(take(&host, b"k", 1).is_some());
}

fn keys() {
    let host = host();
    let permits = [b"a", b"b", b"c"].map(|name| take(&host, name, 1).unwrap());
    assert_eq!(take(&host, b"a", 1), None);
    let second = take(&host, b"a", 2).expect("a greater limit");
    assert!(host.permits().release(permits[0]));
    // The permit with the number 1 is still held. The smaller limit does not see it.
    assert!(take(&host, b"a", 1).is_some());
    assert_eq!(take(&host, b"a", 2), None);
    assert!(host.permits().release(second));
    assert!(take(&host, b"a", 2).is_some());
    let hasher = KeyHasher::new(host.segment().secret()).namespace(&[b"n", b""]);
    let other = host.permits().acquire(hasher.key(b"a"), 1);
    assert!(matches!(other, Ok(Acquired::Granted { free: 0, .. })));
}

fn forks() {
    let host = host();
    let mut permit = take(&host, b"k", 2).unwrap();
    let child = Child::start(|_| {
        assert!(!host.permits().holds(permit) && !host.permits().release(permit));
        assert!(!host.permits().renew(&mut permit));
        let own = take(&host, b"k", 2).expect("the other permit");
        assert_eq!(take(&host, b"k", 2), None, "the parent is alive");
        assert!(!host.permits().release(permit) && host.permits().release(own));
    });
    child.join();
    assert!(host.permits().holds(permit) && host.permits().release(permit));
    assert_eq!(host.slots().totals().get(Event::PermitForeign), 0);
}

fn orphans() {
    let host = host();
    let mut parent = Child::start(|parent| {
        let permit = take(&host, b"k", 1).unwrap();
        // The grandchild inherits the descriptor of the segment, but not the lock.
        let mut grandchild = Child::start(|middle| {
            middle.reached();
            middle.wait();
        });
        grandchild.wait();
        assert!(host.permits().holds(permit));
        parent.reached();
        parent.wait();
    });
    parent.wait();
    assert_eq!(take(&host, b"k", 1), None);
    parent.kill();
    assert!(take(&host, b"k", 1).is_some());
}

fn reclaims() {
    let host = host();
    for process in 0..10 {
        let child = Child::start(|_| {
            // A process may hold about half of the region; see `fills`.
            for number in 0..1_000_u16 {
                let [low, high] = number.to_le_bytes();
                take(&host, &[process, low, high], 1).expect("a permit");
            }
        });
        child.join();
    }
    assert!(taken_back(&host) > 1_000);
    assert_eq!(host.permits().held_of_all_keys(), 0);
}

fn fills() {
    let host = host();
    let fill = |limit: u16| {
        let mut held = 0;
        for name in 0..u32::MAX {
            for _ in 0..limit {
                match host
                    .permits()
                    .acquire(key(&host, &name.to_le_bytes()), limit)
                {
                    Ok(Acquired::Granted { .. }) => held += 1,
                    Ok(Acquired::TableFull) => return held,
                    other => panic!("{other:?}"),
                }
            }
        }
        held
    };
    let child = Child::start(|_| {
        let held = fill(1);
        println!("{held} of 4096 permits of single cells fit");
        assert!(held > 1_500 && held <= 4096);
    });
    child.join();
    let child = Child::start(|_| {
        let held = fill(4);
        println!("{held} of 4096 permits in groups fit");
        assert!(held > 200 && held <= 4096);
    });
    child.join();
    assert!(take(&host, b"k", 1).is_some(), "the dead hold nothing");
}

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
    // A descriptor that no object owns, as an earlier image leaves it open.
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
    let is_closed = |error| error == rustix::io::Errno::BADF;
    // SAFETY: the number is borrowed for one system call, which fails because it is closed.
    let closed = rustix::io::fcntl_getfd(unsafe { rustix::fd::BorrowedFd::borrow_raw(raw) });
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
    assert_eq!(segment::permits::word::owner(permit.word).number(), 11);
    other.kill();
}

fn unavailable() {
    let anonymous: Host = Host::new(settings(), Segment::anonymous).unwrap();
    let refused = anonymous.permits().acquire(key(&anonymous, b"k"), 1);
    assert_eq!(refused, Err(Unavailable::Anonymous));
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
    // A limit on locks, a closed descriptor or a security module: any other error.
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

fn waits() {
    let host = host();
    let child = holder(&host, b"k", 1);
    child.kill();
    let wait = || host.permits().try_words(key(&host, b"k"), 1);
    assert_eq!(wait(), Ok(None), "it does not ask the kernel");
    let permit = take(&host, b"k", 1).expect("the holder is dead");
    assert_eq!(wait(), Ok(None));
    assert!(host.permits().release(permit));
    assert!(matches!(wait(), Ok(Some(Acquired::Granted { .. }))));
}
