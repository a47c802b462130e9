//! `TokenBucketStorageMemory`: buckets of one object, on a clock that stands still. For people's tests.

use super::proposals::Proposals;
use super::{Native, interface};
use crate::zend::{Call, Class, Object, State, Thrown, Zval};
use crate::{declared, exceptions};
use tokenbucket_core::{Key, KeyHasher, MemoryStore, Outcome, Put, Step, Store, Ticks, seconds};

/// The buckets.
#[derive(Debug, Default)]
pub struct Storage {
    store: MemoryStore,
    proposals: Proposals,
}

impl State for Storage {
    fn class() -> &'static Class {
        &declared::TOKEN_BUCKET_STORAGE_MEMORY
    }

    fn born() -> Self {
        Self::default()
    }

    fn cloned(&self) -> Option<Self> {
        None
    }
}

/// Nobody attacks a test: the secret is none.
pub fn key(identifier: &[u8]) -> Key<'_> {
    KeyHasher::new([0; 2]).key(identifier)
}

impl interface::Storage for Storage {
    fn native(object: &Object<Self>) -> Native<'_> {
        Native::Memory(object)
    }
}

impl Storage {
    pub fn take(&self, key: Key<'_>, step: &Step, first: Option<Ticks>) -> Outcome {
        match self.store.take(key, step, first) {
            Ok(outcome) => outcome,
            Err(never) => match never {},
        }
    }

    pub fn put(&self, key: Key<'_>, put: &Put) {
        match self.store.put(key, put) {
            Ok(()) => {}
            Err(never) => match never {},
        }
    }

    pub fn contains(&self, key: Key<'_>) -> bool {
        self.store.contains(key)
    }

    pub fn now(&self) -> Ticks {
        self.store.now()
    }

    pub fn advance_by(&self, ticks: Ticks) {
        self.store.advance(ticks);
    }

    pub fn proposals(&self) -> &Proposals {
        &self.proposals
    }
}

/// `__construct()`
#[allow(clippy::unnecessary_wraps)]
pub fn construct(_call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    Ok(())
}

/// `advance(float $seconds): void`
pub fn advance(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    let seconds = call.float(1)?;
    let ticks = seconds::to_ticks(seconds).map_err(|error| exceptions::bad_amount(1, error))?;
    call.this::<Storage>().advance_by(ticks);
    Ok(())
}
