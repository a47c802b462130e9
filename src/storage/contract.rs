//! What a bucket asks of its storage: the trait that each storage implements.

use super::proposals::Proposals;
use crate::segment;
use crate::zend::Thrown;
use std::any::Any;
use std::fmt::Debug;
use tokenbucket_core::remote::Batched;
use tokenbucket_core::{Grain, Key, KeyHasher, Outcome, Put, Step, Ticks, boot_clock};

/// Returns the storage as one of a known type.
pub fn downcast<S: 'static>(storage: &dyn Storage) -> Option<&S> {
    (storage as &dyn Any).downcast_ref()
}

/// What a bucket asks of its storage. Methods that return [`Thrown`] may run PHP code.
pub trait Storage: Any + Debug {
    /// Returns the hasher of bucket names. Namespaces, servers and prefixes are part of the hash.
    fn hasher(&self) -> KeyHasher;

    /// Returns the place where running bootstrap closures propose first states.
    fn proposals(&self) -> &Proposals;

    /// Takes one step on one bucket, and tells whether the failure policy answered instead of the
    /// store. `first` is the state from which a bucket without a record starts instead of full.
    ///
    /// # Errors
    /// The exception of a store that failed, or of a handler that a warning ran.
    fn take_or_fall_back(
        &self,
        key: Key<'_>,
        step: &Step,
        first: Option<Ticks>,
    ) -> Result<(Outcome, bool), Thrown>;

    /// Changes a bucket without asking for tokens.
    ///
    /// # Errors
    /// As [`Storage::take`].
    fn put(&self, key: Key<'_>, put: &Put) -> Result<(), Thrown>;

    /// Tells whether the bucket has a record.
    ///
    /// # Errors
    /// As [`Storage::take`].
    fn contains(&self, key: Key<'_>) -> Result<bool, Thrown>;

    /// Takes one step on one bucket.
    ///
    /// # Errors
    /// As [`Storage::take_or_fall_back`].
    fn take(&self, key: Key<'_>, step: &Step, first: Option<Ticks>) -> Result<Outcome, Thrown> {
        let answer = self.take_or_fall_back(key, step, first);
        answer.map(|(outcome, _)| outcome)
    }

    /// Undoes a step in the bucket that lost the tokens: the store's, or this host's if the failure
    /// policy answered. A policy that granted without a bucket left no state, which makes `put`
    /// worth nothing.
    ///
    /// # Errors
    /// As [`Storage::take`].
    fn give_back(&self, key: Key<'_>, put: &Put, fell_back: bool) -> Result<(), Thrown> {
        if !fell_back {
            return self.put(key, put);
        }
        if let Some(store) = segment::store() {
            store.put(key, put);
        }
        Ok(())
    }

    /// Runs `prepare()` of the interface, where there is something to do.
    ///
    /// # Errors
    /// As [`Storage::take`].
    fn prepare(&self) -> Result<(), Thrown> {
        Ok(())
    }

    /// Returns the bucket's name in this storage.
    fn key<'a>(&self, identifier: &'a [u8]) -> Key<'a> {
        self.hasher().key(identifier)
    }

    /// Takes all steps or none in one operation; `None` if the buckets' storages cannot do that
    /// together. `self` is the storage of the first bucket.
    ///
    /// # Errors
    /// As [`Storage::take`].
    fn take_all(
        &self,
        _buckets: &[(&dyn Storage, Key<'_>)],
        _steps: &[Step],
    ) -> Result<Option<Batched>, Thrown> {
        Ok(None)
    }

    /// Returns the present instant of the clock on which first states are proposed.
    fn now(&self) -> Ticks {
        boot_clock()
    }

    /// Returns the unit in which the storage counts time.
    fn grain(&self) -> Grain {
        Grain::Nanosecond
    }

    /// Lets `ticks` pass where the storage has a clock of its own; `false` where the caller must
    /// sleep.
    fn advance(&self, _ticks: Ticks) -> bool {
        false
    }

    /// True if a step needs only its key and runs no PHP code: [`grants`] answers it.
    fn is_direct(&self) -> bool {
        false
    }

    /// True if the storage's object may refer to a bucket. A bucket must not hold such a storage
    /// where the cycle collector cannot see it.
    fn holds_objects(&self) -> bool {
        false
    }

    /// True if equal keys name one bucket in both storages.
    fn is_same(&self, other: &dyn Storage) -> bool {
        (other as &dyn Any).type_id() == self.type_id()
    }
}
