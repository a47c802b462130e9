//! `TokenBucketStorageMemory`: buckets of one object, on a clock that stands still. For people's tests.

use super::proposals::Proposals;
use super::{INTERFACE, Native, interface};
use crate::exceptions;
use crate::zend::class::Declaration;
use crate::zend::declare::{END, Entry, Info, Table, Type, entry, handlers, required, returns};
use crate::zend::{Call, Class, Object, State, Thrown, Zval};
use ext_php_rs::ffi::{ZEND_ACC_FINAL, ZEND_ACC_NO_DYNAMIC_PROPERTIES, ZEND_ACC_PUBLIC};
use tokenbucket_core::{Key, KeyHasher, MemoryStore, Outcome, Put, Step, Store, Ticks, seconds};

static CLASS: Class = Class::new();

/// The buckets.
#[derive(Debug, Default)]
pub struct Storage {
    store: MemoryStore,
    proposals: Proposals,
}

impl State for Storage {
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

static CONSTRUCT: Table<[Info; 1]> = Table([returns(0, Type::NONE)]);
static ADVANCE: Table<[Info; 2]> =
    Table([returns(1, Type::VOID), required(c"seconds", Type::FLOAT)]);

handlers! {
    construct_handler => construct;
    advance_handler => advance;
}

static METHODS: Table<[Entry; 6]> = {
    let [prepare, bootstrap, consume] = interface::methods::<Storage>();
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
    CLASS.register::<Storage, _>(&declaration, &[&INTERFACE]);
}

fn construct(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    call.arity(0, 0)
}

fn advance(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    call.arity(1, 1)?;
    let seconds = call.float(1)?;
    let ticks = seconds::to_ticks(seconds).map_err(|error| exceptions::bad_amount(1, error))?;
    call.this::<Storage>().advance_by(ticks);
    Ok(())
}
