//! Single processes take permits, fork and die.

use crate::child::Child;
use crate::{Test, host};
use gcra::key::{Key, KeyHasher, Row};
use segment::host::Host;
use segment::permits::{Acquired, Permit, Refusal};
use segment::slots::counters::Event;
use std::collections::HashSet;

pub const TESTS: &[Test] = &[
    ("a limit of permits is granted and then denied", grants),
    ("a released permit is granted again", releases),
    ("a killed process gives its permits back", kills),
    ("permits of keys and limits are apart", keys),
    ("permits are reported by the rows of their keys", rows),
    ("a permit is inert in a forked child", forks),
    ("a child outlives the parent that holds a permit", orphans),
    (
        "a dead process's permits of any key are reclaimed",
        reclaims,
    ),
    ("a region of held permits is full", fills),
    ("waiting reads words only", waits),
    ("a place to wait is no permit", places),
    ("a call leaves permits to others", leaves),
];

pub fn key<'k>(host: &Host, name: &'k [u8]) -> Key<'k> {
    host.slots().hasher().key(name)
}

pub fn take(host: &Host, name: &[u8], limit: u16) -> Option<Permit> {
    match host.permits().acquire(key(host, name), limit) {
        Ok(Acquired { permit, .. }) => Some(permit),
        Err(Refusal::TooMany) => None,
        other => panic!("{other:?}"),
    }
}

fn taken_back(host: &Host) -> u64 {
    host.slots().totals().get(Event::PermitTakenBack)
}

/// Starts a process that holds a permit until it ends.
pub fn holder(host: &Host, name: &[u8], limit: u16) -> Child {
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
            let Ok(Acquired { permit, free }) = acquired else {
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
    assert_eq!(host.permits().held_by_row().values().sum::<usize>(), 0);
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
        assert_eq!(host.permits().held_by_row().values().sum::<usize>(), 3);
        for child in children {
            child.kill();
        }
        assert_eq!(host.permits().held(key(&host, b"k"), 3), 0);
        let permits = [(); 3].map(|()| take(&host, b"k", 3).expect("a permit"));
        assert_eq!(taken_back(&host), 3 * (round + 1));
        assert!(permits.map(|permit| host.permits().release(permit)) == [true; 3]);
    }
}

fn rows() {
    let host = host();
    let held = || {
        let held = host.permits().held_by_row();
        [0, 5, 63].map(|row| held[Row(row)])
    };
    let take = |row: u32, limit: u16| {
        let hasher = host.slots().hasher().counted_in(Row(row));
        match host
            .permits()
            .acquire(hasher.key(&row.to_le_bytes()), limit)
        {
            Ok(Acquired { permit, .. }) => permit,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(held(), [0, 0, 0]);
    let permits = [take(5, 2), take(5, 2), take(63, 1)];
    assert_eq!(held(), [0, 2, 1]);
    let child = holder(&host, b"k", 1);
    assert_eq!(held(), [1, 2, 1]);
    child.kill();
    assert_eq!(held(), [0, 2, 1]);
    for permit in permits {
        assert!(host.permits().release(permit));
    }
    assert_eq!(held(), [0, 0, 0]);
    // Keys of one name in different rows use the same slot.
    let hasher = host.slots().hasher();
    let key = |row| hasher.counted_in(Row(row)).key(b"same");
    for row in [5, 63] {
        let Ok(Acquired { permit, .. }) = host.permits().acquire(key(row), 1) else {
            panic!("all permits are free");
        };
        assert_eq!(held(), [0, usize::from(row == 5), usize::from(row == 63)]);
        host.permits().release(permit);
    }
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
    assert!(matches!(other, Ok(Acquired { free: 0, .. })));
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

/// Returns a key that every host puts into the same lines, so that equally many permits fit each
/// time.
fn placed_key(name: &[u8]) -> Key<'_> {
    KeyHasher::new([1, 2]).key(name)
}

fn reclaims() {
    let host = host();
    for process in 0..50 {
        let child = Child::start(|_| {
            for number in 0..200_u16 {
                let [low, high] = number.to_le_bytes();
                let acquired = host.permits().acquire(placed_key(&[process, low, high]), 1);
                assert!(acquired.is_ok());
            }
        });
        child.join();
    }
    assert!(taken_back(&host) > 1_000);
    assert_eq!(host.permits().held_by_row().values().sum::<usize>(), 0);
}

fn fills() {
    let host = host();
    let fill = |limit: u16| {
        let mut held = 0;
        for name in 0..u32::MAX {
            for _ in 0..limit {
                let acquired = host
                    .permits()
                    .acquire(placed_key(&name.to_le_bytes()), limit);
                match acquired {
                    Ok(_) => held += 1,
                    Err(Refusal::TableFull) => return held,
                    other => panic!("{other:?}"),
                }
            }
        }
        held
    };
    for (limit, fits) in [(1, 2445), (4, 633)] {
        let child = Child::start(|_| assert_eq!(fill(limit), fits, "of 4096 permits"));
        child.join();
    }
    assert!(take(&host, b"k", 1).is_some(), "the dead hold nothing");
}

fn waits() {
    let host = host();
    let child = holder(&host, b"k", 1);
    child.kill();
    let wait = || host.permits().try_words(key(&host, b"k"), 1);
    assert_eq!(wait(), None, "it does not ask the kernel");
    let permit = take(&host, b"k", 1).expect("the holder is dead");
    assert_eq!(wait(), None);
    assert!(host.permits().release(permit));
    assert!(wait().is_some());
}

fn places() {
    let host = host();
    let name = b"k";
    let place = |most| host.permits().acquire_place(key(&host, name), most);
    let permit = take(&host, name, 1).unwrap();
    let waiting = place(1).expect("a place").permit;
    assert_eq!(place(1), Err(Refusal::TooManyWaiting));
    assert!(place(2).is_ok_and(|second| host.permits().release(second.permit)));
    assert_eq!(host.permits().held(key(&host, name), 1024), 1);
    assert_eq!(host.permits().held_by_row().values().sum::<usize>(), 1);
    assert!(host.permits().release(permit));
    let permit = take(&host, name, 1).expect("the permit, and not the place");
    assert!(host.permits().release(waiting) && host.permits().holds(permit));
    let mut child = Child::start(|parent| {
        assert!(place(1).is_ok());
        parent.reached();
        parent.wait();
    });
    child.wait();
    assert_eq!(place(1), Err(Refusal::TooManyWaiting));
    child.kill();
    assert!(place(1).is_ok());
}

fn leaves() {
    let host = host();
    let name = b"k";
    let leaving = || {
        let acquired = host.permits().acquire_leaving(key(&host, name), 4, 2);
        acquired.map(|acquired| (acquired.permit, acquired.free))
    };
    let (first, free) = leaving().expect("four are free");
    assert_eq!(free, 1, "those that it leaves are not its own");
    let (second, free) = leaving().expect("three are free");
    assert_eq!(free, 0);
    assert_eq!(leaving(), Err(Refusal::BelowFloor));
    let [third, fourth] = [(); 2].map(|()| take(&host, name, 4).expect("two were left"));
    assert_eq!(leaving(), Err(Refusal::TooMany));
    assert_eq!(take(&host, name, 4), None);
    for permit in [first, second] {
        assert_eq!(
            leaving().err(),
            Some(if permit == first {
                Refusal::TooMany
            } else {
                Refusal::BelowFloor
            })
        );
        assert!(host.permits().release(permit));
    }
    assert_eq!(
        leaving(),
        Err(Refusal::BelowFloor),
        "two are free, and two must be left"
    );
    assert!(host.permits().release(third) && host.permits().release(fourth));
    let children = [(); 2].map(|()| holder(&host, name, 4));
    assert_eq!(leaving(), Err(Refusal::BelowFloor));
    children.into_iter().for_each(Child::kill);
    assert!(leaving().is_ok(), "the dead hold nothing");
}
