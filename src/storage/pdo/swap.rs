//! Records that are not a bucket's: one statement reads a record, and another one replaces it.
//!
//! A statement that only reads may read a snapshot of the caller's transaction, which can be older
//! than the row. So in a transaction, the row is locked before it is read.

use super::database::Database;
use super::statement::Values;
use crate::storage::contract::Swap;
use gcra::{Denial, Outcome, Timestamp};
use stores::remote::Cause;
use stores::sql::lockout::{record, state};
use stores::sql::{Dialect, Query, reply};

/// The most attempts of a call that loses each race.
const TRIES: u32 = 100;

impl Database<'_> {
    /// Reads the record of this name and replaces it by what the swap makes of it. Tries again if
    /// another call has changed the record meanwhile.
    pub fn swap(&self, name: &[u8], swap: &Swap<'_>) -> Result<Outcome, Cause> {
        let mut now = Timestamp::ZERO;
        for _ in 0..TRIES {
            let [at, seen] = self.read(name, swap.is_dry)?;
            now = reply::instant(at);
            let outcome = (swap.decide)(state(seen).ok_or(Cause::Record)?, now);
            let next = record(outcome.empty_at);
            if next == seen || self.replace(name, seen, next)? {
                return Ok(outcome);
            }
        }
        Ok(Outcome::denied(Denial::Contended, Timestamp::ZERO, now))
    }

    /// Returns the database's clock in microseconds, and the record or 0.
    fn read(&self, name: &[u8], is_dry: bool) -> Result<[i64; 2], Cause> {
        let values = Values::of(name);
        self.refresh()?;
        let query = if is_dry || !self.in_transaction.get() {
            Query::Record
        } else {
            self.query(Query::Hold, &values, |_| Ok(()))?;
            Query::Held
        };
        let found = self.query(query, &values, |rows| self.numbers(rows))?;
        found.ok_or(Cause::Caller("no row"))
    }

    /// Returns false if the record is no longer `seen`.
    fn replace(&self, name: &[u8], seen: i64, next: i64) -> Result<bool, Cause> {
        let tag = self.next_tag();
        let values = Values {
            tag,
            seen,
            next,
            ..Values::of(name)
        };
        if self.made.dialect == Dialect::MySql {
            let answer = self.query(Query::Swap, &values, |it| self.answer(tag, it))?;
            // Without a reply, the row is new.
            return Ok(answer.is_none_or(|answer| answer.granted));
        }
        let row = self.query(Query::Swap, &values, |rows| self.changed::<1>(rows));
        row.map(|row| row.is_some())
    }
}
