//! Lists of networks in CIDR notation.

use super::SyntaxError;
use std::net::IpAddr;

/// A list of IP networks. An IPv6 network contains no IPv4 address. An IPv4 address that is mapped
/// to IPv6 is an IPv4 address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Networks(Vec<Network>);

/// The addresses of one family that begin with the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Network {
    address: IpAddr,
    /// The prefix length: an address is inside if at least this many of its leading bits agree.
    prefix: u32,
}

impl Networks {
    /// Parses a list such as `10.0.0.0/8, 2001:db8::/32 192.0.2.1`. Commas and white space separate
    /// the networks. A network without a length is one address. Fails with the position of the
    /// first invalid network.
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        const EXPECTED: &str = "a network such as 192.0.2.0/24 or 2001:db8::/32";
        let is_separator = |byte: &u8| *byte == b',' || byte.is_ascii_whitespace();
        let mut networks = Vec::new();
        let mut at = 0;
        for item in text.as_bytes().split(is_separator) {
            if !item.is_empty() {
                let invalid = SyntaxError::new(at, EXPECTED);
                networks.push(Network::parse(item).ok_or(invalid)?);
            }
            at += item.len() + 1;
        }
        Ok(Self(networks))
    }

    /// Reports whether the list has a network with this address. The address is in its canonical
    /// form, as [`IpAddr::to_canonical`] returns it.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.overlap(address, width(address))
    }

    /// Reports whether the list has an address that begins with the same `prefix` bits.
    pub(super) fn overlap(&self, address: IpAddr, prefix: u32) -> bool {
        let other = Network { address, prefix };
        self.0.iter().any(|network| network.overlaps(other))
    }
}

impl Network {
    fn parse(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().ok()?;
        let width = width(address);
        let prefix = match length {
            None => width,
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                digits.parse().ok().filter(|length| *length <= width)?
            }
            Some(_) => return None,
        };
        // A network of mapped addresses is an IPv4 network.
        let canonical = address.to_canonical();
        match prefix.checked_sub(width - self::width(canonical)) {
            Some(prefix) => Some(Self {
                address: canonical,
                prefix,
            }),
            None => Some(Self { address, prefix }),
        }
    }

    /// Reports whether an address is in both networks.
    fn overlaps(self, other: Self) -> bool {
        let width = width(self.address);
        let differing = bits(self.address) ^ bits(other.address);
        let prefix = self.prefix.min(other.prefix);
        // A shift by all bits of a u128 would overflow, so a prefix of 0 is a special case.
        width == self::width(other.address)
            && differing.checked_shr(width - prefix).unwrap_or(0) == 0
    }
}

const fn bits(address: IpAddr) -> u128 {
    match address {
        // The cast widens. `From` is not const.
        IpAddr::V4(address) => address.to_bits() as u128,
        IpAddr::V6(address) => address.to_bits(),
    }
}

/// Returns the number of bits of an address.
const fn width(address: IpAddr) -> u32 {
    match address {
        IpAddr::V4(_) => 32,
        IpAddr::V6(_) => 128,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contains(networks: &str, address: &str) -> bool {
        let address: IpAddr = address.parse().unwrap();
        let networks = Networks::parse(networks).unwrap();
        networks.contains(address.to_canonical())
    }

    #[test]
    fn a_network_contains_the_addresses_with_its_prefix() {
        for (networks, address, is_in) in [
            ("10.0.0.0/8", "10.255.0.1", true),
            ("10.0.0.0/8", "11.0.0.0", false),
            ("10.1.2.3/8", "10.9.9.9", true),
            ("192.0.2.1", "192.0.2.1", true),
            ("192.0.2.1", "192.0.2.0", false),
            ("192.0.2.0/31", "192.0.2.1", true),
            ("192.0.2.0/31", "192.0.2.2", false),
            ("0.0.0.0/0", "203.0.113.9", true),
            ("2001:db8::/33", "2001:db8:7fff::1", true),
            ("2001:db8::/33", "2001:db8:8000::1", false),
            ("::1", "::1", true),
            ("::1/127", "::2", false),
            ("10.0.0.0/8,\t\n ::/0 ", "2001:db8::1", true),
            ("", "10.0.0.1", false),
            (" , ", "10.0.0.1", false),
        ] {
            assert_eq!(contains(networks, address), is_in, "{networks} {address}");
        }
    }

    #[test]
    fn the_families_are_separate_and_mapped_addresses_are_ipv4() {
        assert!(!contains("::/0", "10.0.0.1"));
        assert!(!contains("0.0.0.0/0", "::1"));
        assert!(!contains("0.0.0.0/0", "::10.0.0.1"));
        assert!(contains("10.0.0.0/8", "::ffff:10.0.0.1"));
        assert!(contains("::ffff:10.0.0.0/104", "10.9.0.1"));
        assert!(!contains("::ffff:10.0.0.0/104", "11.0.0.1"));
        assert!(contains("::ffff:0:0/96", "203.0.113.9"));
        // A prefix that is shorter than that of all mapped addresses is a network of IPv6.
        assert!(!contains("::ffff:0:0/95", "203.0.113.9"));
        assert!(contains("::ffff:0:0/95", "::fffe:1:1"));
    }

    #[test]
    fn errors_have_the_position_of_the_network() {
        for (text, at) in [
            ("10.0.0.0/33", 0),
            ("10.0.0.0/8, x", 12),
            ("10.0.0.0/8  010.0.0.1", 12),
            ("10.0.0/8", 0),
            ("10.0.0.0/", 0),
            ("10.0.0.0/+8", 0),
            ("10.0.0.0/8/8", 0),
            ("::/129", 0),
            ("::1,fe80::1%eth0", 4),
            ("[::1]", 0),
            ("localhost", 0),
            ("10.0.0.0/99999999999999999999", 0),
            ("10.0.0.0/8 \u{fffd}", 11),
        ] {
            assert_eq!(Networks::parse(text).unwrap_err().at, at, "{text}");
        }
    }
}
