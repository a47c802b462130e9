//! The list of memcached servers, as PHP passes it.
//!
//! The order and the spelling of each host are kept, because
//! [`Ring`](crate::remote::ketama::Ring) places keys by both. Another client of the same servers
//! must receive the same list.

use crate::remote::endpoint::{self, Endpoint, is_name_byte};
pub use crate::remote::ketama::{DEFAULT_PORT, ListedServer};
use std::collections::HashSet;
use std::ffi::OsStr;
use std::net::Ipv6Addr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The rule that a list of servers breaks. Each message begins with "must".
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServersError {
    /// The list contains no server.
    #[error("must name at least one server")]
    NoServer,
    /// One of several list elements is empty, as in `a,,b`, or has no host, as in `:11211`.
    #[error("must name a host for each server")]
    NoHost,
    /// A host is neither a name nor an address.
    #[error("must name each host by its name or address")]
    BadHost,
    /// An IPv6 address has no brackets, or the brackets contain something else.
    #[error("must have IPv6 addresses, and only them, in brackets, as in [::1]:11211")]
    BadBrackets,
    /// A port is not a number, or is out of range.
    #[error("must have a port from 1 to 65535")]
    BadPort,
    /// A socket's path is not absolute, or is longer than the system allows.
    #[error(
        "must name a socket by its absolute path of at most 107 bytes, as in unix:///run/mc.sock"
    )]
    BadPath,
    /// A weight is not a number, or is out of range.
    #[error("must have a weight from 1 to 65535")]
    BadWeight,
    /// The text after the question mark does not begin with `weight=`.
    #[error("must have no option other than weight")]
    UnknownOption,
    /// The list contains a control character or a NUL byte.
    #[error("must not contain control characters")]
    ControlCharacter,
    /// A server is listed twice.
    #[error("must name each server once")]
    Duplicate,
}

/// Parses a list of servers and keeps its order. Each string is one server, or several servers with
/// commas between them.
///
/// A server is `host`, `host:port`, `[v6]`, `[v6]:port` or `unix:///path`, and `?weight=3` may
/// follow. There is no escape, so a path cannot contain a comma or a question mark. Fails with the
/// [`ServersError`] of the first invalid server.
pub fn parse_servers<I>(list: I) -> Result<Vec<ListedServer>, ServersError>
where
    I: IntoIterator<Item: AsRef<[u8]>>,
{
    let mut servers = Vec::new();
    let mut known = HashSet::new();
    let mut blanks = 0;
    for names in list {
        for name in names.as_ref().split(|&byte| byte == b',') {
            if name.iter().any(u8::is_ascii_control) {
                return Err(ServersError::ControlCharacter);
            }
            let name = name.trim_ascii();
            if name.is_empty() {
                blanks += 1;
                continue;
            }
            let server = parse_server(name)?;
            if !known.insert(identity(&server.endpoint)) {
                return Err(ServersError::Duplicate);
            }
            servers.push(server);
        }
    }
    match (servers.is_empty(), blanks) {
        (true, _) => Err(ServersError::NoServer),
        (false, 0) => Ok(servers),
        // Refuse an empty element, because skipping it could move keys to other servers.
        (false, _) => Err(ServersError::NoHost),
    }
}

fn parse_server(name: &[u8]) -> Result<ListedServer, ServersError> {
    let (address, option) = match name.iter().position(|&byte| byte == b'?') {
        Some(mark) => (&name[..mark], Some(&name[mark + 1..])),
        None => (name, None),
    };
    let endpoint = if address.starts_with(b"unix:") || address.starts_with(b"/") {
        parse_socket(address)?
    } else {
        let address = str::from_utf8(address).map_err(|_| ServersError::BadHost)?;
        parse_host_and_port(address)?
    };
    let weight = option.map_or(Ok(1), parse_weight)?;
    Ok(ListedServer { endpoint, weight })
}

fn parse_socket(address: &[u8]) -> Result<Endpoint, ServersError> {
    let path = address
        .strip_prefix(b"unix://")
        .filter(|path| path.len() <= 107)
        .map(|path| Path::new(OsStr::from_bytes(path)))
        .filter(|path| path.is_absolute() && path.file_name().is_some())
        .ok_or(ServersError::BadPath)?;
    let path = path.to_owned();
    Ok(Endpoint::Unix { path })
}

fn parse_host_and_port(address: &str) -> Result<Endpoint, ServersError> {
    let (host, rest) = endpoint::split(address);
    let host = if let Some(literal) = host.strip_prefix('[') {
        let literal = literal.strip_suffix(']').filter(|literal| is_v6(literal));
        literal.ok_or(ServersError::BadBrackets)?
    } else if is_v6(address) {
        return Err(ServersError::BadBrackets);
    } else if host.is_empty() {
        return Err(ServersError::NoHost);
    } else if !host.bytes().all(is_name_byte) {
        return Err(ServersError::BadHost);
    } else {
        host
    };
    let host = host.to_owned();
    let port = endpoint::port(rest, DEFAULT_PORT).ok_or(ServersError::BadPort)?;
    Ok(Endpoint::Tcp { host, port })
}

/// Reports whether `host` is an IPv6 address. A link-local address may have a zone, as in
/// `fe80::1%eth0`.
fn is_v6(host: &str) -> bool {
    let (address, zone) = host.split_once('%').unwrap_or((host, "0"));
    address.parse::<Ipv6Addr>().is_ok() && !zone.is_empty() && zone.bytes().all(is_name_byte)
}

fn parse_weight(option: &[u8]) -> Result<u32, ServersError> {
    let digits = option
        .strip_prefix(b"weight=")
        .ok_or(ServersError::UnknownOption)?;
    let weight = endpoint::number(digits).ok_or(ServersError::BadWeight)?;
    Ok(weight.into())
}

/// Returns the endpoint in a form that is the same for all its spellings.
fn identity(endpoint: &Endpoint) -> Endpoint {
    match endpoint {
        Endpoint::Tcp { host, port } => Endpoint::Tcp {
            host: host
                .parse::<Ipv6Addr>()
                .map_or_else(|_| host.to_ascii_lowercase(), |address| address.to_string()),
            port: *port,
        },
        Endpoint::Unix { .. } => endpoint.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp(host: &str, port: u16, weight: u32) -> ListedServer {
        let host = host.to_owned();
        let endpoint = Endpoint::Tcp { host, port };
        ListedServer { endpoint, weight }
    }

    fn unix(path: &str, weight: u32) -> ListedServer {
        let path = path.into();
        let endpoint = Endpoint::Unix { path };
        ListedServer { endpoint, weight }
    }

    fn error(list: &[&str]) -> Option<ServersError> {
        parse_servers(list).err()
    }

    #[test]
    fn each_form_is_understood() {
        let servers = parse_servers([
            "cache-1.example",
            "10.0.0.1:11212,[::1]:1?weight=65535, [fe80::1%eth0]",
            "unix:///run/memcached.sock",
            "my_host:65535?weight=1",
            "unix:///run/b.sock?weight=3",
        ]);
        let expected = vec![
            tcp("cache-1.example", 11211, 1),
            tcp("10.0.0.1", 11212, 1),
            tcp("::1", 1, 65535),
            tcp("fe80::1%eth0", 11211, 1),
            unix("/run/memcached.sock", 1),
            tcp("my_host", 65535, 1),
            unix("/run/b.sock", 3),
        ];
        assert_eq!(servers, Ok(expected));
    }

    const INVALID: [(&str, ServersError); 39] = [
        ("", ServersError::NoServer),
        (" , ", ServersError::NoServer),
        ("a,,b", ServersError::NoHost),
        ("a,", ServersError::NoHost),
        (":11211", ServersError::NoHost),
        ("?weight=3", ServersError::NoHost),
        ("a b", ServersError::BadHost),
        ("user@a", ServersError::BadHost),
        ("ä", ServersError::BadHost),
        ("tcp//a", ServersError::BadHost),
        ("::1", ServersError::BadBrackets),
        ("[::1", ServersError::BadBrackets),
        ("[a]:1", ServersError::BadBrackets),
        ("[]", ServersError::BadBrackets),
        ("[::1%]", ServersError::BadBrackets),
        ("[::1]1", ServersError::BadPort),
        ("[::1]:", ServersError::BadPort),
        ("a:", ServersError::BadPort),
        ("a:0", ServersError::BadPort),
        ("a:65536", ServersError::BadPort),
        ("a:+1", ServersError::BadPort),
        ("a:-1", ServersError::BadPort),
        ("a:1:2", ServersError::BadPort),
        ("tcp://a", ServersError::BadPort),
        ("unix://run/a", ServersError::BadPath),
        ("unix:/run/a", ServersError::BadPath),
        ("unix:///", ServersError::BadPath),
        ("unix://", ServersError::BadPath),
        ("/run/a", ServersError::BadPath),
        ("a?weight=0", ServersError::BadWeight),
        ("a?weight=65536", ServersError::BadWeight),
        ("a?weight=", ServersError::BadWeight),
        ("a?weight=1.5", ServersError::BadWeight),
        ("a?weight=+2", ServersError::BadWeight),
        ("a?", ServersError::UnknownOption),
        ("a?timeout=3", ServersError::UnknownOption),
        ("a\0", ServersError::ControlCharacter),
        ("a\r\n", ServersError::ControlCharacter),
        ("unix:///run/\x7f", ServersError::ControlCharacter),
    ];

    #[test]
    fn every_other_form_is_refused() {
        for (server, expected) in INVALID {
            assert_eq!(error(&[server]), Some(expected), "{server:?}");
        }
        assert_eq!(error(&[]), Some(ServersError::NoServer));
        assert_eq!(parse_servers([b"\xff"]), Err(ServersError::BadHost));
    }

    #[test]
    fn a_server_is_named_once_however_it_is_written() {
        let duplicate = Some(ServersError::Duplicate);
        assert_eq!(error(&["a", "a:11211"]), duplicate);
        assert_eq!(error(&["A,a?weight=2"]), duplicate);
        assert_eq!(error(&["[::1]", "[0:0::1]"]), duplicate);
        assert_eq!(error(&["unix:///a", "unix:///a"]), duplicate);
        assert_eq!(error(&["a:1", "a:2", "b:1"]), None);
    }
}
