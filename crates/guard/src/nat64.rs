//! Addresses of NAT64 (RFC 6052), by which an IPv4 address appears as an IPv6 address.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The well-known prefix `64:ff9b::/96`.
const PREFIX: u128 = 0x0064_ff9b << 96;

/// Returns the IPv4 address in an address with the well-known prefix. Returns any other address
/// unchanged, also one whose IPv4 address is not global, because no translator makes such an
/// address.
pub fn embedded(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(whole) => ipv4(whole).map_or(address, IpAddr::V4),
        IpAddr::V4(_) => address,
    }
}

// The cast takes the last 32 bits.
#[allow(clippy::cast_possible_truncation)]
fn ipv4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let bits = address.to_bits();
    let inner = Ipv4Addr::from_bits(bits as u32);
    (bits >> 32 == PREFIX >> 32 && is_global(inner)).then_some(inner)
}

/// Reports whether an address is global by IANA's registry of special-purpose addresses.
const fn is_global(address: Ipv4Addr) -> bool {
    let is_special = matches!(
        address.octets(),
        // This network, private networks, loopback, and from multicast to broadcast.
        [0 | 10 | 127 | 224..=255, ..]
        // Shared by providers, benchmarks, protocol assignments, and the relays of 6to4.
        | [100, 64..=127, ..] | [198, 18..=19, ..] | [192, 0, 0, _] | [192, 88, 99, _]
    );
    !is_special && !address.is_private() && !address.is_link_local() && !address.is_documentation()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_global_address_of_the_well_known_prefix_is_embedded() {
        for (address, expected) in [
            ("64:ff9b::8.8.8.8", "8.8.8.8"),
            ("64:ff9b::1.1.1.1", "1.1.1.1"),
            ("64:ff9b::223.255.255.255", "223.255.255.255"),
            ("64:ff9b::100.63.0.1", "100.63.0.1"),
            ("64:ff9b::100.128.0.1", "100.128.0.1"),
            ("64:ff9b:1::8.8.8.8", "64:ff9b:1::808:808"),
            ("64:ff9b::1:8.8.8.8", "64:ff9b::1:808:808"),
            ("64:ff9a::8.8.8.8", "64:ff9a::808:808"),
            ("::8.8.8.8", "::808:808"),
            ("8.8.8.8", "8.8.8.8"),
        ] {
            let address: IpAddr = address.parse().unwrap();
            let expected: IpAddr = expected.parse().unwrap();
            assert_eq!(embedded(address), expected);
        }
        for special in [
            "0.0.0.0",
            "10.0.0.5",
            "100.64.0.1",
            "127.0.0.1",
            "169.254.1.1",
            "172.16.0.1",
            "192.0.0.1",
            "192.0.2.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
        ] {
            let address: IpAddr = format!("64:ff9b::{special}").parse().unwrap();
            assert_eq!(embedded(address), address, "{special}");
        }
    }
}
