//! `TokenBucketStorageMemory`: buckets in one object, on a clock that only `advance()` and waiting
//! calls move. Applications use it in tests.

use super::contract::{Clock, Location, Reported, Storage, Swap, key_of};
use super::permits::{ObjectPermits, PermitPlace};
use super::proposals::Proposals;
use crate::{classes, tokens};
use gcra::memory_store::START;
use gcra::{
    Batched, Grain, Grouped, Key, KeyHasher, MemoryStore, Outcome, Put, Step, Ticks, Timestamp,
    seconds, wall_clock,
};
use std::rc::Rc;
use stores::remote::{Answer, TimeLeft};
use zend::{Call, Class, Object, State, Thrown, Zval, throw, value};

/// The state of an object: its buckets, their clock, and its permits.
#[derive(Debug, Default)]
pub struct MemoryStorage {
    store: MemoryStore,
    permits: Rc<ObjectPermits>,
    proposals: Proposals,
}

impl State for MemoryStorage {
    const OWNS_MEMORY: bool = true;
    const CLASS: &'static Class = &classes::TOKEN_BUCKET_STORAGE_MEMORY;
}

impl Storage for Object<MemoryStorage> {
    /// Returns a hasher without a secret, because no attacker chooses the identifiers of a test.
    fn hasher(&self) -> KeyHasher {
        KeyHasher::new([0; 2])
    }

    fn proposals(&self) -> &Proposals {
        &self.proposals
    }

    fn location(&self) -> Location {
        Location::Object
    }

    fn take(&self, key: Key<'_>, step: &Step, first: Option<Timestamp>) -> Reported<Outcome> {
        Ok(Answer::sure(self.store.take(key, step, first)))
    }

    fn put(&self, key: Key<'_>, put: &Put) -> Reported<bool> {
        self.store.put(key, put);
        Ok(Answer::sure(true))
    }

    fn swap(&self, swap: &Swap<'_>) -> Reported<Outcome> {
        let key = key_of(self.hasher(), swap.kind, swap.identifier);
        let outcome = self.store.update(key, swap.life, swap.decide);
        Ok(Answer::sure(outcome))
    }

    fn contains(&self, key: Key<'_>) -> Reported<bool> {
        Ok(Answer::sure(self.store.contains(key)))
    }

    fn joins(&self, _mine: Key<'_>, other: &dyn Storage, _its: Key<'_>) -> bool {
        self.is_same(other)
    }

    fn take_all(
        &self,
        tickets: Grouped<'_, '_>,
        _storages: &[&dyn Storage],
        _left: TimeLeft,
    ) -> Reported<Batched> {
        Ok(Answer::sure(self.store.take_all(tickets)))
    }

    fn permits(&self) -> Option<PermitPlace> {
        Some(PermitPlace::Object(Rc::clone(&self.permits)))
    }

    fn is_same(&self, other: &dyn Storage) -> bool {
        other
            .downcast::<Self>()
            .is_some_and(|other| std::ptr::eq(self, other))
    }
}

impl Clock for Object<MemoryStorage> {
    fn now(&self) -> Timestamp {
        self.store.now()
    }

    fn unix_time(&self, _key: Key<'_>) -> Timestamp {
        self.store.now()
    }

    fn grain(&self) -> Grain {
        Grain::FakeNanosecond
    }

    /// Returns the seconds since an instant of this storage's clock. Code under test may still use
    /// `microtime()`, whose readings are decades later. So an instant that is nearer to the wall
    /// clock is measured on the wall clock.
    fn seconds_since(&self, microtime: f64) -> f64 {
        let (own, wall) = (
            self.seconds() - microtime,
            wall_clock().as_secs_f64() - microtime,
        );
        if own.abs() <= wall.abs() {
            own
        } else {
            // The wall clock advances while PHP code computes the instant, and a double is coarse.
            // So a microsecond is added, so that a proposal of k tokens gives at least k tokens.
            wall + 1e-6
        }
    }

    fn advance(&self, ticks: Ticks) -> bool {
        self.store.advance(ticks);
        true
    }
}

impl MemoryStorage {
    /// Returns the seconds by which the clock was advanced.
    fn seconds(&self) -> f64 {
        seconds::from_ticks(self.store.now() - START)
    }
}

/// Implements `now(): float`. Returns the seconds by which the clock was advanced.
pub fn now(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    *result = value::of_float(call.this::<MemoryStorage>().seconds());
    Ok(())
}

pub fn construct(_call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    Ok(())
}

/// Implements `advance(float $seconds): void`. Throws `ValueError` for an invalid number of
/// seconds, or if the clock cannot advance that far.
pub fn advance(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    let ticks = tokens::span(call.float(1)?, 1)?;
    let storage = call.this::<MemoryStorage>();
    if ticks > storage.store.left() {
        let message = "must not advance the clock by more than 109 years in all";
        return Err(throw::argument_value(1, message));
    }
    storage.advance(ticks);
    Ok(())
}
