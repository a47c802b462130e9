//! A password that is never printed.
//!
//! Invariant: the text is available only through [`Secret::expose`]. Neither Debug nor Display
//! shows even its length.

use std::fmt;
use zeroize::Zeroize;

/// A password or another text that must not appear in logs, errors or dumps.
///
/// The memory is wiped on drop. Copies that the caller made, such as the PHP string of a DSN, are
/// not wiped.
// The derived comparison takes a time that depends on the texts. No attacker can measure that time,
// because both texts are the caller's own configuration.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the text, which may only be sent to the server.
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
