//! The storages, and the one place that tells them apart.
//!
//! A new storage is a file here with its class, a variant of [`Native`] and an arm of each match.

mod arguments;
pub mod interface;
pub mod memcached;
mod memcached_client;
pub mod memory;
mod on_failure;
mod openly;
pub mod pdo;
mod proposals;
pub mod redis;
mod redis_client;
mod remote;
pub mod shared_memory;

use crate::zend::{Object, Thrown};
use ext_php_rs::types::ZendObject;
use tokenbucket_core::remote::memcached::Memcached;
use tokenbucket_core::remote::redis::Redis;
use tokenbucket_core::{Grain, Key, Outcome, Put, Step, Ticks};

pub use interface::{Start, age, start, start_at};
pub use redis_client::{Unfit, is_client, storage_of};
pub use remote::exceeds_capacity;
pub use tokenbucket_core::remote::Batched;

/// A storage, as a bucket sees it.
#[derive(Clone, Copy, Debug)]
pub enum Backend<'a> {
    /// One of ours: decisions are made here.
    Native(Native<'a>),
    /// An object of userland: decisions are its own.
    Userland(&'a ZendObject),
}

/// Takes one step on a bucket in shared memory, where no storage was given: as on a new
/// `TokenBucketStorageSharedMemory`.
pub fn take_here(identifier: &[u8], step: &Step) -> Outcome {
    let key = shared_memory::hasher(b"").key(identifier);
    shared_memory::take(key, step, None)
}

/// Takes one step on a bucket of a storage that [`Native::is_direct`], and tells only whether it was granted: the
/// shortest way. Runs no PHP code.
#[inline(always)]
pub fn grants(key: Key<'_>, step: &Step) -> bool {
    shared_memory::take(key, step, None).granted()
}

/// A storage of ours.
#[derive(Clone, Copy, Debug)]
pub enum Native<'a> {
    /// `TokenBucketStorageSharedMemory`
    SharedMemory(&'a Object<shared_memory::Storage>),
    /// `TokenBucketStorageMemory`
    Memory(&'a Object<memory::Storage>),
    /// `TokenBucketStorageRedis`
    Redis(&'a Object<remote::Storage<Redis>>),
    /// `TokenBucketStorageMemcached`
    Memcached(&'a Object<remote::Storage<Memcached>>),
    /// `TokenBucketStoragePDO`, and what extends it without deciding itself.
    Pdo(&'a Object<pdo::Storage>),
}

impl<'a> Backend<'a> {
    /// Which storage the object is.
    #[inline]
    pub fn of(object: &'a ZendObject) -> Self {
        if let Some(storage) = Object::<shared_memory::Storage>::of_exact(object) {
            Self::Native(Native::SharedMemory(storage))
        } else if let Some(storage) = Object::<memory::Storage>::of_exact(object) {
            Self::Native(Native::Memory(storage))
        } else if let Some(storage) = Object::<remote::Storage<Redis>>::of_exact(object) {
            Self::Native(Native::Redis(storage))
        } else if let Some(storage) = Object::<remote::Storage<Memcached>>::of_exact(object) {
            Self::Native(Native::Memcached(storage))
        } else if let Some(storage) = pdo::Storage::of(object) {
            Self::Native(Native::Pdo(storage))
        } else {
            Self::Userland(object)
        }
    }
}

impl Native<'_> {
    /// The bucket's name in this storage.
    pub fn key(self, identifier: &[u8]) -> Key<'_> {
        match self {
            Self::SharedMemory(storage) => storage.key(identifier),
            Self::Memory(_) => memory::key(identifier),
            Self::Redis(storage) => storage.key(identifier),
            Self::Memcached(storage) => storage.key(identifier),
            Self::Pdo(storage) => storage.key(identifier),
        }
    }

    /// Takes one step on one bucket. May run PHP code.
    ///
    /// # Errors
    /// What a failing store makes throw, or a warning's handler.
    #[inline(never)]
    pub fn take(self, key: Key<'_>, step: &Step, first: Option<Ticks>) -> Result<Outcome, Thrown> {
        match self {
            Self::SharedMemory(_) => Ok(shared_memory::take(key, step, first)),
            Self::Memory(storage) => Ok(storage.take(key, step, first)),
            Self::Redis(storage) => storage.take(key, step, first),
            Self::Memcached(storage) => storage.take(key, step, first),
            Self::Pdo(storage) => pdo::take(storage, key, step, first),
        }
    }

    /// Takes one step; `None` where a store gave no answer and its policy is no denial: the caller lets pass
    /// then, and says so in its own words. May run PHP code.
    ///
    /// # Errors
    /// As [`Native::take`].
    pub fn take_openly(self, identifier: &[u8], step: &Step) -> Result<Option<bool>, Thrown> {
        let key = self.key(identifier);
        match self {
            Self::Redis(storage) => storage.take_openly(key, step),
            Self::Memcached(storage) => storage.take_openly(key, step),
            // A database follows its own policy, which throws unless it was told otherwise.
            Self::SharedMemory(_) | Self::Memory(_) | Self::Pdo(_) => {
                Ok(Some(self.take(key, step, None)?.granted()))
            }
        }
    }

    /// Takes all steps or none, in one operation; `None` if the storages cannot do that together. May run
    /// PHP code.
    ///
    /// # Errors
    /// As [`Native::take`].
    pub fn take_all(
        buckets: &[(Self, Key<'_>)],
        steps: &[Step],
    ) -> Result<Option<Batched>, Thrown> {
        let redis = buckets.iter().map(|&(native, key)| match native {
            Self::Redis(storage) => Some((&**storage, key)),
            _ => None,
        });
        match redis.collect::<Option<Vec<_>>>() {
            Some(buckets) => remote::Storage::take_all(&buckets, steps),
            None => Ok(None),
        }
    }

    /// Changes a bucket without asking for tokens. May run PHP code.
    ///
    /// # Errors
    /// As [`Native::take`].
    pub fn put(self, key: Key<'_>, put: &Put) -> Result<(), Thrown> {
        match self {
            Self::SharedMemory(_) => shared_memory::put(key, put),
            Self::Memory(storage) => storage.put(key, put),
            Self::Redis(storage) => return storage.put(key, put),
            Self::Memcached(storage) => return storage.put(key, put),
            Self::Pdo(storage) => return pdo::put(storage, key, put),
        }
        Ok(())
    }

    /// Whether the bucket has a record. May run PHP code.
    ///
    /// # Errors
    /// As [`Native::take`].
    pub fn contains(self, key: Key<'_>) -> Result<bool, Thrown> {
        match self {
            Self::SharedMemory(_) => Ok(shared_memory::contains(key)),
            Self::Memory(storage) => Ok(storage.contains(key)),
            Self::Redis(storage) => storage.contains(key),
            Self::Memcached(storage) => storage.contains(key),
            Self::Pdo(storage) => pdo::contains(storage, key),
        }
    }

    /// The present instant of the clock on which first states are proposed.
    pub fn now(self) -> Ticks {
        match self {
            Self::SharedMemory(_) => shared_memory::now(),
            Self::Memory(storage) => storage.now(),
            Self::Redis(_) | Self::Memcached(_) | Self::Pdo(_) => remote::now(),
        }
    }

    /// Whether a step needs no more than its key and runs no PHP code: others may warn.
    pub const fn is_direct(self) -> bool {
        matches!(self, Self::SharedMemory(_))
    }

    /// Whether asking takes a round trip.
    pub const fn is_remote(self) -> bool {
        matches!(self, Self::Redis(_) | Self::Memcached(_) | Self::Pdo(_))
    }

    /// Whether its object may hold others, among them the bucket: of userland classes, too.
    pub const fn holds_objects(self) -> bool {
        matches!(self, Self::Pdo(_))
    }

    /// How fine the storage counts time.
    pub const fn grain(self) -> Grain {
        if self.is_remote() {
            Grain::Microsecond
        } else {
            Grain::Nanosecond
        }
    }

    /// Where the storage's closures propose first states.
    fn proposals(&self) -> &proposals::Proposals {
        match self {
            Self::SharedMemory(storage) => storage.proposals(),
            Self::Memory(storage) => storage.proposals(),
            Self::Redis(storage) => storage.proposals(),
            Self::Memcached(storage) => storage.proposals(),
            Self::Pdo(storage) => storage.proposals(),
        }
    }

    /// Lets `ticks` pass instead of sleeping, where the storage has a clock of its own.
    pub fn advance(self, ticks: Ticks) -> bool {
        match self {
            Self::Memory(storage) => {
                storage.advance_by(ticks);
                true
            }
            Self::SharedMemory(_) | Self::Redis(_) | Self::Memcached(_) | Self::Pdo(_) => false,
        }
    }

    /// Whether both are the same place: equal keys then name one bucket.
    pub fn is_same(self, other: Native<'_>) -> bool {
        match (self, other) {
            // Their namespaces, or servers and prefixes, are part of the hash.
            (Self::SharedMemory(_), Native::SharedMemory(_))
            | (Self::Redis(_), Native::Redis(_))
            | (Self::Memcached(_), Native::Memcached(_)) => true,
            (Self::Memory(a), Native::Memory(b)) => std::ptr::eq(a.zend(), b.zend()),
            (Self::Pdo(a), Native::Pdo(b)) => pdo::is_same(a, b),
            _ => false,
        }
    }
}
