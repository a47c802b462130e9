//! The storages, and the one place that tells them apart.
//!
//! A new storage is a file here with its class, a variant of [`Native`] and an arm of each match.

mod interface;
mod memory;
mod proposals;
mod shared_memory;

use crate::zend::{Class, Object};
use ext_php_rs::types::ZendObject;
use tokenbucket_core::{Key, Outcome, Put, Step, Ticks};

pub use interface::{Start, age, start, start_at, wall_clock};

/// `TokenBucketStorage`.
pub static INTERFACE: Class = Class::new();

pub fn register() {
    interface::register(&INTERFACE);
    shared_memory::register();
    memory::register();
}

/// A storage, as a bucket sees it.
#[derive(Clone, Copy, Debug)]
pub enum Backend<'a> {
    /// One of ours: decisions are made here.
    Native(Native<'a>),
    /// An object of userland: decisions are its own.
    Userland(&'a ZendObject),
}

/// A storage of ours.
#[derive(Clone, Copy, Debug)]
pub enum Native<'a> {
    /// `TokenBucketStorageSharedMemory`
    SharedMemory(&'a Object<shared_memory::Storage>),
    /// `TokenBucketStorageMemory`
    Memory(&'a Object<memory::Storage>),
}

impl<'a> Backend<'a> {
    /// Which storage the object is.
    #[inline]
    pub fn of(object: &'a ZendObject) -> Self {
        if let Some(storage) = Object::<shared_memory::Storage>::of_exact(object) {
            Self::Native(Native::SharedMemory(storage))
        } else if let Some(storage) = Object::<memory::Storage>::of_exact(object) {
            Self::Native(Native::Memory(storage))
        } else {
            Self::Userland(object)
        }
    }
}

impl Native<'_> {
    /// The hash of the bucket's name in this storage.
    pub fn hash(self, identifier: &[u8]) -> u128 {
        match self {
            Self::SharedMemory(storage) => storage.hash(identifier),
            Self::Memory(_) => memory::hash(identifier),
        }
    }

    /// Takes one step on one bucket, and tells only whether it was granted: the shortest way.
    #[inline(always)]
    pub fn grants(self, key: Key<'_>, step: &Step) -> bool {
        match self {
            Self::SharedMemory(_) => shared_memory::take(key, step, None).granted(),
            Self::Memory(_) => self.take(key, step, None).granted(),
        }
    }

    /// Takes one step on one bucket.
    #[inline(never)]
    pub fn take(self, key: Key<'_>, step: &Step, first: Option<Ticks>) -> Outcome {
        match self {
            Self::SharedMemory(_) => shared_memory::take(key, step, first),
            Self::Memory(storage) => storage.take(key, step, first),
        }
    }

    /// Changes a bucket without asking for tokens.
    pub fn put(self, key: Key<'_>, put: &Put) {
        match self {
            Self::SharedMemory(_) => shared_memory::put(key, put),
            Self::Memory(storage) => storage.put(key, put),
        }
    }

    /// Whether the bucket has a record.
    pub fn contains(self, key: Key<'_>) -> bool {
        match self {
            Self::SharedMemory(_) => shared_memory::contains(key),
            Self::Memory(storage) => storage.contains(key),
        }
    }

    /// The present instant of the storage's clock.
    pub fn now(self) -> Ticks {
        match self {
            Self::SharedMemory(_) => shared_memory::now(),
            Self::Memory(storage) => storage.now(),
        }
    }

    /// Where the storage's closures propose first states.
    fn proposals(&self) -> &proposals::Proposals {
        match self {
            Self::SharedMemory(storage) => storage.proposals(),
            Self::Memory(storage) => storage.proposals(),
        }
    }

    /// Lets `ticks` pass instead of sleeping, where the storage has a clock of its own.
    pub fn advance(self, ticks: Ticks) -> bool {
        match self {
            Self::SharedMemory(_) => false,
            Self::Memory(storage) => {
                storage.advance_by(ticks);
                true
            }
        }
    }

    /// Whether both are the same place: equal keys then name one bucket.
    pub fn is_same(self, other: Native<'_>) -> bool {
        match (self, other) {
            // Their namespaces are part of the hash.
            (Self::SharedMemory(_), Native::SharedMemory(_)) => true,
            (Self::Memory(a), Native::Memory(b)) => std::ptr::eq(a.zend(), b.zend()),
            _ => false,
        }
    }
}
