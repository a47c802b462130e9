//! Buckets in a database table: the text of the statements, and the meaning of their results.
//!
//! This module does not connect. Its caller fills the placeholders, runs the statement, and passes
//! the numbers back.
//!
//! A row holds the bucket's name and, as a double, a second since the epoch. At that second the
//! bucket was, or will be, empty. Invariant: the double is a whole number k of microseconds divided
//! by 1e6. The statements read it as `round(x * 1e6)`, which gives k again. A decimal division or a
//! ceiling would drift and lose tokens. If a row holds 0, its bucket is full and counts as a bucket
//! without a record.
//!
//! The column `span` holds the greatest span, in microseconds, of the steps that took from the
//! bucket since it was last full. Whenever this span is over, the bucket is full under every limit.
//! The column is null in a row that a program without this rule has written, and a table may lack
//! it. Then nothing is known about other spans than the caller's.
//!
//! The row of a lockout holds a greater number, which no bucket has; see [`lockout`]. Two
//! statements change it: one reads it, and one swaps it.
//!
//! The double of a quota is negative. The sign is no part of the second. It tells a purge to keep
//! the row until the end of a window, and not only until the tokens would be refilled.
//!
//! One decision is one statement: a conditional upsert on the server's clock. It takes no read lock
//! before it writes, so decisions do not deadlock with each other. A purge may deadlock with
//! decisions. When the deleted row is removed, `InnoDB` gives the same gap lock to two inserts that
//! wait for the row. The statement that `InnoDB` aborts is sent again.

pub mod failure;
mod identifier;
pub mod lockout;
mod mysql;
mod pgsql;
pub mod reply;
mod sqlite;
mod table;
mod template;

pub use identifier::{folded, stored, stored_kind};
pub use table::{Table, TableError};
pub use template::{Bind, Statement};

/// The longest time from the start of a window to its end, in microseconds: 366 days, and one day
/// by which a time zone may change.
const YEAR: &str = "31708800000000";

/// The most rows that a purge deletes at once.
pub const BATCH: usize = 100;

/// A kind of database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// `MySQL` and `MariaDB`.
    MySql,
    PgSql,
    /// `SQLite` 3.35 or later.
    Sqlite,
}

impl Dialect {
    pub const ALL: [Self; 3] = [Self::MySql, Self::PgSql, Self::Sqlite];

    /// Returns the dialect of the PDO driver `name`, or `None` if the driver is not supported.
    pub fn of_driver(name: &[u8]) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|dialect| dialect.driver().as_bytes() == name)
    }

    /// Returns the name of the PDO driver.
    pub const fn driver(self) -> &'static str {
        match self {
            Self::MySql => "mysql",
            Self::PgSql => "pgsql",
            Self::Sqlite => "sqlite",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Query {
    /// Runs a plain step on a bucket that starts full.
    Take,
    /// Runs a step with a drain tick, a debt or a first state.
    Step,
    /// Returns the clock and a bucket's state, and changes nothing.
    Look,
    /// Runs a refund that undoes no particular take. Refunds the whole cost.
    Refund,
    /// Fills the bucket.
    Reset,
    /// Creates a record, unless there is one.
    Start,
    /// Moves the state forward, or creates a record.
    Raise,
    /// Undoes a take. Refunds only the tokens that the bucket still lacks because of that take.
    GiveBack,
    /// Runs a step on a bucket that becomes full at the start of each window.
    Count,
    /// Gives tokens back to one window.
    Uncount,
    /// Moves the state forward to the start of a later window.
    Advance,
    /// Does the same as [`Query::Look`] for a row that the caller's transaction has locked. Returns
    /// its current state, also if the snapshot of the transaction is older.
    LookLocked,
    /// Returns the clock and a record that is not a bucket's, and changes nothing.
    Record,
    /// Creates a record, unless there is one, and locks its row until the transaction ends.
    Hold,
    /// Does the same as [`Query::Record`] for a row that [`Query::Hold`] has locked, also if the
    /// transaction began before another one wrote the row.
    Held,
    /// Replaces a record that is not a bucket's.
    Swap,
    /// Returns 0 if the collation of the column `identifier` distinguishes all names that are
    /// stored unchanged, otherwise another number. The bit 2 is set if no unique index makes a
    /// name belong to one row. The number is 4 or more if a column cannot hold the numbers of
    /// rows. Then returns 1 if there is a column `span`, otherwise 0.
    Columns,
    /// Returns 1 if the table exists, otherwise 0.
    Find,
    Create,
    /// Returns the names of the first stale rows, in ascending order; see [`Bind::Span`]. Returns a
    /// 1 beside each name, which shows that the session does not alter texts.
    Stale,
    /// Returns the names of the next stale rows.
    StaleAfter,
    /// Deletes rows by name if they are still stale.
    Delete,
}

impl Query {
    pub const COUNT: usize = Self::Delete as usize + 1;
    pub const ALL: [Self; Self::COUNT] = [
        Self::Take,
        Self::Step,
        Self::Look,
        Self::Refund,
        Self::Reset,
        Self::Start,
        Self::Raise,
        Self::GiveBack,
        Self::Count,
        Self::Uncount,
        Self::Advance,
        Self::LookLocked,
        Self::Record,
        Self::Hold,
        Self::Held,
        Self::Swap,
        Self::Columns,
        Self::Find,
        Self::Create,
        Self::Stale,
        Self::StaleAfter,
        Self::Delete,
    ];

    /// Reports whether the statement may write.
    pub const fn writes(self) -> bool {
        !matches!(
            self,
            Self::Look
                | Self::LookLocked
                | Self::Record
                | Self::Held
                | Self::Columns
                | Self::Find
                | Self::Stale
                | Self::StaleAfter
        )
    }

    /// Reports whether the statement writes the row of a quota, which it marks with a sign.
    const fn marks_quota(self) -> bool {
        matches!(self, Self::Count | Self::Uncount | Self::Advance)
    }

    const fn template(self, dialect: Dialect) -> &'static str {
        match (self, dialect) {
            (Self::Take, Dialect::MySql) => mysql::TAKE,
            (Self::Step, Dialect::MySql) => mysql::STEP,
            (Self::Count, Dialect::MySql) => mysql::COUNT,
            (Self::Take | Self::Step | Self::Count, Dialect::PgSql) => pgsql::TAKE,
            (Self::Take | Self::Step | Self::Count, Dialect::Sqlite) => sqlite::TAKE,
            (Self::Look, Dialect::MySql) => mysql::LOOK,
            (Self::LookLocked, Dialect::MySql) => mysql::LOOK_LOCKED,
            (Self::Look | Self::LookLocked, Dialect::PgSql) => pgsql::LOOK,
            (Self::Look | Self::LookLocked, Dialect::Sqlite) => sqlite::LOOK,
            (Self::Refund, _) => REFUND,
            (Self::GiveBack, _) => GIVE_BACK,
            (Self::Uncount, _) => UNCOUNT,
            (Self::Reset, _) => "UPDATE :table SET microtime = 0 WHERE identifier = :name",
            (Self::Start, Dialect::MySql) => mysql::START,
            (Self::Start, _) => START,
            (Self::Raise | Self::Advance, Dialect::MySql) => mysql::RAISE,
            (Self::Raise | Self::Advance, _) => RAISE,
            (Self::Record | Self::Held, Dialect::Sqlite) => sqlite::RECORD,
            (Self::Record, Dialect::MySql) => mysql::RECORD,
            (Self::Held, Dialect::MySql) => mysql::HELD,
            (Self::Record | Self::Held, _) => RECORD,
            (Self::Hold, Dialect::MySql) => mysql::HOLD,
            (Self::Hold, _) => HOLD,
            (Self::Swap, Dialect::MySql) => mysql::SWAP,
            (Self::Swap, _) => SWAP,
            (Self::Columns, Dialect::MySql) => mysql::COLUMNS,
            (Self::Columns, Dialect::PgSql) => pgsql::COLUMNS,
            (Self::Columns, Dialect::Sqlite) => sqlite::COLUMNS,
            (Self::Find, Dialect::MySql) => mysql::FIND,
            (Self::Find, Dialect::PgSql) => pgsql::FIND,
            // The table is always reported missing, because creating an existing table does
            // nothing and takes no lock.
            (Self::Find, Dialect::Sqlite) => "SELECT 0",
            (Self::Create, _) => CREATE,
            (Self::Stale, _) => STALE,
            (Self::StaleAfter, _) => STALE_AFTER,
            (Self::Delete, _) => DELETE,
        }
    }

    /// Returns the statement of the query for `table`. It has a column `span` if `spans` is true.
    pub fn statement(self, table: &Table, spans: bool) -> Statement {
        let dialect = table.dialect;
        let own = match dialect {
            Dialect::MySql => mysql::word,
            Dialect::PgSql => pgsql::word,
            Dialect::Sqlite => sqlite::word,
        };
        let full = self == Self::Step;
        // A window has no span, because a late call takes from a window that has ended.
        let spans = spans && !self.marks_quota();
        template::fill(self.template(dialect), dialect, spans, &|word| {
            Some(match word {
                "table" => table.quoted(),
                "schema" => table.schema_literal(),
                "relation" => table.name_literal(),
                "keys" => [":key"; BATCH].join(", "),
                "batch" => BATCH.to_string(),
                "divisor" if self.marks_quota() => "-:million".to_owned(),
                // The new state is given as an instant, and not as an age before now.
                "now" if self == Self::Advance => ":taken".to_owned(),
                _ => {
                    let window = || window(word).filter(|_| self == Self::Count);
                    let longer = window().or_else(|| own(word, full));
                    longer.or_else(|| common(word, full))?.to_owned()
                }
            })
        })
    }
}

/// Returns the text of a template's word that the dialect does not define itself. `full` selects
/// the form for [`Query::Step`].
fn common(word: &str, full: bool) -> Option<&'static str> {
    Some(match (word, full) {
        ("lesser", _) => "LEAST",
        ("greater", _) => "GREATEST",
        // `both` ends the arguments of these two.
        ("both" | "gate", _) => "",
        ("million" | "divisor", _) => "1e6",
        ("year", _) => YEAR,
        ("kept", _) => "span",
        ("short", _) => "CASE WHEN COALESCE(:kept, :year) < :life THEN 1 ELSE 0 END",
        // A null counts as a year. So rows of earlier versions are full after a year.
        ("longest", _) => {
            "CASE WHEN :state = 0 THEN :life WHEN :kept > :life THEN :kept \
             WHEN :kept IS NULL THEN :year ELSE :life END"
        }
        // Without this span, a row of a shorter one would count as full after a refund.
        ("covering", _) => "CASE WHEN :state > 0 AND :kept < :span THEN :span ELSE :kept END",
        ("target", _) => ":table",
        ("stale", _) => {
            "(:bare < :now - CASE WHEN microtime < 0 THEN :greater(:span, :year:both) ELSE :span END \
             OR (+microtime > 35184372088832 AND +microtime < 9007199254740992 AND :ended))"
        }
        // The instant of a lockout in microseconds, and less than a millisecond more.
        ("ended", _) => "microtime * 0.512 < :now - :span",
        ("moment", _) => ":lesser(:now, :latest:both)",
        ("inside", _) => "(:moment >= :wa AND :moment < :wd)",
        ("start", _) => {
            "CASE WHEN :moment >= :wc THEN :wc WHEN :moment >= :wb THEN :wb ELSE :wa END"
        }
        ("end", _) => "CASE WHEN :moment >= :wc THEN :wd WHEN :moment >= :wb THEN :wc ELSE :wb END",
        ("drained", false) => ":now",
        ("drained", true) => "(:now - :now % :tick)",
        ("fits", false) => ":state <= :drained - :cost",
        ("fits", true) => "(:state <= :drained + :wait - :cost OR :debt > 0)",
        ("next", false) => ":greater(:now - :slack, :state + :cost:both)",
        ("next", true) => {
            "CASE WHEN :state <= :drained + :wait - :cost THEN \
             :greater(:drained - :slack, CASE WHEN :state = 0 THEN :now - :age ELSE :state + :cost END:both) \
             ELSE :greater(:state, :lesser(:state + :cost, :now + :debt:both):both) END"
        }
        ("first", false) => ":now - :slack",
        ("first", true) => ":greater(:drained - :slack, :now - :age:both)",
        _ => return None,
    })
}

/// Returns the text of a template's word for [`Query::Count`], if it differs from that for
/// [`Query::Take`].
fn window(word: &str) -> Option<&'static str> {
    Some(match word {
        "fits" => "(:inside AND :state <= :start + :span + :wait - :cost)",
        "gate" => "AND :inside",
        "next" => ":greater(:start, :state:both) + :cost",
        "first" => ":start + :cost",
        _ => return None,
    })
}

/// Moves the state back, but not beyond a full bucket, and never forward. Changes nothing if the
/// row does not hold a bucket. `MySQL` assigns from left to right, so the span comes first.
const REFUND: &str = "UPDATE :target SET {span = :covering, }microtime = :lesser(+microtime, :greater(:bare - :cost, :now - :span:both) / :million:both) \
     WHERE identifier = :name AND :bare < 9000000000000000";

/// Refunds like [`REFUND`], but only what `Put::worth` returns. `:late` is read while the row is
/// locked, so it is not earlier than any step on the row.
const GIVE_BACK: &str = "UPDATE :target SET {span = :covering, }microtime = :lesser(+microtime, :greater(:bare - \
     :lesser(CASE WHEN :bare = :taken OR :bare <= :late THEN :cost \
     ELSE :lesser(:cost - :greater(:bare - :taken, 0:both), :indebt:both) END, \
     :greater(:taken - (:late - :span), 0:both):both), :late - :span:both) / :million:both) \
     WHERE identifier = :name AND :bare < 9000000000000000";

/// Gives tokens back to a window. A row outside of the window stays. No row changes if the server's
/// clock is in none of the windows.
const UNCOUNT: &str = "UPDATE :table SET microtime = :lesser(:bare, :greater(:bare - :cost, :start:both):both) / :divisor \
     WHERE identifier = :name AND :inside AND :bare <= :end";

const START: &str = "INSERT INTO :table AS s (identifier, microtime{, span}) VALUES (:name, (:now - :age) / :million{, :life}) \
     ON CONFLICT (identifier) DO UPDATE SET microtime = (:now - :age) / :million{, span = :life} WHERE :state = 0";

/// Changes nothing if the row does not hold a bucket.
const RAISE: &str = "INSERT INTO :table AS s (identifier, microtime{, span}) VALUES (:name, (:now - :age) / :divisor{, :life}) \
     ON CONFLICT (identifier) DO UPDATE SET microtime = :greater(:state, :now - :age:both) / :divisor{, span = :longest} \
     WHERE :state < 9000000000000000";

/// Returns a row even if there is no record, because the caller needs the clock, too.
const RECORD: &str =
    "SELECT :now, COALESCE((SELECT :record FROM :table WHERE identifier = :name), 0) LIMIT 1";

const HOLD: &str = "INSERT INTO :table AS s (identifier, microtime) VALUES (:name, 0) \
     ON CONFLICT (identifier) DO UPDATE SET microtime = s.microtime";

/// Returns a row if the record was replaced.
const SWAP: &str = "INSERT INTO :table AS s (identifier, microtime) VALUES (:name, CAST(:new AS double precision)) \
     ON CONFLICT (identifier) DO UPDATE SET microtime = CAST(:new AS double precision) \
     WHERE s.microtime = CAST(:seen AS double precision) \
     RETURNING 1";

const CREATE: &str = "CREATE TABLE IF NOT EXISTS :table \
     (identifier varchar(255) NOT NULL PRIMARY KEY, microtime double precision NOT NULL, span bigint)";

const STALE: &str =
    "SELECT identifier, '1' FROM :table WHERE :stale ORDER BY identifier LIMIT :batch";

const STALE_AFTER: &str = "SELECT identifier, '1' FROM :table WHERE identifier > :key AND :stale \
     ORDER BY identifier LIMIT :batch";

const DELETE: &str = "DELETE FROM :table WHERE identifier IN (:keys) AND :stale";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_placeholder_has_its_value_and_nothing_is_left_to_fill() {
        for dialect in Dialect::ALL {
            let table = Table::parse(b"app.limits", dialect).unwrap();
            for query in Query::ALL {
                for spans in [false, true] {
                    let Statement { text, binds } = query.statement(&table, spans);
                    assert_eq!(text.matches('?').count(), binds.len(), "{text}");
                    assert!(!text.contains([':', '{', '}']), "{text}");
                    assert_eq!(text.matches('(').count(), text.matches(')').count());
                    let names_it = matches!(query, Query::Create | Query::Columns);
                    assert!(spans || names_it || !text.contains("span"), "{text}");
                }
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
                let text = query.statement(&table, true).text;
                let bare = text.replace(quoted, "");
                let names_it = matches!(query, Query::Find | Query::Columns);
                assert!(!bare.contains("limits") || names_it, "{text}");
            }
        }
    }

    #[test]
    fn mysql_is_given_nothing_that_a_mode_takes_for_something_else() {
        let table = Table::parse(b"t", Dialect::MySql).unwrap();
        for query in Query::ALL {
            let text = query.statement(&table, true).text;
            let outside_of_strings: String = text.split('\'').step_by(2).collect();
            assert!(!outside_of_strings.contains(['"', '|', '%']), "{text}");
            assert!(!text.contains(['"', '\\']), "{text}");
        }
    }
}
