//! The remote stores that the contract tests. All tests share one server of each kind.

use crate::homes::{Home, Store, settings};
use gcra::{Key, KeyHasher, Outcome, Put, Step, TICKS_PER_SECOND, Timestamp, boot_clock};
use segment::host::Host;
use segment::memory::Segment;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{LazyLock, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};
use stores::remote::memcached::Memcached;
use stores::remote::memcached::servers::parse_servers;
use stores::remote::redis::Redis;
use stores::remote::redis::dsn::Dsn;
use stores::remote::{Answer, Failure, OnFailure, Remote, Settings, Transport};

// Watchdogs stop these servers, because statics are never dropped.
static REDIS: LazyLock<testkit::Redis> = LazyLock::new(testkit::Redis::start_tls);
static VALKEY: LazyLock<Option<testkit::Redis>> =
    LazyLock::new(|| testkit::Redis::start_valkey(&[]));
static MEMCACHED: LazyLock<testkit::Memcached> =
    LazyLock::new(|| testkit::Memcached::start_tcp(&[]));
static MEMCACHED_UNIX: LazyLock<testkit::Memcached> =
    LazyLock::new(|| testkit::Memcached::start_unix(&[]));

pub fn redis_tcp() -> Home {
    redis("redis tcp", &format!("redis://127.0.0.1:{}", REDIS.port()))
}

pub fn redis_unix() -> Home {
    redis(
        "redis unix",
        &format!("unix://{}", REDIS.socket().display()),
    )
}

pub fn redis_tls() -> Home {
    let (port, authority) = (REDIS.tls_port(), REDIS.ca_file());
    let dsn = format!("rediss://localhost:{port}?cafile={}", authority.display());
    redis("redis tls", &dsn)
}

pub fn has_valkey() -> bool {
    VALKEY.is_some()
}

pub fn valkey() -> Home {
    let server = VALKEY.as_ref().unwrap();
    redis("valkey", &format!("unix://{}", server.socket().display()))
}

pub fn memcached_tcp() -> Home {
    let server = format!("127.0.0.1:{}", MEMCACHED.port());
    memcached("memcached tcp", &server)
}

pub fn memcached_unix() -> Home {
    let server = format!("unix://{}", MEMCACHED_UNIX.socket().display());
    memcached("memcached unix", &server)
}

fn redis(name: &'static str, dsn: &str) -> Home {
    let dsn = Dsn::parse(dsn).unwrap();
    home(name, Redis::new(dsn, prefix().as_bytes()))
}

fn memcached(name: &'static str, server: &str) -> Home {
    let servers = parse_servers([server]).unwrap();
    home(name, Memcached::new(&servers, prefix().as_bytes()))
}

/// Returns a new prefix, because tests share the servers but not the buckets.
fn prefix() -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    format!("home{}:", NUMBER.fetch_add(1, Ordering::Relaxed))
}

/// The hosts of all stores. They stay reachable, so that a leak detector does not report them.
static HOSTS: Mutex<Vec<&Host>> = Mutex::new(Vec::new());

fn home<T: Transport + 'static>(name: &'static str, transport: T) -> Home {
    let plain = Settings {
        timeout: 20 * TICKS_PER_SECOND,
        on_failure: OnFailure::Throw,
        denial_cache_max_age: None,
        take_ahead: 0,
    };
    let host = Host::new(settings(), Segment::private).unwrap();
    let host = Box::leak(Box::new(host));
    HOSTS.lock().unwrap().push(host);
    let remote = Remote::new(transport, plain, host);
    let hasher = remote.hasher();
    Home::new(name, RemoteHome { remote, hasher }, hasher)
}

/// A remote store with its own host.
struct RemoteHome<T> {
    remote: Remote<'static, T>,
    hasher: KeyHasher,
}

impl<T> RemoteHome<T> {
    /// Returns the identifier for the remote store, which finds a bucket by its identifier alone.
    /// For a key without a namespace, this is the caller's identifier. With a namespace, the key's
    /// hash precedes the identifier, because the hash depends on the namespace.
    fn identifier(&self, key: Key<'_>) -> Vec<u8> {
        if key == self.hasher.key(key.identifier) {
            return key.identifier.to_vec();
        }
        let head = format!("{:032x}:", key.hash);
        [head.as_bytes(), key.identifier].concat()
    }
}

fn value<R>(answer: Result<Answer<R>, Failure>) -> R {
    let answer = answer.unwrap();
    assert!(answer.warning.is_none(), "{:?}", answer.warning);
    answer.value
}

impl<T: Transport> Store for RemoteHome<T> {
    /// `first` is an instant of the store's clock, which is this machine's wall clock.
    fn take(&self, key: Key<'_>, step: &Step, first: Option<Timestamp>) -> Outcome {
        let identifier = self.identifier(key);
        let key = Key {
            identifier: &identifier,
            ..key
        };
        let ahead = |first: Timestamp| first.signed_since(wall_clock());
        let first = first.map(|first| boot_clock().saturating_add_signed(ahead(first)));
        value(self.remote.take(key, step, first))
    }

    fn put(&self, key: Key<'_>, put: &Put) {
        let identifier = self.identifier(key);
        let key = Key {
            identifier: &identifier,
            ..key
        };
        value(self.remote.put(key, put));
    }
}

fn wall_clock() -> Timestamp {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Timestamp(now.as_nanos().try_into().unwrap())
}
