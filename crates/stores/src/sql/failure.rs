//! The classification of database errors.

use super::Dialect;

/// The effect of an error on the statement and its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SqlFailure {
    /// The connection, or the server behind it, can no longer be used.
    Lost,
    /// The statement changed nothing, for example because a conflict with another statement rolled
    /// it back. Outside of a transaction it may be sent again, because its outcome is known.
    Undone,
    /// The server no longer has the prepared statement, so it executed nothing. The statement may
    /// be prepared and sent again, also in a transaction.
    Unprepared,
    /// The table has no column of a name in the statement.
    Column,
    /// Only the statement failed, for example because the table is missing, access is denied, or a
    /// lock was not granted in time.
    Statement,
}

/// Classifies an error by its SQLSTATE and the driver's own code.
#[allow(clippy::match_same_arms)] // One arm per reason.
pub fn sort(dialect: Dialect, state: &[u8], code: i64) -> SqlFailure {
    use Dialect::{MySql, PgSql, Sqlite};
    match (dialect, state, code) {
        (_, b"40001" | b"40P01", _) => SqlFailure::Undone,
        (_, [b'0', b'8', ..], _) => SqlFailure::Lost,
        // A deadlock, or a row that has changed since the snapshot.
        (MySql, _, 1213 | 1020) => SqlFailure::Undone,
        // The statement was prepared on another connection behind a proxy, or its table changed.
        (MySql, _, 1243 | 1615) => SqlFailure::Unprepared,
        // The server does not have the prepared statement. On `PostgreSQL`, this error also aborts
        // a transaction.
        (PgSql, b"26000", _) => SqlFailure::Undone,
        (MySql, _, 1054) | (PgSql, b"42703", _) | (Sqlite, _, 1) => SqlFailure::Column,
        // The server has too many connections, is shutting down, is read-only or cannot be reached,
        // or the connection was killed or lost.
        (MySql, _, 1040 | 1053 | 1158..=1161 | 1290 | 1836 | 1927) => SqlFailure::Lost,
        (MySql, _, 2002 | 2003 | 2005 | 2006 | 2013 | 2055) => SqlFailure::Lost,
        // The server is shutting down, lacks resources or has a system error. The next arm is
        // libpq's own code for a server that it cannot reach.
        (PgSql, [b'5', b'7', b'P', ..] | [b'5', b'3' | b'8', ..], _) => SqlFailure::Lost,
        (PgSql, b"HY000", 7) => SqlFailure::Lost,
        _ => SqlFailure::Statement,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_sorted() {
        use Dialect::{MySql, PgSql, Sqlite};
        for (dialect, state, code, expected) in [
            (MySql, &b"40001"[..], 1213, SqlFailure::Undone),
            (MySql, b"HY000", 2006, SqlFailure::Lost),
            (MySql, b"42S02", 1146, SqlFailure::Statement),
            (MySql, b"HY000", 1205, SqlFailure::Statement),
            (MySql, b"HY000", 1243, SqlFailure::Unprepared),
            (PgSql, b"26000", 7, SqlFailure::Undone),
            (PgSql, b"40001", 7, SqlFailure::Undone),
            (PgSql, b"57P01", 7, SqlFailure::Lost),
            (PgSql, b"42P01", 7, SqlFailure::Statement),
            (PgSql, b"25P02", 7, SqlFailure::Statement),
            (Sqlite, b"HY000", 5, SqlFailure::Statement),
            (Sqlite, b"HY000", 1, SqlFailure::Column),
            (PgSql, b"42703", 7, SqlFailure::Column),
            (MySql, b"42S22", 1054, SqlFailure::Column),
            (Sqlite, b"HY000", 2006, SqlFailure::Statement),
        ] {
            assert_eq!(sort(dialect, state, code), expected, "{code}");
        }
    }
}
