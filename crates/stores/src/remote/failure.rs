//! The failures of remote stores, and their causes.
//!
//! Invariant: no text in this module contains a password. [`Cause::refused`] removes it from the
//! texts of servers. [`Failure`] escapes its whole text when it is displayed.

use super::Server;
use super::breaker::CauseKind;
use super::secret::Secret;
use super::settings::OnFailure;
use super::tls::TlsError;
use crate::printable;
use gcra::Timestamp;
use rustix::io::Errno;
use std::io;
use std::sync::Arc;

/// A failure of one store. Its text is [`printable`].
#[derive(Debug, thiserror::Error)]
#[error("{}", printable(format!("{store}: {cause}")))]
pub struct Failure {
    /// The store's name for display.
    pub store: String,
    pub cause: Cause,
    /// The policy that decided the call.
    pub policy: OnFailure,
}

impl Failure {
    /// Returns the warning to a caller whose call the policy decided.
    pub fn warning(&self) -> String {
        let meanwhile = match self.policy {
            OnFailure::Local => "using shared memory of this host",
            OnFailure::Allow => "allowing all calls",
            OnFailure::Deny => "denying all calls",
            OnFailure::Throw => return format!("{self}; the call has changed the bucket"),
        };
        let is_of_store = self.cause.blame() == Blame::Store;
        let until = if is_of_store {
            " until it recovers"
        } else {
            ""
        };
        format!("{self}; {meanwhile}{until}")
    }
}

#[derive(Debug, thiserror::Error)]
pub enum Cause {
    /// The deadline passed. It is unknown whether the store executed the request.
    #[error("no reply within the timeout")]
    Timeout,
    /// The host name could not be looked up.
    #[error("the DNS lookup failed: {0}")]
    Lookup(#[source] io::Error),
    /// The connection could not be established.
    #[error("cannot connect: {0}")]
    Connect(#[source] io::Error),
    /// The connection broke. It is unknown whether the store executed the request.
    #[error("the connection broke: {0}")]
    Broken(#[source] io::Error),
    /// TLS failed, for example because the certificate could not be verified.
    #[error("{0}")]
    Tls(String),
    /// This process cannot use a file of the TLS settings, for example because its user may not
    /// read the file. Nothing was sent.
    #[error("{0}")]
    TlsFile(String),
    /// The server refused the request, for example because it is loading data, read-only or out of
    /// memory, or because the password is wrong.
    #[error("it answered: {0}")]
    Refused(String),
    /// The reply is malformed.
    #[error("malformed reply: {0}")]
    Answer(&'static str),
    /// The server lacks something that every call needs.
    #[error("the server is not supported: {0}")]
    Unsupported(&'static str),
    /// No server of the cluster keeps the slot of the bucket's key. The process knows this without
    /// sending a request.
    #[error("no server keeps the record")]
    Unserved,
    /// The bucket's key holds data that is not a record. The data is left unchanged.
    #[error("the key does not hold a record of this limiter")]
    Record,
    /// The connection was lost during this call. The caller owns it, so it cannot be reopened here.
    #[error("the connection is lost: {0}")]
    Lost(String),
    /// One statement failed. The store executes other statements.
    #[error("the statement failed: {0}")]
    Statement(String),
    /// An earlier call found that the connection was lost.
    #[error("the connection was lost: {0}")]
    LostBefore(String),
    /// The kernel returned no random number, so no request could be made.
    #[error("no random number: {0}")]
    Random(#[source] io::Error),
    /// The caller's own code, such as a subclass of a client, returned something invalid.
    #[error("application code interfered: {0}")]
    Caller(&'static str),
    /// The caller's own code threw an exception during the call to the store.
    #[error("an exception was thrown meanwhile")]
    Thrown,
    /// The failure ended the transaction that the caller had open, or made it impossible to commit.
    /// Every policy throws this cause, because a caller that goes on would lose its own changes.
    #[error("{0}; the open transaction cannot be committed")]
    Transaction(Box<Self>),
    /// The server replied that another server keeps the record now. It did not execute the request.
    #[error("redirected too often")]
    Redirected {
        server: Arc<Server>,
        /// True if the other server keeps only this record, so that the command needs `ASKING`.
        asks: bool,
    },
    /// The call's time was up, because other stores have used it. So the store was not called.
    #[error("not contacted, because the time of the call was up")]
    OutOfTime,
    /// The store's clock, which shows this time since the Unix epoch, is in none of the windows of
    /// a quota that were sent. The store changed nothing.
    #[error("its clock is in none of the windows of the quota")]
    Clock(Timestamp),
    /// The breaker is open because of earlier failures, so the store was not called.
    #[error("not contacted, because its breaker is open")]
    Waiting,
}

/// The origin of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// The store. Its breaker counts the failure.
    Store,
    /// One key, one statement or one permission. The store works, because it replied.
    Request,
    /// The caller's own process, connection or code, or a slot without a server. The failure does
    /// not show whether the store works.
    Caller,
}

/// The most characters of a server's text that are kept.
const LONGEST_TEXT: usize = 200;

impl Cause {
    /// Returns the origin of the failure.
    pub fn blame(&self) -> Blame {
        match self {
            Self::Transaction(cause) => cause.blame(),
            Self::Record | Self::Statement(_) | Self::Redirected { .. } | Self::Clock(_) => {
                Blame::Request
            }
            // The user may run other commands or use other keys.
            Self::Refused(text) if is_of_user(text) || is_of_slot(text) => Blame::Request,
            // This process may not open the socket, or has too many open files.
            Self::Connect(error) if is_of_process(error) => Blame::Caller,
            Self::TlsFile(_)
            | Self::LostBefore(_)
            | Self::Unserved
            | Self::Random(_)
            | Self::Caller(_)
            | Self::Thrown
            | Self::OutOfTime => Blame::Caller,
            _ => Blame::Store,
        }
    }

    /// Reports whether the server works and refuses a bucket, of which there may be others.
    pub(super) fn is_of_one_bucket(&self) -> bool {
        let is_followed = matches!(self, Self::Redirected { .. } | Self::Clock(_));
        self.blame() == Blame::Request && !is_followed
    }

    /// Reports whether a connection or code of the caller failed, such as a PDO object.
    pub fn is_of_caller(&self) -> bool {
        matches!(
            self.kind(),
            CauseKind::Statement | CauseKind::Lost | CauseKind::Caller
        )
    }

    pub fn kind(&self) -> CauseKind {
        match self {
            Self::Transaction(cause) => cause.kind(),
            Self::Timeout => CauseKind::Timeout,
            Self::Lookup(_) => CauseKind::Lookup,
            Self::Connect(_) => CauseKind::Connect,
            Self::Broken(_) => CauseKind::Broken,
            Self::Tls(_) | Self::TlsFile(_) => CauseKind::Tls,
            Self::Refused(_) | Self::Unserved | Self::Unsupported(_) | Self::Redirected { .. } => {
                CauseKind::Refused
            }
            Self::Answer(_) | Self::Clock(_) => CauseKind::Malformed,
            Self::Record => CauseKind::Record,
            Self::Statement(_) => CauseKind::Statement,
            Self::Lost(_) | Self::LostBefore(_) => CauseKind::Lost,
            Self::Random(_) | Self::Caller(_) | Self::Thrown => CauseKind::Caller,
            Self::Waiting | Self::OutOfTime => CauseKind::Waiting,
        }
    }

    /// Returns the text for `status()`. Of a server's text, it has the first word only, because the
    /// rest may contain the name of a user.
    pub fn brief(&self) -> String {
        let word = |text: &str| {
            text.split_whitespace()
                .next()
                .unwrap_or_default()
                .to_owned()
        };
        let brief = match self {
            Self::Refused(text) => Self::Refused(word(text)).to_string(),
            Self::Statement(text) => Self::Statement(word(text)).to_string(),
            Self::Lost(text) | Self::LostBefore(text) => Self::Lost(word(text)).to_string(),
            Self::Transaction(cause) => return cause.brief(),
            cause => cause.to_string(),
        };
        printable(brief)
    }

    /// Creates the cause from a server's refusal. Removes the secret and truncates the text.
    pub fn refused(text: &str, secret: Option<&Secret>) -> Self {
        // If a command is unknown to Redis, the error repeats the beginning of the arguments. The
        // arguments of AUTH contain the password.
        let (text, _) = text.split_once(", with args").unwrap_or((text, ""));
        // Replace the secret before truncating, because truncating could leave a part of the
        // secret.
        let text = match secret.map(Secret::expose).filter(|s| !s.is_empty()) {
            Some(secret) => shortened(&text.replace(secret, "***")),
            None => shortened(text),
        };
        Self::Refused(text)
    }
}

/// Reports whether a server refused a command because its user lacks a permission. Scripts report
/// this in words that depend on the version of the server.
fn is_of_user(refusal: &str) -> bool {
    let in_script = ["The user executing the script", "ACL failure in script"];
    refusal.starts_with("NOPERM") || in_script.iter().any(|text| refusal.contains(text))
}

/// Reports whether a server of a cluster refused a request because of its keys' slots.
fn is_of_slot(refusal: &str) -> bool {
    ["TRYAGAIN", "CROSSSLOT", "CLUSTERDOWN Hash slot not served"]
        .iter()
        .any(|text| refusal.starts_with(text))
}

/// Reports whether connecting failed because of this process, and not because of the server.
fn is_of_process(error: &io::Error) -> bool {
    let code = error.raw_os_error().map(Errno::from_raw_os_error);
    matches!(code, Some(Errno::ACCESS | Errno::PERM | Errno::MFILE))
}

/// Truncates a server's text to 200 characters.
pub fn shortened(text: &str) -> String {
    text.chars().take(LONGEST_TEXT).collect()
}

impl From<TlsError> for Cause {
    fn from(error: TlsError) -> Self {
        match error {
            TlsError::Transport(error) => error.into(),
            TlsError::Rustls(_) => Self::Tls(error.to_string()),
            error => Self::TlsFile(error.to_string()),
        }
    }
}

/// Returns the error of a connection that the server has closed.
pub fn closed() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "it was closed by the server")
}

impl From<io::Error> for Cause {
    /// Converts an I/O error of an established connection.
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::TimedOut {
            Self::Timeout
        } else if error.kind() == io::ErrorKind::UnexpectedEof {
            // Replace the error, because rustls has a text of its own for a connection that ends
            // without TLS's closing message.
            Self::Broken(closed())
        } else if error
            .get_ref()
            .is_some_and(<dyn std::error::Error + Send + Sync>::is::<rustls::Error>)
        {
            // For example, the server rejects the certificate of the client after the handshake.
            Self::Tls(format!("TLS: {error}"))
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
        let failure = Failure {
            store: "a<b".to_owned(),
            cause,
            policy: OnFailure::Throw,
        };
        assert_eq!(
            failure.to_string(),
            r"a\x3cb: it answered: WRONGPASS ***\r\nx"
        );
        let long = Cause::refused(&"x".repeat(10_000), None);
        assert!(long.to_string().len() < 300);
        let cut = format!("{}hunter2", "x".repeat(LONGEST_TEXT - 4));
        let cause = Cause::refused(&cut, Some(&secret));
        assert!(!cause.to_string().contains("hunt"), "{cause}");
        let cause = Cause::refused("NOPERM User ann\n has no permissions", None);
        assert_eq!(cause.brief(), "it answered: NOPERM");
        let told = "ERR unknown command 'AUTH', with args beginning with: 'hunt";
        let cause = Cause::refused(told, Some(&secret));
        assert_eq!(cause.to_string(), "it answered: ERR unknown command 'AUTH'");
    }
}
