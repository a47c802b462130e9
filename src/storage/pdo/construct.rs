//! What the constructors make of a connection and a table's name.

use super::database::dialect;
use super::state::{DB, Made, PdoStorage, TABLE};
use crate::segment;
use crate::storage::{arguments, on_failure};
use crate::zend::{Call, Obj, Object, Thrown, Zval, pdo, throw, value};
use std::sync::atomic::{AtomicU64, Ordering};
use tokenbucket_core::KeyHasher;
use tokenbucket_core::clock::{TICKS_PER_SECOND, Ticks};
use tokenbucket_core::remote::{OnFailure, Server, Settings};
use tokenbucket_core::slots::SharedMemory;
use tokenbucket_core::sql::{Dialect, Table};

/// How long a probe of a store that was down may take; PDO itself knows no deadline.
const PATIENCE: Ticks = TICKS_PER_SECOND;

/// `__construct(PDO $db, string $table, …)`
///
/// # Errors
/// `TypeError` or `ValueError`; what a class that extends PDO throws.
pub fn construct(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    let db = call.object_of_foreign(1, "PDO")?;
    let table = call.string(2)?;
    let on_failure = if call.count() >= 3 {
        on_failure::argument(call, 3)?
    } else {
        OnFailure::Throw
    };
    let hints = call.count() < 4 || call.bool(4)?;
    let hint_max_age = arguments::span(call, 5, arguments::DEFAULT_HINT_AGE)?;
    let settings = Settings {
        timeout: PATIENCE,
        on_failure,
        hint_max_age: hints.then_some(hint_max_age),
    };
    make(call.this(), db, table, settings, None)
}

/// `__construct($db, $table_name)` of the class for `MySQL`.
///
/// # Errors
/// As [`construct`].
pub fn construct_mysql(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    let db = call.object_of_foreign(1, "PDO")?;
    let table = call.untyped_string(2)?;
    let settings = Settings {
        timeout: PATIENCE,
        on_failure: OnFailure::Throw,
        hint_max_age: Some(arguments::DEFAULT_HINT_AGE),
    };
    let only = Some(Dialect::MySql);
    make(call.this(), db, value::bytes(&table), settings, only)
}

fn make(
    this: &Object<PdoStorage>,
    held: Zval,
    table: &[u8],
    settings: Settings,
    only: Option<Dialect>,
) -> Result<(), Thrown> {
    if this.made.get().is_some() {
        return Err(throw::error("TokenBucketStoragePDO is constructed already"));
    }
    let object = value::object(&held).ok_or(Thrown)?;
    let dialect = dialect(object)?.filter(|it| only.is_none_or(|only| only == *it));
    let dialect = dialect.ok_or_else(|| {
        let message = match only {
            Some(_) => "must be connected to MySQL or MariaDB",
            None => "must be connected by the driver mysql, pgsql or sqlite",
        };
        throw::argument_value(1, message)
    })?;
    let table = Table::parse(table, dialect)
        .map_err(|error| throw::argument_value(2, &error.to_string()))?;
    let name = table.shown();
    let base = segment::store().map_or(KeyHasher::new([0; 2]), SharedMemory::hasher);
    let (identity, is_known) = identity(object, dialect, &name, &base);
    let made = Made {
        dialect,
        statements: Default::default(),
        server: Server::new(&identity, format!("{} table {name}", dialect.driver())),
        hasher: base.namespace(&[b"remote", &identity, b""]),
        identity,
        is_known,
        settings,
        table,
    };
    // Asking PDO may have run code that constructed this object meanwhile.
    if this.made.set(made).is_err() {
        return Err(throw::error("TokenBucketStoragePDO is constructed already"));
    }
    this.set_property(DB, held);
    this.set_property(TABLE, value::of_bytes(name.as_bytes()));
    Ok(())
}

/// Returns what tells the store from others, and whether another object with the same identity uses
/// the same database.
fn identity(object: Obj<'_>, dialect: Dialect, table: &str, base: &KeyHasher) -> (Vec<u8>, bool) {
    let target = pdo::target(object).filter(|target| leads_somewhere(dialect, &target.data_source));
    let is_known = target.is_some();
    let (source, user) = target.map_or_else(Default::default, |it| (it.data_source, it.user));
    // Hashed under this host's secret, because it may hold a password.
    let place = base.key(&source).hash.to_ne_bytes();
    let own = if is_known { Vec::new() } else { unique() };
    let driver = dialect.driver().as_bytes();
    let identity = [driver, &place, &user, b"\0", table.as_bytes(), &own].concat();
    (identity, is_known)
}

/// Returns a process-unique suffix, so that an unknown database shares neither its breaker nor its
/// fallback buckets with others.
fn unique() -> Vec<u8> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed).to_ne_bytes();
    [std::process::id().to_ne_bytes().as_slice(), &number].concat()
}

/// Whether a data source names one database, from wherever it is opened: not so one in memory, or a file
/// somewhere below the current folder.
fn leads_somewhere(dialect: Dialect, data_source: &[u8]) -> bool {
    dialect != Dialect::Sqlite || data_source.starts_with(b"/")
}
