//! The address of a server: a host and a port, or a socket file.
//!
//! Invariant: [`Endpoint::parse_authority`] gives equal endpoints the same spelling. Host names are
//! in lower case. IPv6 addresses are in the short form of RFC 5952, without brackets.

use super::record::digits;
use percent_encoding::{AsciiSet, CONTROLS, percent_encode};
use std::fmt;
use std::net::Ipv6Addr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::str::FromStr;

/// The bytes to escape in a path, in addition to all that are not ASCII. They would end the path of
/// a `unix://` address, are hard to see, or are not [`crate::printable`].
const NOT_IN_PATH: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'%')
    .add(b'?')
    .add(b'#')
    .add(b'<')
    .add(b'>')
    .add(b'"')
    .add(b'\\');

/// The address of one server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Endpoint {
    Tcp {
        /// A name, an IPv4 address, or an IPv6 address without brackets.
        host: String,
        /// The port, from 1 to 65535.
        port: u16,
    },
    /// A Unix domain socket.
    Unix {
        /// The socket's file.
        path: PathBuf,
    },
}

/// The rule that a text breaks if it is not a host and a port. Each message continues a sentence
/// that ends in "must". No message contains the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    #[error("have a host")]
    NoHost,
    /// The host is neither a name nor an address, or it is an IPv6 address without brackets.
    #[error(
        "have a host of letters, digits, \".\", \"-\" and \"_\", or an IPv6 address in brackets"
    )]
    Host,
    /// The port is not a number from 1 to 65535.
    #[error("have a port between 1 and 65535")]
    Port,
}

impl Endpoint {
    /// Parses `host`, `host:port`, `[v6]` or `[v6]:port`.
    ///
    /// An international name must be in its ASCII form, `xn--`. Fails with [`EndpointError`] if the
    /// text is anything else.
    pub fn parse_authority(authority: &str, default_port: u16) -> Result<Self, EndpointError> {
        let (host, rest) = split(authority);
        let host = if let Some(literal) = host.strip_prefix('[') {
            let literal = literal.strip_suffix(']').map(Ipv6Addr::from_str);
            let address = literal.and_then(Result::ok).ok_or(EndpointError::Host)?;
            address.to_string()
        } else if rest.matches(':').count() > 1 {
            // Two colons mean an IPv6 address without brackets.
            return Err(EndpointError::Host);
        } else {
            Self::parse_name(host)?
        };
        let port = port(rest, default_port).ok_or(EndpointError::Port)?;
        Ok(Self::Tcp { host, port })
    }

    /// Checks a host name and returns it in lower case. The check is strict, because the name goes
    /// to the resolver, into certificate checks and into messages.
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

/// Reports whether a host name may contain this byte. The standard does not allow underscores, but
/// Docker's names contain underscores.
pub(super) const fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_')
}

/// Splits an address into the host, with its brackets if it has any, and the rest.
pub(super) fn split(authority: &str) -> (&str, &str) {
    let end = if authority.starts_with('[') {
        authority.find(']').map(|bracket| bracket + 1)
    } else {
        authority.find(':')
    };
    authority.split_at(end.unwrap_or(authority.len()))
}

/// Returns the port from the text after a host: the default if the text is empty, otherwise the
/// number after the colon. Returns `None` for any other text.
pub(super) fn port(rest: &str, default: u16) -> Option<u16> {
    if rest.is_empty() {
        return Some(default);
    }
    number(rest.strip_prefix(':')?.as_bytes())
}

/// Parses decimal digits as a number from 1 to 65535. Returns `None` for any other text.
pub(super) fn number(text: &[u8]) -> Option<u16> {
    let number = digits(text).and_then(|number| u16::try_from(number).ok());
    number.filter(|&number| number != 0)
}

impl fmt::Display for Endpoint {
    /// Writes `host:port`, with an IPv6 address in brackets, or `unix:///path` with special bytes
    /// escaped.
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
        let path = PathBuf::from("/run/a b\n?%#<>\"\\\u{e4}.sock");
        let shown = Endpoint::Unix { path }.to_string();
        assert_eq!(
            shown,
            "unix:///run/a%20b%0A%3F%25%23%3C%3E%22%5C%C3%A4.sock"
        );
    }
}
