//! The table itself: made when it is missing, and rid of what is full.

use super::database::{Database, Values, number};
use super::state::PdoStorage;
use super::transport::{wall_clock, with};
use crate::exceptions;
use crate::zend::{Call, Object, Thrown, Zval};
use tokenbucket_core::remote::Cause;
use tokenbucket_core::seconds::SpanError;
use tokenbucket_core::sql::reply::micros;
use tokenbucket_core::sql::{BATCH, Dialect, Query};
use tokenbucket_core::{Grain, seconds};

/// `prepare()`: creates the table when it is missing.
pub fn prepare(object: &Object<PdoStorage>) -> Result<(), Thrown> {
    with(object, |remote| {
        remote.ask(b"", |database, _| database.create(), |_, _| ())
    })
}

/// `purge(float $full_microtime): int`: deletes what has been full for so long, and tells how much that was.
pub fn purge(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let full = call.float(1)?;
    let step = seconds::to_step(0.0, full, Grain::Microsecond).map_err(|error| match error {
        SpanError::Cost(error) | SpanError::Full(error) => exceptions::bad_amount(1, error),
    })?;
    let span = micros(step.burst);
    let deleted = with(call.this::<PdoStorage>(), |remote| {
        remote.ask(b"", |database, _| database.purge(span), |_, _| 0)
    })?;
    result.set_long(deleted);
    Ok(())
}

impl Database<'_> {
    /// Asks first, for a user who may not create a table may use one.
    fn create(&self) -> Result<(), Cause> {
        if self.finds()? {
            return Ok(());
        }
        if self.made.dialect == Dialect::MySql && self.in_transaction() {
            let why = "creating the table would commit the open transaction";
            return Err(Cause::Statement(why.to_owned()));
        }
        self.ask(Query::Create, &Values::default(), |_| Ok(()))
            .or_else(|error| {
                // Two that create it at once may get in each other's way.
                let is_there = !self.in_transaction() && self.finds()?;
                if is_there { Ok(()) } else { Err(error) }
            })
    }

    fn finds(&self) -> Result<bool, Cause> {
        let found = self.ask(Query::Find, &Values::default(), |it| self.numbers(it))?;
        Ok(found.is_some_and(|[count]| count > 0))
    }

    /// Looks for names without a lock, then deletes them by name if they are full still.
    fn purge(&self, span: i64) -> Result<i64, Cause> {
        let mut deleted = 0;
        let mut last: Option<Zval> = None;
        loop {
            let from = last.as_slice();
            let query = if from.is_empty() {
                Query::Stale
            } else {
                Query::StaleAfter
            };
            let names = self.ask(query, &stale(span, from), |it| self.names(it))?;
            let Some(end) = names.last() else {
                return Ok(deleted);
            };
            let values = stale(span, &names);
            deleted += self.ask(Query::Delete, &values, |statement| {
                let count = self.call(statement, "rowcount", &mut [])?;
                number(&count).ok_or(Cause::Caller("a number is missing"))
            })?;
            if names.len() < BATCH {
                return Ok(deleted);
            }
            last = Some(end.shallow_clone());
        }
    }

    fn names(&self, statement: &Zval) -> Result<Vec<Zval>, Cause> {
        let mut names = Vec::with_capacity(BATCH);
        while let Some(row) = self.row(statement)? {
            let name = row.array().and_then(|row| row.get_index(0));
            names.push(
                name.ok_or(Cause::Caller("a name is missing"))?
                    .shallow_clone(),
            );
        }
        self.call(statement, "closecursor", &mut [])?;
        Ok(names)
    }
}

fn stale(span: i64, keys: &[Zval]) -> Values<'_> {
    Values {
        span,
        keys,
        clock: wall_clock(),
        ..Values::default()
    }
}
