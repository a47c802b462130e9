//! The address of the client that a limit counts.

use super::GuardedRequest;
use super::nat64::embedded;
use super::networks::Networks;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// The length of the prefix of an IPv6 network that is one client.
const CLIENT: u32 = 64;
/// The lengths of the prefixes of networks of clients, for IPv4 and for IPv6.
const NETWORKS: [u32; 2] = [24, 48];

/// The sender of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client {
    /// The client's address in its canonical form: a mapped IPv4 address is an IPv4 address.
    Known(IpAddr),
    /// The server passed no address, as for a request over a Unix socket.
    Local,
    /// The server passed an address that is invalid.
    Malformed,
}

impl Client {
    /// Returns the client of a request.
    ///
    /// The client is the peer of the connection (`REMOTE_ADDR`). If the peer is a trusted proxy,
    /// the addresses in `X-Forwarded-For` are read from right to left, because each proxy appends
    /// the address of its own peer. The first address that is not trusted is the client. Text that
    /// is no address ends the search, because only the part to its right is from trusted proxies.
    /// Then the client is the trusted address that was read last, which may be the peer.
    ///
    /// Worked example: the peer 10.0.0.1 and 10.0.0.2 are trusted. With `X-Forwarded-For:
    /// 198.51.100.7, 203.0.113.9, 10.0.0.2` the client is 203.0.113.9, because that address was
    /// added by 10.0.0.2. The client may have sent 198.51.100.7 itself.
    pub fn of(request: &impl GuardedRequest, trusted: &Networks) -> Self {
        let peer = request.variable(c"REMOTE_ADDR").unwrap_or_default();
        // nginx passes "unix:" for a client that is connected to its Unix socket.
        if peer.is_empty() || peer == b"unix:" {
            return Self::Local;
        }
        // The peer's address may have the zone of a link, as in fe80::1%eth0.
        let address = peer.split(|&byte| byte == b'%').next();
        let Some(mut client) = address.and_then(parse) else {
            return Self::Malformed;
        };
        if trusted.contains(client) {
            let forwarded = request.variable(c"HTTP_X_FORWARDED_FOR");
            let elements = forwarded.unwrap_or_default().rsplit(|&byte| byte == b',');
            // RFC 9110, 5.6.1: recipients ignore empty elements of a list.
            for text in elements.map(<[u8]>::trim_ascii).filter(|it| !it.is_empty()) {
                let Some(address) = parse(text) else {
                    break;
                };
                client = address;
                if !trusted.contains(client) {
                    break;
                }
            }
        }
        Self::Known(client)
    }

    /// Returns the client that an operator names: an address, or the network of an IPv6 client as
    /// [`Client::append_to`] writes it, such as `2001:db8:1:2::/64`. Returns `None` for any other
    /// text.
    pub fn named(text: &[u8]) -> Option<Self> {
        let address = match text.strip_suffix(b"/64") {
            Some(network) => parse(network).filter(IpAddr::is_ipv6),
            None => parse(text),
        };
        address.map(Self::Known)
    }

    /// Returns a client in the network that an operator names: `192.0.2.0/24`, `2001:db8:1::/48`,
    /// or an address in it. Returns `None` for any other text.
    pub fn of_network(text: &[u8]) -> Option<Self> {
        let [v4, v6] = [b"/24", b"/48"].map(|length| text.strip_suffix(length));
        let address = match (v4, v6) {
            (Some(network), _) => parse(network).filter(IpAddr::is_ipv4),
            (_, Some(network)) => parse(network).filter(IpAddr::is_ipv6),
            _ => return Self::named(text),
        };
        address.map(Self::Known)
    }

    /// Reports whether a limit counts an address of these networks as this client.
    pub fn shares_an_address_with(self, networks: &Networks) -> bool {
        self.overlaps(networks, [32, CLIENT])
    }

    /// Reports whether a limit counts an address of these networks in the client's network.
    pub fn shares_a_network_with(self, networks: &Networks) -> bool {
        self.overlaps(networks, NETWORKS)
    }

    fn overlaps(self, networks: &Networks, [v4, v6]: [u32; 2]) -> bool {
        match self {
            Self::Known(address) => match embedded(address) {
                counted @ IpAddr::V4(_) => {
                    networks.contains(address) || networks.overlap(counted, v4)
                }
                counted @ IpAddr::V6(_) => networks.overlap(counted, v6),
            },
            Self::Local | Self::Malformed => false,
        }
    }

    /// Appends the address that a limit counts. An IPv6 client usually owns all addresses with the
    /// same first 64 bits, so these addresses are one client. A client of NAT64 is its IPv4
    /// address. Compare networks with the client itself and not with this text, because they apply
    /// to the address as it arrived.
    pub fn append_to(self, text: &mut Vec<u8>) {
        match self.counted() {
            Self::Known(IpAddr::V4(address)) => append_ipv4(text, address.octets()),
            Self::Known(IpAddr::V6(address)) => append_ipv6(text, address, CLIENT),
            Self::Local => text.extend_from_slice(b"local"),
            Self::Malformed => text.extend_from_slice(b"malformed"),
        }
    }

    /// Appends the network that a limit counts: the first 24 bits of an IPv4 address, such as
    /// `192.0.2.0/24`, or the first 48 bits of an IPv6 address. A client of NAT64 has the network
    /// of its IPv4 address.
    pub fn append_network_to(self, text: &mut Vec<u8>) {
        let [v4, v6] = NETWORKS;
        match self.counted() {
            Self::Known(IpAddr::V4(address)) => {
                let bits = address.to_bits() >> (32 - v4) << (32 - v4);
                append_ipv4(text, bits.to_be_bytes());
                text.extend_from_slice(b"/24");
            }
            Self::Known(IpAddr::V6(address)) => append_ipv6(text, address, v6),
            other => other.append_to(text),
        }
    }

    fn counted(self) -> Self {
        match self {
            Self::Known(address) => Self::Known(embedded(address)),
            other => other,
        }
    }
}

fn append_ipv4(text: &mut Vec<u8>, octets: [u8; 4]) {
    let (mut written, mut length) = ([0; 16], 0);
    let mut push = |byte| {
        written[length] = byte;
        length += 1;
    };
    for octet in octets {
        if octet >= 100 {
            push(b'0' + octet / 100);
        }
        if octet >= 10 {
            push(b'0' + octet / 10 % 10);
        }
        push(b'0' + octet % 10);
        push(b'.');
    }
    text.extend_from_slice(&written[..length - 1]);
}

fn append_ipv6(text: &mut Vec<u8>, address: Ipv6Addr, prefix: u32) {
    let bits = address.to_bits() >> (128 - prefix) << (128 - prefix);
    let network = Ipv6Addr::from_bits(bits);
    text.extend_from_slice(format!("{network}/{prefix}").as_bytes());
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Vec::new();
        self.append_to(&mut text);
        f.write_str(&String::from_utf8_lossy(&text))
    }
}

/// Parses an address, which some proxies write with a port or in brackets.
fn parse(text: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(text).ok()?;
    let bare = text.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    let address = match bare {
        Some(inner) => IpAddr::V6(inner.parse().ok()?),
        None => text
            .parse()
            .or_else(|_| text.parse().map(|it: SocketAddr| it.ip()))
            .ok()?,
    };
    Some(address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_shares_the_addresses_that_a_limit_counts_as_it() {
        for (client, networks, shares) in [
            ("192.0.2.1", "192.0.2.0/24", true),
            ("192.0.2.1", "192.0.2.2", false),
            ("2001:db8:1:2::6", "2001:db8:1:2::5", true),
            ("2001:db8:1:2::/64", "2001:db8:1:2::5", true),
            ("2001:db8:1:2::6", "2001:db8::/32", true),
            ("2001:db8:1:3::6", "2001:db8:1:2::5", false),
            ("64:ff9b::8.8.4.4", "8.8.4.4", true),
            ("64:ff9b::8.8.4.4", "64:ff9b::/96", true),
            ("64:ff9b::8.8.4.4", "8.8.8.8", false),
        ] {
            let is_shared = Client::named(client.as_bytes())
                .unwrap()
                .shares_an_address_with(&Networks::parse(networks).unwrap());
            assert_eq!(is_shared, shares, "{client} {networks}");
        }
        for (network, networks, shares) in [
            ("192.0.2.0/24", "192.0.2.77", true),
            ("192.0.2.1", "192.0.2.77", true),
            ("192.0.2.0/24", "192.0.3.0", false),
            ("2001:db8:1::/48", "2001:db8:1:ffff::1", true),
            ("2001:db8:1::/48", "2001:db8:2::1", false),
        ] {
            let is_shared = Client::of_network(network.as_bytes())
                .unwrap()
                .shares_a_network_with(&Networks::parse(networks).unwrap());
            assert_eq!(is_shared, shares, "{network} {networks}");
        }
        assert!(!Client::Local.shares_an_address_with(&Networks::parse("::/0").unwrap()));
    }
}
