//! `TokenBucketStoragePDO`: buckets in a database table, accessed through the application's own PDO
//! object and inside its transactions.
//!
//! PDO is another extension and may be missing, so its classes are looked up when an object is
//! passed. The PDO object and the prepared statements are in property slots, where the cycle
//! collector finds them. Each storage object prepares a frequent statement once.

mod columns;
mod construct;
mod database;
mod session;
mod state;
mod statement;
mod swap;
mod transport;
mod upkeep;

use super::contract::{Clock, First, Location, Reported, Storage, Swap, Undo};
use super::proposals::Proposals;
use crate::classes::{TOKEN_BUCKET_STORAGE_PDO, TOKEN_BUCKET_STORAGE_PDO_MY_SQL};
use gcra::{Grain, Key, KeyHasher, Outcome, Put, Step, Ticks, Timestamp, unix_time};
use state::{DB, Made};
use stores::remote::{OnFailure, TimeLeft, server_clock};
use stores::sql::{lockout, stored_kind};
use transport::with;
use zend::{Obj, Object, Thrown, invoke, value};

pub use construct::{construct, construct_mysql};
pub use state::PdoStorage;
pub use upkeep::purge;

impl Storage for Object<PdoStorage> {
    fn hasher(&self) -> KeyHasher {
        let made = self.made.get();
        made.map_or(KeyHasher::new([0; 2]), |made| made.hasher)
    }

    fn proposals(&self) -> &Proposals {
        &self.proposals
    }

    fn location(&self) -> Location {
        Location::Database
    }

    fn on_failure(&self) -> Option<OnFailure> {
        self.made.get().map(|made| made.settings.on_failure)
    }

    fn take(&self, key: Key<'_>, step: &Step, first: Option<Timestamp>) -> Reported<Outcome> {
        with(self, |remote| remote.take(key, step, first))
    }

    fn take_after(&self, key: Key<'_>, step: &Step, first: First) -> Reported<Outcome> {
        with(self, |remote| remote.take_after(key, step, first))
    }

    fn put_after(&self, key: Key<'_>, put: &Put, fallback: bool) -> Reported<bool> {
        with(self, |remote| remote.put_after(key, put, fallback))
    }

    fn look(&self, key: Key<'_>, step: &Step) -> Reported<Outcome> {
        with(self, |remote| remote.look(key, step))
    }

    fn put(&self, key: Key<'_>, put: &Put) -> Reported<bool> {
        with(self, |remote| remote.put(key, put))
    }

    fn swap(&self, swap: &Swap<'_>) -> Reported<Outcome> {
        let name = stored_kind(swap.kind, swap.identifier);
        with(self, |remote| {
            let fallback = |policy, _: &_| (swap.fallback)(policy);
            remote.operate(&name, |visit| visit.store.swap(&name, swap), fallback)
        })
    }

    fn raise(&self, key: Key<'_>, age: i64, span: Ticks) -> Reported<Outcome> {
        with(self, |remote| remote.raise(key, age, span))
    }

    /// Does nothing if the takes were in a transaction that is lost, because they are undone.
    fn put_each(&self, takes: &[Undo<'_>], _left: TimeLeft) -> Result<(), Thrown> {
        let is_lost = session::is_lost(&self.copy_property(DB));
        let takes = takes.iter().filter(|it| it.fallback || !is_lost);
        takes.map(Undo::give_back).fold(Ok(()), Result::and)
    }

    fn contains(&self, key: Key<'_>) -> Reported<bool> {
        with(self, |remote| remote.contains(key))
    }

    /// Creates the table if it is missing.
    fn prepare(&self) -> Result<(), Thrown> {
        let created = with(self, |remote| {
            remote.operate(b"", |visit| visit.store.create(), |_, _| ())
        });
        created.map(|it| it.value)
    }

    fn can_be_held(&self) -> bool {
        false
    }

    /// Compares the PDO objects if the identity does not stand for one table.
    fn is_same(&self, other: &dyn Storage) -> bool {
        let known = |storage: &Self| storage.made.get().is_some_and(Made::is_one_table);
        other.downcast::<Self>().is_some_and(|other| {
            let (db, others) = (self.copy_property(DB), other.copy_property(DB));
            (known(self) && known(other)) || value::object(&db) == value::object(&others)
        })
    }
}

impl Clock for Object<PdoStorage> {
    fn unix_time(&self, _key: Key<'_>) -> Timestamp {
        let made = self.made.get();
        made.map_or_else(unix_time, |made| server_clock::now(&made.server))
    }

    fn grain(&self) -> Grain {
        Grain::Microsecond
    }

    fn lockout_unit(&self) -> Ticks {
        lockout::UNIT
    }

    /// Each node of a cluster has a clock, and a statement may wait after it has read the clock.
    fn has_one_clock(&self) -> bool {
        false
    }
}

/// Returns the object as a storage. Returns `None` for other classes, and for subclasses that
/// override `prepare()`, `bootstrap()` or `consume()`.
pub fn of(object: Obj<'_>) -> Option<&dyn Storage> {
    let storage = Object::<PdoStorage>::of(object)?;
    let is_ours = storage.is_exact() || TOKEN_BUCKET_STORAGE_PDO_MY_SQL.is_of(object);
    let overrides = |method| invoke::overrides(object, method, &TOKEN_BUCKET_STORAGE_PDO);
    let mut methods = ["prepare", "bootstrap", "consume"].into_iter();
    (is_ours || !methods.any(overrides)).then_some(storage as &dyn Storage)
}
