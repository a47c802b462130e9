//! A password, which nothing prints.
//!
//! Invariant: the text leaves only through [`Secret::expose`]; neither Debug nor Display shows even
//! its length.

use std::fmt;
use zeroize::Zeroize;

/// A password or another text that must not reach logs, errors or dumps.
///
/// The memory is wiped on drop. That is best effort: the caller's own copy, such as the PHP string
/// of a DSN, is the caller's.
// The derived comparison takes a time that depends on the texts. Both sides are our caller's own
// configuration, so there is nobody to measure it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Secret(String);

impl Secret {
    /// Keeps `text`.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself, for the server alone.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_prints_it() {
        let secret = Secret::new("hunter2");
        assert_eq!(format!("{secret} {secret:?} {secret:#?}"), "*** *** ***");
        assert_eq!(format!("{:?}", Some(&secret)), "Some(***)");
        assert_eq!(secret.expose(), "hunter2");
    }

    #[test]
    fn equal_texts_are_equal_secrets() {
        assert_eq!(Secret::new("a"), Secret::new("a").clone());
        assert_ne!(Secret::new("a"), Secret::new("b"));
    }
}
