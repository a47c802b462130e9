//! `TokenBucketStorageMemcached::fromClient()`: makes the storage from the settings of a
//! `\Memcached` client of ext-memcached.
//!
//! Servers, prefix and placement are read from the client, but the storage has its own connections.
//! Weights cannot be read. So with several servers, the placement of some test keys is compared
//! with the client's. The client computes its placement without a round trip. If no placement
//! matches, the client is rejected.

use super::arguments;
use super::remote::RemoteStorage;
use crate::zend::{Call, Number, Obj, Thrown, Zval, invoke, throw, value};
use tokenbucket_core::remote::memcached::Memcached;
use tokenbucket_core::remote::memcached::ketama::{Distribution, Ring};
use tokenbucket_core::remote::memcached::servers::{Server, parse_servers};

/// `Memcached::OPT_PREFIX_KEY`
const OPT_PREFIX_KEY: i64 = -1002;
/// `Memcached::OPT_HASH_WITH_PREFIX_KEY`
const OPT_HASH_WITH_PREFIX_KEY: i64 = 25;
/// The number of test keys. Two placements that agree on all test keys count as the same.
const PROBES: u32 = 64;

/// Returns the servers as one text, which `var_dump()` of the storage shows.
pub fn shown(servers: &[Server]) -> String {
    let names: Vec<_> = servers.iter().map(|s| s.endpoint.to_string()).collect();
    names.join(",")
}

/// Implements `fromClient(object $client, …): static`. Throws `ValueError` if no placement matches
/// the client.
pub fn from_client(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let (prefix, settings) = arguments::remote(call)?;
    let client = client(call)?;
    let list = invoke::method(client, "getserverlist", &mut [])?;
    let list = list.array().into_iter().flat_map(|list| list.values());
    let names: Vec<_> = list.filter_map(name).collect();
    if names.is_empty() {
        return Err(throw::argument_value(1, "must have a server"));
    }
    let servers = parse_servers(&names);
    let servers = servers.map_err(|error| throw::argument_value(1, &error.to_string()))?;
    // The client puts this prefix before each key.
    let root = value::to_string(&option(client, OPT_PREFIX_KEY)?).unwrap_or_else(Zval::null);
    let root = value::bytes(&root);
    let places_root = value::is_truthy(&option(client, OPT_HASH_WITH_PREFIX_KEY)?);
    let placed = if places_root { root } else { b"" };
    let distribution = distribution(client, &names, &servers, placed)?;
    let memcached = Memcached::among(&servers, distribution, prefix, root, places_root);
    let prefix = [root, prefix].concat();
    *result = RemoteStorage::create(memcached, settings, &shown(&servers), &prefix)?;
    Ok(())
}

/// Returns the client, which is argument 1.
///
/// # Errors
/// Throws `TypeError` if it is not a `\Memcached`.
fn client<'a>(call: &'a Call<'_>) -> Result<Obj<'a>, Thrown> {
    let object = value::object(call.arg(1));
    let is_a = |class| object.filter(|&object| invoke::is_a(object, class));
    is_a("Memcached").ok_or_else(|| {
        let message = if is_a("Memcache").is_some() {
            "must be of type Memcached: a Memcache object does not tell its servers, so name them in the \
             constructor instead"
        } else {
            "must be of type Memcached"
        };
        throw::argument_type(1, message)
    })
}

fn option(client: Obj<'_>, number: i64) -> Result<Zval, Thrown> {
    invoke::method(client, "getoption", &mut [Number::Int(number).to_zval()])
}

/// Returns the name of a server in the client's list, in the form that the constructor takes.
/// Returns `None` for an invalid element of the list.
fn name(server: &Zval) -> Option<Vec<u8>> {
    let server = server.array()?;
    let host = value::bytes(server.get("host")?);
    if host.starts_with(b"/") {
        return Some([b"unix://", host].concat());
    }
    let port = server.get("port")?.long()?;
    let port = format!(":{port}").into_bytes();
    Some(if host.contains(&b':') {
        [b"[".as_slice(), host, b"]", &port].concat()
    } else {
        [host, &port].concat()
    })
}

/// Finds the placement that puts all test keys on the same servers as the client.
///
/// # Errors
/// Throws `ValueError` if no placement matches.
fn distribution(
    client: Obj<'_>,
    names: &[Vec<u8>],
    servers: &[Server],
    prefix: &[u8],
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
        let probe = format!("tokenbucket:probe:{probe}").into_bytes();
        let mut arguments = [value::of_bytes(&probe)];
        let told = name(&invoke::method(client, "getserverbykey", &mut arguments)?);
        // The names and the servers have the same order.
        let place = names.iter().position(|name| Some(name) == told.as_ref());
        let key = [prefix, &probe].concat();
        for (_, ring) in &mut all {
            *ring = ring.take().filter(|ring| Some(ring.place(&key)) == place);
        }
    }
    let found = all.into_iter().find(|(_, ring)| ring.is_some());
    found.map(|(distribution, _)| distribution).ok_or_else(|| {
        throw::argument_value(
            1,
            "must place keys by ketama, consistently or modulo the number of servers, all of one weight; \
             name the servers and their weights in the constructor instead",
        )
    })
}
