//! The state of the caller's database session: its transaction and its last insert id.
//!
//! Invariant: a statement leaves the session as it found it. If no transaction was open, none is
//! open afterwards. If one was open, it is still open and can be committed, or every failure policy
//! throws [`Cause::Transaction`]. The id of the last row that the caller inserted stays the same.

use super::database::{Database, int, number};
use super::state::{DB, Made, PdoStorage};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use stores::remote::Cause;
use stores::sql::failure::SqlFailure;
use stores::sql::{Dialect, reply};
use zend::{Identity, Obj, Object, Thrown, Zval, invoke, throw, value};

const ATTR_AUTOCOMMIT: i64 = 0;
const ATTR_CONNECTION_STATUS: i64 = 7;

thread_local! {
    /// The PDO object whose transaction was lost in its last call.
    static LOST: Cell<Identity> = const { Cell::new(Identity::NONE) };
    /// The latest replies of `MySQL` on all connections, in a ring, and the place of the next one.
    /// A reply is returned as the last insert id, but it is not an id of the caller. If a reply is
    /// missing here, it is taken for such an id and restored, which does no harm.
    static REPLIES: Cell<([u64; 16], usize)> = const { Cell::new(([0; 16], 0)) };
    /// By the identity of a `MySQL` store's storages: true if all connections to the store that
    /// this worker has asked had autocommit. If the DSN does not identify the database, each
    /// storage object keeps this value for itself.
    static AUTOCOMMIT: RefCell<HashMap<Vec<u8>, bool>> = RefCell::default();
}

/// Reports whether the last call on the connection cost the caller its transaction. Takes in this
/// transaction are undone already.
pub fn is_lost(db: &Zval) -> bool {
    LOST.get().is_of(db)
}

/// Reports whether the connection has a transaction open. On a lost connection of `PostgreSQL`, PDO
/// always reports a transaction, but it was lost before this call.
pub fn in_transaction(db: Obj<'_>, made: &Made) -> Result<bool, Thrown> {
    if let Some(is_open) = made.sqlite.and_then(|sqlite| sqlite.in_transaction(db)) {
        return Ok(is_open);
    }
    let is_open = value::is_truthy(&*invoke::method(db, "intransaction", &mut [])?);
    if !is_open || made.dialect != Dialect::PgSql {
        return Ok(is_open);
    }
    let status = invoke::method(db, "getattribute", &mut [int(ATTR_CONNECTION_STATUS)])?;
    Ok(value::bytes(&status) != b"Bad connection.")
}

/// Remembers a reply of `MySQL`, which PDO reports as its last insert id from now on.
pub fn note_reply(reply: Option<i64>) {
    let (mut replies, place) = REPLIES.get();
    replies[place] = reply.unwrap_or(0).cast_unsigned();
    REPLIES.set((replies, (place + 1) % replies.len()));
}

impl<'a> Database<'a> {
    /// Opens the connection of a storage for one call.
    /// Throws `Error` if the object has lost its connection, or the exception of a class that
    /// extends PDO.
    pub fn open(object: &'a Object<PdoStorage>, made: &'a Made) -> Result<Self, Thrown> {
        let db = object.copy_property(DB);
        let pdo = value::object(&db).ok_or_else(|| {
            throw::error("The TokenBucketStoragePDO object has lost its connection")
        })?;
        let in_transaction = in_transaction(pdo, made)?;
        if is_lost(&db) {
            LOST.set(Identity::NONE);
        }
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

    /// Asks a `MySQL` server whether the caller has a transaction open, if PDO reports none and the
    /// connection may be without autocommit. PDO knows the state after the last statement that
    /// succeeded. If a procedure of the caller failed since then, its changes are still open.
    ///
    /// With autocommit, this takes one round trip for each worker and table. If the caller has such
    /// a transaction open, [`Database::is_ours`] finds it after the statement.
    pub fn refresh(&self) -> Result<(), Cause> {
        let is_known = self.in_transaction.get() || self.is_refreshed.get();
        if self.made.dialect != Dialect::MySql || is_known || self.has_autocommit()? {
            return Ok(());
        }
        self.query_autocommit()?;
        self.in_transaction.set(self.is_open()?);
        Ok(())
    }

    /// Reports whether the connection has autocommit, as far as PDO and this worker know.
    fn has_autocommit(&self) -> Result<bool, Cause> {
        let of_store = || AUTOCOMMIT.with_borrow(|it| it.get(&self.made.identity).copied());
        let known = self.object.autocommits.get();
        if known.or_else(of_store) != Some(true) {
            return Ok(false);
        }
        let db = value::object(&self.db).ok_or(Cause::Caller("no object"))?;
        let attribute = invoke::method(db, "getattribute", &mut [int(ATTR_AUTOCOMMIT)]);
        Ok(value::is_truthy(&*attribute.map_err(|_| Cause::Thrown)?))
    }

    /// Reports whether the connection has autocommit. The reply also tells PDO whether a
    /// transaction is open.
    fn query_autocommit(&self) -> Result<bool, Cause> {
        let statement = self.prepare("SELECT CAST(1 * @@autocommit AS BINARY) LIMIT 1")?;
        self.call(&statement, "execute", &mut [])?;
        let autocommits = self.numbers(&statement)? == Some([1]);
        self.is_refreshed.set(true);
        if self.made.is_known {
            let identity = self.made.identity.clone();
            AUTOCOMMIT.with_borrow_mut(|it| *it.entry(identity).or_insert(true) &= autocommits);
        } else {
            self.object.autocommits.set(Some(autocommits));
        }
        Ok(autocommits)
    }

    /// Reports whether the statement opened the transaction that is open after it. Otherwise the
    /// caller had opened the transaction, and the statement is part of it. With autocommit, no
    /// statement of this storage opens a transaction.
    fn is_ours(&self) -> Result<bool, Cause> {
        if !self.is_refreshed.get() {
            self.in_transaction.set(self.query_autocommit()?);
        }
        Ok(!self.in_transaction.get())
    }

    /// Commits a statement on a `MySQL` connection without autocommit. Such a statement opens a
    /// transaction that the caller does not know about. In a transaction of the caller, the
    /// statement stays part of it.
    pub fn close(&self) -> Result<(), Cause> {
        let may_be_ours = self.made.dialect == Dialect::MySql && !self.in_transaction.get();
        if !may_be_ours || !self.is_open()? || !self.is_ours()? {
            return Ok(());
        }
        // Without these words, `completion_type` could begin another transaction.
        self.exec("COMMIT AND NO CHAIN NO RELEASE")
    }

    /// Runs a statement that has neither values nor rows.
    pub fn exec(&self, text: &str) -> Result<(), Cause> {
        let text = value::of_bytes(text.as_bytes());
        self.call(&self.db, "exec", &mut [text]).map(drop)
    }

    /// Returns the last insert id of the caller, or `None` if there is none to keep. On `MySQL`,
    /// PDO knows the id of the previous statement only, and reading it takes no round trip.
    pub fn last_insert_id(&self) -> Result<Option<u64>, Cause> {
        let Some(db) = value::object(&self.db) else {
            return Ok(None);
        };
        if let Some(sqlite) = self.made.sqlite {
            return Ok(sqlite.last_insert_id(db).map(i64::cast_unsigned));
        }
        if self.made.dialect != Dialect::MySql {
            return Ok(None);
        }
        let id = self.call(&self.db, "lastinsertid", &mut [])?;
        // Ids may exceed the greatest integer of PHP.
        let digits = || std::str::from_utf8(value::bytes(&id)).ok()?.parse().ok();
        let id = number(&id).map(i64::cast_unsigned).or_else(digits);
        Ok(id.filter(|id| *id != 0 && !REPLIES.get().0.contains(id)))
    }

    /// Restores the last insert id of the caller after a statement. On `MySQL`, this takes a round
    /// trip and needs the right to insert into the table. A user who may only read lacks this
    /// right. Fails if the statement has written, as `has_written` says, and the id cannot be
    /// restored.
    pub fn restore(&self, id: Option<u64>, has_written: bool) -> Result<(), Cause> {
        let (Some(id), Some(db)) = (id, value::object(&self.db)) else {
            return Ok(());
        };
        if let Some(sqlite) = self.made.sqlite {
            sqlite.set_last_insert_id(db, id.cast_signed());
            return Ok(());
        }
        let text = reply::restore(&self.made.table, id);
        let restore = || self.exec(&text).and_then(|()| self.close());
        if has_written {
            return restore();
        }
        if !throw::is_pending() && self.failure.get() != Some(SqlFailure::Lost) {
            self.aside(restore).ok();
        }
        Ok(())
    }

    /// Returns the cause of a failure, after the session has been restored as far as possible.
    #[cold]
    pub fn settle(&self, cause: Cause) -> Cause {
        if matches!(cause, Cause::Thrown | Cause::Transaction(_)) || throw::is_pending() {
            return cause;
        }
        let is_of_server = matches!(
            cause,
            Cause::Statement(_) | Cause::Lost(_) | Cause::LostBefore(_)
        );
        let is_lost = match self.made.dialect {
            // Any error aborts the transaction, or the subtransaction of a savepoint.
            Dialect::PgSql => is_of_server,
            Dialect::MySql => is_of_server && self.lost_by_mysql(),
            Dialect::Sqlite => matches!(self.is_open(), Ok(false)),
        };
        if !self.in_transaction.get() || !is_lost {
            return cause;
        }
        LOST.set(Identity::of(&self.db));
        Cause::Transaction(Box::new(cause))
    }

    /// Reports whether the last failure ended the caller's transaction. Ends a transaction that a
    /// failed statement has left open on a connection without autocommit.
    ///
    /// A server's error does not say whether a transaction is open. The next reply does.
    fn lost_by_mysql(&self) -> bool {
        if matches!(
            self.failure.get(),
            Some(SqlFailure::Lost | SqlFailure::Undone)
        ) {
            return true;
        }
        // If `DO 0` fails, the client refuses every statement, for example because the caller still
        // reads the rows of an unbuffered query. Then the failed statement was not sent either, so
        // it ended no transaction.
        let refreshed = self.quietly("DO 0");
        let is_open = self.is_open().unwrap_or(true);
        let may_be_ours = refreshed && is_open && !self.in_transaction.get();
        if may_be_ours && self.aside(|| self.is_ours()).unwrap_or(false) {
            self.quietly("ROLLBACK AND NO CHAIN NO RELEASE");
        }
        refreshed && !is_open
    }

    /// Runs a statement in [`Database::aside`]. Returns false if the statement fails.
    fn quietly(&self, text: &str) -> bool {
        self.aside(|| self.exec(text)).is_ok()
    }

    /// Runs `run`, and then restores the kind of the last failure, and the exception that
    /// [`Database::caught`] returns.
    fn aside<R>(&self, run: impl FnOnce() -> R) -> R {
        let caught = self.caught();
        let failure = self.failure.get();
        let result = run();
        self.failure.set(failure);
        self.keep(caught);
        result
    }

    fn is_open(&self) -> Result<bool, Cause> {
        let db: &Zval = &self.db;
        let db = value::object(db).ok_or(Cause::Caller("no object"))?;
        in_transaction(db, self.made).map_err(|_| Cause::Thrown)
    }
}
