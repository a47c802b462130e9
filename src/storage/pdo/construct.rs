//! The constructors, which check the connection and the table's name.

use super::database::dialect;
use super::state::{DB, Made, PdoStorage, TABLE};
use crate::storage::arguments;
use crate::{attached, ini};
use gcra::{KeyHasher, Row, TICKS_PER_SECOND};
use segment::{SharedMemory, StoreKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use stores::remote::{OnFailure, Server, Settings};
use stores::sql::{Dialect, Table};
use zend::{Call, Obj, Object, Thrown, Zval, pdo, throw, value};

/// The defaults of the arguments in the stub. PDO has no timeout for a call, so the timeout only
/// limits a probe of a failed store.
const DEFAULTS: Settings = Settings {
    timeout: TICKS_PER_SECOND,
    on_failure: OnFailure::Throw,
    ..arguments::DEFAULTS
};

/// Implements `__construct(PDO $db, string $table, …)`. Checks the connection and the table's name.
pub fn construct(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    let db = call.object_of_foreign(1, "PDO")?;
    let table = call.string(2)?;
    let settings = arguments::policy(call, 3, DEFAULTS)?;
    arguments::refuse_take_ahead(&settings)?;
    make(call.this(), db, table, settings, None)
}

/// Implements `__construct($db, $table_name)` of `TokenBucketStoragePDOMySQL`.
pub fn construct_mysql(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    let db = call.object_of_foreign(1, "PDO")?;
    let table = call.untyped_string(2)?;
    let only = Some(Dialect::MySql);
    make(call.this(), db, value::bytes(&table), DEFAULTS, only)
}

fn make(
    this: &Object<PdoStorage>,
    held: Zval,
    table: &[u8],
    settings: Settings,
    only: Option<Dialect>,
) -> Result<(), Thrown> {
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
    let name = table.shown().to_owned();
    let base = attached::store().map_or(KeyHasher::new([0; 2]), SharedMemory::hasher);
    let row = attached::store().map_or(Row::default(), |store| {
        ini::namespace(|outer| store.row(StoreKind::Database, [outer, name.as_bytes()]))
    });
    let (identity, is_known) = identity(object, dialect, &name, &base);
    let made = Made {
        dialect,
        statements: Default::default(),
        server: Arc::new(Server::new(
            &identity,
            format!("{} table {name}", dialect.driver()),
        )),
        hasher: base.namespace(&[b"remote", &identity, b""]).counted_in(row),
        identity,
        is_known,
        settings,
        sqlite: Some(dialect)
            .filter(|it| *it == Dialect::Sqlite)
            .and_then(|_| pdo::Sqlite::find()),
        table,
    };
    // This also fails if PHP code that ran in the calls of PDO has constructed this object.
    let set = this.made.set(made);
    set.map_err(|_| arguments::constructed_already::<PdoStorage>())?;
    this.set_property(DB, held);
    this.set_property(TABLE, value::of_bytes(name.as_bytes()));
    Ok(())
}

/// Returns the bytes that identify the store. Returns true in the second part if the DSN identifies
/// the database, so that objects with the same bytes use the same store.
fn identity(object: Obj<'_>, dialect: Dialect, table: &str, base: &KeyHasher) -> (Vec<u8>, bool) {
    // An absolute path identifies an SQLite database. A database in memory or a relative path does
    // not.
    let target = pdo::target(object)
        .filter(|it| dialect != Dialect::Sqlite || it.data_source.starts_with(b"/"));
    let is_known = target.is_some();
    let (source, user) = target.map_or_else(Default::default, |it| (it.data_source, it.user));
    // The data source is hashed with this host's secret, because the data source may hold a
    // password.
    let place = base.key(&source).hash.to_ne_bytes();
    let own = if is_known { Vec::new() } else { unique() };
    let driver = dialect.driver().as_bytes();
    let identity = [driver, &place, &user, b"\0", table.as_bytes(), &own].concat();
    (identity, is_known)
}

/// Returns a process-unique suffix, so that a database that its DSN does not identify shares
/// neither its breaker nor its fallbacks with other databases.
fn unique() -> Vec<u8> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed).to_ne_bytes();
    [std::process::id().to_ne_bytes().as_slice(), &number].concat()
}
