//! Buckets in the table of a database: the statements as text, and how to read what comes back.
//!
//! Nothing here connects; who does fills the placeholders, runs the statement, and hands over the numbers.
//!
//! A row is the bucket's name and the second at which it was, or will be, empty, as a double. Invariant:
//! that double is a whole number k of microseconds divided by 1e6, and is read as `round(x * 1e6)`, which
//! gives k again. (A decimal division, or a ceiling, drifts and loses tokens.) A row that holds 0 is a
//! bucket without a record: it is full.
//!
//! One decision is one statement, a conditional upsert on the server's clock. It never reads first what it
//! writes later, so decisions do not deadlock with each other. A purge may deadlock with them: `InnoDB` gives
//! two inserts that wait for a row the same gap lock when the deleted row is removed. The statement that
//! `InnoDB` ends is sent again.

pub mod failure;
mod identifier;
mod mysql;
mod pgsql;
pub mod reply;
mod sqlite;
mod table;
mod template;

pub use identifier::stored;
pub use table::{Table, TableError};
pub use template::{Bind, Statement};

/// How many rows a purge deletes at once.
pub const BATCH: usize = 100;

/// A kind of database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// `MySQL` and `MariaDB`.
    MySql,
    /// `PostgreSQL`.
    PgSql,
    /// `SQLite`, from 3.35 on.
    Sqlite,
}

impl Dialect {
    /// Each of them.
    pub const ALL: [Self; 3] = [Self::MySql, Self::PgSql, Self::Sqlite];

    /// By the name of PDO's driver.
    #[must_use]
    pub fn of_driver(name: &[u8]) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|dialect| dialect.driver().as_bytes() == name)
    }

    /// The name of PDO's driver.
    #[must_use]
    pub const fn driver(self) -> &'static str {
        match self {
            Self::MySql => "mysql",
            Self::PgSql => "pgsql",
            Self::Sqlite => "sqlite",
        }
    }
}

/// What is asked of the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Query {
    /// A plain step, on a bucket that starts full.
    Take,
    /// A step with a tick, a debt or a first state.
    Step,
    /// The clock and a bucket's state; changes nothing.
    Look,
    /// Give back what the caller vouches for.
    Refund,
    /// Fill.
    Reset,
    /// Create, unless there is a record.
    Start,
    /// Undo a take as far as the bucket still lacks the tokens because of it.
    GiveBack,
    /// Whether there is the table: 1 or 0.
    Find,
    /// Create the table.
    Create,
    /// The first names whose buckets have been full for a while, in order.
    Stale,
    /// The next such names.
    StaleAfter,
    /// Delete rows by name if they still are stale.
    Delete,
}

impl Query {
    /// How many there are.
    pub const COUNT: usize = Self::Delete as usize + 1;
    /// Each of them.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Take,
        Self::Step,
        Self::Look,
        Self::Refund,
        Self::Reset,
        Self::Start,
        Self::GiveBack,
        Self::Find,
        Self::Create,
        Self::Stale,
        Self::StaleAfter,
        Self::Delete,
    ];

    /// The statement that asks it.
    #[must_use]
    pub fn statement(self, table: &Table) -> Statement {
        let dialect = table.dialect;
        let own = match dialect {
            Dialect::MySql => mysql::word,
            Dialect::PgSql => pgsql::word,
            Dialect::Sqlite => sqlite::word,
        };
        let text = match (self, dialect) {
            (Self::Take, Dialect::MySql) => mysql::TAKE,
            (Self::Step, Dialect::MySql) => mysql::STEP,
            (Self::Take | Self::Step, Dialect::PgSql) => pgsql::TAKE,
            (Self::Take | Self::Step, Dialect::Sqlite) => sqlite::TAKE,
            (Self::Look, _) => LOOK,
            (Self::Refund, _) => REFUND,
            (Self::GiveBack, _) => GIVE_BACK,
            (Self::Reset, _) => "UPDATE :table SET microtime = 0 WHERE identifier = :name",
            (Self::Start, Dialect::MySql) => mysql::START,
            (Self::Start, _) => START,
            (Self::Find, Dialect::MySql) => mysql::FIND,
            (Self::Find, Dialect::PgSql) => pgsql::FIND,
            // Creating it, where it is, does nothing and locks nothing.
            (Self::Find, Dialect::Sqlite) => "SELECT 0",
            (Self::Create, _) => CREATE,
            (Self::Stale, _) => STALE,
            (Self::StaleAfter, _) => STALE_AFTER,
            (Self::Delete, _) => DELETE,
        };
        let full = self == Self::Step;
        template::fill(text, dialect, &|word| {
            Some(match word {
                "table" => table.quoted(),
                "schema" => table.schema_literal(),
                "relation" => table.name_literal(),
                "keys" => [":key"; BATCH].join(", "),
                "batch" => BATCH.to_string(),
                _ => own(word, full).or_else(|| common(word, full))?.to_owned(),
            })
        })
    }
}

/// Returns what a word means where the database has no word of its own for it. `full` is for
/// [`Query::Step`].
fn common(word: &str, full: bool) -> Option<&'static str> {
    Some(match (word, full) {
        ("lesser", _) => "LEAST",
        ("greater", _) => "GREATEST",
        ("drained", false) => ":now",
        ("drained", true) => "(:now - :now % :tick)",
        ("fits", false) => ":state <= :drained - :cost",
        ("fits", true) => "(:state <= :drained - :cost OR :debt > 0)",
        ("next", false) => ":greater(:now - :slack, :state + :cost)",
        ("next", true) => {
            "CASE WHEN :state <= :drained - :cost THEN \
             :greater(:drained - :slack, CASE WHEN :state = 0 THEN :now - :age ELSE :state + :cost END) \
             ELSE :greater(:state, :lesser(:state + :cost, :now + :debt)) END"
        }
        ("first", false) => ":now - :slack",
        ("first", true) => ":greater(:drained - :slack, :now - :age)",
        _ => return None,
    })
}

/// Without a row, too, for the clock is asked as well.
const LOOK: &str =
    "SELECT :now, COALESCE((SELECT :state FROM :table AS s WHERE identifier = :name), 0)";

/// Never forward, never below full; not where there is no bucket.
const REFUND: &str = "UPDATE :table SET microtime = :lesser(microtime, :greater(:bare - :cost, :now - :burst) / 1e6) \
     WHERE identifier = :name AND :bare < 9000000000000000";

/// As [`REFUND`], of `Put::worth` at an instant that is not before any step on the row: read while the
/// row is locked.
const GIVE_BACK: &str = "UPDATE :table SET microtime = :lesser(microtime, :greater(:bare - \
     :lesser(:cost, :greater(:taken - (:late - :burst), 0)), :late - :burst) / 1e6) \
     WHERE identifier = :name AND :bare < 9000000000000000";

const START: &str = "INSERT INTO :table AS s (identifier, microtime) VALUES (:name, (:now - :age) / 1e6) \
     ON CONFLICT (identifier) DO UPDATE SET microtime = (:now - :age) / 1e6 WHERE :state = 0";

const CREATE: &str = "CREATE TABLE IF NOT EXISTS :table \
     (identifier varchar(255) NOT NULL PRIMARY KEY, microtime double precision NOT NULL)";

const STALE: &str =
    "SELECT identifier FROM :table WHERE :bare < :now - :burst ORDER BY identifier LIMIT :batch";

const STALE_AFTER: &str = "SELECT identifier FROM :table WHERE identifier > :key AND :bare < :now - :burst \
     ORDER BY identifier LIMIT :batch";

const DELETE: &str = "DELETE FROM :table WHERE identifier IN (:keys) AND :bare < :now - :burst";

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn each_placeholder_has_its_value_and_nothing_is_left_to_fill() {
        for dialect in Dialect::ALL {
            let table = Table::parse(b"app.limits", dialect).unwrap();
            for query in Query::ALL {
                let Statement { text, binds } = query.statement(&table);
                assert_eq!(text.matches('?').count(), binds.len(), "{text}");
                assert!(!text.contains(':'), "{text}");
                assert_eq!(text.matches('(').count(), text.matches(')').count());
            }
        }
    }

    #[test]
    fn the_table_is_quoted_wherever_it_stands() {
        for (dialect, quoted) in [
            (Dialect::MySql, "`app`.`limits`"),
            (Dialect::PgSql, "\"app\".\"limits\""),
            (Dialect::Sqlite, "\"app\".\"limits\""),
        ] {
            let table = Table::parse(b"app.limits", dialect).unwrap();
            for query in Query::ALL {
                let text = query.statement(&table).text;
                let bare = text.replace(quoted, "");
                assert!(!bare.contains("limits") || query == Query::Find, "{text}");
            }
        }
    }

    #[test]
    fn mysql_is_given_nothing_that_a_mode_takes_for_something_else() {
        let table = Table::parse(b"t", Dialect::MySql).unwrap();
        for query in Query::ALL {
            let text = query.statement(&table).text;
            assert!(!text.contains(['"', '|', '%']), "{text}");
        }
    }
}
