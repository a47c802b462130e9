//! The limits of the guard, as php.ini has them: `ip 100/minute burst 20; ip+path 10/second`.

use super::claims::{Claims, CookieName};
use super::condition::Condition;
use super::leave::Leave;
use super::path::path;
use super::target::Target;
use super::{Client, GuardedRequest};
use gcra::{Limit, Ticks};
use std::ffi::{CStr, CString};

/// One limit of php.ini: a rate or a number of permits for each combination of values of its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The methods and paths of the requests that the limit counts. `None`: all requests.
    pub(super) condition: Option<Condition>,
    /// The clients whose requests the limit counts.
    pub(super) claims: Claims,
    /// The parts of the bucket's identifier. At least one, and each only once.
    pub(super) parts: Vec<Part>,
    pub(super) measure: Measure,
    /// The tokens or permits that some of the counted requests leave to the others.
    pub(super) leaves: Vec<Leave>,
    /// The limit in its canonical form. Limits with equal names are equal.
    pub(super) name: String,
    /// The length of the part of `name` that chooses the buckets.
    pub(super) length: usize,
    /// The name that the setting gives to the limit.
    pub(super) given: Option<String>,
}

/// The number that a limit allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Measure {
    /// A number of requests per time, counted as tokens of a bucket.
    Rate {
        limit: Limit,
        /// The ticks for which a client is blocked when it lacks tokens. Only a limit with the part
        /// [`Part::Ip`] can have this.
        block: Option<Ticks>,
    },
    /// The number of requests that may run at once, counted as permits. At least 1.
    Concurrent(u16),
}

/// A value of a request that chooses the bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// The address of the client.
    Ip,
    /// The network of the client: its /24, or its /48 for IPv6.
    Net,
    /// The name of the server, in lower case. Some servers take it from the request, so that the
    /// client can choose it.
    Host,
    /// The path of the request without its query.
    Path,
    Header(CString),
    /// No value: all requests share a bucket. It is the only part of its limit.
    All,
}

impl Rule {
    /// Returns the number that the limit allows for each combination of values.
    pub const fn measure(&self) -> &Measure {
        &self.measure
    }

    /// Reports whether the limit counts each client on its own.
    pub fn is_of_client(&self) -> bool {
        self.parts.contains(&Part::Ip)
    }

    /// Returns the limit in its canonical form, for example `ip+path 10/second burst 10`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the part of the canonical form that chooses the buckets: without `leave` and `name`.
    /// So a change of these neither empties nor fills a bucket.
    pub fn name_of_buckets(&self) -> &str {
        &self.name[..self.length]
    }

    /// Returns the name that the setting gives to the limit after `name`.
    pub fn given_name(&self) -> Option<&str> {
        self.given.as_deref()
    }

    /// Returns the number of tokens or permits that a request with this target must leave to
    /// others: the greatest number of the parts `leave` that match, and 0 if none matches. It is
    /// less than the number that the limit allows at once.
    #[inline]
    pub fn left_by(&self, target: &Target<'_, impl GuardedRequest>) -> u64 {
        if self.leaves.is_empty() {
            0
        } else {
            self.most_left_by(target)
        }
    }

    #[cold]
    fn most_left_by(&self, target: &Target<'_, impl GuardedRequest>) -> u64 {
        let leaves = self.leaves.iter().filter(|leave| leave.is_of(target));
        leaves.map(|leave| leave.count).max().unwrap_or(0)
    }

    /// Reports whether the limit counts a request with this target.
    pub fn counts(&self, target: &Target<'_, impl GuardedRequest>) -> bool {
        let condition = self.condition.as_ref();
        condition.is_none_or(|condition| condition.holds(target))
            && self.claims.hold(target.request())
    }

    /// Returns the names of the variables that decide which requests the limit counts, and in which
    /// bucket, except for those of the path. A cookie by its whole name is `COOKIE_name`.
    pub fn variables(&self) -> Vec<String> {
        let keys = self.parts.iter().filter_map(|part| match part {
            Part::Host => Some("SERVER_NAME".to_owned()),
            Part::Header(name) => Some(name.to_string_lossy().into_owned()),
            Part::Ip | Part::Net | Part::Path | Part::All => None,
        });
        let cookies = self.claims.cookies.iter().map(CookieName::variable);
        let has_agents = !self.claims.agents.is_empty();
        let has_methods = self.conditions().any(|it| !it.methods.is_empty());
        let others = [
            (has_agents, "HTTP_USER_AGENT"),
            (has_methods, "REQUEST_METHOD"),
        ];
        let others = others.into_iter().filter(|it| it.0);
        let others = others.map(|it| it.1.to_owned());
        keys.chain(cookies).chain(others).collect()
    }

    /// Reports whether the limit depends on the path of a request.
    pub fn has_path(&self) -> bool {
        self.conditions().next().is_some() || self.parts.contains(&Part::Path)
    }

    fn conditions(&self) -> impl Iterator<Item = &Condition> {
        let leaves = self.leaves.iter().map(|leave| &leave.condition);
        self.condition.iter().chain(leaves)
    }

    /// Returns the identifier of the bucket that counts a request of `client`: the value of the
    /// only part, or the values of several parts, joined by spaces and followed by their lengths.
    /// Because of the lengths, no two combinations of values have the same identifier.
    pub fn identifier(&self, request: &impl GuardedRequest, client: Client) -> Vec<u8> {
        let variable = |name: &CStr| request.variable(name).unwrap_or_default();
        let mut identifier = Vec::with_capacity(64);
        let mut lengths = Vec::new();
        let is_joined = self.parts.len() > 1;
        for (index, part) in self.parts.iter().enumerate() {
            if index > 0 {
                identifier.push(b' ');
            }
            let start = identifier.len();
            match part {
                Part::Ip => client.append_to(&mut identifier),
                Part::Net => client.append_network_to(&mut identifier),
                Part::Host => identifier.extend(host(variable(c"SERVER_NAME"))),
                Part::Path => {
                    let names = [c"REQUEST_URI", c"SCRIPT_NAME", c"PATH_INFO"];
                    let [uri, script, info] = names.map(variable);
                    identifier.extend_from_slice(&path(uri, script, info, request.script()));
                }
                Part::Header(name) => identifier.extend(variable(name)),
                Part::All => identifier.extend(b"all"),
            }
            if is_joined {
                lengths.extend(((identifier.len() - start) as u64).to_le_bytes());
            }
        }
        identifier.extend(lengths);
        identifier
    }
}

/// Returns the name of a host in lower case, without the dot at the end of a fully qualified name.
fn host(name: &[u8]) -> impl Iterator<Item = u8> {
    let name = name.strip_suffix(b".").unwrap_or(name);
    name.iter().map(u8::to_ascii_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gcra::clock::TICKS_PER_SECOND;
    use gcra::tokens::Tokens;

    fn names(text: &str) -> Vec<String> {
        let limits = Rule::parse(text).unwrap();
        limits.iter().map(|limit| limit.name().to_owned()).collect()
    }

    #[test]
    fn limits_have_a_canonical_form() {
        assert_eq!(
            names("ip 100/minute burst 20; ip+path 10/second"),
            ["ip 100/minute burst 20", "ip+path 10/second burst 10"]
        );
        assert_eq!(
            names(" ;IP+Header:X_Api-Key\t5/HOUR  BURST 7 ;; "),
            ["ip+header:x-api-key 5/hour burst 7"]
        );
        assert_eq!(names("host 1/day"), ["host 1/day burst 1"]);
        assert_eq!(names("ALL 1/day"), ["all 1/day burst 1"]);
        assert_eq!(
            names("ON POST,GET,POST //wp-login.php/ ip 5/minute; on /a/../%65xport/* all 1/day"),
            [
                "on GET,POST /wp-login.php ip 5/minute burst 5",
                "on /export* all 1/day burst 1"
            ]
        );
        assert_eq!(
            names("on /%2a%3B%25%20\u{e9} ip 1/day; on /* ip 1/day; on / ip 1/day"),
            [
                "on /%2A%3B%25%20%C3%A9 ip 1/day burst 1",
                "on /* ip 1/day burst 1",
                "on / ip 1/day burst 1"
            ]
        );
        assert_eq!(
            names("ip Concurrent\t10; on /x* all concurrent 1024"),
            ["ip concurrent 10", "on /x* all concurrent 1024"]
        );
        assert_eq!(
            names(
                "ip 5/minute block 1 Minutes; ip+path 9/day BURST 3 block 86400 second; ip 1/hour block 24 hour"
            ),
            [
                "ip 5/minute burst 5 block 1 minute",
                "ip+path 9/day burst 3 block 86400 seconds",
                "ip 1/hour burst 1 block 24 hours"
            ]
        );
        assert_eq!(
            names(
                "ON /x UNLESS  Cookie b,a*,a,b agent Evil%20bot,%2c%3B%2a%5b,GPTBot NET 300/minute burst 100;\
                 unless cookie a.b%20c all concurrent 12; AGENT (a=b?) net+path 1/day"
            ),
            [
                "on /x unless cookie a,a*,b agent %2C%3B%2A%5B,evil%20bot,gptbot net 300/minute burst 100",
                "unless cookie a_b_c all concurrent 12",
                "agent (a%3Db%3F) net+path 1/day burst 1"
            ]
        );
        assert_eq!(
            names(
                "on /tag*,/category*,/a%2Cb,/tag/* ip 30/minute Name Listing; \
                 ON PUT,POST /register,/login all concurrent 40 LEAVE 5 ON GET /z,/y \
                 leave 10\ton /export* leave 5 on GET /y,/z name A_b-1; \
                 ip 2/day burst 9 block 1 day leave 8 on /x"
            ),
            [
                "on /a%2Cb,/category*,/tag* ip 30/minute burst 30 name Listing",
                "on POST,PUT /login,/register all concurrent 40 leave 5 on GET /y,/z \
                 leave 10 on /export* name A_b-1",
                "ip 2/day burst 9 block 1 day leave 8 on /x"
            ]
        );
        assert_eq!(names(" ; ;"), [""; 0]);
    }

    #[test]
    fn parts_after_the_number_do_not_choose_the_buckets() {
        let limits = Rule::parse(
            "all 9/day leave 8 on /x name a; on /y all concurrent 2 leave 1 on /z; ip 9/day name b",
        );
        let limits = limits.unwrap();
        let buckets: Vec<_> = limits.iter().map(Rule::name_of_buckets).collect();
        assert_eq!(
            buckets,
            [
                "all 9/day burst 9",
                "on /y all concurrent 2",
                "ip 9/day burst 9"
            ]
        );
        let given: Vec<_> = limits.iter().map(Rule::given_name).collect();
        assert_eq!(given, [Some("a"), None, Some("b")]);
    }

    /// A request for a path.
    struct Sent(&'static str, &'static str);

    impl GuardedRequest for Sent {
        fn variable(&self, name: &CStr) -> Option<&[u8]> {
            let value = match name.to_bytes() {
                b"REQUEST_METHOD" => self.0,
                b"REQUEST_URI" => self.1,
                _ => return None,
            };
            Some(value.as_bytes())
        }

        fn script(&self) -> &[u8] {
            b""
        }
    }

    #[test]
    fn a_request_leaves_the_most_that_a_part_states() {
        let limits = Rule::parse(
            "on /a*,/b,/c%2Cd all 100/day leave 20 on /a* leave 60 on POST /a/export*,/b \
             leave 30 on /a/export",
        );
        let limit = limits.unwrap().remove(0);
        for (method, uri, left) in [
            ("GET", "/a", Some(20)),
            ("GET", "/a/export", Some(30)),
            ("POST", "/a/export/1", Some(60)),
            ("GET", "/a/export/1", Some(20)),
            ("POST", "/b?x", Some(60)),
            ("GET", "/b", Some(0)),
            ("GET", "/c,d", Some(0)),
            ("GET", "/b/x", None),
            ("GET", "/c", None),
        ] {
            let request = Sent(method, uri);
            let target = Target::of(&request);
            let found = limit.counts(&target).then(|| limit.left_by(&target));
            assert_eq!(found, left, "{method} {uri}");
        }
    }

    #[test]
    fn a_rate_adds_the_count_in_the_unit_and_holds_the_burst() {
        let limits = Rule::parse("ip 100/minute burst 20; ip 7/day").unwrap();
        let limit = |limit: &Rule| match limit.measure() {
            Measure::Rate { limit, .. } => *limit,
            Measure::Concurrent(_) => panic!("a rate"),
        };
        let [first, second] = [0, 1].map(|at| limit(&limits[at]));
        assert_eq!(first.cost_whole(1), Some(600_000_000));
        assert_eq!(first.capacity(), Tokens::from_int(20).unwrap());
        assert_eq!(second.cost_whole(7), Some(86_400_000_000_006));
        let most = Rule::parse("ip 1000000000/second").unwrap();
        assert_eq!(limit(&most[0]).span(), TICKS_PER_SECOND);
    }

    #[test]
    fn errors_have_the_position_and_what_was_expected() {
        for (text, at, expected) in [
            ("user 1/second", 0, "a key"),
            ("ip+ 1/second", 3, "a key"),
            ("ip+ip 1/second", 3, "another key"),
            ("header:a-b+header:A_B 1/second", 11, "another key"),
            ("header 1/second", 6, "\":\""),
            ("header: 1/second", 7, "the name of a header"),
            ("ip", 2, "a space"),
            ("ip:1/second", 2, "a space"),
            ("ip x/second", 3, "a whole number"),
            ("ip 0/second", 3, "a whole number"),
            ("ip -1/second", 3, "a whole number"),
            ("ip 1.5/second", 4, "\"/\""),
            ("ip 1000000001/second", 3, "a whole number"),
            ("ip 1 /second", 4, "\"/\""),
            ("ip 1/", 5, "second"),
            ("ip 1/seconds", 5, "second"),
            ("ip 1/second bust 2", 12, "\"burst\""),
            ("ip 1/second burst", 17, "a space"),
            ("ip 1/second burst 2 3", 20, "\"block\""),
            ("ip 1/day burst 1000000", 8, "a burst"),
            ("all+ip 1/second", 3, "a space"),
            ("ip+all 1/second", 3, "another key"),
            ("on", 2, "a space, and a path"),
            ("on ", 3, "a method"),
            ("on/x ip 1/second", 2, "a space, and a path"),
            ("on post /x ip 1/second", 3, "a method"),
            ("on POST, /x ip 1/second", 8, "a method"),
            ("on POST;ip 1/second", 7, "a space and a path"),
            ("on POST,/x ip 1/second", 8, "a method"),
            ("on /x", 5, "a space and a key"),
            ("on /x ;", 6, "a key"),
            ("on /*x ip 1/second", 4, "a path without"),
            ("on /x** ip 1/second", 5, "a path without"),
            ("on /x?y ip 1/second", 5, "a path without"),
            ("on /x#y ip 1/second", 5, "a path without"),
            ("on /x;y ip 1/second", 5, "a space and a key"),
            ("on /x,POST ip 1/second", 6, "a path that begins"),
            ("on /x,,/y ip 1/second", 6, "a path that begins"),
            ("on POST /x,y ip 1/second", 11, "a path that begins"),
            (
                "on /x*,/y ip 1/day; on /y,/x/* ip 1/day",
                20,
                "another limit",
            ),
            ("ip 1/day name", 13, "a space and a name"),
            ("ip 1/day name ", 14, "a space and a name"),
            ("ip 1/day name \u{e9}", 14, "a space and a name"),
            ("ip 1/day name a.b", 15, "\";\" or the end"),
            ("ip 1/day name a leave 1 on /x", 16, "\";\" or the end"),
            ("ip 1/day name a; all 1/day name a", 32, "another name"),
            ("ip 1/day name a; ip 1/day name b", 17, "another limit"),
            ("ip 9/day; ip 9/day leave 1 on /x", 10, "another limit"),
            ("all 9/day leave", 15, "a space and a whole number"),
            (
                "all 9/day leave /x",
                16,
                "a whole number from 1 that is less than the burst",
            ),
            ("all 9/day leave 0 on /x", 16, "a whole number from 1"),
            ("all 9/day leave 9 on /x", 16, "a whole number from 1"),
            ("all 9/day leave 8", 17, "a space, \"on\""),
            ("all 9/day leave 8 /x", 18, "a space, \"on\""),
            ("all 9/day leave 8 on", 20, "a space, and a path"),
            ("all 9/day leave 8 on /x burst 9", 24, "\"leave\", \"name\""),
            (
                "all concurrent 9 leave 9 on /x",
                23,
                "a whole number from 1 that is less than the number of permits",
            ),
            ("all concurrent 9 lave 9 on /x", 17, "\"leave\""),
            ("on /x on /y ip 1/second", 6, "a key"),
            ("unless", 6, "a space, \"cookie\""),
            ("unless a all 1/day", 7, "a space, \"cookie\""),
            ("unless cookie", 13, "a space and the name"),
            ("unless cookie all 1/day", 18, "a key"),
            ("unless cookie * all 1/day", 14, "the name of a cookie"),
            ("unless cookie a*b all 1/day", 15, "the name of a cookie"),
            ("unless cookie ab** all 1/day", 16, "the name of a cookie"),
            ("unless cookie a[b] all 1/day", 15, "the name of a cookie"),
            ("unless cookie ab%5B all 1/day", 14, "the name of a cookie"),
            ("unless cookie a=b all 1/day", 15, "the name of a cookie"),
            ("unless cookie ab%3D all 1/day", 14, "the name of a cookie"),
            ("unless cookie a%3Bb all 1/day", 14, "the name of a cookie"),
            ("unless cookie a%00 all 1/day", 14, "the name of a cookie"),
            ("unless cookie a,,b all 1/day", 16, "the name of a cookie"),
            ("unless cookie a unless cookie b all 1/day", 16, "a key"),
            ("unless cookie a on /x all 1/day", 16, "a key"),
            ("agent", 5, "a space and a part"),
            ("agent ;all 1/day", 6, "a part of a User-Agent"),
            ("agent a*b all 1/day", 7, "a part of a User-Agent"),
            ("agent * all 1/day", 6, "a part of a User-Agent"),
            ("agent [a] all 1/day", 6, "a part of a User-Agent"),
            ("agent a, all 1/day", 8, "a part of a User-Agent"),
            ("agent a", 7, "a space and a key"),
            ("agent a unless cookie b all 1/day", 8, "a key"),
            ("agent a agent b all 1/day", 8, "a key"),
            (
                "agent A,b all 1/day; agent b,a all 1/day",
                21,
                "another limit",
            ),
            ("net 1/day block 1 hour", 10, "\"ip\" among"),
            ("net+ip 1/day", 4, "another key"),
            ("ip+net 1/day", 3, "another key"),
            ("ip concurrent", 13, "a space"),
            ("ip concurrent 0", 14, "a whole number from 1 to 1024"),
            ("ip concurrent 1025", 14, "a whole number from 1 to 1024"),
            ("ip concurrent 5 burst 6", 16, "\"leave\""),
            ("ip concurrent 5/second", 15, "\"leave\""),
            ("ip concurrent 5; ip CONCURRENT 5", 17, "another limit"),
            ("ip 1/second block", 17, "a space"),
            ("ip 1/second block 5", 19, "a space and a unit"),
            ("ip 1/second block x minutes", 18, "a whole number"),
            ("ip 1/second block 0 minutes", 18, "a whole number"),
            ("ip 1/second block 5 weeks", 20, "second, minute"),
            ("ip 1/second block 86401 seconds", 18, "at most one day"),
            ("ip 1/second block 1441 minutes", 18, "at most one day"),
            ("ip 1/second block 2 days", 18, "at most one day"),
            ("ip 1/second block 1 day burst 2", 24, "\"leave\""),
            ("all 1/second burst 5 block 1 day", 21, "\"ip\" among"),
            ("ip 1/second; ip\u{fc} 1/second", 15, "a space"),
            ("ip 1/second;\u{0} ", 12, "a key"),
            ("ip 1/second; ip 1/second burst 1", 13, "another limit"),
        ] {
            let error = Rule::parse(text).unwrap_err();
            assert_eq!(error.at, at, "{text}: {error:?}");
            assert!(error.expected.starts_with(expected), "{text}: {error:?}");
        }
    }

    #[test]
    fn a_name_has_at_most_32_bytes() {
        let of = |length: usize| Rule::parse(&format!("ip 1/day name {}", "x".repeat(length)));
        assert!(of(32).is_ok());
        let error = of(33).unwrap_err();
        assert_eq!(
            (error.at, error.expected),
            (14, "a name of at most 32 bytes")
        );
    }

    #[test]
    fn names_of_cookies_and_texts_of_agents_have_at_most_64_bytes() {
        for condition in ["unless cookie", "agent"] {
            let of = |name: &str| Rule::parse(&format!("{condition} a,{name} all 1/day"));
            let at = condition.len() + 3;
            for (name, is_valid) in [
                ("x".repeat(64), true),
                ("%78".repeat(64), true),
                ("\u{e9}".repeat(32), true),
                ("x".repeat(65), false),
                ("\u{e9}".repeat(32) + "x", false),
            ] {
                let error = of(&name).err().map(|error| (error.at, error.expected));
                let expected = (!is_valid).then_some((at, "at most 64 bytes"));
                assert_eq!(error, expected, "{name}");
            }
        }
        assert!(Rule::parse(&format!("unless cookie {}* all 1/day", "x".repeat(64))).is_ok());
    }
}
