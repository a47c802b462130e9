//! Where a server listens: a host and a port, or a socket file.
//!
//! Invariant of every parsed endpoint: equal endpoints have one spelling. Host names are in lower
//! case, IPv6 addresses in the short form of RFC 5952, without brackets.

use super::record::digits;
use percent_encoding::{AsciiSet, CONTROLS, percent_encode};
use std::fmt;
use std::net::Ipv6Addr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::str::FromStr;

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
        let (host, rest) = split(authority);
        let host = if let Some(literal) = host.strip_prefix('[') {
            let literal = literal.strip_suffix(']').map(Ipv6Addr::from_str);
            let address = literal.and_then(Result::ok).ok_or(EndpointError::Host)?;
            address.to_string()
        } else if rest.matches(':').count() > 1 {
            // Only an address that lacks its brackets has two colons.
            return Err(EndpointError::Host);
        } else {
            Self::parse_name(host)?
        };
        let port = port(rest, default_port).ok_or(EndpointError::Port)?;
        Ok(Self::Tcp { host, port })
    }

    /// Strict, for the name goes to the resolver, into certificate checks and into messages.
    fn parse_name(name: &str) -> Result<String, EndpointError> {
        if name.is_empty() {
            return Err(EndpointError::NoHost);
        }
        if !name.bytes().all(is_name_byte) {
            return Err(EndpointError::Host);
        }
        Ok(name.to_ascii_lowercase())
    }
}

/// Returns whether a host name may have this byte. Underscores are in Docker's names, not in the
/// standard's.
pub(super) const fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_')
}

/// Splits an address behind its host, or behind the brackets of its host.
pub(super) fn split(authority: &str) -> (&str, &str) {
    let end = if authority.starts_with('[') {
        authority.find(']').map(|bracket| bracket + 1)
    } else {
        authority.find(':')
    };
    authority.split_at(end.unwrap_or(authority.len()))
}

/// Returns the port of what follows a host: of nothing the default, of a colon the number behind it.
pub(super) fn port(rest: &str, default: u16) -> Option<u16> {
    if rest.is_empty() {
        return Some(default);
    }
    number(rest.strip_prefix(':')?.as_bytes())
}

/// Returns the number from 1 to 65535 that decimal digits spell.
pub(super) fn number(text: &[u8]) -> Option<u16> {
    let number = digits(text).and_then(|number| u16::try_from(number).ok());
    number.filter(|&number| number != 0)
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
