//! Runs statements on a PDO object: prepares, binds, executes and reads them, and classifies
//! failures.
//!
//! Every call may run PHP code, for example in a class that extends PDO or its statements, or in a
//! warning handler. So only counted values are held during a call. A statement in use is taken out
//! of its property slot. If the PHP code calls this storage again, that call prepares another
//! statement.

use super::session;
use super::state::{DB, Made, PdoStorage, slot};
use gcra::clock;
use std::cell::{Cell, RefCell};
use stores::remote::Cause;
use stores::remote::failure::shortened;
use stores::sql::failure::{Failure, sort};
use stores::sql::{Bind, Dialect, Query, reply};
use zend::invoke::{self, Method};
use zend::{Kept, Obj, Object, Thrown, Zval, throw, value};

// PDO's constants. Their values are part of PDO's public API and do not change.
const ATTR_DRIVER_NAME: i64 = 16;
const PARAM_INT: i64 = 1;
const PARAM_STR: i64 = 2;
const FETCH_NUM: i64 = 3;
const PGSQL_ATTR_DISABLE_PREPARES: &[u8] = b"1000";

/// The most repeats of a statement that the database rolled back because of concurrent statements.
const TRIES: u32 = 100;

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
    caught: RefCell<Option<Kept>>,
    /// The kind of the last failure of PDO.
    pub failure: Cell<Option<Failure>>,
}

/// An age in microseconds that is longer than any span. A bucket that was empty then is full.
pub const LONG_AGO: i64 = 1 << 51;

/// The values of the placeholders.
#[derive(Clone, Copy, Debug, Default)]
pub struct Values<'a> {
    pub name: &'a [u8],
    pub cost: i64,
    pub in_debt: i64,
    pub span: i64,
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
            Bind::Absent => reply::absent(self.tag),
            Bind::Least => reply::least(self.tag, self.cost),
            Bind::Name | Bind::Key => 0,
        }
    }
}

/// Returns the dialect of a connection by its driver's name, or `None` for another driver.
///
/// # Errors
/// Throws the exception of PDO for an object that has no connection.
pub fn dialect(db: Obj<'_>) -> Result<Option<Dialect>, Thrown> {
    let name = invoke::method(db, "getattribute", &mut [int(ATTR_DRIVER_NAME)])?;
    Ok(Dialect::of_driver(value::bytes(&name)))
}

fn int(number: i64) -> Zval {
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

impl<'a> Database<'a> {
    /// Opens the connection of a storage for one call.
    ///
    /// # Errors
    /// Throws `Error` if the object has lost its connection, or the exception of a class that
    /// extends PDO.
    pub fn open(object: &'a Object<PdoStorage>, made: &'a Made) -> Result<Self, Thrown> {
        let db = object.copy_property(DB);
        let pdo = value::object(&db).ok_or_else(|| {
            throw::error("The TokenBucketStoragePDO object has lost its connection")
        })?;
        let in_transaction = session::in_transaction(pdo, made)?;
        session::begin(&db);
        Ok(Self {
            object,
            made,
            db: db.into(),
            in_transaction: in_transaction.into(),
            is_refreshed: Cell::new(false),
            caught: RefCell::default(),
            failure: Cell::new(None),
        })
    }

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

    fn checked(&self, on: Obj<'_>, answer: Result<Kept, Thrown>) -> Result<Kept, Cause> {
        match answer {
            Ok(answer) if !answer.is_false() => Ok(answer),
            _ => Err(self.failure(on)),
        }
    }

    /// Runs `query` and applies `read` to its statement. Repeats the statement if the database
    /// rolled it back because of concurrent statements. Does not repeat it in a transaction of the
    /// caller, because the transaction was rolled back, too. Prepares it again if the server has
    /// forgotten it.
    pub fn ask<R>(
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

    /// Does the same as [`Database::ask`] for a statement on a bucket whose name in the column is
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
                Some(Failure::Undone) => !self.in_transaction.get(),
                Some(Failure::Unprepared) => true,
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
        let text = self.made.statement(query);
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
        if let Some(slot) = slot(query) {
            self.object.set_property(slot, statement.into_zval());
        }
        Ok(answer)
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

    fn sorted(&self, failure: Failure, message: &str) -> Cause {
        let message = if message.is_empty() {
            "PDO gives no reason".to_owned()
        } else {
            shortened(message)
        };
        self.failure.set(Some(failure));
        // The storage does not reconnect, so every call on a lost connection fails. Only the first
        // of these failures is evidence about the server.
        match failure {
            Failure::Lost if self.object.lost.replace(true) => Cause::LostBefore(message),
            Failure::Lost => Cause::Lost(message),
            _ => Cause::Statement(message),
        }
    }
}
