//! `TokenBucketStorageSharedMemory`: buckets that all workers share.

use super::proposals::Proposals;
use super::{INTERFACE, Native, interface};
use crate::zend::class::{Declaration, Property};
use crate::zend::declare::{END, Entry, Info, Table, Type, entry, handlers, optional, returns};
use crate::zend::{Call, Class, Object, State, Thrown, Zval, throw, value};
use crate::{ini, segment};
use ext_php_rs::ffi::{
    ZEND_ACC_FINAL, ZEND_ACC_NO_DYNAMIC_PROPERTIES, ZEND_ACC_PRIVATE, ZEND_ACC_PUBLIC,
};
use std::cell::Cell;
use tokenbucket_core::clock::BootClock;
use tokenbucket_core::slots::SharedMemory;
use tokenbucket_core::{Clock, Denial, Key, KeyHasher, Outcome, Put, Step, Ticks, Verdict};

static CLASS: Class = Class::new();

/// What an object of the class keeps: how it names buckets, not the buckets.
#[derive(Debug)]
pub struct Storage {
    hasher: Cell<Option<KeyHasher>>,
    proposals: Proposals,
}

impl State for Storage {
    fn class() -> &'static Class {
        &CLASS
    }

    fn born() -> Self {
        Self {
            hasher: Cell::new(None),
            proposals: Proposals::default(),
        }
    }

    fn cloned(&self) -> Option<Self> {
        None
    }
}

impl interface::Storage for Storage {
    fn native(object: &Object<Self>) -> Native<'_> {
        Native::SharedMemory(object)
    }
}

impl Storage {
    pub fn key<'a>(&self, identifier: &'a [u8]) -> Key<'a> {
        let hasher = self.hasher.get().unwrap_or_else(|| hasher(b""));
        hasher.key(identifier)
    }

    pub fn proposals(&self) -> &Proposals {
        &self.proposals
    }
}

/// Names buckets of the setting's namespace and, in it, of the constructor's.
pub fn hasher(namespace: &[u8]) -> KeyHasher {
    let root = segment::store().map_or(KeyHasher::new([0; 2]), SharedMemory::hasher);
    root.namespace(&[ini::namespace(), namespace])
}

#[inline(always)]
pub fn take(key: Key<'_>, step: &Step, first: Option<Ticks>) -> Outcome {
    match segment::store() {
        Some(store) => store.take(key, step, first),
        // The module has shut down: nothing calls any more, and nothing is granted.
        None => Outcome {
            verdict: Verdict::Denied(Denial::TableFull),
            now: now(),
            empty_at: 0,
        },
    }
}

pub fn put(key: Key<'_>, put: &Put) {
    if let Some(store) = segment::store() {
        store.put(key, put);
    }
}

pub fn contains(key: Key<'_>) -> bool {
    segment::store().is_some_and(|store| store.contains(key))
}

pub fn now() -> Ticks {
    BootClock.now()
}

static CONSTRUCT: Table<[Info; 2]> = Table([
    returns(0, Type::NONE),
    optional(c"namespace", Type::STRING, c"''"),
]);

handlers! {
    construct_handler => construct;
}

static METHODS: Table<[Entry; 5]> = {
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
        END,
    ])
};

pub fn register() {
    let declaration = Declaration {
        name: c"TokenBucketStorageSharedMemory",
        flags: ZEND_ACC_FINAL | ZEND_ACC_NO_DYNAMIC_PROPERTIES,
        methods: &METHODS,
        constants: &[],
        properties: &[Property::ReadOnly(
            c"namespace",
            ZEND_ACC_PRIVATE,
            Type::STRING,
        )],
        cloneable: false,
    };
    CLASS.register::<Storage, _>(&declaration, &[&INTERFACE]);
}

fn construct(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    call.arity(0, 1)?;
    let namespace = if call.count() == 1 {
        call.string(1)?
    } else {
        b""
    };
    let this = call.this::<Storage>();
    if this.hasher.get().is_some() {
        return Err(throw::error(
            "TokenBucketStorageSharedMemory is constructed already",
        ));
    }
    this.set_property(0, value::of_bytes(namespace));
    this.hasher.set(Some(hasher(namespace)));
    Ok(())
}

const _: () = assert!(size_of::<Object<Storage>>() < 256);
