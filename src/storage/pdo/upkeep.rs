//! Maintenance of the table: creates the table and deletes the rows of full buckets.

use super::database::{Database, cell, number};
use super::state::PdoStorage;
use super::statement::Values;
use super::transport::with;
use crate::exceptions;
use gcra::seconds::SpanError;
use gcra::{Grain, seconds};
use stores::remote::Cause;
use stores::sql::reply::micros;
use stores::sql::{BATCH, Dialect, Query};
use zend::{Call, Thrown, Zval, value};

/// Implements `purge(float $full_microtime): int`. Deletes the rows of buckets that were last empty
/// longer ago than this time, in seconds. Returns the number of deleted rows.
pub fn purge(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let full = call.float(1)?;
    let step = seconds::to_step(0.0, full, Grain::Microsecond).map_err(|error| match error {
        SpanError::Cost(error) | SpanError::Full(error) => exceptions::bad_amount(1, error),
    })?;
    let span = micros(step.span);
    let deleted = with(call.this::<PdoStorage>(), |remote| {
        remote.operate(b"", |visit| visit.store.purge(span), |_, _| 0)
    })?;
    result.set_long(deleted.value);
    Ok(())
}

impl Database<'_> {
    /// Creates the table if it is missing. First checks whether it exists, because the user may
    /// lack the right to create tables.
    pub fn create(&self) -> Result<(), Cause> {
        if self.finds()? {
            return Ok(());
        }
        if self.made.dialect == Dialect::MySql && self.in_transaction.get() {
            let why = "creating the table would commit the open transaction";
            return Err(Cause::Statement(why.to_owned()));
        }
        let created = self.query(Query::Create, &Values::default(), |_| Ok(()));
        self.forget_columns();
        // If two clients create the table at once, one client may fail, but then the table exists.
        if created.is_err() && !self.in_transaction.get() && self.finds()? {
            return Ok(());
        }
        created
    }

    fn finds(&self) -> Result<bool, Cause> {
        let found = self.query(Query::Find, &Values::default(), |it| self.numbers(it))?;
        Ok(found.is_some_and(|[count]| count > 0))
    }

    /// Deletes the rows of full buckets, in batches. Selects names without a lock, then deletes
    /// those rows whose buckets are still full. Returns the number of deleted rows.
    fn purge(&self, span: i64) -> Result<i64, Cause> {
        let mut deleted = 0;
        let mut names: Vec<Zval> = Vec::new();
        loop {
            // `last` is the last name of the previous batch, or empty before the first batch.
            let last = &names[names.len().saturating_sub(1)..];
            let query = match last {
                [] => Query::Stale,
                _ => Query::StaleAfter,
            };
            names = self.query(query, &stale(span, last), |it| self.names(it))?;
            if names.is_empty() {
                return Ok(deleted);
            }
            let all = stale(span, &names);
            deleted += self.query(Query::Delete, &all, |it| self.changed_rows(it))?;
            if names.len() < BATCH {
                return Ok(deleted);
            }
        }
    }

    fn names(&self, statement: &Zval) -> Result<Vec<Zval>, Cause> {
        let mut names = Vec::with_capacity(BATCH);
        while let Some(row) = self.row(statement)? {
            let name = cell(&row, 0).ok_or(Cause::Caller("a name is missing"))?;
            if cell(&row, 1).and_then(number) != Some(1) {
                let why = "character_set_results must be an extension of ASCII";
                return Err(Cause::Statement(why.to_owned()));
            }
            // An attribute of the connection may turn an empty name into null.
            names.push(if name.is_null() {
                value::of_bytes(b"")
            } else {
                name.shallow_clone()
            });
        }
        self.call(statement, "closecursor", &mut [])?;
        Ok(names)
    }
}

fn stale(span: i64, keys: &[Zval]) -> Values<'_> {
    Values {
        span,
        keys,
        ..Values::default()
    }
}
