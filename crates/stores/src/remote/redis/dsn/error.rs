//! The rules that a text breaks if it is not the address of a Redis server.
//!
//! Each message continues a sentence that ends in "must", as in PHP's "Argument #1 ($dsn) must
//! ...". Invariant: no variant contains any part of the text, because that may be a misplaced
//! password.

use crate::remote::endpoint::EndpointError;

/// The rule that a text breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DsnError {
    /// The scheme is missing or unknown.
    #[error(
        "start with redis://, rediss://, unix://, redis+cluster://, redis+ring:// or \
         redis+sentinel://"
    )]
    Scheme,
    /// The text contains a NUL, a line break or another control character.
    #[error("not contain control characters, not even percent-encoded")]
    Character,
    /// A "%" does not begin an escape.
    #[error("have two hexadecimal digits after each \"%\" (a percent sign is \"%25\")")]
    Escape,
    /// The escapes are not UTF-8.
    #[error("be percent-encoded UTF-8")]
    Encoding,
    /// The text has a fragment, which follows a "#".
    #[error("not have a fragment (in a password, \"#\" is \"%23\")")]
    Fragment,
    /// The host is missing, or the host or port is invalid.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// The database is not a number from 0 to 2^31 - 1.
    #[error("have a database between 0 and 2147483647")]
    Database,
    /// The DSN of a cluster has a path other than "/" and "/0".
    #[error("have no database other than 0 with a cluster")]
    ClusterDatabase,
    /// The `hash_tags` option is neither 0 nor 1.
    #[error("have 0 or 1 as its hash_tags option")]
    HashTags,
    /// A ring lists a server twice.
    #[error("name each server of a ring once")]
    DuplicateServer,
    /// The `weights` option is not a number for each server, or a number is out of range.
    #[error("have a weight from 1 to 65535 for each server as its weights option")]
    Weights,
    /// The `one_server` option is neither 0 nor 1.
    #[error("have 0 or 1 as its one_server option")]
    OneServer,
    /// The `take_ahead` option is no number of seconds from 0 to 1.
    #[error("have a number of seconds from 0 to 1 as its take_ahead option")]
    TakeAhead,
    /// The name of the primary is missing or invalid.
    #[error("have the name of the primary after the sentinels, as in redis+sentinel://s1,s2/name")]
    Primary,
    /// The socket's path is relative, missing or a directory.
    #[error("have the absolute path of a socket, as in unix:///run/redis.sock")]
    SocketPath,
    /// The socket's path is longer than the system allows.
    #[error("have a socket path of at most 107 bytes")]
    SocketPathTooLong,
    /// There is a user but no password. Other clients disagree on the meaning.
    #[error("have a password if it has a user (a password alone is written \":password@\")")]
    UserWithoutPassword,
    /// The user and the password are both empty.
    #[error("not have empty credentials")]
    EmptyCredentials,
    /// An option is unknown to every scheme.
    #[error(
        "have no options other than cafile, certfile, keyfile, servername, db, user, password, \
         sentinel_user, sentinel_password, hash_tags, one_server, weights and take_ahead (in a \
         password, \"?\" is \"%3F\")"
    )]
    UnknownOption,
    /// An option belongs to another scheme.
    #[error(
        "have only options of its scheme: cafile, certfile, keyfile and servername with TLS; db, \
         user and password with unix://; sentinel_user and sentinel_password with sentinels; \
         hash_tags with a cluster; one_server with a single server; weights with a ring"
    )]
    MisplacedOption,
    /// An option occurs twice.
    #[error("not have an option twice")]
    DuplicateOption,
    #[error("have a value for each option")]
    NoValue,
    /// The path of the CA file is relative.
    #[error("have an absolute path as its cafile option")]
    CaFile,
    /// The certificate of the client has no key, or the key has no certificate, or a path is
    /// relative.
    #[error("have absolute paths as its certfile and keyfile options, or neither option")]
    Identity,
    /// The server name is invalid, so no certificate can match it.
    #[error("have a DNS name or an IP address as its host and servername option")]
    ServerName,
}
