//! A PDO object: calls its methods, reads the rows of its statements, and classifies its failures.
//!
//! Every call may run PHP code, for example in a class that extends PDO or its statements, or in a
//! warning handler. So only counted values are held during a call.

use super::state::{Made, PdoStorage};
use std::cell::{Cell, RefCell};
use stores::remote::Cause;
use stores::remote::failure::shortened;
use stores::sql::Dialect;
use stores::sql::failure::{SqlFailure, sort};
use zend::{Kept, Obj, Object, Thrown, Zval, invoke, throw, value};

// PDO's constants. Their values are part of PDO's public API and do not change.
const ATTR_DRIVER_NAME: i64 = 16;
const FETCH_NUM: i64 = 3;
const PGSQL_ATTR_DISABLE_PREPARES: &[u8] = b"1000";

/// The connection of a storage, for one call.
#[derive(Debug)]
pub struct Database<'a> {
    pub object: &'a Object<PdoStorage>,
    pub made: &'a Made,
    pub db: Kept,
    /// True if the caller has a transaction open. Before the first statement, this is what PDO
    /// reports; see [`Database::refresh`].
    pub in_transaction: Cell<bool>,
    /// True after [`Database::refresh`] has asked the server.
    pub is_refreshed: Cell<bool>,
    /// The last exception that PDO threw.
    pub caught: RefCell<Option<Kept>>,
    /// The kind of the last failure of PDO.
    pub failure: Cell<Option<SqlFailure>>,
}

/// Returns the dialect of a connection by its driver's name, or `None` for another driver.
pub fn dialect(db: Obj<'_>) -> Result<Option<Dialect>, Thrown> {
    let name = invoke::method(db, "getattribute", &mut [int(ATTR_DRIVER_NAME)])?;
    Ok(Dialect::of_driver(value::bytes(&name)))
}

/// Returns a PHP integer.
pub fn int(number: i64) -> Zval {
    value::Number::Int(number).to_zval()
}

/// Returns a cell of a row or of an error. A class that extends PDO may return arrays of
/// references.
pub fn cell(row: &Zval, place: i64) -> Option<&Zval> {
    row.array()?.get_index(place).map(value::dereference)
}

/// Returns the integer that the value holds, also as a string of digits. Returns `None` for other
/// values.
pub fn number(zval: &Zval) -> Option<i64> {
    match value::as_number(zval) {
        Some(value::Number::Int(int)) => Some(int),
        Some(value::Number::Float(_)) => None,
        None => std::str::from_utf8(value::bytes(zval)).ok()?.parse().ok(),
    }
}

impl Database<'_> {
    /// Returns the last exception of PDO and forgets it.
    pub fn caught(&self) -> Option<Kept> {
        self.caught.take()
    }

    /// Sets the exception that [`Database::caught`] returns.
    pub fn keep(&self, caught: Option<Kept>) {
        drop(self.caught.replace(caught));
    }

    /// Calls a method of PDO that returns false when it fails. Converts that, or an exception, to a
    /// [`Cause`].
    pub fn call(&self, on: &Zval, method: &str, arguments: &mut [Zval]) -> Result<Kept, Cause> {
        let object = value::object(on).ok_or(Cause::Caller("no object"))?;
        self.checked(object, invoke::method(object, method, arguments))
    }

    /// Does the same for the result of such a method.
    pub fn checked(&self, on: Obj<'_>, answer: Result<Kept, Thrown>) -> Result<Kept, Cause> {
        match answer {
            Ok(answer) if !answer.is_false() => Ok(answer),
            _ => Err(self.failure(on)),
        }
    }

    /// Prepares a statement. On `PostgreSQL`, the server must not keep it, for two reasons. Behind
    /// a connection pool, the next execution may run on another connection, which does not have the
    /// statement. When the statement is released, PDO sends `DEALLOCATE`, which can fail and abort
    /// a transaction of the caller.
    pub fn prepare(&self, text: &str) -> Result<Kept, Cause> {
        let text = value::of_bytes(text.as_bytes());
        if self.made.dialect != Dialect::PgSql {
            return self.call(&self.db, "prepare", &mut [text]);
        }
        let mut options = value::of_list([]).ok_or(Cause::Caller("no memory"))?;
        value::insert(&mut options, PGSQL_ATTR_DISABLE_PREPARES, int(1));
        self.call(&self.db, "prepare", &mut [text, options])
    }

    /// Returns the next row, or `None` after the last row.
    pub fn row(&self, statement: &Zval) -> Result<Option<Kept>, Cause> {
        let object = value::object(statement).ok_or(Cause::Caller("no object"))?;
        let code = match invoke::method(object, "fetch", &mut [int(FETCH_NUM)]) {
            Ok(row) if row.is_array() => return Ok(Some(row)),
            end => end.and_then(|_| invoke::method(object, "errorcode", &mut [])),
        };
        match code {
            Ok(code) if matches!(value::bytes(&code), b"" | b"00000") => Ok(None),
            _ => Err(self.failure(object)),
        }
    }

    /// Returns the numbers of the only row, or `None` if there is no row.
    pub fn numbers<const N: usize>(&self, statement: &Zval) -> Result<Option<[i64; N]>, Cause> {
        let row = self.row(statement)?;
        row.map(|row| self.numbers_of(&row, statement)).transpose()
    }

    /// Returns the same as [`Database::numbers`] for a statement that writes. Reads all rows,
    /// because `SQLite` commits after the last row and may fail then. Other databases have
    /// committed before they reply.
    pub fn changed<const N: usize>(&self, statement: &Zval) -> Result<Option<[i64; N]>, Cause> {
        let Some(row) = self.row(statement)? else {
            return Ok(None);
        };
        while self.made.dialect == Dialect::Sqlite && self.row(statement)?.is_some() {}
        self.numbers_of(&row, statement).map(Some)
    }

    /// Returns the number of rows that a statement without a result has changed.
    pub fn changed_rows(&self, statement: &Zval) -> Result<i64, Cause> {
        let rows = self.call(statement, "rowcount", &mut [])?;
        number(&rows).ok_or(Cause::Caller("a number is missing"))
    }

    fn numbers_of<const N: usize>(&self, row: &Zval, statement: &Zval) -> Result<[i64; N], Cause> {
        self.call(statement, "closecursor", &mut [])?;
        let mut numbers = [0; N];
        for (place, into) in (0..).zip(&mut numbers) {
            *into = cell(row, place)
                .and_then(number)
                .ok_or(Cause::Caller("a number is missing"))?;
        }
        Ok(numbers)
    }

    /// Returns the cause of a failed method call. `on` is the connection or a statement. Clears a
    /// pending exception of PDO and leaves any other exception pending.
    #[cold]
    fn failure(&self, on: Obj<'_>) -> Cause {
        let mut message = String::new();
        if throw::is_pending() {
            let Some(caught) = throw::catch("pdoexception") else {
                return Cause::Thrown;
            };
            if let Some(said) = value::object(&caught)
                .and_then(|caught| invoke::method(caught, "getmessage", &mut []).ok())
            {
                message = String::from_utf8_lossy(value::bytes(&said)).into_owned();
            }
            self.keep(Some(caught.into()));
        }
        let Ok(info) = invoke::method(on, "errorinfo", &mut []) else {
            return Cause::Thrown;
        };
        let state = cell(&info, 0).map(value::bytes).unwrap_or_default();
        let code = cell(&info, 1).and_then(number).unwrap_or(0);
        if let Some(said) = cell(&info, 2)
            .map(value::bytes)
            .filter(|said| !said.is_empty())
        {
            let state = String::from_utf8_lossy(state);
            let said = String::from_utf8_lossy(said);
            message = format!("SQLSTATE[{state}] {code}: {said}");
        }
        self.sorted(sort(self.made.dialect, state, code), &message)
    }

    fn sorted(&self, failure: SqlFailure, message: &str) -> Cause {
        let message = if message.is_empty() {
            "PDO gives no reason".to_owned()
        } else {
            shortened(message)
        };
        self.failure.set(Some(failure));
        // The storage does not reconnect, so every call on a lost connection fails. Only the first
        // of these failures is evidence about the server.
        match failure {
            SqlFailure::Lost if self.object.lost.replace(true) => Cause::LostBefore(message),
            SqlFailure::Lost => Cause::Lost(message),
            _ => Cause::Statement(message),
        }
    }
}
