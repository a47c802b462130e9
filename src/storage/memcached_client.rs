//! `TokenBucketStorageMemcached::fromClient()`: the storage that a `\Memcached` of ext-memcached is set up for.
//!
//! Servers, prefix and placement are read from the client; the connection is another one. Weights cannot be
//! read, so where there are several servers the client is asked where it puts some keys (which it tells
//! without asking a server), and a ring that puts them elsewhere is refused.

use super::arguments;
use super::remote::RemoteStorage;
use crate::zend::{Call, Obj, Thrown, Zval, invoke, throw, value};
use tokenbucket_core::remote::endpoint::Endpoint;
use tokenbucket_core::remote::memcached::Memcached;
use tokenbucket_core::remote::memcached::ketama::{Distribution, Ring};
use tokenbucket_core::remote::memcached::servers::{Server, parse_servers};

/// `Memcached::OPT_PREFIX_KEY`
const OPT_PREFIX_KEY: i64 = -1002;
/// `Memcached::OPT_HASH_WITH_PREFIX_KEY`
const OPT_HASH_WITH_PREFIX_KEY: i64 = 25;
/// Enough that two placements which agree on all of them are the same.
const PROBES: u32 = 64;

/// What a client is set up for.
struct Client {
    servers: Vec<Server>,
    distribution: Distribution,
    /// Stands before each key.
    prefix: Vec<u8>,
    /// Whether keys are placed with it.
    places_prefix: bool,
}

/// Servers as dumps show them.
pub fn shown(servers: &[Server]) -> String {
    let names: Vec<_> = servers.iter().map(|s| s.endpoint.to_string()).collect();
    names.join(",")
}

/// `fromClient(object $client, …): static`
pub fn from_client(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let prefix = arguments::prefix(call)?;
    let settings = arguments::settings(call)?;
    let client = read(call)?;
    let memcached = Memcached::among(
        &client.servers,
        client.distribution,
        prefix,
        &client.prefix,
        client.places_prefix,
    );
    let prefix = [client.prefix.as_slice(), prefix].concat();
    *result = RemoteStorage::create(memcached, settings, &shown(&client.servers), &prefix)?;
    Ok(())
}

/// Reads the client that is argument 1.
///
/// # Errors
/// `TypeError` for what is none; `ValueError` for one whose keys would not be found again.
fn read(call: &mut Call<'_>) -> Result<Client, Thrown> {
    let client = match value::object(call.arg(1)) {
        Some(object) if invoke::is_a(object, "Memcached") => object,
        Some(object) if invoke::is_a(object, "Memcache") => {
            return Err(throw::argument_type(
                1,
                "must be of type Memcached: a Memcache object does not tell its servers, so name them in the \
                 constructor instead",
            ));
        }
        _ => return Err(throw::argument_type(1, "must be of type Memcached")),
    };
    let servers = servers(client)?;
    let prefix = value::to_string(&option(client, OPT_PREFIX_KEY)?).unwrap_or_else(Zval::null);
    let prefix = value::bytes(&prefix).to_vec();
    let places_prefix = value::is_truthy(&option(client, OPT_HASH_WITH_PREFIX_KEY)?);
    let probed = if places_prefix {
        prefix.as_slice()
    } else {
        b""
    };
    let distribution = distribution(client, &servers, probed)?;
    Ok(Client {
        servers,
        distribution,
        prefix,
        places_prefix,
    })
}

fn option(client: Obj<'_>, number: i64) -> Result<Zval, Thrown> {
    let mut option = Zval::new();
    option.set_long(number);
    invoke::method(client, "getoption", &mut [option])
}

fn servers(client: Obj<'_>) -> Result<Vec<Server>, Thrown> {
    let list = invoke::method(client, "getserverlist", &mut [])?;
    let list = list.array().into_iter().flat_map(|list| list.values());
    let texts: Vec<Vec<u8>> = list.filter_map(text).collect();
    if texts.is_empty() {
        return Err(throw::argument_value(1, "must have a server"));
    }
    parse_servers(texts).map_err(|error| throw::argument_value(1, &error.to_string()))
}

/// A server of the client's list, as the constructor is given one.
fn text(server: &Zval) -> Option<Vec<u8>> {
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

/// The placement by which the client puts all probes where it does.
fn distribution(
    client: Obj<'_>,
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
        let told = invoke::method(client, "getserverbykey", &mut arguments)?;
        let told = text(&told);
        let key = [prefix, &probe].concat();
        for (_, ring) in &mut all {
            let agrees = |ring: &Ring| told == Some(name(&servers[ring.place(&key)].endpoint));
            *ring = ring.take().filter(agrees);
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

/// As [`text`] has it.
fn name(endpoint: &Endpoint) -> Vec<u8> {
    match endpoint {
        Endpoint::Unix { path } => {
            let path = std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str());
            [b"unix://", path].concat()
        }
        endpoint @ Endpoint::Tcp { .. } => endpoint.to_string().into_bytes(),
    }
}
