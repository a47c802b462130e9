//! `TokenBucketStorageSharedMemory`: buckets that all workers share.

use super::proposals::Proposals;
use super::{Native, interface};
use crate::zend::{Call, Class, Object, State, Thrown, Zval, throw, value};
use crate::{declared, ini, segment};
use std::cell::Cell;
use tokenbucket_core::clock::BootClock;
use tokenbucket_core::shared_memory::SharedMemory;
use tokenbucket_core::{Clock, Denial, Key, KeyHasher, Outcome, Put, Step, Ticks, Verdict};

/// What an object of the class keeps: how it names buckets, not the buckets.
#[derive(Debug)]
pub struct Storage {
    hasher: Cell<Option<KeyHasher>>,
    proposals: Proposals,
}

impl State for Storage {
    fn class() -> &'static Class {
        &declared::TOKEN_BUCKET_STORAGE_SHARED_MEMORY
    }

    fn born() -> Self {
        Self {
            hasher: Cell::new(None),
            proposals: Proposals::default(),
        }
    }

    fn cloned(&self) -> Option<Self> {
        None
    }
}

impl interface::Storage for Storage {
    fn native(object: &Object<Self>) -> Native<'_> {
        Native::SharedMemory(object)
    }
}

impl Storage {
    pub fn key<'a>(&self, identifier: &'a [u8]) -> Key<'a> {
        let hasher = self.hasher.get().unwrap_or_else(|| hasher(b""));
        hasher.key(identifier)
    }

    pub fn proposals(&self) -> &Proposals {
        &self.proposals
    }
}

/// Names buckets of the setting's namespace and, in it, of the constructor's.
pub fn hasher(namespace: &[u8]) -> KeyHasher {
    let root = segment::store().map_or(KeyHasher::new([0; 2]), SharedMemory::hasher);
    root.namespace(&[ini::namespace(), namespace])
}

#[inline(always)]
pub fn take(key: Key<'_>, step: &Step, first: Option<Ticks>) -> Outcome {
    match segment::store() {
        Some(store) => store.take(key, step, first),
        // The module has shut down: nothing calls any more, and nothing is granted.
        None => Outcome {
            verdict: Verdict::Denied(Denial::TableFull),
            now: now(),
            empty_at: 0,
        },
    }
}

pub fn put(key: Key<'_>, put: &Put) {
    if let Some(store) = segment::store() {
        store.put(key, put);
    }
}

pub fn contains(key: Key<'_>) -> bool {
    segment::store().is_some_and(|store| store.contains(key))
}

pub fn now() -> Ticks {
    BootClock.now()
}

/// `__construct(string $namespace = '')`
pub fn construct(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    let namespace = if call.count() == 1 {
        call.string(1)?
    } else {
        b""
    };
    let this = call.this::<Storage>();
    if this.hasher.get().is_some() {
        return Err(throw::error(
            "TokenBucketStorageSharedMemory is constructed already",
        ));
    }
    this.set_property(0, value::of_bytes(namespace));
    this.hasher.set(Some(hasher(namespace)));
    Ok(())
}

const _: () = assert!(size_of::<Object<Storage>>() < 256);
