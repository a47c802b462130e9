//! The condition of a limit: the methods and the paths of the requests that it counts.

use super::path::{decoded_text, resolved};
use super::target::Target;
use super::{GuardedRequest, SyntaxError};
use percent_encoding::{AsciiSet, CONTROLS, percent_encode};
use std::fmt;

/// The bytes that are written as escapes in the path of a setting.
pub const ESCAPED: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'*')
    .add(b',')
    .add(b';')
    .add(b'?');

/// The requests that a limit counts, or that leave tokens to others. Each list is sorted, and has
/// each element only once.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Condition {
    /// If empty, every method.
    pub methods: Vec<String>,
    pub paths: Vec<Pattern>,
}

impl Condition {
    /// Reports whether a request has one of the methods and paths. Methods are compared exactly.
    /// `GET` includes `HEAD`, because PHP runs the same script for both.
    #[inline]
    pub fn holds<R: GuardedRequest>(&self, target: &Target<'_, R>) -> bool {
        let is_method = || {
            let sent = target.method();
            let is_get = |method: &str| method == "GET" && sent == b"HEAD";
            let mut methods = self.methods.iter();
            methods.any(|method| method.as_bytes() == sent || is_get(method))
        };
        if !self.methods.is_empty() && !is_method() {
            return false;
        }
        let paths = target.paths();
        let is_path = |pattern: &Pattern| paths.iter().any(|path| pattern.matches(path));
        self.paths.iter().any(is_path)
    }
}

/// Writes the canonical form, such as `on POST /login,/register`.
impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let methods = self.methods.join(",");
        let space = if methods.is_empty() { "" } else { " " };
        let paths: Vec<_> = self.paths.iter().map(Pattern::name).collect();
        write!(f, "on {methods}{space}{}", paths.join(","))
    }
}

/// A path, or all paths that begin with its segments.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pattern {
    /// The decoded path without dot segments, and without a slash at its end.
    path: Vec<u8>,
    /// True if the pattern also matches everything below the path.
    is_below: bool,
}

impl Pattern {
    /// Parses a path such as `/login`, or `/export*` for `/export` and everything below. Escapes
    /// are decoded.
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        const STARS: &str = "a path without \"*\" (except at its end), \"?\" and \"#\"";
        let error = |at, expected| Err(SyntaxError { at, expected });
        if !text.starts_with('/') {
            return error(0, "a path that begins with \"/\"");
        }
        let (path, is_below) = match text.strip_suffix('*') {
            Some(path) => (path, true),
            None => (text, false),
        };
        if let Some(at) = path.find(['*', '?', '#']) {
            return error(at, STARS);
        }
        let path = resolved(decoded_text(path)).into_owned();
        Ok(Self { path, is_below })
    }

    fn matches(&self, path: &[u8]) -> bool {
        let Some((begin, rest)) = path.split_at_checked(self.path.len()) else {
            return false;
        };
        // The rest is compared first, because it rules out most paths.
        let is_below = || self.is_below && (rest.starts_with(b"/") || self.path == b"/");
        (rest.is_empty() || is_below()) && begin == self.path
    }

    fn name(&self) -> String {
        let star = if self.is_below { "*" } else { "" };
        format!("{}{star}", percent_encode(&self.path, ESCAPED))
    }
}
