//! Child processes share their parent's buckets, and count in their own shards.

use crate::{empties, layout, store};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use segment::host::Host;
use segment::memory::{Backing, Segment};
use segment::slots::clients::Day;
use segment::slots::counters::{By, SHARDS, Shard};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

const SHARDS_AT: usize = 4096;

/// Runs `work` in a child process and returns its result.
fn in_child(work: impl FnOnce() -> bool) -> bool {
    // SAFETY: other tests run in threads of this process. So the child makes only system calls and
    // atomic accesses, and ends without destructors.
    let pid = unsafe { libc::fork() };
    let Some(pid) = Pid::from_raw(pid) else {
        let code = i32::from(!work());
        // SAFETY: this ends the child at once.
        unsafe { libc::_exit(code) }
    };
    let ended = waitpid(Some(pid), WaitOptions::empty()).unwrap();
    ended.is_some_and(|(_, status)| status.exit_status() == Some(0))
}

/// Returns the number of grants that each shard of the segment has counted.
fn grants_of_shards(store: &Host) -> Vec<u64> {
    let Backing::Memfd(fd) = store.segment().backing() else {
        panic!("a memfd");
    };
    let file = File::from(fd.try_clone().unwrap());
    let grants_of = |shard: usize| {
        let mut bytes = [0; 8];
        // The first counter of a shard counts the grants of the first row, to which a key without
        // a namespace belongs.
        let at = SHARDS_AT + shard * size_of::<Shard>();
        file.read_exact_at(&mut bytes, at as u64).unwrap();
        u64::from_ne_bytes(bytes)
    };
    (0..SHARDS).map(grants_of).collect()
}

#[test]
fn a_process_with_two_segments_has_a_shard_in_each() {
    let stores = [(); 2].map(|()| store(Segment::memfd(layout()).unwrap()));
    assert!(empties(&stores[0], b"the parent owns the first shard"));
    let worked = in_child(|| {
        // In the second segment, no process owns the first shard yet.
        empties(&stores[0], b"1") && empties(&stores[1], b"2") && empties(&stores[0], b"3")
    });
    assert!(worked);
    assert!(empties(&stores[1], b"4"));
    assert_eq!(grants_of_shards(&stores[0])[..3], [1, 2, 0]);
    assert_eq!(grants_of_shards(&stores[1])[..3], [2, 0, 0]);
    for (store, grants) in stores.iter().zip([3, 2]) {
        assert_eq!(
            store.slots().totals().all_decisions(By::SharedMemory)[0],
            grants
        );
    }
}

#[test]
fn a_child_of_a_thread_counts_in_another_shard() {
    let store = store(Segment::memfd(layout()).unwrap()).counting_by_thread();
    assert!(empties(&store, b"1"));
    assert!(in_child(|| empties(&store, b"2") && empties(&store, b"3")));
    assert!(empties(&store, b"4"));
    assert_eq!(grants_of_shards(&store)[..3], [2, 2, 0]);
}

#[test]
fn a_child_counts_in_another_shard() {
    let store = store(Segment::memfd(layout()).unwrap());
    // The outer child is the first process that counts in this segment. It starts a child, which
    // starts a grandchild. The child and the grandchild have ended when the last child chooses a
    // shard. So the last child may choose the shard of a process that has ended.
    let worked = in_child(|| {
        let first = empties(&store, b"1") && empties(&store, b"2");
        first
            && in_child(|| empties(&store, b"3") && in_child(|| empties(&store, b"4")))
            && in_child(|| empties(&store, b"5"))
            && empties(&store, b"6")
    });
    assert!(worked);
    assert_eq!(grants_of_shards(&store)[..4], [3, 2, 1, 0]);
    assert_eq!(store.slots().totals().all_decisions(By::SharedMemory)[0], 6);
}

/// Eight processes deny the same clients, and are killed while they do.
#[test]
fn killed_processes_count_each_client_once() {
    const PROCESSES: u32 = 8;
    const CLIENTS: u32 = 4_000;
    let store = store(Segment::memfd(layout()).unwrap());
    let row = |name: &str| {
        let names: [&[u8]; 3] = [b"guard", b"", name.as_bytes()];
        let label = format!("guard: {name}");
        store
            .slots()
            .reserved_hasher(&names, label.as_bytes())
            .row()
    };
    let (row, of_one_process) = (row("x"), row("y"));
    let day = Day::of(Duration::from_secs(1_700_000_000));
    let add = |row, number: u32| {
        store
            .slots()
            .add_denied_client(row, day, &number.to_le_bytes());
    };
    (0..CLIENTS).for_each(|number| add(of_one_process, number));
    let pids = (0..PROCESSES).map(|process| {
        // SAFETY: as in `in_child`.
        let pid = unsafe { libc::fork() };
        Pid::from_raw(pid).unwrap_or_else(|| {
            for number in 0..CLIENTS {
                add(row, (number + process * 500) % CLIENTS);
            }
            loop {
                // Adds known clients until it is killed.
                add(row, process);
            }
        })
    });
    let pids: Vec<Pid> = pids.collect();
    let estimate = |row| store.slots().denied_clients(row, day);
    let expected = estimate(of_one_process);
    let end = Instant::now() + Duration::from_secs(60);
    while estimate(row) != expected {
        assert!(Instant::now() < end, "{} {expected}", estimate(row));
        std::thread::yield_now();
    }
    for pid in pids {
        kill_process(pid, Signal::KILL).unwrap();
        waitpid(Some(pid), WaitOptions::empty()).unwrap();
    }
    assert_eq!(estimate(row), expected);
    assert_eq!(store.slots().denied_clients(row, day.before()), 0);
}
