//! `TokenBucketStorageMemcached::fromClient()`: makes the storage from the settings of a client.
//!
//! Servers, prefix and placement are read from the client, but the storage has its own connections.
//! Reading the settings takes no round trip.
//!
//! A `\Memcached` of ext-memcached does not report its weights. So with several servers, the
//! placement of some test keys is compared with the client's. If no placement matches, the client
//! is rejected. A `\Memcache` of ext-memcache only reports the server of a key, and places keys in
//! its own way. So it is rejected if the test keys are on more than one server.

use super::arguments::{self, DEFAULT_PREFIX, DEFAULTS, Wanted};
use super::redis_client::Unfit;
use super::remote::RemoteStorage;
use std::ffi::CStr;
use stores::remote::Memcached;
use stores::remote::ketama::{Distribution, Ring};
use stores::remote::memcached::servers::{ListedServer, parse_servers};
use zend::{Call, Kept, Number, Obj, Thrown, Zval, invoke, system, throw, value};

/// `Memcached::OPT_PREFIX_KEY`
const OPT_PREFIX_KEY: i64 = -1002;
/// `Memcached::OPT_HASH_WITH_PREFIX_KEY`
const OPT_HASH_WITH_PREFIX_KEY: i64 = 25;
/// The setting of ext-memcache for a text before each key.
const STATIC_KEY: &CStr = c"memcache.prefix_static_key";
/// The setting of ext-memcache that puts the requested host's name before each key.
const HOST_KEY: &CStr = c"memcache.prefix_host_key";
/// The number of test keys. Two placements that agree on all of them are regarded as the same.
const PROBES: u32 = 64;

/// Returns the servers as one text, which `var_dump()` of the storage shows.
pub fn shown(servers: &[ListedServer]) -> String {
    let names: Vec<_> = servers.iter().map(|s| s.endpoint.to_string()).collect();
    names.join(",")
}

/// Returns true for an object of type `\Memcached` or `\Memcache`.
pub fn is_client(object: Obj<'_>) -> bool {
    is_memcache(object) || invoke::is_a(object, "Memcached")
}

fn is_memcache(object: Obj<'_>) -> bool {
    invoke::is_a(object, "MemcachePool")
}

/// Returns a new storage on the client's servers, with default settings.
pub fn storage_of(client: Obj<'_>, unfit: Unfit<'_>) -> Result<Zval, Thrown> {
    make(client, (DEFAULT_PREFIX, DEFAULTS), unfit)
}

/// Implements `fromClient(object $client, …): static`. Throws `TypeError` or `ValueError` for an
/// unusable client.
pub fn from_client(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let wanted = arguments::remote(call)?;
    arguments::refuse_take_ahead(&wanted.1)?;
    let held = call.arg(1).shallow_clone();
    let client = value::object(&held).filter(|&object| is_client(object));
    let wrong = || throw::argument_type(1, "must be a client of type Memcached or Memcache");
    let unfit = |why: &str| throw::argument_value(1, why);
    *result = make(client.ok_or_else(wrong)?, wanted, &unfit)?;
    Ok(())
}

fn make(client: Obj<'_>, wanted: Wanted<'_>, unfit: Unfit<'_>) -> Result<Zval, Thrown> {
    let is_memcache = is_memcache(client);
    let names = if is_memcache {
        vec![only_server(client, unfit)?]
    } else {
        let list = invoke::method(client, "getserverlist", &mut [])?;
        // A persistent client keeps its servers, so code that adds them in each request repeats the
        // list. The test keys show whether that changes the placement.
        let mut names = Vec::new();
        for name in value::elements(&list).into_iter().filter_map(name) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    };
    if names.is_empty() {
        return Err(unfit("must have a server"));
    }
    let servers = parse_servers(&names).map_err(|error| unfit(&error.to_string()))?;
    // The client puts this root before each key.
    let (root, places_root) = if is_memcache {
        (system::setting(STATIC_KEY), false)
    } else {
        let root = option(client, OPT_PREFIX_KEY)?;
        let root = value::to_string(&root).unwrap_or_else(Zval::null);
        let places_root = option(client, OPT_HASH_WITH_PREFIX_KEY)?;
        (value::bytes(&root).to_vec(), value::is_truthy(&places_root))
    };
    let placed = if places_root { &*root } else { b"" };
    let distribution = distribution(client, &names, &servers, placed, unfit)?;
    let (prefix, settings) = wanted;
    let memcached = Memcached::among(&servers, distribution, prefix, &root, places_root);
    let prefix = [&root, prefix].concat();
    RemoteStorage::create(memcached, settings, &shown(&servers), &prefix)
}

/// Returns the name of the only server of a `\Memcache`. Throws the exception of `unfit` if the
/// client has no server or several servers, or if the client puts a varying text before each key.
fn only_server(client: Obj<'_>, unfit: Unfit<'_>) -> Result<Vec<u8>, Thrown> {
    if !matches!(&*system::setting(HOST_KEY), b"" | b"0") {
        return Err(unfit("must not use memcache.prefix_host_key"));
    }
    let mut only: Option<Vec<u8>> = None;
    for probe in 0..PROBES {
        let mut key = [value::of_bytes(&test_key(probe))];
        let server = invoke::method(client, "findserver", &mut key)?;
        let server = server.is_string().then(|| value::bytes(&server).to_vec());
        let server = server.ok_or_else(|| unfit("must have a server"))?;
        if only.as_ref().is_some_and(|only| *only != server) {
            return Err(unfit(
                "must have one server if it is a Memcache, which places keys in its own way; name the \
                 servers in the constructor of TokenBucketStorageMemcached instead",
            ));
        }
        only = Some(server);
    }
    let server = only.unwrap_or_default();
    let colon = server.iter().rposition(|&byte| byte == b':');
    let (host, port) = server.split_at(colon.unwrap_or(server.len()));
    Ok(spelled(host, port))
}

fn test_key(number: u32) -> Vec<u8> {
    format!("tokenbucket:probe:{number}").into_bytes()
}

fn option(client: Obj<'_>, number: i64) -> Result<Kept, Thrown> {
    invoke::method(client, "getoption", &mut [Number::Int(number).to_zval()])
}

/// Returns the name of a server in the client's list, in the form that the constructor takes.
/// Returns `None` for an invalid element of the list.
fn name(server: &Zval) -> Option<Vec<u8>> {
    let server = server.array()?;
    let host = value::bytes(server.get("host")?);
    let port = server.get("port")?.long()?;
    Some(spelled(host, format!(":{port}").as_bytes()))
}

/// Returns a server in the form that the constructor takes. `port` begins with a colon. A socket
/// has no port.
fn spelled(host: &[u8], port: &[u8]) -> Vec<u8> {
    if host.starts_with(b"/") {
        [b"unix://", host].concat()
    } else if host.starts_with(b"unix://") {
        host.to_vec()
    } else if host.contains(&b':') {
        [b"[", host, b"]", port].concat()
    } else {
        [host, port].concat()
    }
}

/// Finds the placement that puts all test keys on the same servers as the client. Throws
/// `ValueError` if no placement matches.
fn distribution(
    client: Obj<'_>,
    names: &[Vec<u8>],
    servers: &[ListedServer],
    prefix: &[u8],
    unfit: Unfit<'_>,
) -> Result<Distribution, Thrown> {
    if servers.len() == 1 {
        return Ok(Distribution::default());
    }
    let mut all = [
        Distribution::Ketama,
        Distribution::Consistent,
        Distribution::Modula,
    ]
    .map(|distribution| (distribution, Some(Ring::new(servers, distribution))));
    for probe in 0..PROBES {
        let probe = test_key(probe);
        let mut arguments = [value::of_bytes(&probe)];
        let told = invoke::method(client, "getserverbykey", &mut arguments)?;
        let told = name(&told);
        // The names have the same order as the servers, so `place` is the index of the server.
        let place = names.iter().position(|name| Some(name) == told.as_ref());
        let key = [prefix, &probe].concat();
        for (_, ring) in &mut all {
            *ring = ring.take().filter(|ring| Some(ring.place(&key)) == place);
        }
    }
    let found = all.into_iter().find(|(_, ring)| ring.is_some());
    found.map(|(distribution, _)| distribution).ok_or_else(|| {
        unfit(
            "must place keys by ketama, consistently or modulo the number of servers, all of one weight; \
             name the servers and their weights in the constructor instead",
        )
    })
}
