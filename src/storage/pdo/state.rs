//! The state of a `TokenBucketStoragePDO` object.

use crate::classes::TOKEN_BUCKET_STORAGE_PDO;
use crate::storage::proposals::Proposals;
use gcra::KeyHasher;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::VecDeque;
use std::sync::Arc;
use stores::remote::{Server, Settings};
use stores::sql::{Dialect, Query, Statement, Table};
use zend::pdo::Sqlite;
use zend::{Class, State};

// The slots of the properties, in the order of their declaration. The slots from `STATEMENTS` on
// hold prepared statements.
pub const DB: usize = 0;
pub const TABLE: usize = 1;
const STATEMENTS: usize = 2;

/// The state of an object, in addition to its properties.
#[derive(Debug, Default)]
pub struct PdoStorage {
    /// Empty until the constructor runs.
    pub made: OnceCell<Made>,
    pub proposals: Proposals,
    /// True after the connection was lost. The storage does not reconnect, so later failures are
    /// not evidence about the server.
    pub lost: Cell<bool>,
    /// Empty until it is known.
    pub columns: Cell<Option<Columns>>,
    /// True if the connection had autocommit when the server was last asked. Set only if the DSN
    /// does not identify the database.
    pub autocommits: Cell<Option<bool>>,
    pub calls: Cell<u64>,
    /// After the last step on `MySQL`: the state, and how long the statement took. Both are in
    /// microseconds.
    pub last_take: Cell<(i64, i64)>,
    /// The same for the last grants that left their buckets in debt, which are reservations.
    pub reservations: RefCell<VecDeque<(i64, i64)>>,
}

/// The properties of a table.
#[derive(Clone, Copy, Debug, Default)]
pub struct Columns {
    /// True if the collation of the names may treat different names as equal.
    pub folds: bool,
    pub spans: bool,
}

/// The most reservations that an object remembers. Cancelling an older one may give back less.
const MOST_RESERVATIONS: usize = 1024;

impl PdoStorage {
    /// Notes the state after a step on `MySQL`, and how long its statement took. Both are in
    /// microseconds.
    pub fn note_take(&self, state: i64, took: i64, is_in_debt: bool) {
        self.last_take.set((state, took));
        if !is_in_debt {
            return;
        }
        let mut reservations = self.reservations.borrow_mut();
        if reservations.len() == MOST_RESERVATIONS {
            reservations.pop_front();
        }
        reservations.push_back((state, took));
    }

    /// Returns how long the statement took that left the bucket in `state`, in microseconds, if
    /// that is known.
    pub fn time_of_take(&self, state: i64) -> Option<i64> {
        let reservations = self.reservations.borrow();
        let mut takes = reservations.iter().rev().copied();
        let last = Some(self.last_take.get());
        let found = last.filter(|take| take.0 == state);
        found
            .or_else(|| takes.find(|take| take.0 == state))
            .map(|take| take.1)
    }
}

/// The values that the constructor sets.
#[derive(Debug)]
pub struct Made {
    pub dialect: Dialect,
    pub table: Table,
    /// The statements for a table without the column `span`, and for one with it.
    pub statements: [[OnceCell<Statement>; Query::COUNT]; 2],
    pub server: Arc<Server>,
    /// Identifies the store: the database, the user and the table.
    pub identity: Vec<u8>,
    /// True if the DSN identifies the database. Otherwise objects share no state.
    pub is_known: bool,
    pub hasher: KeyHasher,
    pub settings: Settings,
    /// The functions of the `SQLite` library, if the driver is `sqlite`.
    pub sqlite: Option<Sqlite>,
}

impl State for PdoStorage {
    const SLOTS: usize = STATEMENTS + Query::Start as usize + 1;
    const OWNS_MEMORY: bool = true;
    const CLASS: &'static Class = &TOKEN_BUCKET_STORAGE_PDO;
}

impl Made {
    /// Reports whether objects with this identity use one table, in every state of their sessions.
    /// Otherwise a bucket's state that one call has seen may not be valid for another call.
    pub fn is_one_table(&self) -> bool {
        self.is_known && self.table.is_same_in_all_sessions()
    }

    /// Returns the statement of a query: its text and its placeholders. Creates it on the first
    /// call.
    pub fn statement(&self, query: Query, spans: bool) -> &Statement {
        self.statements[usize::from(spans)][query as usize]
            .get_or_init(|| query.statement(&self.table, spans))
    }
}

/// Returns the property slots that keep prepared statements.
pub fn slots() -> impl Iterator<Item = usize> {
    STATEMENTS..PdoStorage::SLOTS
}

/// Returns the property slot that keeps the query's prepared statement. Returns `None` if the
/// statement is not kept.
pub fn slot(query: Query) -> Option<usize> {
    (query as usize <= Query::Start as usize).then_some(STATEMENTS + query as usize)
}
