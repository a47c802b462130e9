//! The trait that each storage implements: the operations that a bucket needs.

use super::proposals::Proposals;
use crate::segment;
use crate::zend::Thrown;
use std::any::Any;
use std::fmt::Debug;
use tokenbucket_core::remote::Batched;
use tokenbucket_core::{Grain, Key, KeyHasher, Outcome, Put, Step, Ticks, boot_clock};

/// Returns the storage if it is of the type `S`.
pub fn downcast<S: 'static>(storage: &dyn Storage) -> Option<&S> {
    (storage as &dyn Any).downcast_ref()
}

/// The operations that a bucket needs from its storage. Methods that return [`Thrown`] may run PHP
/// code.
pub trait Storage: Any + Debug {
    /// Returns the hasher of bucket names. Namespaces, servers and prefixes are part of the hash.
    fn hasher(&self) -> KeyHasher;

    /// Returns the proposals of first states by running bootstrap closures.
    fn proposals(&self) -> &Proposals;

    /// Takes one step on one bucket. The result is true in its second part if the failure policy
    /// answered instead of the store. `first` is the state from which a bucket without a record
    /// starts; without `first` it starts full.
    ///
    /// # Errors
    /// The exception of a store that failed, or of PHP's warning handler.
    fn take_or_fall_back(
        &self,
        key: Key<'_>,
        step: &Step,
        first: Option<Ticks>,
    ) -> Result<(Outcome, bool), Thrown>;

    /// Changes a bucket without taking tokens.
    ///
    /// # Errors
    /// The same as [`Storage::take`].
    fn put(&self, key: Key<'_>, put: &Put) -> Result<(), Thrown>;

    /// Reports whether the bucket has a record.
    ///
    /// # Errors
    /// The same as [`Storage::take`].
    fn contains(&self, key: Key<'_>) -> Result<bool, Thrown>;

    /// Takes one step on one bucket.
    ///
    /// # Errors
    /// The same as [`Storage::take_or_fall_back`].
    fn take(&self, key: Key<'_>, step: &Step, first: Option<Ticks>) -> Result<Outcome, Thrown> {
        let answer = self.take_or_fall_back(key, step, first);
        answer.map(|(outcome, _)| outcome)
    }

    /// Undoes a step in the bucket that lost the tokens. That is the store's bucket, or this host's
    /// if the failure policy answered. If the policy granted without a bucket, there is no state
    /// and `put` has no effect.
    ///
    /// # Errors
    /// The same as [`Storage::take`].
    fn give_back(&self, key: Key<'_>, put: &Put, fell_back: bool) -> Result<(), Thrown> {
        if !fell_back {
            return self.put(key, put);
        }
        if let Some(store) = segment::store() {
            store.put(key, put);
        }
        Ok(())
    }

    /// Implements `prepare()` of the interface. Most storages have nothing to prepare.
    ///
    /// # Errors
    /// The same as [`Storage::take`].
    fn prepare(&self) -> Result<(), Thrown> {
        Ok(())
    }

    /// Returns the bucket's name in this storage.
    fn key<'a>(&self, identifier: &'a [u8]) -> Key<'a> {
        self.hasher().key(identifier)
    }

    /// Takes all steps or none in one operation. Returns `None` if the buckets' storages cannot do
    /// that together. `self` is the storage of the first bucket.
    ///
    /// # Errors
    /// The same as [`Storage::take`].
    fn take_all(
        &self,
        _buckets: &[(&dyn Storage, Key<'_>)],
        _steps: &[Step],
    ) -> Result<Option<Batched>, Thrown> {
        Ok(None)
    }

    /// Returns the current instant of the clock that first states refer to.
    fn now(&self) -> Ticks {
        boot_clock()
    }

    /// Returns the unit in which the storage counts time.
    fn grain(&self) -> Grain {
        Grain::Nanosecond
    }

    /// Advances a storage with its own clock by `ticks`. Returns false if there is no such clock,
    /// and the caller must sleep.
    fn advance(&self, _ticks: Ticks) -> bool {
        false
    }

    /// Returns true if a step needs only its key and runs no PHP code. Then [`grants`] can take the
    /// step.
    fn is_direct(&self) -> bool {
        false
    }

    /// Returns true if the storage's object may refer to a bucket. A bucket must not hold such a
    /// storage where the cycle collector cannot see it.
    fn holds_objects(&self) -> bool {
        false
    }

    /// Returns true if equal keys name the same bucket in both storages.
    fn is_same(&self, other: &dyn Storage) -> bool {
        (other as &dyn Any).type_id() == self.type_id()
    }
}
