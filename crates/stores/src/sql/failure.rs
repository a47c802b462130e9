//! The classification of database errors.

use super::Dialect;

/// The effect of an error on the statement and its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The connection, or the server behind it, can no longer be used.
    Lost,
    /// The statement changed nothing, for example because a conflict with another statement rolled
    /// it back. Outside of a transaction it may be sent again, because its outcome is known.
    Undone,
    /// The server no longer has the prepared statement, so it executed nothing. The statement may
    /// be prepared and sent again, also in a transaction.
    Unprepared,
    /// Only the statement failed, for example because the table is missing, access is denied, or a
    /// lock was not granted in time.
    Statement,
}

/// Classifies an error by its SQLSTATE and the driver's own code.
#[must_use]
#[allow(clippy::match_same_arms)] // One arm per reason.
pub fn sort(dialect: Dialect, state: &[u8], code: i64) -> Failure {
    use Dialect::{MySql, PgSql};
    match (dialect, state, code) {
        (_, b"40001" | b"40P01", _) => Failure::Undone,
        (_, [b'0', b'8', ..], _) => Failure::Lost,
        // A deadlock, or a row that has changed since the snapshot.
        (MySql, _, 1213 | 1020) => Failure::Undone,
        // The statement was prepared on another connection behind a proxy, or its table changed.
        (MySql, _, 1243 | 1615) => Failure::Unprepared,
        // The server does not have the prepared statement. On `PostgreSQL`, this error also aborts
        // a transaction.
        (PgSql, b"26000", _) => Failure::Undone,
        // The server has too many connections, is shutting down, is read-only or cannot be reached,
        // or the connection was killed or lost.
        (MySql, _, 1040 | 1053 | 1158..=1161 | 1290 | 1836 | 1927) => Failure::Lost,
        (MySql, _, 2002 | 2003 | 2005 | 2006 | 2013 | 2055) => Failure::Lost,
        // The server is shutting down, lacks resources or has a system error. The next arm is
        // libpq's own code for a server that it cannot reach.
        (PgSql, [b'5', b'7', b'P', ..] | [b'5', b'3' | b'8', ..], _) => Failure::Lost,
        (PgSql, b"HY000", 7) => Failure::Lost,
        _ => Failure::Statement,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_sorted() {
        use Dialect::{MySql, PgSql, Sqlite};
        for (dialect, state, code, expected) in [
            (MySql, &b"40001"[..], 1213, Failure::Undone),
            (MySql, b"HY000", 2006, Failure::Lost),
            (MySql, b"42S02", 1146, Failure::Statement),
            (MySql, b"HY000", 1205, Failure::Statement),
            (MySql, b"HY000", 1243, Failure::Unprepared),
            (PgSql, b"26000", 7, Failure::Undone),
            (PgSql, b"40001", 7, Failure::Undone),
            (PgSql, b"57P01", 7, Failure::Lost),
            (PgSql, b"42P01", 7, Failure::Statement),
            (PgSql, b"25P02", 7, Failure::Statement),
            (Sqlite, b"HY000", 5, Failure::Statement),
            (Sqlite, b"HY000", 2006, Failure::Statement),
        ] {
            assert_eq!(sort(dialect, state, code), expected, "{code}");
        }
    }
}
