//! Why a remote store gave no answer.
//!
//! Invariant: no text in here holds a password. What servers say is cleaned by [`Cause::refused`].

use super::secret::Secret;
use super::tls::TlsError;
use std::io;

/// A failure of one store.
#[derive(Debug, thiserror::Error)]
#[error("{store}: {cause}")]
pub struct Failure {
    /// Which store, as it may be shown.
    pub store: String,
    /// What happened.
    pub cause: Cause,
}

/// What happened.
#[derive(Debug, thiserror::Error)]
pub enum Cause {
    /// The deadline passed. Whether the store acted is unknown.
    #[error("no reply within the timeout")]
    Timeout,
    /// Its name has no address.
    #[error("the DNS lookup failed: {0}")]
    Lookup(#[source] io::Error),
    /// No connection.
    #[error("cannot connect: {0}")]
    Connect(#[source] io::Error),
    /// The connection broke. Whether the store acted is unknown.
    #[error("the connection broke: {0}")]
    Broken(#[source] io::Error),
    /// No trust.
    #[error("{0}")]
    Tls(String),
    /// It answered that it will not: loading, read-only, out of memory, wrong password, ….
    #[error("it answered: {0}")]
    Refused(String),
    /// Its answer is none.
    #[error("malformed reply: {0}")]
    Answer(&'static str),
    /// What is kept under the bucket's name is no bucket. It is left as it is.
    #[error("the key does not hold a record of this limiter")]
    Record,
    /// The connection, which is not ours to make anew, is of no use now.
    #[error("the connection is lost: {0}")]
    Lost(String),
    /// One statement failed; the store goes on.
    #[error("the statement failed: {0}")]
    Statement(String),
    /// The connection was lost before; that is known.
    #[error("the connection was lost: {0}")]
    LostBefore(String),
    /// Code of the caller's does not do what it should.
    #[error("application code interfered: {0}")]
    Caller(&'static str),
    /// Code of the caller's threw while the store was asked.
    #[error("an exception was thrown meanwhile")]
    Thrown,
    /// It failed before, and its breaker is open.
    #[error("not contacted, because its breaker is open")]
    Waiting,
}

/// Whose failure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// The store's: its breaker counts it.
    Store,
    /// That of one key or one statement. The store is well, because it answered.
    Request,
    /// The caller's own connection or code: it says nothing of the store.
    Caller,
}

/// What a server says is cut here.
const LONGEST_TEXT: usize = 200;

impl Cause {
    /// Says whose failure it is.
    #[must_use]
    pub const fn blame(&self) -> Blame {
        match self {
            Self::Record | Self::Statement(_) => Blame::Request,
            Self::LostBefore(_) | Self::Caller(_) | Self::Thrown => Blame::Caller,
            _ => Blame::Store,
        }
    }

    /// What a server answered, made fit to be shown.
    #[must_use]
    pub fn refused(text: &str, secret: Option<&Secret>) -> Self {
        // Redis repeats the beginning of what a command was given that it does not know, so of AUTH, too.
        let (text, _) = text.split_once(", with args").unwrap_or((text, ""));
        // Before it is cut, which could leave the half of a secret.
        let text = match secret.map(Secret::expose).filter(|s| !s.is_empty()) {
            Some(secret) => shown(&text.replace(secret, "***")),
            None => shown(text),
        };
        Self::Refused(text)
    }
}

/// What a server says, made fit to be shown.
#[must_use]
pub fn shown(text: &str) -> String {
    text.chars()
        .map(|char| if char.is_control() { ' ' } else { char })
        .take(LONGEST_TEXT)
        .collect()
}

impl From<TlsError> for Cause {
    fn from(error: TlsError) -> Self {
        match error {
            TlsError::Transport(error) => error.into(),
            error => Self::Tls(error.to_string()),
        }
    }
}

impl From<io::Error> for Cause {
    /// Of an exchange on a connection that stood.
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::TimedOut {
            Self::Timeout
        } else {
            Self::Broken(error)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_says_is_cleaned() {
        let secret = Secret::new("hunter2");
        let cause = Cause::refused("WRONGPASS hunter2\r\nx", Some(&secret));
        assert_eq!(cause.to_string(), "it answered: WRONGPASS ***  x");
        let long = Cause::refused(&"x".repeat(10_000), None);
        assert!(long.to_string().len() < 300);
        let cut = format!("{}hunter2", "x".repeat(LONGEST_TEXT - 4));
        let cause = Cause::refused(&cut, Some(&secret));
        assert!(!cause.to_string().contains("hunt"), "{cause}");
        let told = "ERR unknown command 'AUTH', with args beginning with: 'hunt";
        let cause = Cause::refused(told, Some(&secret));
        assert_eq!(cause.to_string(), "it answered: ERR unknown command 'AUTH'");
    }
}
