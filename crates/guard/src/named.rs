//! Buckets that an operator names, by the values of their keys.

use super::rule::{Part, Rule};
use super::{Client, GuardedRequest};
use std::ffi::CStr;

/// The reason why values name no bucket of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unnamed {
    /// There must be this many values, one for each key.
    Count(usize),
    /// The value of the key `ip` is not an address.
    Address,
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
            Part::Ip | Part::All => false,
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
    /// each key in the order of the limit. The key `all` has no value. Also returns the client, if
    /// `ip` is a key.
    ///
    /// The value of the key `path` is the path of a URL, without the part that follows the script's
    /// name. Fails if there are more or fewer values, or if a client is not an address.
    pub fn named(&self, values: &[&[u8]]) -> Result<(Vec<u8>, Option<Client>), Unnamed> {
        let keys = self.parts.iter().filter(|&part| *part != Part::All).count();
        if values.len() != keys {
            return Err(Unnamed::Count(keys));
        }
        let ip = self.parts.iter().position(|part| *part == Part::Ip);
        let client = ip.map(|index| Client::named(values[index]).ok_or(Unnamed::Address));
        let client = client.transpose()?;
        let parts = &self.parts;
        // A limit without `ip` does not use the client.
        let asked = client.unwrap_or(Client::Local);
        Ok((self.identifier(&Values { parts, values }, asked), client))
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

    fn named(text: &str, values: &[&str]) -> Result<(Vec<u8>, Option<Client>), Unnamed> {
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
        let cases: [(&str, &[&str]); 6] = [
            ("ip 1/day", &["192.0.2.1"]),
            ("on POST /login ip 1/day", &["192.0.2.1"]),
            ("ip+path 1/day", &["192.0.2.1", "/login"]),
            ("path+ip 1/day", &["/login/", "[::ffff:192.0.2.1]"]),
            ("host+header:X-Key 1/day", &["shop.example", "abc"]),
            ("all 1/day", &[]),
        ];
        for (text, values) in cases {
            let (identifier, of) = named(text, values).unwrap();
            assert_eq!(
                identifier,
                limit(text).identifier(&request, client),
                "{text}"
            );
            assert_eq!(of.is_some(), limit(text).is_of_client(), "{text}");
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
    fn each_key_but_all_needs_a_value() {
        assert_eq!(named("ip 1/day", &[]), Err(Unnamed::Count(1)));
        assert_eq!(
            named("ip+path 1/day", &["192.0.2.1"]),
            Err(Unnamed::Count(2))
        );
        assert_eq!(named("all 1/day", &["x"]), Err(Unnamed::Count(0)));
    }
}
