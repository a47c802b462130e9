//! Statements on a PDO object: prepared, bound, run, read, and what is said when one of that fails.
//!
//! Every call may run PHP code: a class that extends PDO or its statements, a handler of warnings. Only
//! counted values are held meanwhile. A statement that is in use is out of its slot, so that code which
//! comes back here meanwhile prepares another.

use super::state::{DB, Made, PdoStorage, slot};
use crate::zend::invoke::{self, Method};
use crate::zend::{Obj, Object, Thrown, Zval, throw, value};
use std::cell::{Cell, RefCell};
use tokenbucket_core::clock;
use tokenbucket_core::remote::Cause;
use tokenbucket_core::remote::failure::shown;
use tokenbucket_core::sql::failure::{Failure, sort};
use tokenbucket_core::sql::{Bind, Dialect, Query, reply};

// Numbers of PDO's, which others have written down, too: they do not change.
const ATTR_DRIVER_NAME: i64 = 16;
const PARAM_INT: i64 = 1;
const PARAM_STR: i64 = 2;
const FETCH_NUM: i64 = 3;

/// How often a statement that others undo is sent again.
const TRIES: u32 = 100;

/// The connection of a storage, for one call.
#[derive(Debug)]
pub struct Database<'a> {
    pub object: &'a Object<PdoStorage>,
    pub made: &'a Made,
    pub db: Zval,
    /// Whether the caller had a transaction open when the call began. Of `SQLite` it is not known.
    pub in_transaction: bool,
    /// What PDO threw last.
    caught: RefCell<Option<Zval>>,
    /// Whether what failed last was undone as a whole.
    undone: Cell<bool>,
}

/// What the placeholders stand for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Values<'a> {
    pub name: &'a [u8],
    pub cost: i64,
    pub burst: i64,
    pub age: i64,
    pub taken: i64,
    pub tick: i64,
    pub debt: i64,
    pub tag: i64,
    pub keys: &'a [Zval],
}

impl<'a> Values<'a> {
    /// Returns the values of a statement on the bucket of this name; the others are zero.
    pub fn of(name: &'a [u8]) -> Self {
        Self {
            name,
            ..Self::default()
        }
    }

    /// Returns the number that a placeholder stands for; `clock` is this host's clock.
    fn number(&self, bind: Bind, clock: i64) -> i64 {
        match bind {
            Bind::Cost => self.cost,
            Bind::Burst => self.burst,
            Bind::Slack => self.burst - self.cost,
            Bind::Age => self.age,
            Bind::Taken => self.taken,
            Bind::Tick => self.tick,
            Bind::Debt => self.debt,
            Bind::Clock => clock,
            Bind::Tag => self.tag,
            Bind::Absent => reply::absent(self.tag),
            Bind::Least => reply::least(self.tag, self.cost),
            Bind::Name | Bind::Key => 0,
        }
    }
}

/// The dialect of a connection, by its driver's name.
///
/// # Errors
/// What PDO throws for an object that has no connection.
pub fn dialect(db: Obj<'_>) -> Result<Option<Dialect>, Thrown> {
    let name = invoke::method(db, "getattribute", &mut [int(ATTR_DRIVER_NAME)])?;
    Ok(Dialect::of_driver(value::bytes(&name)))
}

fn int(number: i64) -> Zval {
    value::Number::Int(number).to_zval()
}

/// A whole number, or one in digits.
pub fn number(zval: &Zval) -> Option<i64> {
    match value::as_number(zval) {
        Some(value::Number::Int(int)) => Some(int),
        Some(value::Number::Float(_)) => None,
        None => std::str::from_utf8(value::bytes(zval)).ok()?.parse().ok(),
    }
}

impl<'a> Database<'a> {
    /// # Errors
    /// What a class that extends PDO throws.
    pub fn open(object: &'a Object<PdoStorage>, made: &'a Made) -> Result<Self, Thrown> {
        let db = object.copy_property(DB);
        let pdo = value::object(&db).ok_or_else(|| {
            throw::error("The TokenBucketStoragePDO object has lost its connection")
        })?;
        // PDO does not tell of a transaction that was begun by a statement of SQLite's, and nothing hangs on it.
        let in_transaction = made.dialect != Dialect::Sqlite
            && value::is_truthy(&invoke::method(pdo, "intransaction", &mut [])?);
        Ok(Self {
            object,
            made,
            db,
            in_transaction,
            caught: RefCell::default(),
            undone: Cell::new(false),
        })
    }

    /// What PDO threw last.
    pub fn caught(&self) -> Option<Zval> {
        self.caught.take()
    }

    /// Calls a method of PDO that answers false when it fails.
    pub fn call(&self, on: &Zval, method: &str, arguments: &mut [Zval]) -> Result<Zval, Cause> {
        let object = value::object(on).ok_or(Cause::Caller("no object"))?;
        self.checked(object, invoke::method(object, method, arguments))
    }

    fn checked(&self, on: Obj<'_>, answer: Result<Zval, Thrown>) -> Result<Zval, Cause> {
        match answer {
            Ok(answer) if !answer.is_false() => Ok(answer),
            _ => Err(self.failure(on)),
        }
    }

    /// Runs `query`, and reads of the statement what `read` does. Again if it was undone as a whole by what
    /// others did meanwhile; in a transaction of the caller's, which is undone as well, only once.
    pub fn ask<R>(
        &self,
        query: Query,
        values: &Values<'_>,
        read: impl Fn(&Zval) -> Result<R, Cause>,
    ) -> Result<R, Cause> {
        let mut tries = 0;
        loop {
            self.undone.set(false);
            match self.run(query, values, &read) {
                Err(_) if self.undone.get() && !self.in_transaction && tries < TRIES => tries += 1,
                answer => return answer,
            }
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
                kept
            }
            _ => {
                let text = value::of_bytes(text.text.as_bytes());
                self.call(&self.db, "prepare", &mut [text])?
            }
        };
        let object = value::object(&statement).ok_or(Cause::Caller("no statement"))?;
        let bind_value = Method::of(object, "bindvalue").map_err(|_| Cause::Thrown)?;
        // Read once, because several placeholders may stand for it.
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
            self.object.set_property(slot, statement);
        }
        Ok(answer)
    }

    /// The next row, `None` behind the last.
    pub fn row(&self, statement: &Zval) -> Result<Option<Zval>, Cause> {
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

    /// The numbers of the only row; `None` if there is none.
    pub fn numbers<const N: usize>(&self, statement: &Zval) -> Result<Option<[i64; N]>, Cause> {
        let row = self.row(statement)?;
        row.map(|row| self.numbers_of(&row, statement)).transpose()
    }

    /// The same of a statement that changes something. Reads to the end, for `SQLite` may fail only there to keep
    /// what it did; other databases have kept it before they answer.
    pub fn changed<const N: usize>(&self, statement: &Zval) -> Result<Option<[i64; N]>, Cause> {
        let Some(row) = self.row(statement)? else {
            return Ok(None);
        };
        while self.made.dialect == Dialect::Sqlite && self.row(statement)?.is_some() {}
        self.numbers_of(&row, statement).map(Some)
    }

    fn numbers_of<const N: usize>(&self, row: &Zval, statement: &Zval) -> Result<[i64; N], Cause> {
        self.call(statement, "closecursor", &mut [])?;
        let mut numbers = [0; N];
        for (place, into) in (0..).zip(&mut numbers) {
            let cell = row.array().and_then(|row| row.get_index(place));
            *into = cell
                .and_then(number)
                .ok_or(Cause::Caller("a number is missing"))?;
        }
        Ok(numbers)
    }

    /// Why a method of `on`, the connection or a statement, failed. What else than an exception of PDO's is
    /// pending stays so.
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
            drop(self.caught.replace(Some(caught)));
        }
        let Ok(info) = invoke::method(on, "errorinfo", &mut []) else {
            return Cause::Thrown;
        };
        let cell = |place| info.array().and_then(|info| info.get_index(place));
        let state = cell(0).map(value::bytes).unwrap_or_default();
        let code = cell(1).and_then(number).unwrap_or(0);
        if let Some(said) = cell(2).map(value::bytes).filter(|said| !said.is_empty()) {
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
            shown(message)
        };
        self.undone.set(failure == Failure::Undone);
        // A connection that is not made anew fails for ever; that says nothing of the server any more.
        match failure {
            Failure::Lost if self.object.lost.replace(true) => Cause::LostBefore(message),
            Failure::Lost => Cause::Lost(message),
            _ => Cause::Statement(message),
        }
    }
}
