//! `TokenBucket`: the class that users call.
//!
//! `consume()` on a storage of ours goes from the property slots ([`plan`]) straight to the store. What
//! a subclass or a userland storage does in its own way takes the longer road of [`userland`]; the
//! rest is in [`ask`], [`wait`] and [`attempt_all`].

mod ask;
mod attempt_all;
mod plan;
mod userland;
mod wait;

use crate::exceptions::{self, Origin};
use crate::storage;
use crate::zend::class::{Constant, Declaration, Property};
use crate::zend::declare::{
    END, Entry, Info, Table, Type, entry, handlers, optional, required, returns,
};
use crate::zend::{Call, Class, Number, Object, State, Thrown, Zval, value};
use ext_php_rs::ffi::{
    IS_STRING, ZEND_ACC_PRIVATE, ZEND_ACC_PROTECTED, ZEND_ACC_PUBLIC, ZEND_ACC_STATIC,
};
use plan::{Plan, Source};
use std::cell::RefCell;
use tokenbucket_core::{AmountError, Put, Quota, Step, Ticks};

static CLASS: Class = Class::new();

// The slots of the properties, in the order of their declaration.
const STORAGE: usize = 0;
const IDENTIFIER: usize = 1;
const CAPACITY: usize = 2;
const RATE: usize = 3;

/// What a bucket keeps besides its properties: what it derived from them.
#[derive(Debug, Default)]
pub struct Bucket {
    plan: RefCell<Option<Plan>>,
}

impl State for Bucket {
    fn class() -> &'static Class {
        &CLASS
    }

    fn born() -> Self {
        Self::default()
    }

    fn cloned(&self) -> Option<Self> {
        Some(Self::default())
    }
}

/// The class.
pub fn class() -> &'static Class {
    &CLASS
}

/// Reads the plan of a bucket, derived anew if a property has changed.
///
/// `read` must not call into PHP. Deriving may: `__toString()` of an identifier runs. No reference into a
/// property, an argument or an array element may be held over this, but to what is counted.
///
/// # Errors
/// What is wrong with the properties.
#[inline(always)]
fn with_plan<R>(bucket: &Object<Bucket>, read: impl FnOnce(&Plan) -> R) -> Result<R, Thrown> {
    let is_current = |plan: &Plan| plan.is_current(&Source::of_slots(bucket));
    let mut plan = bucket.plan.borrow();
    if !plan.as_ref().is_some_and(is_current) {
        drop(plan);
        renew(bucket)?;
        plan = bucket.plan.borrow();
    }
    // Derived above if it was not there; nothing else takes it away.
    plan.as_ref().map(read).ok_or(Thrown)
}

/// Derives the plan anew, unless the properties are the same behind a reference.
#[cold]
#[inline(never)]
fn renew(bucket: &Object<Bucket>) -> Result<(), Thrown> {
    let source = Source::of(bucket);
    let is_current = |plan: &Plan| plan.is_current(&source);
    if bucket.plan.borrow().as_ref().is_some_and(is_current) {
        return Ok(());
    }
    derive(bucket, || Source::of(bucket), Origin::Properties)
}

fn derive<'a>(
    bucket: &Object<Bucket>,
    source: impl Fn() -> Source<'a>,
    origin: Origin,
) -> Result<(), Thrown> {
    let plan = Plan::derive(bucket, source, origin)?;
    let old = bucket.plan.replace(Some(plan));
    drop(old);
    Ok(())
}

/// The cost of a number of tokens; `None` for more than the capacity.
///
/// # Errors
/// When it is no amount.
#[inline(always)]
fn cost(quota: &Quota, number: Number) -> Result<Option<Ticks>, AmountError> {
    if let Number::Int(int) = number
        && let Ok(whole) = u64::try_from(int)
    {
        return Ok(quota.cost_whole(whole));
    }
    number.tokens().map(|tokens| quota.cost(tokens))
}

static CONSTRUCT: Table<[Info; 5]> = Table([
    returns(4, Type::NONE),
    required(c"storage", Type::class(c"TokenBucketStorage")),
    required(c"identifier", Type::NONE),
    required(c"bucket_capacity", Type::NONE),
    required(c"tokens_per_second", Type::NONE),
]);
static COMPARE: Table<[Info; 3]> = Table([
    returns(2, Type::NONE),
    required(c"m1", Type::NONE),
    required(c"m2", Type::NONE),
]);
static CONSUME: Table<[Info; 2]> = Table([
    returns(0, Type::NONE),
    optional(c"token_count", Type::NONE, c"1"),
]);
const DECISION: Type = Type::class(c"TokenBucket\\Decision");
static ATTEMPT: Table<[Info; 2]> = Table([
    returns(0, DECISION),
    optional(c"tokens", Type::NUMBER, c"1"),
]);
static WAIT: Table<[Info; 3]> = Table([
    returns(1, DECISION),
    required(c"timeout", Type::FLOAT),
    optional(c"tokens", Type::NUMBER, c"1"),
]);
static REFUND: Table<[Info; 2]> = Table([
    returns(0, Type::VOID),
    optional(c"tokens", Type::NUMBER, c"1"),
]);
static RESET: Table<[Info; 1]> = Table([returns(0, Type::VOID)]);
static ATTEMPT_ALL: Table<[Info; 3]> = Table([
    returns(1, DECISION),
    required(c"buckets", Type::ARRAY),
    optional(c"tokens", Type::NUMBER, c"1"),
]);
static BOOTSTRAP: Table<[Info; 2]> = Table([
    returns(1, Type::NONE),
    required(c"initialTokens", Type::NONE),
]);
static TO_SECONDS: Table<[Info; 2]> =
    Table([returns(1, Type::NONE), required(c"tokens", Type::NONE)]);
static TO_TOKENS: Table<[Info; 2]> =
    Table([returns(1, Type::NONE), required(c"seconds", Type::NONE)]);

handlers! {
    construct_handler => construct;
    compare_handler => userland::compare_microtimes;
    consume_handler => consume;
    attempt_handler => ask::attempt;
    peek_handler => ask::peek;
    wait_handler => wait::wait;
    refund_handler => refund;
    reset_handler => reset;
    attempt_all_handler => attempt_all::attempt_all;
    bootstrap_handler => userland::bootstrap;
    to_seconds_handler => userland::tokens_to_seconds;
    to_tokens_handler => userland::seconds_to_tokens;
}

const PUBLIC: u32 = ZEND_ACC_PUBLIC;
const PUBLIC_STATIC: u32 = ZEND_ACC_PUBLIC | ZEND_ACC_STATIC;

static METHODS: Table<[Entry; 13]> = Table([
    entry(
        c"compare_microtimes",
        compare_handler,
        &COMPARE.0,
        PUBLIC_STATIC,
    ),
    entry(c"__construct", construct_handler, &CONSTRUCT.0, PUBLIC),
    entry(c"consume", consume_handler, &CONSUME.0, PUBLIC),
    entry(c"attempt", attempt_handler, &ATTEMPT.0, PUBLIC),
    entry(c"peek", peek_handler, &ATTEMPT.0, PUBLIC),
    entry(c"wait", wait_handler, &WAIT.0, PUBLIC),
    entry(c"refund", refund_handler, &REFUND.0, PUBLIC),
    entry(c"reset", reset_handler, &RESET.0, PUBLIC),
    entry(
        c"attemptAll",
        attempt_all_handler,
        &ATTEMPT_ALL.0,
        PUBLIC_STATIC,
    ),
    entry(
        c"_bootstrap",
        bootstrap_handler,
        &BOOTSTRAP.0,
        ZEND_ACC_PROTECTED,
    ),
    entry(
        c"_tokens_to_seconds",
        to_seconds_handler,
        &TO_SECONDS.0,
        ZEND_ACC_PROTECTED,
    ),
    entry(
        c"_seconds_to_tokens",
        to_tokens_handler,
        &TO_TOKENS.0,
        ZEND_ACC_PROTECTED,
    ),
    END,
]);

pub fn register() {
    let declaration = Declaration {
        name: c"TokenBucket",
        flags: 0,
        methods: &METHODS,
        constants: &[
            Constant::Float(c"MILLISECOND", 0.001),
            Constant::Int(c"SECOND", 1),
            Constant::Int(c"MINUTE", 60),
            Constant::Int(c"HOUR", 3_600),
            Constant::Int(c"DAY", 86_400),
            Constant::Int(c"WEEK", 604_800),
            Constant::Float(c"MICROTIME_DELTA", userland::MICROTIME_DELTA),
        ],
        properties: &[
            Property::Untyped(c"_storage", ZEND_ACC_PRIVATE),
            Property::Untyped(c"_identifier", ZEND_ACC_PROTECTED),
            Property::Untyped(c"_bucket_capacity", ZEND_ACC_PROTECTED),
            Property::Untyped(c"_tokens_per_second", ZEND_ACC_PROTECTED),
        ],
        cloneable: true,
    };
    CLASS.register::<Bucket, _>(&declaration, &[]);
}

fn construct(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    call.arity(4, 4)?;
    let storage = call.object_of(1, &storage::INTERFACE)?;
    // Only to throw what names the argument; the properties keep what was passed, as the userland
    // class's do.
    if value::kind(call.arg(2)) != IS_STRING {
        call.untyped_string(2)?;
    }
    call.untyped_number(3)?;
    call.untyped_number(4)?;
    let bucket = call.this::<Bucket>();
    let source = Source {
        storage,
        identifier: call.arg(2),
        capacity: call.arg(3),
        rate: call.arg(4),
    };
    derive(bucket, || source, Origin::Constructor)?;
    for (index, zval) in [
        (STORAGE, source.storage),
        (IDENTIFIER, source.identifier),
        (CAPACITY, source.capacity),
        (RATE, source.rate),
    ] {
        bucket.set_property(index, zval.shallow_clone());
    }
    Ok(())
}

/// `consume($token_count = 1): bool`
fn consume(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let number = match call.count() {
        0 => Number::Int(1),
        1 => call.untyped_number(1)?,
        _ => return call.arity(0, 1),
    };
    let bucket = call.this::<Bucket>();
    let direct = with_plan(bucket, |plan| {
        if !plan.is_direct {
            return Ok(None);
        }
        let cost = cost(&plan.quota, number).map_err(|error| exceptions::bad_amount(1, error))?;
        // More than the capacity is never granted.
        Ok(Some(cost.is_some_and(|cost| {
            let step = Step::new(cost, plan.quota.burst());
            storage::take_directly(plan.key(), &step).granted()
        })))
    })??;
    let granted = match direct {
        Some(granted) => granted,
        None => userland::consume(bucket, number)?,
    };
    value::set_bool(result, granted);
    Ok(())
}

/// `refund(int|float $tokens = 1): void`
fn refund(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    let number = tokens(call, 0, 1)?;
    let bucket = call.this::<Bucket>();
    let asked = ask::Asked::of(bucket, number, 1, "refund")?;
    let cost = asked
        .refund(number)
        .map_err(|error| exceptions::bad_amount(1, error))?;
    let burst = asked.burst;
    asked.native.put(asked.key(), &Put::Refund { cost, burst })
}

/// `reset(): void`
fn reset(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    call.arity(0, 0)?;
    let bucket = call.this::<Bucket>();
    let asked = ask::Asked::of(bucket, Number::Int(0), 1, "reset")?;
    let burst = asked.burst;
    asked.native.put(asked.key(), &Put::Reset { burst })
}

/// The optional last argument `$tokens`, behind `before` required ones.
fn tokens(call: &mut Call<'_>, before: u32, most: u32) -> Result<Number, Thrown> {
    call.arity(before, most)?;
    if call.count() > before {
        call.number(before + 1)
    } else {
        Ok(Number::Int(1))
    }
}
