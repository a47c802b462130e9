//! `TokenBucketStorageMemcached`: buckets that hosts share, on memcached.

use super::memcached_client::shown;
use super::remote::{RemoteStorage, StorageClass};
use super::{Servers, arguments};
use crate::classes;
use segment::StoreKind;
use stores::remote::memcached::servers::{ListedServer, parse_servers};
use stores::remote::{Memcached, Remote};
use zend::{Call, Class, Thrown, Zval, throw, value};

pub use super::memcached_client::from_client;

impl StorageClass for Memcached {
    const KIND: StoreKind = StoreKind::Memcached;
    const CLASS: &'static Class = &classes::TOKEN_BUCKET_STORAGE_MEMCACHED;

    fn servers<'a>(remote: &'a Remote<'static, Self>) -> Servers<'a> {
        Servers::Memcached(remote)
    }
}

/// The state of an object of the class.
pub type MemcachedStorage = RemoteStorage<Memcached>;

/// Implements `__construct(…)`. Throws `TypeError` or `ValueError` for an invalid argument.
pub fn construct(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    let servers = servers(call)?;
    let (prefix, settings) = arguments::remote(call)?;
    arguments::refuse_take_ahead(&settings)?;
    let memcached = Memcached::new(&servers, prefix);
    MemcachedStorage::construct(call.this(), memcached, settings, &shown(&servers), prefix)
}

/// Reads the argument `string|array $servers`.
fn servers(call: &mut Call<'_>) -> Result<Vec<ListedServer>, Thrown> {
    let list: Vec<&[u8]> = match call.string_or_array(1)? {
        Ok(text) => vec![text],
        Err(array) => {
            let entries: Vec<_> = value::entries(array).collect();
            let texts = entries.iter().map(|&(_, element)| element);
            let texts = texts.map(|zval| zval.is_string().then(|| value::bytes(zval)));
            texts
                .collect::<Option<_>>()
                .ok_or_else(|| throw::argument_type(1, "must contain only strings"))?
        }
    };
    parse_servers(list).map_err(|error| throw::argument_value(1, &error.to_string()))
}
