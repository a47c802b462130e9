//! The stores that the contract is run over.

use crate::remotes;
use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokenbucket_core::host::{self, Host, Settings};
use tokenbucket_core::memory::{Access, Segment};
use tokenbucket_core::{Key, KeyHasher, MemoryStore, Outcome, Put, Step, Store, Ticks};

/// A store, whatever its way to fail.
pub struct Home {
    name: &'static str,
    store: Box<dyn Infallible>,
    /// Makes keys of this store, in no namespace yet.
    pub hasher: KeyHasher,
}

/// Every constructor: the one place that knows which stores there are.
fn all() -> Vec<fn() -> Home> {
    let mut all: Vec<fn() -> Home> = vec![
        || Home::new("memory", MemoryStore::new(), KeyHasher::new([1, 2])),
        || Home::shared("private", Segment::private(settings().layout()).unwrap()),
        || Home::shared("memfd", Segment::memfd(settings().layout()).unwrap()),
        || {
            Home::shared(
                "anonymous",
                Segment::anonymous(settings().layout()).unwrap(),
            )
        },
        || {
            let folder = Folder::new();
            Home::shared("named", named(&folder))
        },
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
        // Shown only when the part fails.
        println!("store: {}", home.name);
        part(&home);
    }
}

/// How a store's time passes.
pub trait Timed {
    fn pass(&self, ticks: Ticks) {
        std::thread::sleep(Duration::from_nanos(ticks));
    }
}

impl Timed for MemoryStore {
    fn pass(&self, ticks: Ticks) {
        self.advance(ticks);
    }
}

impl Home {
    pub fn new<S: Store + Timed + 'static>(name: &'static str, store: S, hasher: KeyHasher) -> Self
    where
        S::Error: Debug,
    {
        Self {
            name,
            store: Box::new(store),
            hasher,
        }
    }

    fn shared(name: &'static str, segment: Segment) -> Self {
        let host = Host::new(settings(), |_| Ok(segment)).unwrap();
        let hasher = host.slots().hasher();
        Self::new(name, OnHost(host), hasher)
    }

    pub fn key<'a>(&self, identifier: &'a [u8]) -> Key<'a> {
        self.hasher.key(identifier)
    }

    pub fn take(&self, key: Key<'_>, step: &Step, first: Option<Ticks>) -> Outcome {
        self.store.take(key, step, first)
    }

    pub fn put(&self, key: Key<'_>, put: &Put) {
        self.store.put(key, put);
    }

    pub fn pass(&self, ticks: Ticks) {
        self.store.pass(ticks);
    }
}

/// The store in a host's shared memory.
struct OnHost(Host);

impl Timed for OnHost {}

impl Store for OnHost {
    type Error = std::convert::Infallible;

    fn take(
        &self,
        key: Key<'_>,
        step: &Step,
        first: Option<Ticks>,
    ) -> Result<Outcome, Self::Error> {
        Store::take(self.0.slots(), key, step, first)
    }

    fn put(&self, key: Key<'_>, put: &Put) -> Result<(), Self::Error> {
        Store::put(self.0.slots(), key, put)
    }
}

/// A store whose failures fail the test.
trait Infallible {
    fn take(&self, key: Key<'_>, step: &Step, first: Option<Ticks>) -> Outcome;
    fn put(&self, key: Key<'_>, put: &Put);
    fn pass(&self, ticks: Ticks);
}

impl<S: Store + Timed> Infallible for S
where
    S::Error: Debug,
{
    fn take(&self, key: Key<'_>, step: &Step, first: Option<Ticks>) -> Outcome {
        Store::take(self, key, step, first).unwrap()
    }

    fn put(&self, key: Key<'_>, put: &Put) {
        Store::put(self, key, put).unwrap();
    }

    fn pass(&self, ticks: Ticks) {
        Timed::pass(self, ticks);
    }
}

pub fn settings() -> Settings {
    Settings {
        lines: host::lines(1 << 20),
        diagnostics: false,
        evict: false,
    }
}

fn named(folder: &Folder) -> Segment {
    let access = Access {
        mode: 0o600,
        group: None,
    };
    Segment::named(&folder.0.join("segment"), access, settings().layout()).unwrap()
}

/// A folder of its own, gone with its owner; a mapping stays when its file goes.
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
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

#[test]
fn a_named_segment_is_one_store_to_all_who_open_it() {
    let folder = Folder::new();
    let homes = [(); 2].map(|()| Home::shared("named", named(&folder)));
    let step = Step::new(1 << 50, 1 << 50);
    assert!(homes[0].take(homes[0].key(b"id"), &step, None).granted());
    assert!(!homes[1].take(homes[1].key(b"id"), &step, None).granted());
    homes[1].put(homes[1].key(b"id"), &crate::RESET);
    assert!(homes[0].take(homes[0].key(b"id"), &step, None).granted());
}
