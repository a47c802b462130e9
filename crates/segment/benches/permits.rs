//! Measures calls on permits, with as many lock holders as a busy host has.
//!
//! The median of all rounds is printed, in nanoseconds a call. A number as the first argument is
//! the number of other processes that hold locks.
//!
//! `cargo bench -p tokenbucket-segment --bench permits [-- PROCESSES]`
#![allow(unsafe_code, clippy::unwrap_used, clippy::expect_used)]

use gcra::{Key, Step, TICKS_PER_SECOND};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use segment::host::{Host, Settings};
use segment::memory::Segment;
use segment::permits::{Acquired, MAX_LIMIT};
use std::hint::black_box;
use std::io::{Read, Write};
use std::time::Instant;

/// Rounds are short, so that the system interrupts few of them.
const ROUNDS: usize = 501;

fn main() {
    // Ignores `--bench`, which Cargo passes.
    let others = std::env::args().find_map(|argument| argument.parse().ok());
    let settings = Settings {
        lines: 1 << 15,
        diagnostics: false,
        evict: false,
    };
    let host: Host = Host::new(settings, Segment::private).unwrap();
    let step = Step::new(1, TICKS_PER_SECOND);
    let attempt = || host.slots().take(key(&host, b"a bucket"), &step, None);
    print("a token is granted", 1_000, || attempt().granted());
    let permit = || match host.permits().acquire(key(&host, b"eight"), 8) {
        Ok(Acquired::Granted { permit, .. }) => host.permits().release(permit),
        _ => false,
    };
    print("a permit of 8 is granted and released", 1_000, permit);
    let mut children = Vec::new();
    for (name, holders, processes) in [
        (b"by 8".as_slice(), 8, 8),
        (b"by 64", 64, others.unwrap_or(500)),
    ] {
        for number in children.len()..processes {
            children.push(start(&host, name, holders, number + holders >= processes));
        }
        let limit = u16::try_from(holders).unwrap();
        let denied = || host.permits().acquire(key(&host, name), limit) == Ok(Acquired::Denied);
        let what = format!("a permit of {holders} is denied, {processes} processes with locks");
        print(&what, 2, denied);
    }
    let held = || host.permits().held(key(&host, b"nobody"), MAX_LIMIT) == 0;
    print("1,024 free permits are read", 10, held);
    for child in children {
        kill_process(child, Signal::KILL).unwrap();
        waitpid(Some(child), WaitOptions::empty()).unwrap();
    }
}

fn key<'k>(host: &Host, name: &'k [u8]) -> Key<'k> {
    host.slots().hasher().key(name)
}

/// Starts a process that draws and locks a number, as every process does before its first permit.
/// If `holds` is true, the process holds a permit.
fn start(host: &Host, name: &[u8], limit: usize, holds: bool) -> Pid {
    let (mut reader, mut writer) = std::io::pipe().unwrap();
    // SAFETY: this process has one thread, so the child may do everything that the parent may.
    let pid = unsafe { libc::fork() };
    if let Some(pid) = Pid::from_raw(pid) {
        reader.read_exact(&mut [0]).unwrap();
        return pid;
    }
    host.permits().check().unwrap();
    if holds {
        let limit = u16::try_from(limit).unwrap();
        let acquired = host.permits().acquire(key(host, name), limit);
        assert!(matches!(acquired, Ok(Acquired::Granted { .. })));
    }
    writer.write_all(&[0]).unwrap();
    loop {
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).ok();
        std::thread::park();
    }
}

/// Prints the median time of a call, which must return `true`.
fn print(what: &str, calls: u32, call: impl Fn() -> bool) {
    let round = |_| {
        let begin = Instant::now();
        for _ in 0..calls {
            assert!(black_box(call()), "{what}");
        }
        begin.elapsed().as_nanos() as f64 / f64::from(calls)
    };
    let mut times: Vec<f64> = (0..ROUNDS).map(round).collect();
    times.sort_by(f64::total_cmp);
    println!("{:>10.1} ns  {what}", times[ROUNDS / 2]);
}
