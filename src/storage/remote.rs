//! The common part of the storages on Redis and memcached: state, calls and reports of failures.

use super::proposals::Proposals;
use super::{
    Clock, First, Location, PermitPlace, Reported, Servers, Storage, Swap, Undo, arguments,
    strictest,
};
use crate::{attached, exceptions, ini};
use compat::lockout;
use compat::records::Records;
use gcra::batch::sum;
use gcra::{
    Batched, Grain, Grouped, Key, KeyHasher, Outcome, Put, Step, Taken, Ticket, Ticks, Timestamp,
    unix_time,
};
use segment::StoreKind;
use std::cell::OnceCell;
use std::fmt::Debug;
use std::rc::Rc;
use stores::remote::{Answer, Answered, OnFailure, Pipelined, Remote, Settings, TimeLeft, Visit};
use zend::object::instantiate;
use zend::{Class, Object, State, Thrown, Zval, value};

/// A transport whose storage has its own PHP class.
pub trait StorageClass: Pipelined + Records + Debug + Sized + 'static {
    /// The kind of store, for the counts of decisions.
    const KIND: StoreKind;
    const CLASS: &'static Class;

    fn servers<'a>(remote: &'a Remote<'static, Self>) -> Servers<'a>;

    /// Returns the permits of concurrency limits on the server, if it can keep permits.
    fn permits(_remote: &Rc<Remote<'static, Self>>) -> Option<PermitPlace> {
        None
    }
}

/// The state of an object of such a class.
#[derive(Debug)]
pub struct RemoteStorage<T> {
    /// Empty until the constructor runs.
    made: OnceCell<Made<T>>,
    proposals: Proposals,
}

#[derive(Debug)]
struct Made<T> {
    /// Shared with permits, which may end after the object.
    remote: Rc<Remote<'static, T>>,
    hasher: KeyHasher,
}

impl<T: StorageClass> State for RemoteStorage<T> {
    const SLOTS: usize = 2;
    const OWNS_MEMORY: bool = true;
    const CLASS: &'static Class = T::CLASS;
}

impl<T> Default for RemoteStorage<T> {
    fn default() -> Self {
        Self {
            made: OnceCell::new(),
            proposals: Proposals::default(),
        }
    }
}

impl<T: StorageClass> Storage for Object<RemoteStorage<T>> {
    fn hasher(&self) -> KeyHasher {
        RemoteStorage::hasher(self)
    }

    fn proposals(&self) -> &Proposals {
        &self.proposals
    }

    fn location(&self) -> Location {
        Location::Servers
    }

    fn timeout(&self) -> Ticks {
        let made = self.made.get();
        made.map_or(0, |made| made.remote.timeout())
    }

    fn on_failure(&self) -> Option<OnFailure> {
        let made = self.made.get();
        made.map(|made| made.remote.on_failure())
    }

    fn take(&self, key: Key<'_>, step: &Step, first: Option<Timestamp>) -> Reported<Outcome> {
        self.with(|remote| remote.take(key, step, first))
    }

    fn take_after(&self, key: Key<'_>, step: &Step, first: First) -> Reported<Outcome> {
        self.with(|remote| remote.take_after(key, step, first))
    }

    fn put_after(&self, key: Key<'_>, put: &Put, fallback: bool) -> Reported<bool> {
        self.with(|remote| remote.put_after(key, put, fallback))
    }

    fn look(&self, key: Key<'_>, step: &Step) -> Reported<Outcome> {
        self.with(|remote| remote.look(key, step))
    }

    fn put(&self, key: Key<'_>, put: &Put) -> Reported<bool> {
        self.with(|remote| remote.put(key, put))
    }

    fn swap(&self, swap: &Swap<'_>) -> Reported<Outcome> {
        self.with(|remote| {
            let name = remote.transport().name_of(swap.kind, swap.identifier);
            let take = |visit: &Visit<'_, T>| lockout::take(visit, &name, swap.decide, swap.life);
            remote.operate(&name, take, |policy, _| (swap.fallback)(policy))
        })
    }

    fn raise(&self, key: Key<'_>, age: i64, span: Ticks) -> Reported<Outcome> {
        self.with(|remote| remote.raise(key, age, span))
    }

    fn contains(&self, key: Key<'_>) -> Reported<bool> {
        self.with(|remote| remote.contains(key))
    }

    fn joins(&self, mine: Key<'_>, other: &dyn Storage, its: Key<'_>) -> bool {
        let made = other
            .downcast::<Self>()
            .map(|other| (self.made.get(), other.made.get()));
        matches!(made, Some((Some(made), Some(other))) if made.remote.transport().joins(
            mine.identifier,
            other.remote.transport(),
            its.identifier,
        ))
    }

    fn take_all(
        &self,
        tickets: Grouped<'_, '_>,
        storages: &[&dyn Storage],
        left: TimeLeft,
    ) -> Reported<Batched> {
        let buckets = tickets.iter().map(|it| (storages[it.index], *it));
        let mut buckets = remotes::<T, _>(buckets)?;
        // The store runs the steps in the order of this list, which must be the order of the call.
        buckets.sort_unstable_by_key(|(_, ticket)| ticket.index);
        let remote = self.store()?;
        if let Some(answer) = remote.take_all(&buckets, left).transpose() {
            return answer.map_err(exceptions::store_failed);
        }
        // The store takes from one bucket at a time, so all tickets are on one bucket.
        let all = Ticket {
            step: sum(&tickets),
            ..tickets[0]
        };
        let buckets =
            remotes::<T, _>([(storages[strictest(&tickets, storages)], all)].into_iter())?;
        let mut result = None;
        let done = Remote::take_each(&buckets, Some(left), |_, one| result = Some(one));
        done.map_err(exceptions::store_failed)?;
        let result = result.ok_or(Thrown)?;
        Ok(result.map(|outcome| Taken::all_of(&tickets, outcome)))
    }

    fn take_each(
        &self,
        tickets: &[(&dyn Storage, Ticket<'_>)],
        left: Option<TimeLeft>,
        decided: &mut dyn FnMut(usize, Answer<Outcome>),
    ) -> Result<(), Thrown> {
        let buckets = remotes::<T, _>(tickets.iter().copied())?;
        let mut failures = Vec::new();
        let result = Remote::take_each(&buckets, left, |index, mut answer| {
            failures.extend(answer.warning.take());
            decided(index, answer);
        });
        // The handler of a warning may run PHP code, so all results were passed to `decided`
        // before.
        for failure in failures {
            exceptions::warn_of(failure)?;
        }
        result.map_err(exceptions::store_failed)
    }

    fn put_each(&self, takes: &[Undo<'_>], left: TimeLeft) -> Result<(), Thrown> {
        let (here, there): (Vec<_>, Vec<_>) = takes.iter().partition(|it| it.fallback);
        let here = here.into_iter().map(Undo::give_back);
        let here = here.fold(Ok(()), Result::and);
        let remotes = remotes::<T, _>(there.iter().map(|it| (it.storage, it.key)))?;
        let puts: Vec<_> = there.iter().map(|it| it.put).collect();
        let mut answers = Vec::new();
        let result = Remote::give_back_each(&remotes, &puts, left, |_, it| answers.push(it));
        for answer in answers {
            exceptions::report_failure(answer)?;
        }
        result.map_err(exceptions::store_failed).and(here)
    }

    fn permits(&self) -> Option<PermitPlace> {
        let made = self.made.get();
        made.and_then(|made| T::permits(&made.remote))
    }

    fn servers(&self) -> Result<Option<Servers<'_>>, Thrown> {
        self.store().map(|remote| Some(T::servers(remote)))
    }

    fn can_be_held(&self) -> bool {
        self.made.get().is_some()
    }
}

impl<T: StorageClass> Clock for Object<RemoteStorage<T>> {
    fn unix_time(&self, key: Key<'_>) -> Timestamp {
        let made = self.made.get();
        made.map_or_else(unix_time, |made| made.remote.unix_time(key))
    }

    fn grain(&self) -> Grain {
        Grain::Microsecond
    }

    fn has_one_clock(&self) -> bool {
        T::ONE_CLOCK
    }
}

impl<T: StorageClass> RemoteStorage<T> {
    /// Implements the constructor. `var_dump()` shows `server`, which holds no password, and
    /// `prefix`. Throws `Error` if the object has already been constructed.
    pub fn construct(
        this: &Object<Self>,
        transport: T,
        settings: Settings,
        server: &str,
        prefix: &[u8],
    ) -> Result<(), Thrown> {
        let host = attached::host().ok_or(Thrown)?;
        let remote = Remote::new(transport, settings, host);
        let row = ini::namespace(|outer| host.slots().row(T::KIND, [outer, prefix]));
        let hasher = remote.hasher().counted_in(row);
        let remote = Rc::new(remote);
        let set = this.made.set(Made { remote, hasher });
        set.map_err(|_| arguments::constructed_already::<Self>())?;
        this.set_property(0, value::of_bytes(server.as_bytes()));
        this.set_property(1, value::of_bytes(prefix));
        Ok(())
    }

    /// Returns a new object of the class. The arguments are those of [`RemoteStorage::construct`].
    /// Fails if there is no memory for the object.
    pub fn create(
        transport: T,
        settings: Settings,
        server: &str,
        prefix: &[u8],
    ) -> Result<Zval, Thrown> {
        instantiate(Self::default(), |this| {
            Self::construct(this, transport, settings, server, prefix)
        })
    }

    /// Returns the remote store that the constructor made. Throws `Error` if the object has not
    /// been constructed.
    pub fn store(&self) -> Result<&Remote<'static, T>, Thrown> {
        let made = self.made.get();
        let made = made.ok_or_else(arguments::not_constructed::<Self>)?;
        Ok(&made.remote)
    }

    fn hasher(&self) -> KeyHasher {
        let made = self.made.get();
        made.map_or(KeyHasher::new([0; 2]), |made| made.hasher)
    }

    fn with<R>(&self, call: impl FnOnce(&Remote<T>) -> Answered<R>) -> Reported<R> {
        let remote = self.store()?;
        exceptions::throw_or_report(call(remote))
    }
}

/// Returns the remote stores of buckets whose storages have the transport `T`, each with the key or
/// the ticket of its bucket.
fn remotes<'a, T: StorageClass, K>(
    buckets: impl Iterator<Item = (&'a dyn Storage, K)>,
) -> Result<Vec<(&'a Remote<'static, T>, K)>, Thrown> {
    let remote = |(storage, key): (&'a dyn Storage, K)| {
        let storage: &Object<RemoteStorage<T>> = storage.downcast().ok_or(Thrown)?;
        Ok((storage.store()?, key))
    };
    buckets.map(remote).collect()
}
