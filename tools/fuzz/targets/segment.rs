//! Opens segments with random changes, because any process with write access can change a named
//! segment. The segment must be refused, or used without a crash.
#![no_main]

use gcra::{Put, Step};
use libfuzzer_sys::fuzz_target;
use segment::host::{Host, HostSettings, lines};
use segment::memory::{Access, Layout, Segment, SegmentError};
use segment::permits::Acquired;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

const ACCESS: Access = Access {
    mode: 0o600,
    group: None,
};

fn settings() -> HostSettings {
    HostSettings {
        lines: lines(4096),
        diagnostics: true,
        evict: true,
    }
}

fn named(path: &Path, layout: Layout) -> Result<Segment, SegmentError> {
    Segment::named(path, ACCESS, layout, |size| settings().layout_of(size))
}

/// The path and the bytes of a valid segment.
static SEGMENT: LazyLock<(PathBuf, Vec<u8>)> = LazyLock::new(|| {
    let path =
        std::env::temp_dir().join(format!("tokenbucket-fuzz-{}.segment", std::process::id()));
    std::fs::remove_file(&path).ok();
    drop(named(&path, settings().layout()).expect("a segment"));
    let bytes = std::fs::read(&path).expect("its bytes");
    (path, bytes)
});

fuzz_target!(|changes: Vec<(u32, u64)>| {
    let (path, bytes) = &*SEGMENT;
    let mut bytes = bytes.clone();
    for (place, word) in changes {
        let place = (place as usize * 8) % bytes.len();
        bytes[place..place + 8].copy_from_slice(&word.to_le_bytes());
    }
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .open(path)
        .expect("the file");
    file.seek(SeekFrom::Start(0)).expect("its beginning");
    file.write_all(&bytes).expect("its bytes");
    let opened = Host::new(settings(), |layout| named(path, layout));
    let Ok(host): Result<Host, _> = opened else {
        return;
    };
    let store = host.slots();
    for identifier in [b"a".as_slice(), b"b", b"c"] {
        let key = store.hasher().key(identifier);
        let step = Step::new(1_000, 5_000);
        let outcome = store.take(key, &step, None);
        let _ = step.retry_after(outcome.empty_at, outcome.now);
        store.put(key, &Put::give_back(500, 5_000, outcome.empty_at));
        store.put(key, &Put::Reset { span: 5_000 });
        let now = outcome.now;
        if let Some(entry) = host.denial_cache().find(key.hash, now) {
            let _ = step.decide(entry.bound, now + entry.age / 1024);
            let _ = step.reset_after(entry.bound + entry.error, now);
        }
        let permits = host.permits();
        for limit in [1, 8, 1024] {
            let _ = (permits.try_words(key, limit), permits.held(key, limit));
            if let Ok(Acquired { mut permit, .. }) = permits.acquire(key, limit) {
                let _ = (permits.renew(&mut permit), permits.release(permit));
                let _ = (permits.holds(permit), permits.release(permit));
            }
        }
        host.denial_cache().record(key.hash, now, 5, now);
        host.denial_cache().clear(key.hash, now);
        let breaker = host.breakers().of(7, 5_000, "seven");
        let passage = breaker.enter(now, 5_000);
        breaker.failed(passage, now, now.0);
        breaker.answered();
    }
    let _ = (host.usage(), host.breakers().states(), store.totals());
    let _ = host.permits().held_by_row();
    let _ = store.diagnostics().map(|all| all.most_denied(5));
});
