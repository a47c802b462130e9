//! The trait that each storage implements: the operations that a bucket needs.

use super::permits::PermitPlace;
use super::proposals::Proposals;
use crate::attached;
use gcra::batch::sum;
use gcra::{
    Batched, Grain, Grouped, Key, KeyHasher, Outcome, Put, Step, Taken, Ticket, Ticks, Timestamp,
    boot_clock, lockout, unix_time, wall_clock,
};
use segment::By;
use std::any::{Any, TypeId};
use std::fmt::Debug;
use stores::remote::{Answer, Kind, Memcached, OnFailure, Redis, Remote, TimeLeft};
use zend::Thrown;

/// The place of the records of a storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Location {
    /// The memory of this process, so that a forked child has its own copies. Nothing counts their
    /// decisions.
    Object,
    /// This host's shared memory. A step needs only the bucket's key and runs no PHP code, so that
    /// [`super::grants`] can run it.
    Segment,
    /// Servers that are asked within a timeout, several at once in [`Storage::take_each`] and
    /// [`Storage::put_each`].
    Servers,
    /// A database that the application has connected to.
    Database,
}

pub trait Clock {
    /// Returns the current instant in ticks, on the clock that first states refer to.
    fn now(&self) -> Timestamp {
        boot_clock()
    }

    /// Returns the current time since the Unix epoch, which chooses the window of a call on the
    /// bucket.
    fn unix_time(&self, _key: Key<'_>) -> Timestamp {
        unix_time()
    }

    /// Returns the seconds since an instant of the clock that PHP code reads, which is the wall
    /// clock. The result is negative for an instant in the future.
    fn seconds_since(&self, microtime: f64) -> f64 {
        wall_clock().as_secs_f64() - microtime
    }

    /// Returns the unit in which the storage counts time.
    fn grain(&self) -> Grain {
        Grain::Nanosecond
    }

    /// Returns the unit of the instants in the states of lockouts, in ticks.
    fn lockout_unit(&self) -> Ticks {
        lockout::UNIT
    }

    /// Reports whether one clock decides all calls on a record, each after it has read the record.
    fn has_one_clock(&self) -> bool {
        true
    }

    /// Advances the storage's own clock by `ticks`. Returns false if the storage has no clock of
    /// its own. The caller must then sleep.
    fn advance(&self, _ticks: Ticks) -> bool {
        false
    }
}

/// The servers of a storage, on which limiters may keep records of their own.
#[derive(Clone, Copy, Debug)]
pub enum Servers<'a> {
    Redis(&'a Remote<'static, Redis>),
    Memcached(&'a Remote<'static, Memcached>),
}

/// The answer of a storage whose failure, if there was one, has been reported or thrown.
pub type Reported<T> = Result<Answer<T>, Thrown>;

/// The first state of a bucket without a record, or `None` if it is full.
pub type First = Answer<Option<Timestamp>>;

/// A function that returns the outcome for a state and the current instant.
pub type Decide<'d> = &'d dyn Fn(Timestamp, Timestamp) -> Outcome;

/// A change of a record that is not a bucket's. A missing record has the state
/// [`Timestamp::ZERO`].
#[derive(Clone, Copy)]
pub struct Swap<'a> {
    pub kind: Kind,
    pub identifier: &'a [u8],
    /// The ticks for which the record is kept after the instant in its state.
    pub life: Ticks,
    /// Returns the outcome, whose state is written.
    pub decide: Decide<'a>,
    /// True if `decide` never returns another state.
    pub is_dry: bool,
    /// Returns the outcome if the store fails and its policy does not throw.
    pub fallback: &'a dyn Fn(OnFailure) -> Outcome,
}

/// A change that undoes a take.
#[derive(Clone, Copy)]
pub struct Undo<'a> {
    pub storage: &'a dyn Storage,
    pub key: Key<'a>,
    pub put: Put,
    /// True if the failure policy granted the take.
    pub fallback: bool,
}

/// The operations that a bucket needs from its storage. Methods that return [`Thrown`] may run PHP
/// code, and throw the exception of a store that failed.
pub trait Storage: Clock + Any + Debug {
    /// Returns the hasher of identifiers. The namespace, or the server and the prefix, are part of
    /// each hash.
    fn hasher(&self) -> KeyHasher;

    /// Returns the first states that running bootstrap closures have proposed.
    fn proposals(&self) -> &Proposals;

    fn location(&self) -> Location;

    /// Returns the ticks that a call waits at most for a remote store, or 0 for any other.
    fn timeout(&self) -> Ticks {
        0
    }

    /// Returns the failure policy of a remote store.
    fn on_failure(&self) -> Option<OnFailure> {
        None
    }

    /// Runs one step on one bucket. A bucket without a record starts from the state `first`, or
    /// full without `first`.
    fn take(&self, key: Key<'_>, step: &Step, first: Option<Timestamp>) -> Reported<Outcome>;

    /// Changes a bucket without taking tokens. Returns false if nothing was changed, because the
    /// store's clock is outside of the windows of the change.
    fn put(&self, key: Key<'_>, put: &Put) -> Reported<bool>;

    /// Reads a record and replaces it, again and again until no other call comes between.
    fn swap(&self, swap: &Swap<'_>) -> Reported<Outcome>;

    /// Reports whether the bucket has a record.
    fn contains(&self, key: Key<'_>) -> Reported<bool>;

    /// Moves the bucket's state forward to the instant `age` ticks ago, as [`Put::Raise`] does.
    /// Returns the state afterwards, as the outcome of a dry step for the whole bucket of `span`
    /// ticks.
    fn raise(&self, key: Key<'_>, age: i64, span: Ticks) -> Reported<Outcome> {
        self.put(key, &Put::Raise { age, span })?;
        self.take(key, &Step::new(span, span).dry(), None)
    }

    /// Runs a step after another exchange of the same call, whose answer has the state `first`. If
    /// a failure policy gave that answer, it decides the step, too. So a server that hangs delays
    /// the call by one timeout.
    fn take_after(&self, key: Key<'_>, step: &Step, first: First) -> Reported<Outcome> {
        self.take(key, step, first.value)
    }

    /// Makes a change after another exchange, as [`Storage::take_after`] runs a step.
    fn put_after(&self, key: Key<'_>, put: &Put, _fallback: bool) -> Reported<bool> {
        self.put(key, put)
    }

    /// Runs a dry step after the call has changed the bucket. If the store fails, throws nothing,
    /// because a caller that repeats the call would change the bucket twice.
    fn look(&self, key: Key<'_>, step: &Step) -> Reported<Outcome> {
        self.take(key, step, None)
    }

    /// Undoes takes of the running call, because another step of the call was denied or failed. In
    /// [`Location::Servers`], the storages of all takes are of one class, and they are asked within
    /// the time `left`. The other takes are undone after a failure, too.
    fn put_each(&self, takes: &[Undo<'_>], _left: TimeLeft) -> Result<(), Thrown> {
        takes.iter().map(Undo::give_back).fold(Ok(()), Result::and)
    }

    /// Takes the tokens of all tickets or of none. `storages[ticket.index]` is the storage of a
    /// ticket. `self` joins these storages, or all tickets are on one bucket. Servers are asked
    /// within the time `left`. The caller reports the failure in the answer, after it has noted the
    /// takes.
    fn take_all(
        &self,
        tickets: Grouped<'_, '_>,
        storages: &[&dyn Storage],
        left: TimeLeft,
    ) -> Reported<Batched> {
        take_sum(tickets, storages, left)
    }

    /// Returns the take that would be denied, or `None`. Takes nothing. The arguments are those of
    /// [`Storage::take_all`].
    fn refused(
        &self,
        tickets: Grouped<'_, '_>,
        storages: &[&dyn Storage],
    ) -> Reported<Option<Taken>> {
        let mut all = Answer::sure(None);
        for mine in tickets.buckets() {
            let (storage, step) = (storages[strictest(mine, storages)], sum(mine).dry());
            let decided = storage.take(mine[0].key, &step, None)?;
            if !decided.value.granted() {
                return Ok(decided.map(|outcome| Some(Taken::of(mine, outcome))));
            }
            all.fallback |= decided.fallback;
        }
        Ok(all)
    }

    /// Runs the step of each ticket on its own, and passes each result to `decided` with the index
    /// of the ticket. `self` and the storages of all tickets are of one class. Servers are asked
    /// within the time `left` for all steps together, if it is given. After a failure, steps
    /// without a result were not decided, or their results are unknown.
    fn take_each(
        &self,
        tickets: &[(&dyn Storage, Ticket<'_>)],
        _left: Option<TimeLeft>,
        decided: &mut dyn FnMut(usize, Answer<Outcome>),
    ) -> Result<(), Thrown> {
        for (storage, ticket) in tickets {
            decided(ticket.index, storage.take(ticket.key, &ticket.step, None)?);
        }
        Ok(())
    }

    /// Returns the place in which the storage keeps permits of concurrency limits, or `None` if it
    /// cannot keep them.
    fn permits(&self) -> Option<PermitPlace> {
        None
    }

    /// Returns the servers of the storage, or `None` if it has none. Throws `Error` if the object
    /// has not been constructed.
    fn servers(&self) -> Result<Option<Servers<'_>>, Thrown> {
        Ok(None)
    }

    /// Implements `prepare()` of the interface. Most storages have nothing to prepare.
    fn prepare(&self) -> Result<(), Thrown> {
        Ok(())
    }

    /// Returns true if a bucket may hold the storage and keep the hash of its identifier. Returns
    /// false before the constructor has run, because the constructor sets the hasher. Also returns
    /// false if holding the storage would keep a connection open.
    fn can_be_held(&self) -> bool {
        true
    }

    /// Returns true if equal keys identify the same bucket in both storages.
    fn is_same(&self, other: &dyn Storage) -> bool {
        self.type_id() == other.class()
    }

    /// Returns true if one operation takes tokens from both buckets, `mine` in this storage and
    /// `its` in the other storage.
    fn joins(&self, _mine: Key<'_>, _other: &dyn Storage, _its: Key<'_>) -> bool {
        false
    }
}

impl dyn Storage {
    pub fn downcast<S: 'static>(&self) -> Option<&S> {
        (self as &dyn Any).downcast_ref()
    }

    /// Returns the key of a bucket: its identifier and the identifier's hash in this storage.
    pub fn key<'a>(&self, identifier: &'a [u8]) -> Key<'a> {
        self.hasher().key(identifier)
    }

    /// Returns the key of the slot of a record that is not a bucket's.
    pub fn key_of<'a>(&self, kind: Kind, identifier: &'a [u8]) -> Key<'a> {
        key_of(self.hasher(), kind, identifier)
    }

    /// Reports whether one call can use both storages at once: servers of one kind.
    pub fn is_asked_with(&self, other: &Self) -> bool {
        self.location() == Location::Servers && self.class() == other.class()
    }

    pub fn class(&self) -> TypeId {
        (self as &dyn Any).type_id()
    }

    pub fn is_private(&self) -> bool {
        self.location() == Location::Object
    }

    pub fn is_direct(&self) -> bool {
        self.location() == Location::Segment
    }

    pub fn is_remote(&self) -> bool {
        self.location() == Location::Servers
    }

    /// Returns the part of the extension that has decided an answer, if its decisions are counted.
    pub fn decided_by<T>(&self, answer: &Answer<T>) -> Option<By> {
        match self.location() {
            Location::Object => None,
            Location::Segment => Some(By::SharedMemory),
            _ if answer.fallback => Some(By::Policy),
            _ => Some(By::Store),
        }
    }
}

/// Returns the key of the slot of a record in a storage with this hasher. No bucket has this key.
pub fn key_of(hasher: KeyHasher, kind: Kind, identifier: &[u8]) -> Key<'_> {
    let name: &[u8] = match kind {
        Kind::Cancels => b"cancels",
        Kind::Lockout | Kind::Permits => b"",
    };
    hasher.namespace(&[b"lockout", name, b""]).key(identifier)
}

impl<'a> Undo<'a> {
    pub const fn new(storage: &'a dyn Storage, key: Key<'a>, put: Put, fallback: bool) -> Self {
        Self {
            storage,
            key,
            put,
            fallback,
        }
    }

    /// Undoes the take in the bucket that lost the tokens. That is the store's bucket, or this
    /// host's if the failure policy granted. If the policy granted without a bucket, the change has
    /// no effect.
    pub fn give_back(&self) -> Result<(), Thrown> {
        if !self.fallback {
            return self.storage.put(self.key, &self.put).map(drop);
        }
        if let Some(store) = attached::store() {
            store.put(self.key, &self.put);
        }
        Ok(())
    }
}

/// Takes the tokens of all tickets, which are on one bucket, as one step. Without time, the failure
/// policy decides.
pub fn take_sum(
    tickets: Grouped<'_, '_>,
    storages: &[&dyn Storage],
    left: TimeLeft,
) -> Reported<Batched> {
    let index = strictest(&tickets, storages);
    let first = Answer {
        fallback: left == TimeLeft::NONE,
        ..Answer::sure(None)
    };
    let decided = storages[index].take_after(tickets[0].key, &sum(&tickets), first)?;
    Ok(decided.map(|outcome| {
        let mut batched = Taken::all_of(&tickets, outcome);
        // The storage that took the tokens gives them back, on its own connection.
        if let Ok(taken) = &mut batched {
            taken[0].index = index;
        }
        batched
    }))
}

/// Returns the index of the ticket whose storage has the strictest failure policy. The tickets are
/// on one bucket, and `storages[ticket.index]` is the storage of a ticket.
pub fn strictest(tickets: &[Ticket<'_>], storages: &[&dyn Storage]) -> usize {
    let strictness = |index: usize| storages[index].on_failure().map(OnFailure::strictness);
    let others = tickets[1..].iter().map(|ticket| ticket.index);
    others.fold(tickets[0].index, |most, index| {
        if strictness(index) > strictness(most) {
            index
        } else {
            most
        }
    })
}
