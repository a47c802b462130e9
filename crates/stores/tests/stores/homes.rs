//! The stores that the contract tests.

use crate::remotes;
use gcra::batch::{Batched, Grouped};
use gcra::{Key, KeyHasher, MemoryStore, Outcome, Put, Step, Ticks, Timestamp};
use segment::host::{self, Host, HostSettings};
use segment::memory::{Access, Layout, Segment, SegmentError};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// A store, and the hasher of its keys.
pub struct Home {
    name: &'static str,
    store: Box<dyn Store>,
    /// Makes the keys of this store, without a namespace.
    pub hasher: KeyHasher,
    /// True if the store chooses windows by its own clock.
    pub has_clock: bool,
}

/// Returns the constructors of all stores. This is the only list of the stores.
fn all() -> Vec<fn() -> Home> {
    let mut all: Vec<fn() -> Home> = vec![
        || Home::new("memory", MemoryStore::default(), KeyHasher::new([1, 2])),
        || Home::shared("private", Segment::private),
        || Home::shared("memfd", Segment::memfd),
        || Home::shared("anonymous", Segment::anonymous),
        || Folder::new().home(),
        remotes::redis_tcp,
        remotes::redis_unix,
        remotes::redis_tls,
        remotes::memcached_tcp,
        remotes::memcached_unix,
    ];
    if remotes::has_valkey() {
        all.push(remotes::valkey);
    }
    all
}

/// Runs one part of the contract on a new store of every kind.
pub fn each(part: impl Fn(&Home)) {
    for make in all() {
        let home = make();
        // The test harness shows this line only if the part fails.
        println!("store: {}", home.name);
        part(&home);
    }
}

/// The operations of a store. A failure of the store fails the test.
pub trait Store {
    fn take(&self, key: Key<'_>, step: &Step, first: Option<Timestamp>) -> Outcome;
    fn put(&self, key: Key<'_>, put: &Put);
    /// Takes the tokens of all steps or of none in one operation. Returns `None` if the store has
    /// no such operation.
    fn take_all(&self, _tickets: Grouped<'_, '_>) -> Option<Batched> {
        None
    }
    /// Waits until the store's clock has advanced by `ticks`.
    fn pass(&self, ticks: Ticks) {
        std::thread::sleep(Duration::from_nanos(ticks));
    }
}

impl Store for MemoryStore {
    fn take(&self, key: Key<'_>, step: &Step, first: Option<Timestamp>) -> Outcome {
        self.take(key, step, first)
    }

    fn put(&self, key: Key<'_>, put: &Put) {
        self.put(key, put);
    }

    fn take_all(&self, tickets: Grouped<'_, '_>) -> Option<Batched> {
        Some(self.take_all(tickets))
    }

    fn pass(&self, ticks: Ticks) {
        self.advance(ticks);
    }
}

impl Store for Host {
    fn take(&self, key: Key<'_>, step: &Step, first: Option<Timestamp>) -> Outcome {
        self.slots().run(key, step, first)
    }

    fn put(&self, key: Key<'_>, put: &Put) {
        self.slots().put(key, put);
    }

    fn take_all(&self, tickets: Grouped<'_, '_>) -> Option<Batched> {
        Some(self.slots().take_all(tickets))
    }
}

impl Home {
    pub fn new(name: &'static str, store: impl Store + 'static, hasher: KeyHasher) -> Self {
        Self {
            name,
            store: Box::new(store),
            hasher,
            has_clock: name.starts_with("redis") || name.starts_with("valkey"),
        }
    }

    fn shared(
        name: &'static str,
        make: impl FnOnce(Layout) -> Result<Segment, SegmentError>,
    ) -> Self {
        let host = Host::new(settings(), make).unwrap();
        let hasher = host.slots().hasher();
        Self::new(name, host, hasher)
    }

    pub fn key<'a>(&self, identifier: &'a [u8]) -> Key<'a> {
        self.hasher.key(identifier)
    }

    pub fn take(&self, key: Key<'_>, step: &Step, first: Option<Timestamp>) -> Outcome {
        self.store.take(key, step, first)
    }

    pub fn put(&self, key: Key<'_>, put: &Put) {
        self.store.put(key, put);
    }

    pub fn take_all(&self, tickets: Grouped<'_, '_>) -> Option<Batched> {
        self.store.take_all(tickets)
    }

    pub fn pass(&self, ticks: Ticks) {
        self.store.pass(ticks);
    }
}

pub fn settings() -> HostSettings {
    HostSettings {
        lines: host::lines(1 << 20),
        diagnostics: false,
        evict: false,
    }
}

/// A folder that is deleted when its owner is dropped. The mapping of a deleted file stays valid.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("tokenbucket-stores-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    /// Returns the store in the named segment in this folder.
    fn home(&self) -> Home {
        let access = Access {
            mode: 0o600,
            group: None,
        };
        Home::shared("named", |layout| {
            let path = self.0.join("segment");
            Segment::named(&path, access, layout, |size| settings().layout_of(size))
        })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}
