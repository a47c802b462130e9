//! Storages: the trait that they implement, and the list of them.
//!
//! Each storage is one file that implements [`Storage`] and one line of [`STORAGES`].

mod arguments;
mod contract;
pub mod interface;
pub mod memcached;
mod memcached_client;
pub mod memory;
pub mod pdo;
mod proposals;
pub mod redis;
mod redis_client;
mod remote;
pub mod shared_memory;

use crate::zend::{Held, Obj, Object, Zval};
use interface::StorageState;

pub use contract::Storage;
pub use interface::{age, first_state, start_at};
pub use redis_client::{is_client, storage_of};
pub use remote::{RemoteStorage, StorageClass, remote, tell};
pub use shared_memory::{grants, take_here};

/// Recognises the objects of one storage.
type Recognise = fn(Obj<'_>) -> Option<&dyn Storage>;

/// Every storage. Shared memory is first because it is the most frequent.
const STORAGES: &[Recognise] = &[
    exact::<shared_memory::SharedMemoryStorage>,
    exact::<memory::MemoryStorage>,
    exact::<redis::RedisStorage>,
    exact::<memcached::MemcachedStorage>,
    pdo::of,
];

/// Returns the object as a storage of the extension. Returns `None` for a userland storage, which
/// decides in PHP.
pub fn of(object: Obj<'_>) -> Option<&dyn Storage> {
    STORAGES.iter().find_map(|recognise| recognise(object))
}

/// Returns the value as a storage of the extension. The result keeps the storage alive.
pub fn held(value: &Zval) -> Option<Held<dyn Storage>> {
    Held::of(value, of)
}

/// Recognises objects of exactly this class. Such classes are final.
fn exact<S: StorageState>(object: Obj<'_>) -> Option<&dyn Storage> {
    Object::<S>::of_exact(object).map(S::storage)
}
