//! The storages of the extension: their trait, their list and their classes.
//!
//! Each storage implements [`Storage`] and has one line in [`STORAGES`].

mod arguments;
mod contract;
pub mod interface;
pub mod memcached;
mod memcached_client;
pub mod memory;
pub mod pdo;
mod permits;
mod proposals;
pub mod redis;
mod redis_client;
mod remote;
pub mod shared_memory;

use interface::StorageState;
use zend::{Held, Obj, Object, Thrown, Zval};

pub use arguments::{constructed_already, not_constructed};
pub use contract::{
    Clock, Decide, First, Location, Reported, Servers, Storage, Swap, Undo, strictest,
};
pub use interface::{first_state, start_at};
pub use permits::{HeldPermit, OnServer, PermitPlace, acquire_in_segment, place_in_segment};
pub use redis_client::{Unfit, is_client, storage_of};
pub use shared_memory::{grants, swap_here, take, take_here};

/// A function that returns the object as a storage, or `None` if it is of another class.
type Recognise = fn(Obj<'_>) -> Option<&dyn Storage>;

/// The storages. Shared memory is first because applications use it most often.
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

/// Returns a new storage on the server of a live client of Redis or memcached, with default
/// settings. Returns `None` for other objects.
pub fn of_client(object: Obj<'_>, unfit: Unfit<'_>) -> Result<Option<Zval>, Thrown> {
    if memcached_client::is_client(object) {
        return memcached_client::storage_of(object, unfit).map(Some);
    }
    let is_redis = is_client(object);
    is_redis.then(|| storage_of(object, unfit)).transpose()
}

/// Returns the value as a storage of the extension, which the result keeps alive. Fails with any
/// other value.
pub fn held(value: Zval) -> Result<Held<dyn Storage>, Zval> {
    Held::of(value, of)
}

/// Returns the object as a storage if it is of exactly the class of `S`. These classes are final.
fn exact<S: StorageState>(object: Obj<'_>) -> Option<&dyn Storage> {
    Object::<S>::of_exact(object).map(S::storage)
}
