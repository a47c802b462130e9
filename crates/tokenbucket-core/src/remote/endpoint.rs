//! Where a server listens: a host and a port, or a socket file.
//!
//! Invariant of every parsed endpoint: equal endpoints have one spelling. Host names are in lower
//! case, IPv6 addresses in the short form of RFC 5952, without brackets.

use percent_encoding::{AsciiSet, CONTROLS, percent_encode};
use std::fmt;
use std::net::Ipv6Addr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// What would end the path of a `unix://` address, or be lost to a reader.
const NOT_IN_PATH: &AsciiSet = &CONTROLS.add(b' ').add(b'%').add(b'?').add(b'#');

/// The address of one server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Endpoint {
    /// A TCP port.
    Tcp {
        /// A name, an IPv4 address, or an IPv6 address without brackets.
        host: String,
        /// From 1 to 65535.
        port: u16,
    },
    /// A Unix domain socket.
    Unix {
        /// The socket's file.
        path: PathBuf,
    },
}

/// Why a text is no host and port; each reads on from "must". None shows the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// There is nothing where the host belongs.
    #[error("have a host")]
    NoHost,
    /// The host is neither a name nor an address, or an IPv6 address without brackets.
    #[error(
        "have a host of letters, digits, \".\", \"-\" and \"_\", or an IPv6 address in brackets"
    )]
    Host,
    /// The port is no number from 1 to 65535.
    #[error("have a port between 1 and 65535")]
    Port,
}

impl Endpoint {
    /// The endpoint of `host`, `host:port`, `[v6]` or `[v6]:port`.
    ///
    /// An international name has to be given in its ASCII form, `xn--`.
    ///
    /// # Errors
    /// [`EndpointError`] when the text is anything else.
    pub fn parse_authority(authority: &str, default_port: u16) -> Result<Self, EndpointError> {
        let (host, port) = match authority.strip_prefix('[') {
            Some(rest) => Self::split_literal(rest)?,
            None => Self::split_name(authority)?,
        };
        let port = port.map_or(Ok(default_port), Self::parse_port)?;
        Ok(Self::Tcp { host, port })
    }

    /// The address and the port of what follows a bracket.
    fn split_literal(rest: &str) -> Result<(String, Option<&str>), EndpointError> {
        let (literal, rest) = rest.split_once(']').ok_or(EndpointError::Host)?;
        let address: Ipv6Addr = literal.parse().map_err(|_| EndpointError::Host)?;
        let port = match rest {
            "" => None,
            rest => Some(rest.strip_prefix(':').ok_or(EndpointError::Port)?),
        };
        Ok((address.to_string(), port))
    }

    fn split_name(authority: &str) -> Result<(String, Option<&str>), EndpointError> {
        let (name, port) = match authority.split_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (authority, None),
        };
        // Two colons can only be an address that lacks its brackets.
        if port.is_some_and(|port| port.contains(':')) {
            return Err(EndpointError::Host);
        }
        Ok((Self::parse_name(name)?, port))
    }

    /// Strict, for the name goes to the resolver, into certificate checks and into messages.
    fn parse_name(name: &str) -> Result<String, EndpointError> {
        if name.is_empty() {
            return Err(EndpointError::NoHost);
        }
        let known = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
        if !name.bytes().all(known) {
            return Err(EndpointError::Host);
        }
        Ok(name.to_ascii_lowercase())
    }

    fn parse_port(port: &str) -> Result<u16, EndpointError> {
        // from_str takes a sign.
        if !port.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(EndpointError::Port);
        }
        match port.parse() {
            Ok(0) | Err(_) => Err(EndpointError::Port),
            Ok(port) => Ok(port),
        }
    }
}

impl fmt::Display for Endpoint {
    /// `host:port`, an IPv6 address in brackets, or `unix:///path` with what is special there escaped.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "{host}:{port}"),
            Self::Unix { path } => {
                let path = percent_encode(path.as_os_str().as_bytes(), NOT_IN_PATH);
                write!(f, "unix://{path}")
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn shown(authority: &str) -> Result<String, EndpointError> {
        Endpoint::parse_authority(authority, 6379).map(|endpoint| endpoint.to_string())
    }

    #[test]
    fn hosts_and_ports_are_read() {
        for (authority, expected) in [
            ("localhost", "localhost:6379"),
            ("Cache_1.Example.COM:1", "cache_1.example.com:1"),
            ("127.0.0.1:65535", "127.0.0.1:65535"),
            ("[::1]", "[::1]:6379"),
            ("[FE80:0:0::1]:7000", "[fe80::1]:7000"),
        ] {
            assert_eq!(shown(authority).as_deref(), Ok(expected), "{authority}");
            assert_eq!(shown(expected).as_deref(), Ok(expected));
        }
    }

    #[test]
    fn an_ipv6_address_is_kept_without_brackets() {
        let host = "::1".to_owned();
        let expected = Endpoint::Tcp { host, port: 2 };
        assert_eq!(Endpoint::parse_authority("[::1]:2", 1), Ok(expected));
    }

    #[test]
    fn other_hosts_are_refused() {
        assert_eq!(shown(""), Err(EndpointError::NoHost));
        assert_eq!(shown(":6379"), Err(EndpointError::NoHost));
        for authority in [
            "::1",
            "fe80::1",
            "[",
            "[]",
            "[::1",
            "[::1%25eth0]",
            "[127.0.0.1]",
            "a b",
            " a",
            "a\n",
            "a\0",
            "ü.example",
            "%61",
            "a/b",
            "a@b",
            "a,b",
        ] {
            assert_eq!(shown(authority), Err(EndpointError::Host), "{authority:?}");
        }
    }

    #[test]
    fn other_ports_are_refused() {
        for authority in [
            "a:",
            "a:0",
            "a:65536",
            "a:+1",
            "a:-1",
            "a: 1",
            "a:1 ",
            "a:x",
            "a:1\0",
            "[::1]:",
            "[::1]1",
            "[::1]]:1",
            "a:99999999999999999999",
        ] {
            assert_eq!(shown(authority), Err(EndpointError::Port), "{authority:?}");
        }
    }

    #[test]
    fn a_path_is_shown_on_one_line() {
        let path = PathBuf::from("/run/a b\n?%#.sock");
        let shown = Endpoint::Unix { path }.to_string();
        assert_eq!(shown, "unix:///run/a%20b%0A%3F%25%23.sock");
    }
}
