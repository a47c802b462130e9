//! The guard's rules: the limits of php.ini that a request must pass before its script is compiled.
//!
//! This crate is pure. It parses the settings ([`Rule`], [`Networks`]), finds the client's address
//! ([`Client`]), decides which limits count the request ([`Target`]) and makes the identifiers of
//! the buckets. The PHP extension reads the request, takes the tokens and sends the response.
//!
//! Invariant: a client cannot choose which bucket counts it, except by the values that a limit
//! names. So unusual spellings of an address or a path lead to the same bucket, and malformed
//! addresses share one bucket.

mod age;
mod claims;
mod client;
mod condition;
mod cookies;
mod grammar;
mod leave;
mod named;
mod nat64;
mod networks;
mod path;
mod rule;
mod scanner;
mod target;

pub use age::{Age, MaxAge};
pub use client::Client;
pub use leave::step_leaving;
pub use named::{Origin, Unnamed};
pub use networks::Networks;
pub use rule::{Measure, Part, Rule};
pub use target::Target;

use std::ffi::CStr;

/// The variables of a request, as CGI names them.
pub trait GuardedRequest {
    /// Returns the value of a variable, or `None` if the server did not pass it.
    fn variable(&self, name: &CStr) -> Option<&[u8]>;

    /// Returns the path of the file that PHP runs, or no bytes if it is unknown.
    fn script(&self) -> &[u8];

    /// Returns a path of the file system without symbolic links, or `None` if that is unknown.
    fn real_path(&self, _path: &[u8]) -> Option<Vec<u8>> {
        None
    }

    /// Returns the number of cookies that PHP reads at most.
    fn most_cookies(&self) -> usize {
        1000
    }
}

/// Reports whether the request may be a preflight request (CORS), by which a browser asks whether
/// it may send another request. Any client can send such a request.
pub fn is_preflight(request: &impl GuardedRequest) -> bool {
    let has = |name| {
        request
            .variable(name)
            .is_some_and(|value| !value.is_empty())
    };
    request.variable(c"REQUEST_METHOD") == Some(b"OPTIONS")
        && has(c"HTTP_ORIGIN")
        && has(c"HTTP_ACCESS_CONTROL_REQUEST_METHOD")
}

/// A setting that cannot be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// The byte at which the error was found, counted from 0.
    pub at: usize,
    /// The text that the parser expected there.
    pub expected: &'static str,
}

impl SyntaxError {
    const fn new(at: usize, expected: &'static str) -> Self {
        Self { at, expected }
    }

    /// Returns the error in a text that has `begin` more bytes in front.
    const fn after(self, begin: usize) -> Self {
        Self::new(begin + self.at, self.expected)
    }
}
