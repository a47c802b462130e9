//! The trait that each storage implements: the operations that a bucket needs.

use super::permits::Permits;
use super::proposals::Proposals;
use crate::attached;
use gcra::batch::{Batched, Grouped, Taken, sum};
use gcra::clock::{unix_time, wall_clock};
use gcra::{Grain, Key, KeyHasher, Outcome, Put, Step, Ticket, Ticks, Timestamp, boot_clock};
use std::any::Any;
use std::fmt::Debug;
use stores::remote::Answer;
use stores::remote::time_left::TimeLeft;
use zend::Thrown;

/// Returns the storage if it is of the type `S`.
pub fn downcast<S: 'static>(storage: &dyn Storage) -> Option<&S> {
    (storage as &dyn Any).downcast_ref()
}

/// The operations that a bucket needs from its storage. Methods that return [`Thrown`] may run PHP
/// code.
pub trait Storage: Any + Debug {
    /// Returns the hasher of identifiers. The namespace, or the server and the prefix, are part of
    /// each hash.
    fn hasher(&self) -> KeyHasher;

    /// Returns the first states that running bootstrap closures have proposed.
    fn proposals(&self) -> &Proposals;

    /// Runs one step on one bucket. A bucket without a record starts from the state `first`, or
    /// full without `first`.
    ///
    /// # Errors
    /// Throws the exception of a store that failed, or of PHP's warning handler.
    fn take_or_fall_back(
        &self,
        key: Key<'_>,
        step: &Step,
        first: Option<Timestamp>,
    ) -> Result<Answer<Outcome>, Thrown>;

    /// Changes a bucket without taking tokens.
    ///
    /// # Errors
    /// Fails as [`Storage::take`] does.
    fn put(&self, key: Key<'_>, put: &Put) -> Result<Answer<()>, Thrown>;

    /// Does the same as [`Storage::put`]. Returns false if nothing was changed, because the store's
    /// clock is outside of the windows of the change.
    ///
    /// # Errors
    /// Fails as [`Storage::take`] does.
    fn put_in_window(&self, key: Key<'_>, put: &Put) -> Result<Answer<bool>, Thrown> {
        self.put(key, put).map(|done| done.map(|()| true))
    }

    /// Moves the bucket's state forward to the instant `age` ticks ago, as [`Put::Raise`] does.
    /// Returns the state afterwards, as the outcome of a dry step for the whole bucket of `span`
    /// ticks.
    ///
    /// # Errors
    /// Fails as [`Storage::take`] does.
    fn raise(&self, key: Key<'_>, age: i64, span: Ticks) -> Result<Answer<Outcome>, Thrown> {
        self.put(key, &Put::Raise { age, span })?;
        self.take_or_fall_back(key, &Step::new(span, span).dry(), None)
    }

    /// Passes the state of a record in memory and the instant to `decide`, and writes the state of
    /// the outcome that `decide` returns. A missing record has the state [`Timestamp::ZERO`]. The
    /// record is kept for `lifetime` ticks after the instant in the state. Returns the outcome, or
    /// `None` if the storage cannot do this.
    fn update(
        &self,
        _key: Key<'_>,
        _lifetime: Ticks,
        _decide: &dyn Fn(Timestamp, Timestamp) -> Outcome,
    ) -> Option<Outcome> {
        None
    }

    /// Reports whether the bucket has a record.
    ///
    /// # Errors
    /// Fails as [`Storage::take`] does.
    fn contains(&self, key: Key<'_>) -> Result<bool, Thrown>;

    /// Runs one step on one bucket.
    ///
    /// # Errors
    /// Fails as [`Storage::take_or_fall_back`] does.
    fn take(&self, key: Key<'_>, step: &Step, first: Option<Timestamp>) -> Result<Outcome, Thrown> {
        let decided = self.take_or_fall_back(key, step, first);
        decided.map(|decided| decided.value)
    }

    /// Undoes a step in the bucket that lost the tokens. That is the store's bucket, or the
    /// fallback if `fallback` is true. If the policy granted without a bucket, `put` has no
    /// effect.
    ///
    /// # Errors
    /// Fails as [`Storage::take`] does.
    fn give_back(&self, key: Key<'_>, put: &Put, fallback: bool) -> Result<(), Thrown> {
        if !fallback {
            return self.put(key, put).map(drop);
        }
        if let Some(store) = attached::store() {
            store.put(key, put);
        }
        Ok(())
    }

    /// Undoes a step of the running call, because another step of the call was denied or failed.
    ///
    /// # Errors
    /// Fails as [`Storage::take`] does.
    fn undo(&self, key: Key<'_>, put: &Put, fallback: bool) -> Result<(), Thrown> {
        self.give_back(key, put, fallback)
    }

    /// Undoes steps of the running call as [`Storage::undo`] does. `self` and the storages of all
    /// buckets are of one class, and the stores granted all steps.
    ///
    /// # Errors
    /// Fails as [`Storage::take`] does. The other steps are still undone.
    fn undo_each(&self, buckets: &[(&dyn Storage, Key<'_>)], puts: &[Put]) -> Result<(), Thrown> {
        let takes = buckets.iter().zip(puts);
        let undone = takes.map(|((storage, key), put)| storage.undo(*key, put, false));
        undone.fold(Ok(()), Result::and)
    }

    /// Implements `prepare()` of the interface. Most storages have nothing to prepare.
    ///
    /// # Errors
    /// Fails as [`Storage::take`] does.
    fn prepare(&self) -> Result<(), Thrown> {
        Ok(())
    }

    /// Returns the key of a bucket: its identifier and the identifier's hash in this storage.
    fn key<'a>(&self, identifier: &'a [u8]) -> Key<'a> {
        self.hasher().key(identifier)
    }

    /// Returns true if one operation takes tokens from both buckets, `mine` in this storage and
    /// `its` in the other storage.
    fn joins(&self, _mine: Key<'_>, _other: &dyn Storage, _its: Key<'_>) -> bool {
        false
    }

    /// Takes the tokens of all tickets or of none. `storages[ticket.index]` is the storage of a
    /// ticket. `self` joins these storages, or all tickets are on one bucket. A remote storage
    /// ([`Storage::is_remote`]) waits within the time `left`.
    ///
    /// # Errors
    /// Fails as [`Storage::take_or_fall_back`] does.
    fn take_all(
        &self,
        tickets: Grouped<'_, '_>,
        storages: &[&dyn Storage],
        _left: TimeLeft,
    ) -> Result<Answer<Batched>, Thrown> {
        take_sum(tickets, storages)
    }

    /// Runs the step of each ticket on its own, and passes each result to `decided` with the index
    /// of the ticket. `self` and the storages of all tickets are of one class. Remote storages
    /// ([`Storage::is_remote`]) wait within the time `left` for all steps together, if it is given.
    ///
    /// # Errors
    /// Fails as [`Storage::take_or_fall_back`] does. Steps without a result were then not decided,
    /// or their results are unknown.
    fn take_each(
        &self,
        tickets: &[(&dyn Storage, Ticket<'_>)],
        _left: Option<TimeLeft>,
        decided: &mut dyn FnMut(usize, Answer<Outcome>),
    ) -> Result<(), Thrown> {
        for (storage, ticket) in tickets {
            let result = storage.take_or_fall_back(ticket.key, &ticket.step, None)?;
            decided(ticket.index, result);
        }
        Ok(())
    }

    /// Returns the take that would be denied, or `None`. Takes nothing. The arguments are those of
    /// [`Storage::take_all`].
    ///
    /// # Errors
    /// Fails as [`Storage::take_or_fall_back`] does.
    fn refused(
        &self,
        tickets: Grouped<'_, '_>,
        storages: &[&dyn Storage],
    ) -> Result<Answer<Option<Taken>>, Thrown> {
        for mine in tickets.buckets() {
            let (storage, step) = (storages[mine[0].index], sum(mine).dry());
            let decided = storage.take_or_fall_back(mine[0].key, &step, None)?;
            if !decided.value.granted() {
                return Ok(decided.map(|outcome| Some(Taken::of(mine, outcome))));
            }
        }
        Ok(Answer::sure(None))
    }

    /// Returns the place in which the storage keeps permits of concurrency limits, or `None` if it
    /// cannot keep them.
    fn permits(&self) -> Option<Permits> {
        None
    }

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

    /// Advances the storage's own clock by `ticks`. Returns false if the storage has no clock of
    /// its own. The caller must then sleep.
    fn advance(&self, _ticks: Ticks) -> bool {
        false
    }

    /// Returns true if the buckets are in the memory of this process, so that a forked child has
    /// its own copies of them.
    fn is_private(&self) -> bool {
        false
    }

    /// Returns true if a step needs only the bucket's key and runs no PHP code. Then `grants` can
    /// run the step.
    fn is_direct(&self) -> bool {
        false
    }

    /// Returns true if a bucket may hold the storage and keep the hash of its identifier. Returns
    /// false before the constructor has run, because the constructor sets the hasher. Also returns
    /// false if holding the storage would keep a connection open.
    fn can_be_held(&self) -> bool {
        true
    }

    /// Returns true if the storage asks servers within its timeout, and several servers at once in
    /// [`Storage::take_each`] and [`Storage::undo_each`].
    fn is_remote(&self) -> bool {
        false
    }

    /// Returns true if equal keys identify the same bucket in both storages.
    fn is_same(&self, other: &dyn Storage) -> bool {
        (other as &dyn Any).type_id() == self.type_id()
    }
}

/// Takes the tokens of all tickets, which are on one bucket, as one step.
///
/// # Errors
/// Fails as [`Storage::take_or_fall_back`] does.
pub fn take_sum(
    tickets: Grouped<'_, '_>,
    storages: &[&dyn Storage],
) -> Result<Answer<Batched>, Thrown> {
    let (storage, key) = (storages[tickets[0].index], tickets[0].key);
    let decided = storage.take_or_fall_back(key, &sum(&tickets), None)?;
    Ok(decided.map(|outcome| Taken::all_of(&tickets, outcome)))
}
