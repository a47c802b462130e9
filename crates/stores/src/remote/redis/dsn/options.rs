//! The options after the "?" of a DSN: `name=value` pairs, joined by "&".
//!
//! Invariant: the scheme allows each option, and each occurs once.

use super::{DsnError, decode};
use std::collections::BTreeMap;

/// The options of any scheme.
pub const KNOWN: [&str; 13] = [
    "cafile",
    "certfile",
    "keyfile",
    "servername",
    "db",
    "user",
    "password",
    "sentinel_user",
    "sentinel_password",
    "hash_tags",
    "one_server",
    "weights",
    TAKE_AHEAD,
];

/// The option that each scheme allows. It belongs to no server.
pub const TAKE_AHEAD: &str = "take_ahead";

/// Options with their decoded values.
#[derive(Default)]
pub struct Options<'a>(BTreeMap<&'a str, String>);

impl<'a> Options<'a> {
    /// Parses `query` for a scheme that allows the options `allowed`.
    pub fn parse(query: &'a str, allowed: &[&str]) -> Result<Self, DsnError> {
        let mut options = Self::default();
        if query.is_empty() {
            return Ok(options);
        }
        for pair in query.split('&') {
            let (name, value) = match pair.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (pair, None),
            };
            if !KNOWN.contains(&name) {
                return Err(DsnError::UnknownOption);
            }
            if name != TAKE_AHEAD && !allowed.contains(&name) {
                return Err(DsnError::MisplacedOption);
            }
            let value = decode(value.ok_or(DsnError::NoValue)?)?;
            if options.0.insert(name, value).is_some() {
                return Err(DsnError::DuplicateOption);
            }
        }
        Ok(options)
    }

    pub fn get(&self, name: &str) -> Option<String> {
        self.0.get(name).cloned()
    }

    pub fn take(&mut self, name: &str) -> Option<String> {
        self.0.remove(name)
    }

    /// Takes an option that is 0 or 1. Returns `Some(None)` without the option, and `None` if it is
    /// anything else.
    #[expect(clippy::option_option)]
    pub fn flag(&mut self, name: &str) -> Option<Option<bool>> {
        match self.take(name).as_deref() {
            None => Some(None),
            Some("0") => Some(Some(false)),
            Some("1") => Some(Some(true)),
            Some(_) => None,
        }
    }
}
