//! The condition of a limit: the methods and the path of the requests that it counts.

use super::path::{decoded_text, resolved};
use super::target::Target;
use super::{GuardedRequest, SyntaxError};
use percent_encoding::{AsciiSet, CONTROLS, percent_encode};

/// The bytes that are written as escapes in the path of a setting.
pub const ESCAPED: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'*')
    .add(b';')
    .add(b'?');

/// The requests that a limit counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The methods, sorted and each only once. If empty, the limit counts every method.
    pub methods: Vec<String>,
    pub path: Pattern,
}

impl Condition {
    /// Reports whether the limit counts a request with this target. Methods are compared exactly.
    /// `GET` includes `HEAD`, because PHP runs the same script for both.
    pub fn holds<R: GuardedRequest>(&self, target: &Target<'_, R>) -> bool {
        let is_method = || {
            let sent = target.method();
            let is_get = |method: &str| method == "GET" && sent == b"HEAD";
            let mut methods = self.methods.iter();
            methods.any(|method| method.as_bytes() == sent || is_get(method))
        };
        (self.methods.is_empty() || is_method())
            && target.paths().any(|path| self.path.matches(path))
    }

    /// Returns the beginning of the limit's name, such as `on POST /login `.
    pub fn name(&self) -> String {
        let methods = self.methods.join(",");
        let space = if methods.is_empty() { "" } else { " " };
        format!("on {methods}{space}{} ", self.path.name())
    }
}

/// A path, or all paths that begin with its segments.
#[derive(Clone, Debug, PartialEq, Eq)]
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
        let Some(rest) = path.strip_prefix(self.path.as_slice()) else {
            return false;
        };
        rest.is_empty() || (self.is_below && (rest.starts_with(b"/") || self.path == b"/"))
    }

    fn name(&self) -> String {
        let star = if self.is_below { "*" } else { "" };
        format!("{}{star}", percent_encode(&self.path, ESCAPED))
    }
}
