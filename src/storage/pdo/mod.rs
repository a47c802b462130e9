//! `TokenBucketStoragePDO`: buckets in the table of a database that the application is connected to, through
//! its own PDO object, inside its own transactions.
//!
//! PDO is another extension, which may not be there: its classes are looked up when an object of one is
//! passed. The object, and the statements that were prepared on it, stand in property slots, where the cycle
//! collector sees them. A statement is prepared once for an object of this class.

mod construct;
mod database;
mod transport;
mod upkeep;

use super::proposals::Proposals;
use super::remote::tell;
use super::{Storage, downcast};
use crate::declared::{TOKEN_BUCKET_STORAGE_PDO, TOKEN_BUCKET_STORAGE_PDO_MY_SQL};
use crate::segment;
use crate::zend::{Class, Obj, Object, State, Thrown, invoke, throw, value};
use database::Database;
use std::cell::{Cell, OnceCell};
use tokenbucket_core::host::Host;
use tokenbucket_core::remote::{Answer, Failure, Remote, Server, Settings};
use tokenbucket_core::sql::{Dialect, Query, Statement, Table};
use tokenbucket_core::{Grain, Key, KeyHasher, Outcome, Put, Step, Ticks};

pub use construct::{construct, construct_mysql};
pub use upkeep::purge;

// The slots of the properties, in the order of their declaration; the statements follow.
const DB: usize = 0;
const TABLE: usize = 1;
const STATEMENTS: usize = 2;

/// The state of an object, besides its properties.
#[derive(Debug)]
pub struct PdoStorage {
    /// Set by the constructor.
    made: OnceCell<Made>,
    proposals: Proposals,
    /// Whether the connection was lost: it is not made anew, and its failures say nothing new of the server.
    lost: Cell<bool>,
    calls: Cell<u64>,
}

#[derive(Debug)]
struct Made {
    dialect: Dialect,
    table: Table,
    statements: [OnceCell<Statement>; Query::COUNT],
    server: Server,
    /// Tells stores apart: where the connection leads, as whom, and the table.
    identity: Vec<u8>,
    /// Whether the identity is one: else nothing is known that another object may be told.
    is_known: bool,
    hasher: KeyHasher,
    settings: Settings,
}

impl State for PdoStorage {
    const SLOTS: usize = STATEMENTS + Query::Start as usize + 1;

    fn class() -> &'static Class {
        &TOKEN_BUCKET_STORAGE_PDO
    }

    fn born() -> Self {
        Self {
            made: OnceCell::new(),
            proposals: Proposals::default(),
            lost: Cell::new(false),
            calls: Cell::new(0),
        }
    }

    fn cloned(&self) -> Option<Self> {
        None
    }
}

impl Storage for Object<PdoStorage> {
    fn hasher(&self) -> KeyHasher {
        let made = self.made.get();
        made.map_or(KeyHasher::new([0; 2]), |made| made.hasher)
    }

    fn proposals(&self) -> &Proposals {
        &self.proposals
    }

    fn take_or_fall_back(
        &self,
        key: Key<'_>,
        step: &Step,
        first: Option<Ticks>,
    ) -> Result<(Outcome, bool), Thrown> {
        with(self, |remote, host| {
            let answer = remote.take(host, key, step, first);
            answer.map(Answer::with_origin)
        })
    }

    fn put(&self, key: Key<'_>, put: &Put) -> Result<(), Thrown> {
        with(self, |remote, host| remote.put(host, key, put))
    }

    fn contains(&self, key: Key<'_>) -> Result<bool, Thrown> {
        with(self, |remote, host| remote.contains(host, key))
    }

    fn prepare(&self) -> Result<(), Thrown> {
        upkeep::prepare(self)
    }

    fn grain(&self) -> Grain {
        Grain::Microsecond
    }

    fn holds_objects(&self) -> bool {
        true
    }

    /// Compares the PDO objects where the DSN does not identify the database.
    fn is_same(&self, other: &dyn Storage) -> bool {
        let Some(other) = downcast::<Self>(other) else {
            return false;
        };
        let known = |storage: &Self| storage.made.get().is_some_and(|made| made.is_known);
        let (db, others) = (self.copy_property(DB), other.copy_property(DB));
        (known(self) && known(other)) || value::object(&db) == value::object(&others)
    }
}

/// Returns the object as a storage, if its class decides as the extension's own do.
pub fn of(object: Obj<'_>) -> Option<&dyn Storage> {
    let storage = Object::<PdoStorage>::of(object)?;
    let is_ours = storage.is_exact() || TOKEN_BUCKET_STORAGE_PDO_MY_SQL.is_of(object);
    let overrides = |method| invoke::overrides(object, method, &TOKEN_BUCKET_STORAGE_PDO);
    let decides = || {
        ["prepare", "bootstrap", "consume"]
            .into_iter()
            .any(overrides)
    };
    (is_ours || !decides()).then_some(storage as &dyn Storage)
}

impl Made {
    fn statement(&self, query: Query) -> &Statement {
        self.statements[query as usize].get_or_init(|| query.statement(self.dialect, &self.table))
    }
}

/// Runs `call` on the connection, and throws or warns of what failed.
fn with<R>(
    object: &Object<PdoStorage>,
    call: impl FnOnce(&Remote<Database<'_>>, &Host) -> Result<Answer<R>, Failure>,
) -> Result<R, Thrown> {
    let made = object
        .made
        .get()
        .ok_or_else(|| throw::error("The TokenBucketStoragePDO object has not been constructed"))?;
    let host = segment::host().ok_or(Thrown)?;
    let database = Database::open(object, made)?;
    // PDO does not tell of a transaction that was begun by a statement of SQLite's.
    let tells = made.dialect != Dialect::Sqlite;
    let hints = made.is_known && tells && !database.in_transaction();
    let settings = Settings {
        // A transaction may undo what it has seen, and nobody else has seen it.
        hint_max_age: made.settings.hint_max_age.filter(|_| hints),
        ..made.settings
    };
    let remote = Remote::new(database, settings);
    let answer = call(&remote, host);
    if throw::is_pending() {
        return Err(Thrown);
    }
    tell(&remote, answer, || remote.transport().caught())
}

/// The slot of a query whose statement is kept.
fn slot(query: Query) -> Option<usize> {
    (query as usize <= Query::Start as usize).then_some(STATEMENTS + query as usize)
}
