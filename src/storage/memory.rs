//! `TokenBucketStorageMemory`: buckets of one object, on a clock that stands still. For people's tests.

use super::proposals::Proposals;
use super::{INTERFACE, Storage, interface};
use crate::exceptions;
use crate::zend::class::Declaration;
use crate::zend::declare::{END, Entry, Info, Table, Type, entry, handlers, required, returns};
use crate::zend::{Call, Class, Object, State, Thrown, Zval};
use ext_php_rs::ffi::{ZEND_ACC_FINAL, ZEND_ACC_NO_DYNAMIC_PROPERTIES, ZEND_ACC_PUBLIC};
use tokenbucket_core::{Key, KeyHasher, MemoryStore, Outcome, Put, Step, Store, Ticks, seconds};

static CLASS: Class = Class::new();

/// The buckets.
#[derive(Debug, Default)]
pub struct MemoryStorage {
    store: MemoryStore,
    proposals: Proposals,
}

impl State for MemoryStorage {
    fn class() -> &'static Class {
        &CLASS
    }

    fn born() -> Self {
        Self::default()
    }

    fn cloned(&self) -> Option<Self> {
        None
    }
}

impl Storage for Object<MemoryStorage> {
    /// Needs no secret because nobody attacks a test.
    fn hasher(&self) -> KeyHasher {
        KeyHasher::new([0; 2])
    }

    fn proposals(&self) -> &Proposals {
        &self.proposals
    }

    fn take(&self, key: Key<'_>, step: &Step, first: Option<Ticks>) -> Result<Outcome, Thrown> {
        let Ok(outcome) = self.store.take(key, step, first);
        Ok(outcome)
    }

    fn put(&self, key: Key<'_>, put: &Put) -> Result<(), Thrown> {
        let Ok(()) = self.store.put(key, put);
        Ok(())
    }

    fn contains(&self, key: Key<'_>) -> Result<bool, Thrown> {
        Ok(self.store.contains(key))
    }

    fn now(&self) -> Ticks {
        self.store.now()
    }

    fn advance(&self, ticks: Ticks) -> bool {
        self.store.advance(ticks);
        true
    }

    fn is_same(&self, other: &dyn Storage) -> bool {
        super::downcast::<Self>(other).is_some_and(|other| std::ptr::eq(self, other))
    }
}

static CONSTRUCT: Table<[Info; 1]> = Table([returns(0, Type::NONE)]);
static ADVANCE: Table<[Info; 2]> =
    Table([returns(1, Type::VOID), required(c"seconds", Type::FLOAT)]);

handlers! {
    construct_handler => construct;
    advance_handler => advance;
}

static METHODS: Table<[Entry; 6]> = {
    let [prepare, bootstrap, consume] = interface::methods::<MemoryStorage>();
    Table([
        entry(
            c"__construct",
            construct_handler,
            &CONSTRUCT.0,
            ZEND_ACC_PUBLIC,
        ),
        prepare,
        bootstrap,
        consume,
        entry(c"advance", advance_handler, &ADVANCE.0, ZEND_ACC_PUBLIC),
        END,
    ])
};

pub fn register() {
    let declaration = Declaration {
        name: c"TokenBucketStorageMemory",
        flags: ZEND_ACC_FINAL | ZEND_ACC_NO_DYNAMIC_PROPERTIES,
        methods: &METHODS,
        constants: &[],
        properties: &[],
        cloneable: false,
    };
    CLASS.register::<MemoryStorage, _>(&declaration, &[&INTERFACE]);
}

fn construct(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    call.arity(0, 0)
}

fn advance(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    call.arity(1, 1)?;
    let seconds = call.float(1)?;
    let ticks = seconds::to_ticks(seconds).map_err(|error| exceptions::bad_amount(1, error))?;
    call.this::<MemoryStorage>().advance(ticks);
    Ok(())
}
