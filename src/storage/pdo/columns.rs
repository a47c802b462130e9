//! The properties of a table: whether its collation may treat different names as equal, and whether
//! it has the column `span`.

use super::database::Database;
use super::state::{Columns, slots};
use super::statement::Values;
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use stores::remote::Cause;
use stores::sql::{Bind, Query, folded};
use zend::Zval;

thread_local! {
    /// The properties by the identity of a table's storages. A worker asks once for each table, and
    /// not once in each request.
    static COLUMNS: RefCell<HashMap<Vec<u8>, Columns>> = RefCell::default();
}

impl Database<'_> {
    /// Returns the properties that the statement of `query` depends on. A statement that is not
    /// about one bucket depends on no property.
    pub fn columns(&self, query: Query) -> Result<Columns, Cause> {
        let is_of_bucket = self
            .made
            .statement(query, false)
            .binds
            .contains(&Bind::Name);
        if !is_of_bucket {
            return Ok(Columns::default());
        }
        if let Some(columns) = self.object.columns.get() {
            return Ok(columns);
        }
        let identity = &self.made.identity;
        let known = COLUMNS.with_borrow(|tables| tables.get(identity).copied());
        let columns = match known.filter(|_| self.made.is_known) {
            Some(columns) => columns,
            None => self.query_columns()?,
        };
        self.object.columns.set(Some(columns));
        Ok(columns)
    }

    /// Returns the name under which the column keeps the bucket that `query` is about.
    pub fn name_in_column<'n>(
        &self,
        query: Query,
        values: &Values<'n>,
    ) -> Result<Cow<'n, [u8]>, Cause> {
        Ok(if self.columns(query)?.folds {
            folded(values.name)
        } else {
            Cow::Borrowed(values.name)
        })
    }

    /// Forgets the properties of the table if it may have lost the column `span`, for example
    /// because the name means another table now. Returns false if it had no such column.
    pub fn forget_columns(&self) -> bool {
        let had_spans = self.object.columns.take().is_some_and(|it| it.spans);
        COLUMNS.with_borrow_mut(|tables| tables.remove(&self.made.identity));
        for slot in slots() {
            self.object.set_property(slot, Zval::null());
        }
        had_spans
    }

    fn query_columns(&self) -> Result<Columns, Cause> {
        let values = Values::default();
        let answer = self.repeat(Query::Columns, &values, &|it| self.numbers(it))?;
        let [folds, spans] = answer.unwrap_or_default();
        let why = match folds {
            4.. => "the column \"microtime\" must be a double, and \"span\" a bigint",
            2.. => "the column \"identifier\" has no unique index of its own",
            _ => "",
        };
        if !why.is_empty() {
            return Err(Cause::Statement(why.to_owned()));
        }
        let columns = Columns {
            folds: folds != 0,
            spans: spans != 0,
        };
        if self.made.is_known {
            let identity = self.made.identity.clone();
            COLUMNS.with_borrow_mut(|tables| tables.insert(identity, columns));
        }
        Ok(columns)
    }
}
