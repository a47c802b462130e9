//! Any process with write access can change a named segment. Garbage causes no crash and no endless
//! loop.

use crate::child::Child;
use crate::processes::key;
use crate::{Test, host, settings};
use segment::host::Host;
use segment::memory::{Access, Segment};
use segment::permits::{Acquired, Unavailable};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

pub const TESTS: &[Test] = &[
    ("random bytes in a segment cause no crash", random_bytes),
    (
        "words of each kind in each slot cause no crash",
        crafted_words,
    ),
    ("numbers that are used up deny", used_up),
];

/// The bytes from the region of permits, which begins with the counter of numbers, to the last page
/// of the smallest segment.
const PERMITS: usize = 1024 * 64;

/// A named segment and its file, which is deleted afterwards.
struct Spoilt {
    path: PathBuf,
    host: Host,
}

impl Spoilt {
    fn new() -> Self {
        let name = format!("garbage-{}", std::process::id());
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        let access = Access {
            mode: 0o600,
            group: None,
        };
        let make =
            |layout| Segment::named(&path, access, layout, |size| settings().layout_of(size));
        let host = Host::new(settings(), make).expect("a named segment");
        Self { path, host }
    }

    /// Writes over the region of permits. Does so in a child, because closing the file drops locks.
    fn write(&self, bytes: &[u8]) {
        let child = Child::start(|_| {
            let file = std::fs::OpenOptions::new().write(true).open(&self.path);
            let at = self.host.segment().size() - PERMITS - 4096;
            file.unwrap().write_all_at(bytes, at as u64).unwrap();
        });
        child.join();
    }

    /// Calls everything. The results mean nothing.
    fn use_it(&self) {
        let host = &self.host;
        for (name, limit) in [
            (b"a", 1),
            (b"b", 8),
            (b"c", 1024),
            (b"d", u16::MAX),
            (b"e", 0),
        ] {
            let key = key(host, name);
            let permits = host.permits();
            let _ = permits.try_words(key, limit);
            if let Ok(Acquired { mut permit, .. }) = permits.acquire(key, limit) {
                let _ = (permits.renew(&mut permit), permits.holds(permit));
                let _ = (permits.release(permit), permits.release(permit));
            }
            let _ = permits.held(key, limit);
        }
        let _ = host.permits().held_by_row();
    }
}

impl Drop for Spoilt {
    fn drop(&mut self) {
        std::fs::remove_file(&self.path).ok();
    }
}

fn random_bytes() {
    let spoilt = Spoilt::new();
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    for round in 0..40 {
        let bytes: Vec<u8> = (0..(PERMITS + 4096) / 8)
            .flat_map(|_| {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                // Sparse bits in half of the rounds, so that owners are small numbers.
                let word = if round % 2 == 0 {
                    random
                } else {
                    random & random >> 7 & random >> 21
                };
                word.to_le_bytes()
            })
            .collect();
        spoilt.write(&bytes);
        spoilt.use_it();
    }
}

fn crafted_words() {
    let spoilt = Spoilt::new();
    let host = &spoilt.host;
    // All slots hold the same cell of a key, in different states and with different owners.
    for name in [b"a", b"b"] {
        let fingerprint = key(host, name).hash & 0xffff_ffff_ffff;
        let tag = u64::try_from(fingerprint).unwrap();
        for cell in [0, 3, 7, 1023, 0xffff] {
            for state in [0, 1 << 26, 1 << 62, 1 << 63, u64::MAX, u64::MAX >> 1] {
                let word = [tag << 16 | cell, state].map(u64::to_le_bytes).concat();
                spoilt.write(&word.repeat((PERMITS + 4096) / 16));
                spoilt.use_it();
            }
        }
    }
}

fn used_up() {
    let spoilt = Spoilt::new();
    spoilt.write(&vec![0xff; PERMITS + 4096]);
    assert_eq!(spoilt.host.permits().check(), Err(Unavailable::UsedUp));
    let whole = host();
    assert_eq!(whole.permits().check(), Ok(()));
}
