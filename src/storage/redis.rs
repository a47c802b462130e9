//! `TokenBucketStorageRedis`: buckets that hosts share, on Redis or a server compatible with it.

use super::arguments;
use super::contract::Servers;
use super::permits::PermitPlace;
use super::remote::{RemoteStorage, StorageClass};
use crate::classes;
use segment::slots::namespaces::StoreKind;
use std::rc::Rc;
use stores::remote::Remote;
use stores::remote::redis::Redis;
use stores::remote::redis::dsn::Dsn;
use zend::{Call, Class, Thrown, Zval, throw};

pub use super::redis_client::from_client;

impl StorageClass for Redis {
    const KIND: StoreKind = StoreKind::Redis;

    fn class() -> &'static Class {
        &classes::TOKEN_BUCKET_STORAGE_REDIS
    }

    fn servers<'a>(remote: &'a Remote<'static, Self>) -> Servers<'a> {
        Servers::Redis(remote)
    }

    fn permits(remote: &Rc<Remote<'static, Self>>) -> Option<PermitPlace> {
        Some(PermitPlace::Server(Rc::clone(remote)))
    }
}

/// The state of an object of the class.
pub type RedisStorage = RemoteStorage<Redis>;

/// Implements `__construct(…)`. Throws `TypeError` or `ValueError` for an invalid argument.
pub fn construct(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    let dsn = std::str::from_utf8(call.string(1)?)
        .map_err(|_| throw::argument_value(1, "must be valid UTF-8"))?;
    let dsn =
        Dsn::parse(dsn).map_err(|error| throw::argument_value(1, &format!("must {error}")))?;
    let (prefix, settings) = arguments::remote(call)?;
    let server = dsn.public_name();
    let redis = Redis::new(dsn, prefix);
    RedisStorage::construct(call.this(), redis, settings, &server, prefix)
}
