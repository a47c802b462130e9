//! The conditions on what a client claims to be: the names of its cookies, and its user agent.
//!
//! A client can send any cookie and any `User-Agent`. So these conditions only separate honest
//! requests from anonymous ones. They never depend on the path: a page has more paths than its
//! script ([`super::Target::paths`]), so that an exemption by a path would be a bypass.

use super::condition::ESCAPED;
use super::path::decoded_text;
use super::{GuardedRequest, SyntaxError, cookies};
use percent_encoding::{AsciiSet, percent_encode};
use std::fmt;

/// The most bytes of a name or a text, after escapes were decoded.
const MOST: usize = 64;

const LISTED: &AsciiSet = &ESCAPED.add(b'[').add(b'=');

/// The strangers that a limit counts. Each list is sorted, and has each element only once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    /// A request that has one of these cookies is not counted.
    pub cookies: Vec<CookieName>,
    /// The texts of which a counted request's user agent contains one. If empty, each user agent is
    /// counted.
    pub agents: Vec<AgentText>,
}

impl Claims {
    /// Reports whether the limit counts this request.
    pub fn hold(&self, request: &impl GuardedRequest) -> bool {
        (self.cookies.is_empty() || !self.has_cookie(request))
            && (self.agents.is_empty() || self.has_agent(request))
    }

    fn has_cookie(&self, request: &impl GuardedRequest) -> bool {
        let field = request.variable(c"HTTP_COOKIE").unwrap_or_default();
        let mut names = cookies::names(field, request.most_cookies());
        names.any(|name| self.cookies.iter().any(|cookie| cookie.matches(&name)))
    }

    fn has_agent(&self, request: &impl GuardedRequest) -> bool {
        let agent = request.variable(c"HTTP_USER_AGENT").unwrap_or_default();
        self.agents.iter().any(|text| text.is_in(agent))
    }
}

/// Writes the conditions as they stand before the keys of a limit.
impl fmt::Display for Claims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut word = "unless cookie ";
        for CookieName { name, begins } in &self.cookies {
            let star = if *begins { "*" } else { "" };
            write!(f, "{word}{}{star}", percent_encode(name, LISTED))?;
            word = ",";
        }
        f.write_str(if self.cookies.is_empty() { "" } else { " " })?;
        word = "agent ";
        for AgentText(text) in &self.agents {
            write!(f, "{word}{}", percent_encode(text, LISTED))?;
            word = ",";
        }
        f.write_str(if self.agents.is_empty() { "" } else { " " })
    }
}

/// The name of a cookie, as PHP code knows it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CookieName {
    name: Vec<u8>,
    /// True if it stands for all names that begin with it.
    begins: bool,
}

impl CookieName {
    /// Parses a name such as `PHPSESSID`, or `wordpress_logged_in_*` for all names with this
    /// beginning. Escapes are decoded. Fails if no cookie of PHP can have the name.
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        const EXPECTED: &str =
            "the name of a cookie, without \"*\" (except at its end), \"[\" and \"=\"";
        let (name, begins) = match text.strip_suffix('*') {
            Some(name) => (name, true),
            None => (text, false),
        };
        let mut name = decoded(name, &['*', '[', '='], EXPECTED)?;
        let is_impossible = |byte: &u8| byte.is_ascii_control() || b"[=;".contains(byte);
        if name.iter().any(is_impossible) {
            return Err(SyntaxError::new(0, EXPECTED));
        }
        for byte in &mut name {
            *byte = cookies::changed(*byte);
        }
        Ok(Self { name, begins })
    }

    /// Returns the name of the variable that shows whether a request has the cookie.
    pub fn variable(&self) -> String {
        if self.begins {
            return "HTTP_COOKIE".to_owned();
        }
        format!("COOKIE_{}", String::from_utf8_lossy(&self.name))
    }

    fn matches(&self, name: &[u8]) -> bool {
        if self.begins {
            name.starts_with(&self.name)
        } else {
            name == self.name
        }
    }
}

/// A text in the user agents that a limit counts, in lower case.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AgentText(Vec<u8>);

impl AgentText {
    /// Parses a text such as `GPTBot` or `Evil%20Bot`. Escapes are decoded.
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        const EXPECTED: &str = "a part of a User-Agent, without \"*\" and \"[\"";
        let mut text = decoded(text, &['*', '['], EXPECTED)?;
        text.make_ascii_lowercase();
        Ok(Self(text))
    }

    fn is_in(&self, agent: &[u8]) -> bool {
        let mut parts = agent.windows(self.0.len());
        parts.any(|part| part.eq_ignore_ascii_case(&self.0))
    }
}

/// Decodes the escapes of a text. Fails if the text is empty or too long, or if it has one of the
/// characters `without`, of which none is an escape.
fn decoded(text: &str, without: &[char], expected: &'static str) -> Result<Vec<u8>, SyntaxError> {
    let decoded = decoded_text(text).into_owned();
    if let Some(at) = text.find(without).or(decoded.is_empty().then_some(0)) {
        return Err(SyntaxError { at, expected });
    }
    if decoded.len() > MOST {
        return Err(SyntaxError::new(0, "at most 64 bytes"));
    }
    Ok(decoded)
}

#[cfg(test)]
mod tests {
    use crate::{GuardedRequest, Rule, Target};
    use std::ffi::CStr;

    /// A request with a `Cookie` header field and a `User-Agent`, if they are not empty.
    struct Sent<'a>(&'a str, &'a str);

    impl GuardedRequest for Sent<'_> {
        fn variable(&self, name: &CStr) -> Option<&[u8]> {
            let value = match name.to_bytes() {
                b"HTTP_COOKIE" => self.0,
                b"HTTP_USER_AGENT" => self.1,
                _ => "",
            };
            (!value.is_empty()).then_some(value.as_bytes())
        }

        fn script(&self) -> &[u8] {
            b""
        }
    }

    fn counts(limit: &str, cookies: &str, agent: &str) -> bool {
        let limits = Rule::parse(limit).unwrap();
        limits[0].counts(&Target::of(&Sent(cookies, agent)))
    }

    #[test]
    fn a_request_with_a_cookie_is_exempt() {
        let limit = "unless cookie PHPSESSID,wordpress_logged_in_*,a.b all 1/day";
        for (cookies, is_exempt) in [
            ("", false),
            ("x=1", false),
            ("PHPSESSID=", true),
            ("x; PHPSESSID", true),
            ("x=PHPSESSID=1", false),
            ("phpsessid=1", false),
            ("PHPSESSID2=1", false),
            ("PHPSESSID[a]=1", true),
            ("wordpress_logged_in_0f=1", true),
            ("wordpress_logged_in_=1", true),
            ("wordpress_logged_in=1", false),
            ("xwordpress_logged_in_0f=1", false),
            ("a.b=1", true),
            ("a_b=1", true),
        ] {
            assert_eq!(counts(limit, cookies, ""), !is_exempt, "{cookies}");
        }
    }

    #[test]
    fn an_agent_is_counted_if_it_contains_a_text() {
        let limit = "agent GPTBot,evil%20bot all 1/day";
        for (agent, is_counted) in [
            ("", false),
            ("Mozilla/5.0", false),
            ("GPTBot", true),
            ("Mozilla/5.0 (compatible; gptBOT/1.2)", true),
            ("GPTBo", false),
            ("x Evil Bot", true),
            ("evil%20bot", false),
        ] {
            assert_eq!(counts(limit, "", agent), is_counted, "{agent}");
        }
        let both = "unless cookie a agent b all 1/day";
        for (cookies, agent, is_counted) in [
            ("", "b", true),
            ("a", "b", false),
            ("", "c", false),
            ("a", "c", false),
        ] {
            assert_eq!(counts(both, cookies, agent), is_counted);
        }
    }
}
