//! What a database's error means for the call that got it.

use super::Dialect;

/// What became of the statement, and of what carries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The connection, or the server behind it, is of no use now.
    Lost,
    /// The statement was undone as a whole, because of another one: outside of a transaction it may be
    /// sent again, for what became of it is known.
    Undone,
    /// The statement alone failed: no such table, no right to it, a lock not got in time, ….
    Statement,
}

/// Sorts an error by its SQLSTATE and the driver's own code.
#[must_use]
#[allow(clippy::match_same_arms)] // An arm for each reason.
pub fn sort(dialect: Dialect, state: &[u8], code: i64) -> Failure {
    use Dialect::{MySql, PgSql};
    match (dialect, state, code) {
        (_, b"40001" | b"40P01", _) => Failure::Undone,
        (_, [b'0', b'8', ..], _) => Failure::Lost,
        // Deadlock; a row that has changed since the snapshot.
        (MySql, _, 1213 | 1020) => Failure::Undone,
        // Too many connections, shutdown, killed, gone away, lost, no network, turned read-only.
        (MySql, _, 1040 | 1053 | 1158..=1161 | 1290 | 1836 | 1927) => Failure::Lost,
        (MySql, _, 2002 | 2003 | 2005 | 2006 | 2013 | 2055) => Failure::Lost,
        // Shutdown, no resources, errors of its system; libpq's own for what it cannot reach.
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
