//! The limits of the guard, as php.ini has them: `ip 100/minute burst 20; ip+path 10/second`.

use super::path::path;
use super::{Client, Request, SyntaxError};
use gcra::clock::{TICKS_PER_SECOND, Ticks};
use gcra::quota::{Grain, Quota};
use gcra::tokens::Tokens;
use std::ffi::{CStr, CString};

/// The greatest count and the greatest burst.
const GREATEST: i64 = 1_000_000_000;

const UNITS: [(&str, Ticks); 4] = [
    ("second", TICKS_PER_SECOND),
    ("minute", 60 * TICKS_PER_SECOND),
    ("hour", 3_600 * TICKS_PER_SECOND),
    ("day", 86_400 * TICKS_PER_SECOND),
];

/// One limit: a quota for each combination of values of its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The parts of the bucket's identifier. At least one, and each only once.
    parts: Vec<Part>,
    quota: Quota,
    /// The limit in its canonical form. Limits with equal names are equal.
    name: String,
}

/// A value of a request that chooses the bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// The address of the client.
    Ip,
    /// The name of the server, in lower case. Some servers take it from the request.
    Host,
    /// The path of the request without its query.
    Path,
    /// The value of the header with this variable.
    Header(CString),
}

impl Limit {
    /// Parses a list of limits, which `;` separates. A limit is `KEY[+KEY...] COUNT/UNIT`,
    /// optionally followed by `burst COUNT`. The burst is the capacity. Without it, the capacity is
    /// the count.
    ///
    /// # Errors
    /// Returns the position of the first error. Two equal limits are an error, too.
    pub fn parse(text: &str) -> Result<Vec<Self>, SyntaxError> {
        let mut limits: Vec<Self> = Vec::new();
        let mut start = 0;
        for item in text.split(';') {
            let mut scanner = Scanner {
                text: item,
                at: start,
            };
            start += item.len() + 1;
            if scanner.is_at_end() {
                continue;
            }
            let begin = scanner.at;
            let limit = scanner.limit()?;
            if limits.contains(&limit) {
                return Err(SyntaxError {
                    at: begin,
                    expected: "another limit",
                });
            }
            limits.push(limit);
        }
        Ok(limits)
    }

    /// Returns the quota of each bucket.
    #[must_use]
    pub const fn quota(&self) -> &Quota {
        &self.quota
    }

    /// Returns the limit in its canonical form, for example `ip+path 10/second burst 10`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the identifier of the bucket that counts a request of `client`: the value of the
    /// part. The values of several parts are joined by spaces. Their lengths follow, so that no two
    /// combinations of values have the same identifier.
    pub fn identifier(&self, request: &impl Request, client: Client) -> Vec<u8> {
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
                Part::Host => identifier.extend(host(variable(c"SERVER_NAME"))),
                Part::Path => {
                    let names = [c"REQUEST_URI", c"SCRIPT_NAME", c"PATH_INFO"];
                    let [uri, script, info] = names.map(variable);
                    identifier.extend(path(uri, script, info, request.script()));
                }
                Part::Header(name) => identifier.extend(variable(name)),
            }
            if is_joined {
                lengths.extend(((identifier.len() - start) as u64).to_le_bytes());
            }
        }
        identifier.extend(lengths);
        identifier
    }
}

/// Returns the name of a host in lower case, without the dot at the end of a complete name.
fn host(name: &[u8]) -> impl Iterator<Item = u8> {
    let name = name.strip_suffix(b".").unwrap_or(name);
    name.iter().map(u8::to_ascii_lowercase)
}

/// The rest of a limit, and its position in the setting.
struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    fn limit(&mut self) -> Result<Limit, SyntaxError> {
        let (parts, keys) = self.parts()?;
        self.blanks()?;
        let count = self.number()?;
        self.expect("/", "\"/\" and a unit")?;
        let (unit, span) = self.unit()?;
        let begin = self.at;
        let capacity = if self.is_at_end() {
            count
        } else {
            self.burst()?
        };
        if !self.is_at_end() {
            return Err(self.before("", "\";\" or the end"));
        }
        let quota = quota(capacity, count, span).ok_or(SyntaxError {
            at: begin,
            expected: "a burst that refills within 36 years",
        })?;
        let name = format!("{keys} {count}/{unit} burst {capacity}");
        Ok(Limit { parts, quota, name })
    }

    /// Reads the keys. Returns their canonical form, too.
    fn parts(&mut self) -> Result<(Vec<Part>, String), SyntaxError> {
        let (mut parts, mut keys) = (Vec::new(), String::new());
        loop {
            let begin = self.at;
            let (part, key) = self.part()?;
            if parts.contains(&part) {
                return Err(SyntaxError {
                    at: begin,
                    expected: "another key",
                });
            }
            parts.push(part);
            keys += &key;
            if !self.skip("+") {
                return Ok((parts, keys));
            }
            keys.push('+');
        }
    }

    /// Reads a key. Returns its canonical form, too.
    fn part(&mut self) -> Result<(Part, String), SyntaxError> {
        const EXPECTED: &str = "a key: ip, host, path or header:Name";
        let word = self.word();
        let lower = word.to_ascii_lowercase();
        let part = match lower.as_str() {
            "ip" => Part::Ip,
            "host" => Part::Host,
            "path" => Part::Path,
            "header" => {
                self.expect(":", "\":\" and the name of a header")?;
                let name = self.word().to_ascii_lowercase().replace('_', "-");
                let variable = variable(&name).filter(|_| !name.is_empty());
                let variable = variable.ok_or_else(|| self.before("", "the name of a header"))?;
                return Ok((Part::Header(variable), format!("header:{name}")));
            }
            _ => return Err(self.before(word, EXPECTED)),
        };
        Ok((part, lower))
    }

    fn burst(&mut self) -> Result<i64, SyntaxError> {
        let word = self.word();
        if !word.eq_ignore_ascii_case("burst") {
            return Err(self.before(word, "\"burst\", \";\" or the end"));
        }
        self.blanks()?;
        self.number()
    }

    fn number(&mut self) -> Result<i64, SyntaxError> {
        let word = self.word();
        let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
        let number = word.parse().ok().filter(|_| is_number);
        number
            .filter(|number| (1..=GREATEST).contains(number))
            .ok_or_else(|| self.before(word, "a whole number from 1 to 1000000000"))
    }

    fn unit(&mut self) -> Result<(&'static str, Ticks), SyntaxError> {
        let word = self.word();
        let unit = UNITS
            .into_iter()
            .find(|unit| word.eq_ignore_ascii_case(unit.0));
        unit.ok_or_else(|| self.before(word, "second, minute, hour or day"))
    }

    /// Returns the letters, digits, hyphens and underscores at the start of the rest, and skips
    /// them.
    fn word(&mut self) -> &'a str {
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let length = self.text.bytes().take_while(is_part).count();
        let (word, rest) = self.text.split_at(length);
        self.text = rest;
        self.at += length;
        word
    }

    fn skip(&mut self, token: &str) -> bool {
        let rest = self.text.strip_prefix(token);
        if let Some(rest) = rest {
            self.text = rest;
            self.at += token.len();
        }
        rest.is_some()
    }

    /// Skips white space.
    fn trim(&mut self) {
        let rest = self.text.trim_ascii_start();
        self.at += self.text.len() - rest.len();
        self.text = rest;
    }

    /// Skips white space, of which there must be some.
    fn blanks(&mut self) -> Result<(), SyntaxError> {
        let begin = self.at;
        self.trim();
        if self.at == begin {
            return Err(self.before("", "a space and a whole number"));
        }
        Ok(())
    }

    /// Skips white space, and reports whether nothing else is left.
    fn is_at_end(&mut self) -> bool {
        self.trim();
        self.text.is_empty()
    }

    fn expect(&mut self, token: &str, expected: &'static str) -> Result<(), SyntaxError> {
        if self.skip(token) {
            return Ok(());
        }
        Err(self.before("", expected))
    }

    /// Returns the error that something else was expected instead of the last `word`.
    const fn before(&self, word: &str, expected: &'static str) -> SyntaxError {
        SyntaxError {
            at: self.at - word.len(),
            expected,
        }
    }
}

/// Returns the variable of a header, as CGI names it.
fn variable(header: &str) -> Option<CString> {
    let name = header.to_ascii_uppercase().replace('-', "_");
    let name = match name.as_str() {
        "CONTENT_TYPE" | "CONTENT_LENGTH" => name,
        _ => format!("HTTP_{name}"),
    };
    CString::new(name).ok()
}

/// Returns the quota of at most `capacity` tokens, with `count` tokens in each span.
fn quota(capacity: i64, count: i64, span: Ticks) -> Option<Quota> {
    let [capacity, count] = [capacity, count].map(Tokens::from_int);
    Quota::refilling(capacity.ok()?, count.ok()?, span, Grain::Nanosecond).ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        let limits = Limit::parse(text).unwrap();
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
        assert_eq!(names(" ; ;"), [""; 0]);
    }

    #[test]
    fn a_quota_adds_the_count_in_the_unit_and_holds_the_burst() {
        let limits = Limit::parse("ip 100/minute burst 20; ip 7/day").unwrap();
        let [first, second] = [limits[0].quota(), limits[1].quota()];
        assert_eq!(first.cost_whole(1), Some(600_000_000));
        assert_eq!(first.capacity(), Tokens::from_int(20).unwrap());
        assert_eq!(second.cost_whole(7), Some(86_400_000_000_006));
        let most = Limit::parse("ip 1000000000/second").unwrap();
        assert_eq!(most[0].quota().span(), TICKS_PER_SECOND);
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
            ("ip 1/second burst 2 3", 20, "\";\""),
            ("ip 1/day burst 1000000", 8, "a burst"),
            ("ip 1/second; ip\u{fc} 1/second", 15, "a space"),
            ("ip 1/second;\u{0} ", 12, "a key"),
            ("ip 1/second; ip 1/second burst 1", 13, "another limit"),
        ] {
            let error = Limit::parse(text).unwrap_err();
            assert_eq!(error.at, at, "{text}: {error:?}");
            assert!(error.expected.starts_with(expected), "{text}: {error:?}");
        }
    }
}
