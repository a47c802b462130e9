//! The options after the "?" of a DSN: `name=value` pairs, joined by "&".
//!
//! Invariant: the scheme allows each option, and each occurs once.

use super::error::DsnError;
use percent_encoding::percent_decode_str;
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

/// Decodes the percent escapes of a part of a DSN. Refuses control characters.
pub fn decode(text: &str) -> Result<String, DsnError> {
    // percent_encoding accepts broken escapes. Refuse broken escapes here, because the "%" was
    // probably meant to be encoded.
    let escapes = |rest: &str| {
        let digits = rest.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    if !text.split('%').skip(1).all(escapes) {
        return Err(DsnError::Escape);
    }
    let decoded = percent_decode_str(text).decode_utf8();
    let decoded = decoded.map_err(|_| DsnError::Encoding)?;
    if decoded.chars().any(char::is_control) {
        return Err(DsnError::Character);
    }
    Ok(decoded.into_owned())
}
