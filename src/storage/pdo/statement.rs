//! Runs statements: prepares, binds and executes them, and leaves the session as it was.
//!
//! A statement in use is taken out of its property slot. If PHP code calls this storage again
//! meanwhile, that call prepares another statement.

use super::database::{Database, int};
use super::state::slot;
use gcra::clock;
use stores::remote::Cause;
use stores::sql::failure::SqlFailure;
use stores::sql::{Bind, Dialect, Query, reply};
use zend::invoke::Method;
use zend::{Zval, value};

// PDO's constants.
const PARAM_INT: i64 = 1;
const PARAM_STR: i64 = 2;

/// The most repeats of a statement that the database rolled back because of concurrent statements.
const TRIES: u32 = 100;

/// An age in microseconds that is longer than any span. A bucket that was empty then is full.
pub const LONG_AGO: i64 = 1 << 51;

#[derive(Clone, Copy, Debug, Default)]
pub struct Values<'a> {
    pub name: &'a [u8],
    pub cost: i64,
    pub in_debt: i64,
    pub span: i64,
    pub life: i64,
    pub age: i64,
    pub taken: i64,
    pub tick: i64,
    pub debt: i64,
    pub wait: i64,
    pub tag: i64,
    /// The starts of four windows.
    pub starts: [i64; 4],
    /// If the server's clock is later than this instant, the statement uses the window of this
    /// instant.
    pub latest: i64,
    /// The record that a swap replaces, and the one that it writes.
    pub seen: i64,
    pub next: i64,
    pub keys: &'a [Zval],
}

impl<'a> Values<'a> {
    /// Returns the values of a statement on the bucket of this name. All numbers are zero.
    pub fn of(name: &'a [u8]) -> Self {
        Self {
            name,
            ..Self::default()
        }
    }

    /// Returns the age, in microseconds, of the state that a grant leaves in a full bucket. A grant
    /// that costs nothing changes no state. The age is then [`LONG_AGO`].
    pub fn slack(&self) -> i64 {
        if self.cost == 0 {
            LONG_AGO
        } else {
            self.span - self.cost
        }
    }

    /// Returns the number for a placeholder, and 0 for a placeholder of a text. `clock` is this
    /// host's wall clock in microseconds.
    fn number(&self, bind: Bind, clock: i64) -> i64 {
        match bind {
            Bind::Cost => self.cost,
            Bind::InDebt => self.in_debt,
            Bind::Span => self.span,
            Bind::Life => self.life,
            Bind::Slack => self.slack(),
            Bind::Age => self.age,
            Bind::Taken => self.taken,
            Bind::Tick => self.tick,
            Bind::Debt => self.debt,
            Bind::Wait => self.wait,
            Bind::Clock => clock,
            Bind::Tag => self.tag,
            Bind::Start(place) => self.starts[place],
            Bind::Latest => self.latest,
            Bind::Seen => self.seen,
            Bind::Next => self.next,
            Bind::Absent => reply::absent(self.tag),
            Bind::Least => reply::least(self.tag, self.cost),
            Bind::Full => reply::full(self.tag),
            Bind::Name | Bind::Key => 0,
        }
    }
}

impl Database<'_> {
    /// Runs `query` and applies `read` to its statement. Repeats the statement if the database
    /// rolled it back because of concurrent statements. Does not repeat it in a transaction of the
    /// caller, because the transaction was rolled back, too. Prepares it again if the server has
    /// forgotten it, or if the table has lost a column.
    pub fn query<R>(
        &self,
        query: Query,
        values: &Values<'_>,
        read: impl Fn(&Zval) -> Result<R, Cause>,
    ) -> Result<R, Cause> {
        let id = self.last_insert_id()?;
        let refreshed = self.refresh();
        let name = refreshed.and_then(|()| self.name_in_column(query, values));
        let answer = name.and_then(|name| {
            let values = Values {
                name: &name,
                ..*values
            };
            self.repeat(query, &values, &read)
        });
        let kept = self.restore(id, answer.is_ok() && query.writes());
        let answer = answer.and_then(|answer| kept.map(|()| answer));
        answer.map_err(|cause| self.settle(cause))
    }

    /// Does the same as [`Database::query`] for a statement on a bucket whose name in the column is
    /// known. Does not restore the last insert id.
    pub fn repeat<R>(
        &self,
        query: Query,
        values: &Values<'_>,
        read: &impl Fn(&Zval) -> Result<R, Cause>,
    ) -> Result<R, Cause> {
        let mut tries = 0;
        loop {
            self.failure.set(None);
            let answer = self.run(query, values, read);
            let answer = answer.and_then(|answer| self.close().map(|()| answer));
            let again = match self.failure.get() {
                Some(SqlFailure::Undone) => !self.in_transaction.get(),
                Some(SqlFailure::Unprepared) => true,
                // On PostgreSQL, the error has aborted a transaction of the caller.
                Some(SqlFailure::Column) => {
                    let is_lost = self.made.dialect == Dialect::PgSql && self.in_transaction.get();
                    self.forget_columns() && !is_lost && tries == 0
                }
                _ => false,
            };
            if answer.is_ok() || !again || tries == TRIES {
                return answer;
            }
            tries += 1;
        }
    }

    fn run<R>(
        &self,
        query: Query,
        values: &Values<'_>,
        read: impl Fn(&Zval) -> Result<R, Cause>,
    ) -> Result<R, Cause> {
        let spans = self.columns(query)?.spans;
        let text = self.made.statement(query, spans);
        let kept = slot(query).map(|slot| (slot, self.object.copy_property(slot)));
        let statement = match kept {
            Some((slot, kept)) if value::object(&kept).is_some() => {
                self.object.set_property(slot, Zval::null());
                kept.into()
            }
            _ => self.prepare(&text.text)?,
        };
        let object = value::object(&statement).ok_or(Cause::Caller("no statement"))?;
        let bind_value = Method::of(object, "bindvalue").map_err(|_| Cause::Thrown)?;
        // The clock is read once, because several placeholders may use it.
        let clock = i64::try_from(clock::wall_clock().as_micros()).unwrap_or(i64::MAX);
        let mut keys = values.keys.iter().cycle();
        for (place, &bind) in (1..).zip(&text.binds) {
            let (bound, kind) = match bind {
                Bind::Name => (value::of_bytes(values.name), PARAM_STR),
                Bind::Key => {
                    let key = keys.next().map(Zval::shallow_clone);
                    (key.unwrap_or_default(), PARAM_STR)
                }
                bind => (int(values.number(bind, clock)), PARAM_INT),
            };
            let bound = bind_value.call(&mut [int(place), bound, int(kind)]);
            self.checked(object, bound)?;
        }
        self.call(&statement, "execute", &mut [])?;
        let answer = read(&statement)?;
        // With `PRAGMA count_changes`, SQLite returns a row, and commits after it.
        let has_rows = self.made.dialect == Dialect::Sqlite && query.writes();
        while has_rows && self.row(&statement)?.is_some() {}
        if let Some(slot) = slot(query) {
            self.object.set_property(slot, statement.into_zval());
        }
        Ok(answer)
    }
}
