//! Buckets that an operator names, by the values of their keys.

use super::rule::{Part, Rule};
use super::{Client, GuardedRequest, Networks};
use std::ffi::CStr;
use std::fmt;

/// The reason why values name no bucket of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unnamed {
    /// There must be this many values, one for each key.
    Count(usize),
    /// The value of the key `ip` is not an address.
    Address,
    /// The value of the key `net` is not a network or an address.
    Network,
}

/// The clients whose bucket an operator names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    Client(Client),
    /// The network of this client.
    Network(Client),
}

impl Origin {
    /// Reports whether a limit counts an address of these networks in the bucket.
    pub fn shares_an_address_with(self, networks: &Networks) -> bool {
        match self {
            Self::Client(client) => client.shares_an_address_with(networks),
            Self::Network(client) => client.shares_a_network_with(networks),
        }
    }

    const fn client(self) -> Client {
        let (Self::Client(client) | Self::Network(client)) = self;
        client
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Vec::new();
        match self {
            Self::Client(client) => client.append_to(&mut text),
            Self::Network(client) => client.append_network_to(&mut text),
        }
        f.write_str(&String::from_utf8_lossy(&text))
    }
}

/// The values of the keys, as variables of a request.
struct Values<'v> {
    parts: &'v [Part],
    values: &'v [&'v [u8]],
}

impl GuardedRequest for Values<'_> {
    fn variable(&self, name: &CStr) -> Option<&[u8]> {
        let is_named = |part: &Part| match part {
            Part::Host => name == c"SERVER_NAME",
            Part::Path => name == c"REQUEST_URI",
            Part::Header(header) => header.as_c_str() == name,
            Part::Ip | Part::Net | Part::All => false,
        };
        let index = self.parts.iter().position(is_named)?;
        self.values.get(index).copied()
    }

    fn script(&self) -> &[u8] {
        b""
    }
}

impl Rule {
    /// Returns the identifier of the bucket that counts the requests with these values, one for
    /// each key in the order of the limit. The key `all` has no value. Also returns the client or
    /// its network, if `ip` or `net` is a key.
    ///
    /// The value of the key `path` is the path of a URL, without the part that follows the script's
    /// name. Fails if there are more or fewer values, or if a client is not an address or a
    /// network.
    pub fn named(&self, values: &[&[u8]]) -> Result<(Vec<u8>, Option<Origin>), Unnamed> {
        let parts = &self.parts;
        let keys = parts.iter().filter(|&part| *part != Part::All).count();
        if values.len() != keys {
            return Err(Unnamed::Count(keys));
        }
        let origin = parts
            .iter()
            .zip(values)
            .find_map(|(part, value)| match part {
                Part::Ip => Some(
                    Client::named(value)
                        .map(Origin::Client)
                        .ok_or(Unnamed::Address),
                ),
                Part::Net => Some(
                    Client::of_network(value)
                        .map(Origin::Network)
                        .ok_or(Unnamed::Network),
                ),
                _ => None,
            });
        let origin = origin.transpose()?;
        // A limit without `ip` and `net` does not use the client.
        let asked = origin.map_or(Client::Local, Origin::client);
        Ok((self.identifier(&Values { parts, values }, asked), origin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Networks;

    /// The variables of a request of one client.
    struct Sent([(&'static CStr, &'static str); 4]);

    impl GuardedRequest for Sent {
        fn variable(&self, name: &CStr) -> Option<&[u8]> {
            let sent = self.0.iter().find(|sent| sent.0 == name);
            sent.map(|sent| sent.1.as_bytes())
        }

        fn script(&self) -> &[u8] {
            b""
        }
    }

    fn limit(text: &str) -> Rule {
        Rule::parse(text).unwrap().remove(0)
    }

    fn named(text: &str, values: &[&str]) -> Result<(Vec<u8>, Option<Origin>), Unnamed> {
        let values: Vec<_> = values.iter().map(|value| value.as_bytes()).collect();
        limit(text).named(&values)
    }

    #[test]
    fn values_name_the_bucket_that_counts_the_request() {
        let request = Sent([
            (c"REMOTE_ADDR", "::ffff:192.0.2.1"),
            (c"REQUEST_URI", "/.//login/?x=1"),
            (c"SERVER_NAME", "Shop.example."),
            (c"HTTP_X_KEY", "abc"),
        ]);
        let client = Client::of(&request, &Networks::default());
        let cases: [(&str, &[&str]); 10] = [
            ("ip 1/day", &["192.0.2.1"]),
            ("on POST /login ip 1/day", &["192.0.2.1"]),
            ("ip+path 1/day", &["192.0.2.1", "/login"]),
            ("path+ip 1/day", &["/login/", "[::ffff:192.0.2.1]"]),
            ("host+header:X-Key 1/day", &["shop.example", "abc"]),
            ("all 1/day", &[]),
            ("unless cookie a agent b ip 1/day", &["192.0.2.1"]),
            ("net 1/day", &["192.0.2.0/24"]),
            ("unless cookie a net 1/day", &["192.0.2.77"]),
            ("path+net 1/day", &["/login", "::ffff:192.0.2.77"]),
        ];
        for (text, values) in cases {
            let (identifier, of) = named(text, values).unwrap();
            assert_eq!(
                identifier,
                limit(text).identifier(&request, client),
                "{text}"
            );
            let has_address = text.contains("ip") || text.contains("net");
            assert_eq!(of.is_some(), has_address, "{text}");
        }
    }

    #[test]
    fn a_client_is_named_as_records_name_it() {
        for (address, expected) in [
            ("192.0.2.1", "192.0.2.1"),
            ("2001:db8:1:2::3", "2001:db8:1:2::/64"),
            ("2001:db8:1:2::/64", "2001:db8:1:2::/64"),
            ("64:ff9b::8.8.8.8", "8.8.8.8"),
            ("64:ff9b::10.0.0.5", "64:ff9b::/64"),
        ] {
            let (identifier, _) = named("ip 1/day", &[address]).unwrap();
            assert_eq!(String::from_utf8(identifier).unwrap(), expected);
        }
        for invalid in [
            "",
            "x",
            "192.0.2",
            "192.0.2.1/64",
            "::ffff:192.0.2.1/64",
            "2001:db8::/48",
        ] {
            assert_eq!(
                named("ip 1/day", &[invalid]),
                Err(Unnamed::Address),
                "{invalid}"
            );
        }
    }

    #[test]
    fn a_network_is_named_by_itself_or_by_an_address_in_it() {
        for (text, expected) in [
            ("192.0.2.0/24", "192.0.2.0/24"),
            ("192.0.2.77/24", "192.0.2.0/24"),
            ("192.0.2.77", "192.0.2.0/24"),
            ("2001:db8:1:2::3", "2001:db8:1::/48"),
            ("2001:db8:1:2::/64", "2001:db8:1::/48"),
            ("2001:db8:1::/48", "2001:db8:1::/48"),
            ("64:ff9b::8.8.8.8", "8.8.8.0/24"),
            ("64:ff9b::10.0.0.5", "64:ff9b::/48"),
        ] {
            let (identifier, origin) = named("net 1/day", &[text]).unwrap();
            assert_eq!(String::from_utf8(identifier).unwrap(), expected, "{text}");
            assert_eq!(origin.unwrap().to_string(), expected, "{text}");
        }
        for invalid in [
            "",
            "x",
            "192.0.2.0/25",
            "192.0.2.0/48",
            "2001:db8::/24",
            "/24",
        ] {
            assert_eq!(
                named("net 1/day", &[invalid]),
                Err(Unnamed::Network),
                "{invalid}"
            );
        }
    }

    #[test]
    fn each_key_but_all_needs_a_value() {
        assert_eq!(named("ip 1/day", &[]), Err(Unnamed::Count(1)));
        assert_eq!(
            named("ip+path 1/day", &["192.0.2.1"]),
            Err(Unnamed::Count(2))
        );
        assert_eq!(named("all 1/day", &["x"]), Err(Unnamed::Count(0)));
    }
}
