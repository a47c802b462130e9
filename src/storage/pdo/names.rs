//! The names of buckets in a table whose collation may treat different names as equal.

use super::database::Database;
use super::statement::Values;
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use stores::remote::Cause;
use stores::sql::{Bind, Query, folded};

thread_local! {
    /// By the identity of a table's storages: true if the collation of the table may treat
    /// different names as equal. A worker asks once for each table, and not once in each request.
    static FOLDS: RefCell<HashMap<Vec<u8>, bool>> = RefCell::default();
}

impl Database<'_> {
    /// Returns the name under which the column keeps the bucket that `query` is about.
    pub fn name_in_column<'n>(
        &self,
        query: Query,
        values: &Values<'n>,
    ) -> Result<Cow<'n, [u8]>, Cause> {
        let has_name = self.made.statement(query).binds.contains(&Bind::Name);
        if has_name && self.folds()? {
            return Ok(folded(values.name));
        }
        Ok(Cow::Borrowed(values.name))
    }

    fn folds(&self) -> Result<bool, Cause> {
        if let Some(folds) = self.object.folds.get() {
            return Ok(*folds);
        }
        let identity = &self.made.identity;
        let known = FOLDS.with_borrow(|tables| tables.get(identity).copied());
        let folds = match known.filter(|_| self.made.is_known) {
            Some(folds) => folds,
            None => self.ask_folds()?,
        };
        // PHP code that ran meanwhile may have set the same value.
        self.object.folds.set(folds).ok();
        Ok(folds)
    }

    fn ask_folds(&self) -> Result<bool, Cause> {
        let values = Values::default();
        let answer = self.repeat(Query::Folds, &values, &|it| self.numbers(it))?;
        let [folds] = answer.unwrap_or_default();
        if folds >= 2 {
            let why = "the column \"identifier\" has no unique index of its own";
            return Err(Cause::Statement(why.to_owned()));
        }
        let folds = folds != 0;
        if self.made.is_known {
            let identity = self.made.identity.clone();
            FOLDS.with_borrow_mut(|tables| tables.insert(identity, folds));
        }
        Ok(folds)
    }
}
