//! The address of a Redis server, as users write it.
//!
//! ```text
//! redis://[[user]:password@]host[:port][/db]
//! rediss://[[user]:password@]host[:port][/db][?cafile=/path/ca.pem&servername=name]
//!     also certfile=/path/client.pem&keyfile=/path/client.key
//! unix:///path[?db=N&user=...&password=...]          also redis+unix://
//! redis+sentinel://[[user]:password@]sentinel[:port][,...]/primary[/db]
//!     [?sentinel_user=...&sentinel_password=...]      also rediss+sentinel://
//! redis+cluster://[[user]:password@]host[:port][,...][?hash_tags=1]
//!                                                    also rediss+cluster://
//! redis+ring://[[user]:password@]host[:port][,...][/db][?weights=3,1]
//!                                                    also rediss+ring://
//! ```
//!
//! Over TLS, Sentinel, Cluster and rings also have the options of `rediss://`. Each address may
//! have the option `take_ahead=seconds`, which is no part of it.
//!
//! User, password, path and the values of options are percent-encoded UTF-8. A "+" is a plus sign.
//! A password may contain a plain ":" or "@", because the user ends at the first ":" and the host
//! starts after the last "@". Parsing does no I/O.
//!
//! Invariant: unknown syntax is refused, and no error shows any part of the text.

mod error;
mod options;
#[cfg(test)]
mod tests;

pub use error::DsnError;

use crate::remote::endpoint::{self, Endpoint, EndpointError, is_name_byte};
use crate::remote::record::digits;
use crate::remote::secret::Secret;
pub use crate::remote::tls::Identity;
use gcra::{Ticks, ahead, seconds};
pub use options::KNOWN;
use options::{Options, TAKE_AHEAD, decode};
use rustls::pki_types::ServerName;
use std::path::{Path, PathBuf};

pub const DEFAULT_PORT: u16 = 6379;
const SENTINEL_PORT: u16 = 26379;

/// The greatest number of a database. Redis stores the number in a C int.
const MAX_DATABASE: u32 = i32::MAX.cast_unsigned();

/// The longest path of a socket, in bytes. Linux has room for 108, including the closing NUL.
const MAX_SOCKET_PATH: usize = 107;

/// A Redis server, or a fleet of servers with one login, and how to log in.
///
/// Debug shows everything except the passwords.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Dsn {
    /// The address at which the server listens; of a fleet, the first address of the DSN.
    pub endpoint: Endpoint,
    /// The ACL user; `None` for the default user. A user always has a password, which may be empty.
    pub user: Option<String>,
    /// The password; `None` if the server requires none. It may be empty, but only together with a
    /// user.
    pub password: Option<Secret>,
    /// The number of the database to `SELECT`, at most 2^31 - 1.
    pub database: u32,
    /// The settings for verifying the server's certificate; `None` without TLS.
    pub tls: Option<Tls>,
    /// True if all keys are on one server, false if a proxy spreads them, and `None` if the server
    /// must be asked.
    pub one_server: Option<bool>,
    /// The servers that know where the records are; `None` for a single server.
    pub fleet: Option<Box<Fleet>>,
}

/// Several servers, one of which keeps the record of a key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Fleet {
    pub kind: FleetKind,
    /// The sentinels, some servers of the cluster, or all servers of the ring. There is at least
    /// one.
    pub seeds: Vec<Dsn>,
    /// The name that all certificates must be valid for; `None` if each is for its server's host.
    pub server_name: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FleetKind {
    /// Sentinels know the address of the primary.
    Sentinel {
        /// The name by which the sentinels know the primary.
        primary: String,
    },
    /// Each server of a cluster knows the servers of all slots.
    Cluster {
        /// True if a hash tag in an identifier selects the slot.
        hash_tags: bool,
    },
    /// Independent servers, each of which keeps a part of the keys.
    Ring {
        /// The share of the keys of each server, in proportion to the other weights.
        weights: Vec<u32>,
    },
}

/// The settings for verifying a server's certificate.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tls {
    /// The file with the certificates of the only trusted CAs, in PEM form; `None` for the public
    /// CAs.
    pub ca_file: Option<PathBuf>,
    /// The client's own certificate, for servers that require one.
    pub identity: Option<Identity>,
    /// The DNS name or IP address that the certificate must be valid for.
    pub server_name: String,
}

impl Dsn {
    /// Parses an address. Fails with the [`DsnError`] of the rule that `text` breaks. The error
    /// contains no part of `text`.
    pub fn parse(text: &str) -> Result<Self, DsnError> {
        if text.chars().any(char::is_control) {
            return Err(DsnError::Character);
        }
        let (scheme, rest) = text.split_once("://").ok_or(DsnError::Scheme)?;
        // In other clients, "#insecure" turns off certificate checks, so a fragment must not be
        // ignored.
        if rest.contains('#') {
            return Err(DsnError::Fragment);
        }
        let (target, query) = rest.split_once('?').unwrap_or((rest, ""));
        let scheme = scheme.to_ascii_lowercase();
        if let Some((scheme @ ("redis" | "rediss"), kind @ ("sentinel" | "cluster" | "ring"))) =
            scheme.split_once('+')
        {
            return Self::parse_fleet(kind, target, query, scheme == "rediss");
        }
        match scheme.as_str() {
            "redis" => Self::parse_tcp(target, Options::parse(query, &["one_server"])?, false),
            "rediss" => {
                let known = ["cafile", "certfile", "keyfile", "servername", "one_server"];
                Self::parse_tcp(target, Options::parse(query, &known)?, true)
            }
            "unix" | "redis+unix" => {
                let known = ["db", "user", "password", "one_server"];
                Self::parse_unix(target, Options::parse(query, &known)?)
            }
            _ => Err(DsnError::Scheme),
        }
    }

    /// Returns the ticks of the option `take_ahead` in `text`, which [`Dsn::parse`] has accepted; 0
    /// without the option. Not part of the address, because buckets do not depend on it.
    pub fn take_ahead(text: &str) -> Result<Ticks, DsnError> {
        let query = text.split_once('?').map_or("", |(_, query)| query);
        let Some(seconds) = Options::parse(query, &KNOWN)?.take(TAKE_AHEAD) else {
            return Ok(0);
        };
        let ticks = seconds
            .parse::<f64>()
            .ok()
            .and_then(|it| seconds::to_ticks(it).ok());
        ticks
            .filter(|&ticks| ticks <= ahead::MOST)
            .ok_or(DsnError::TakeAhead)
    }

    /// Returns the address of the server that a PHP client is connected to.
    ///
    /// `host` is a name or an address, optionally after `tls://`, or the path of a socket. The
    /// client's certificate settings are not available here, so the public CAs are trusted.
    pub fn of_client(
        host: &str,
        port: u16,
        database: u32,
        user: Option<String>,
        password: Option<String>,
    ) -> Result<Self, DsnError> {
        if host.chars().any(char::is_control) {
            return Err(DsnError::Character);
        }
        if database > MAX_DATABASE {
            return Err(DsnError::Database);
        }
        let (endpoint, tls) = client_endpoint(host, port)?;
        let password = password.filter(|password| !password.is_empty() || user.is_some());
        let credentials = credentials(user, password)?;
        Ok(Self::single(endpoint, credentials, database, tls))
    }

    /// Returns the address of a cluster without TLS and password, from hosts and ports of servers.
    pub fn of_cluster(seeds: &[(String, u16)]) -> Result<Self, DsnError> {
        let seed = |(host, port): &(String, u16)| {
            client_endpoint(host, *port).map(|(endpoint, _)| endpoint.to_string())
        };
        let seeds = seeds.iter().map(seed).collect::<Result<Vec<_>, _>>()?;
        Self::parse(&format!("redis+cluster://{}", seeds.join(",")))
    }

    fn parse_tcp(target: &str, mut options: Options, tls: bool) -> Result<Self, DsnError> {
        let (authority, database) = target.split_once('/').unwrap_or((target, ""));
        let (credentials, host) = login(authority)?;
        let endpoint = Endpoint::parse_authority(host, DEFAULT_PORT)?;
        let tls = Tls::of(&endpoint, tls, &mut options)?;
        let database = parse_path(database)?;
        Ok(Self {
            one_server: options.flag("one_server").ok_or(DsnError::OneServer)?,
            ..Self::single(endpoint, credentials, database, tls)
        })
    }

    /// Returns the address of one server.
    fn single(
        endpoint: Endpoint,
        (user, password): Credentials,
        database: u32,
        tls: Option<Tls>,
    ) -> Self {
        Self {
            endpoint,
            user,
            password,
            database,
            tls,
            one_server: None,
            fleet: None,
        }
    }

    fn parse_fleet(kind: &str, target: &str, query: &str, tls: bool) -> Result<Self, DsnError> {
        let mut options = Options::parse(query, &fleet_options(kind, tls))?;
        let server_name = options.get("servername");
        let (authority, path) = target.split_once('/').unwrap_or((target, ""));
        let (login, hosts) = login(authority)?;
        let endpoints = |port| {
            let hosts = hosts.split(',');
            let endpoints = hosts.map(|host| Endpoint::parse_authority(host, port));
            endpoints.collect::<Result<Vec<_>, _>>()
        };
        let (kind, database, endpoints) = match kind {
            "cluster" => (cluster(path, &mut options)?, 0, endpoints(DEFAULT_PORT)?),
            "ring" => {
                let endpoints = endpoints(DEFAULT_PORT)?;
                (
                    ring(&endpoints, &mut options)?,
                    parse_path(path)?,
                    endpoints,
                )
            }
            _ => {
                let (primary, database) = path.split_once('/').unwrap_or((path, ""));
                let database = parse_path(database)?;
                (sentinel(primary)?, database, endpoints(SENTINEL_PORT)?)
            }
        };
        let tls = Tls::of(&endpoints[0], tls, &mut options)?;
        let mut dsn = Self::single(endpoints[0].clone(), login, database, tls);
        let mut seed = dsn.clone();
        if let FleetKind::Sentinel { .. } = kind {
            let user = options.take("sentinel_user");
            let password = options.take("sentinel_password");
            (seed.user, seed.password) = credentials(user, password)?;
            seed.database = 0;
        }
        let seeds = endpoints.into_iter();
        let seeds = seeds.map(|endpoint| seed.at(endpoint, server_name.as_ref()));
        dsn.fleet = Some(Box::new(Fleet {
            kind,
            seeds: seeds.collect(),
            server_name,
        }));
        Ok(dsn)
    }

    /// Returns the address of another server with the same login. Its certificate must be valid for
    /// `server_name`, or without `server_name` for its host.
    pub fn at(&self, endpoint: Endpoint, server_name: Option<&String>) -> Self {
        let mut dsn = Self {
            endpoint,
            fleet: None,
            ..self.clone()
        };
        if let (Some(tls), Endpoint::Tcp { host, .. }) = (&mut dsn.tls, &dsn.endpoint) {
            tls.server_name.clone_from(server_name.unwrap_or(host));
        }
        dsn
    }

    pub fn is_cluster(&self) -> bool {
        let kind = self.fleet.as_ref().map(|fleet| &fleet.kind);
        matches!(kind, Some(FleetKind::Cluster { .. }))
    }

    /// Returns true if the servers are independent, and each keeps a part of the keys.
    pub fn is_ring(&self) -> bool {
        let kind = self.fleet.as_ref().map(|fleet| &fleet.kind);
        matches!(kind, Some(FleetKind::Ring { .. }))
    }

    /// Returns true if identifiers may select the slot in a cluster.
    pub fn has_hash_tags(&self) -> bool {
        let kind = self.fleet.as_ref().map(|fleet| &fleet.kind);
        matches!(kind, Some(FleetKind::Cluster { hash_tags: true }))
    }

    fn parse_unix(target: &str, mut options: Options) -> Result<Self, DsnError> {
        // Reject text before the path, because it would be a host. For example,
        // "unix://run/redis.sock" lacks a slash.
        if !target.starts_with('/') || target.ends_with('/') {
            return Err(DsnError::SocketPath);
        }
        let endpoint = socket(&decode(target)?)?;
        let credentials = credentials(options.take("user"), options.take("password"))?;
        let database = match options.take("db") {
            None => 0,
            Some(database) => parse_database(&database)?,
        };
        Ok(Self {
            one_server: options.flag("one_server").ok_or(DsnError::OneServer)?,
            ..Self::single(endpoint, credentials, database, None)
        })
    }

    /// Returns the address without user, password and options, for errors and status.
    ///
    /// The user is omitted, too, because some accounts pass their token as the user.
    pub fn public_name(&self) -> String {
        let (endpoint, database) = (&self.endpoint, self.database);
        if let Some(fleet) = &self.fleet {
            return fleet.public_name(self.tls.is_some(), database);
        }
        match (endpoint, &self.tls) {
            (Endpoint::Unix { .. }, _) => format!("{endpoint}?db={database}"),
            (Endpoint::Tcp { .. }, None) => format!("redis://{endpoint}/{database}"),
            (Endpoint::Tcp { .. }, Some(_)) => format!("rediss://{endpoint}/{database}"),
        }
    }
}

impl Fleet {
    fn public_name(&self, tls: bool, database: u32) -> String {
        let seeds = self.seeds.iter().map(|seed| seed.endpoint.to_string());
        let seeds = seeds.collect::<Vec<_>>().join(",");
        let scheme = if tls { "rediss" } else { "redis" };
        match &self.kind {
            FleetKind::Sentinel { primary } => {
                format!("{scheme}+sentinel://{seeds}/{primary}/{database}")
            }
            FleetKind::Cluster { .. } => format!("{scheme}+cluster://{seeds}"),
            FleetKind::Ring { weights } if weights.iter().any(|&weight| weight > 1) => {
                let weights = weights.iter().map(u32::to_string).collect::<Vec<_>>();
                format!(
                    "{scheme}+ring://{seeds}/{database}?weights={}",
                    weights.join(",")
                )
            }
            FleetKind::Ring { .. } => format!("{scheme}+ring://{seeds}/{database}"),
        }
    }
}

impl Tls {
    /// Returns the settings for a server, unless the connection to it is plain.
    fn of(server: &Endpoint, tls: bool, options: &mut Options) -> Result<Option<Self>, DsnError> {
        match server {
            Endpoint::Tcp { host, .. } if tls => Self::parse(host, options).map(Some),
            _ => Ok(None),
        }
    }

    fn parse(host: &str, options: &mut Options) -> Result<Self, DsnError> {
        let server_name = options.take("servername");
        let server_name = server_name.unwrap_or_else(|| host.to_owned());
        if ServerName::try_from(server_name.as_str()).is_err() {
            return Err(DsnError::ServerName);
        }
        let ca_file = options.take("cafile").map(PathBuf::from);
        // Refuse a relative path, because PHP-FPM and the command line resolve it from different
        // directories.
        if ca_file.as_deref().is_some_and(Path::is_relative) {
            return Err(DsnError::CaFile);
        }
        let files = [options.take("certfile"), options.take("keyfile")];
        let identity = match files.map(|path| path.map(PathBuf::from)) {
            [None, None] => None,
            [Some(certificate), Some(key)] if certificate.is_absolute() && key.is_absolute() => {
                Some(Identity { certificate, key })
            }
            _ => return Err(DsnError::Identity),
        };
        Ok(Self {
            ca_file,
            identity,
            server_name,
        })
    }
}

type Credentials = (Option<String>, Option<Secret>);

/// Splits an authority into the user, the password and the hosts.
fn login(authority: &str) -> Result<(Credentials, &str), DsnError> {
    let (userinfo, hosts) = match authority.rsplit_once('@') {
        Some((userinfo, hosts)) => (Some(userinfo), hosts),
        None => (None, authority),
    };
    let (user, password) = match userinfo.map(|userinfo| userinfo.split_once(':')) {
        Some(Some((user, password))) => (Some(decode(user)?), Some(decode(password)?)),
        Some(None) => (userinfo.map(decode).transpose()?, None),
        None => (None, None),
    };
    Ok((credentials(user, password)?, hosts))
}

/// Returns the options of a fleet.
fn fleet_options(kind: &str, tls: bool) -> Vec<&'static str> {
    let own: &[_] = match kind {
        "cluster" => &["hash_tags"],
        "ring" => &["weights"],
        _ => &["sentinel_user", "sentinel_password"],
    };
    let files: &[_] = if tls { &["cafile", "servername"] } else { &[] };
    [own, files].concat()
}

/// Reads the path and the option of a cluster. A cluster has only database 0.
fn cluster(path: &str, options: &mut Options) -> Result<FleetKind, DsnError> {
    if !matches!(path, "" | "0") {
        return Err(DsnError::ClusterDatabase);
    }
    let hash_tags = options.flag("hash_tags").ok_or(DsnError::HashTags)?;
    let hash_tags = hash_tags.unwrap_or(false);
    Ok(FleetKind::Cluster { hash_tags })
}

/// Reads the weights of a ring, which are 1 by default. Each server is listed once.
fn ring(endpoints: &[Endpoint], options: &mut Options) -> Result<FleetKind, DsnError> {
    let is_twice = |at: usize| endpoints[..at].contains(&endpoints[at]);
    if (1..endpoints.len()).any(is_twice) {
        return Err(DsnError::DuplicateServer);
    }
    let weights = match options.take("weights") {
        None => vec![1; endpoints.len()],
        Some(text) => {
            let weights = text
                .split(',')
                .map(|text| endpoint::number(text.as_bytes()));
            let weights = weights.map(|weight| weight.map(u32::from));
            let weights = weights.collect::<Option<Vec<_>>>();
            let weights = weights.filter(|weights| weights.len() == endpoints.len());
            weights.ok_or(DsnError::Weights)?
        }
    };
    Ok(FleetKind::Ring { weights })
}

/// Reads the name of a primary. Sentinel accepts the same bytes as [`is_name_byte`].
fn sentinel(primary: &str) -> Result<FleetKind, DsnError> {
    if primary.is_empty() || !primary.bytes().all(is_name_byte) {
        return Err(DsnError::Primary);
    }
    let primary = primary.to_owned();
    Ok(FleetKind::Sentinel { primary })
}

/// Returns the endpoint that a PHP client is connected to, and the TLS settings if it uses TLS.
fn client_endpoint(host: &str, port: u16) -> Result<(Endpoint, Option<Tls>), DsnError> {
    if host.starts_with('/') {
        return Ok((socket(host)?, None));
    }
    let (scheme, host) = host.split_once("://").unwrap_or(("tcp", host));
    let is_literal = host.contains(':') && !host.starts_with('[');
    let authority = if is_literal {
        format!("[{host}]")
    } else {
        host.to_owned()
    };
    let endpoint = Endpoint::parse_authority(&authority, port)?;
    if port == 0 {
        return Err(EndpointError::Port.into());
    }
    let tls = match (scheme, &endpoint) {
        ("tcp", _) => None,
        ("tls" | "ssl", Endpoint::Tcp { host, .. }) => {
            Some(Tls::parse(host, &mut Options::default())?)
        }
        _ => return Err(DsnError::Scheme),
    };
    Ok((endpoint, tls))
}

/// Checks the user and the password. An empty user becomes `None`.
///
/// A user without a password is refused, because clients disagree on the meaning. Some use the user
/// as the password, redis-py uses an empty password, and the redis crate ignores the user. Two
/// empty values are refused, too, because an unset variable in a template causes them.
fn credentials(user: Option<String>, password: Option<String>) -> Result<Credentials, DsnError> {
    if user.is_none() && password.is_none() {
        return Ok((None, None));
    }
    let user = user.filter(|user| !user.is_empty());
    let password = password.map(Secret::new);
    match (&user, &password) {
        (Some(_), None) => Err(DsnError::UserWithoutPassword),
        (None, None) => Err(DsnError::EmptyCredentials),
        (None, Some(password)) if password.expose().is_empty() => Err(DsnError::EmptyCredentials),
        _ => Ok((user, password)),
    }
}

fn socket(path: &str) -> Result<Endpoint, DsnError> {
    if path.ends_with('/') {
        return Err(DsnError::SocketPath);
    }
    if path.len() > MAX_SOCKET_PATH {
        return Err(DsnError::SocketPathTooLong);
    }
    Ok(Endpoint::Unix { path: path.into() })
}

/// Parses the database in a path. Without one it is 0.
fn parse_path(text: &str) -> Result<u32, DsnError> {
    if text.is_empty() {
        return Ok(0);
    }
    parse_database(text)
}

fn parse_database(text: &str) -> Result<u32, DsnError> {
    let database = digits(text.as_bytes()).and_then(|number| u32::try_from(number).ok());
    let database = database.filter(|&database| database <= MAX_DATABASE);
    database.ok_or(DsnError::Database)
}
