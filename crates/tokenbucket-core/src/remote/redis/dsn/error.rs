//! Why a text is no address of a Redis server.
//!
//! Each message reads on from "must", as in PHP's "Argument #1 ($dsn) must ...". Invariant: no
//! variant carries any part of the text, for that may be a password in the wrong place.

use crate::remote::endpoint::EndpointError;

/// The rule that a text breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DsnError {
    /// No scheme, or one that is not ours.
    #[error("start with redis://, rediss://, unix:// or redis+unix://")]
    Scheme,
    /// A NUL, a line break or another control character.
    #[error("not contain control characters, not even percent-encoded")]
    Character,
    /// A "%" that starts no escape.
    #[error("have two hexadecimal digits after each \"%\" (a percent sign is \"%25\")")]
    Escape,
    /// Escapes that are not UTF-8.
    #[error("be percent-encoded UTF-8")]
    Encoding,
    /// Something after a "#".
    #[error("not have a fragment (in a password, \"#\" is \"%23\")")]
    Fragment,
    /// No host, or a bad host or port.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// The database is no number up to 2^31 - 1.
    #[error("have a database between 0 and 2147483647")]
    Database,
    /// The socket's path is relative, missing or a directory.
    #[error("have the absolute path of a socket, as in unix:///run/redis.sock")]
    SocketPath,
    /// The system has no room for such a path.
    #[error("have a socket path of at most 107 bytes")]
    SocketPathTooLong,
    /// A user alone; other clients disagree on what that is.
    #[error("have a password if it has a user (a password alone is written \":password@\")")]
    UserWithoutPassword,
    /// An empty user and an empty password.
    #[error("not have empty credentials")]
    EmptyCredentials,
    /// An option that no scheme has.
    #[error(
        "have no options other than cafile, servername, db, user and password \
         (in a password, \"?\" is \"%3F\")"
    )]
    UnknownOption,
    /// An option of another scheme.
    #[error(
        "have only options of its scheme: cafile and servername with rediss://, \
         db, user and password with unix://"
    )]
    MisplacedOption,
    /// One option twice.
    #[error("not have an option twice")]
    DuplicateOption,
    /// An option without "=".
    #[error("have a value for each option")]
    NoValue,
    /// A CA file by a relative path.
    #[error("have an absolute path as its cafile option")]
    CaFile,
    /// No certificate can be for this name.
    #[error("have a DNS name or an IP address as its host and servername option")]
    ServerName,
}
