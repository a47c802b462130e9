//! `TokenBucket`: the class that users call.
//!
//! `consume()` in shared memory goes from the property slots ([`plan`]) straight to the store. Other
//! storages, and other methods, go by way of [`ask`]; what a subclass or a userland storage does in its
//! own way is in [`userland`].

mod ask;
mod attempt_all;
mod plan;
mod userland;
mod wait;

use crate::exceptions::{self, Origin};
use crate::zend::{Call, Class, Number, Object, State, Thrown, Zval, value};
use crate::{declared, storage};
use ext_php_rs::ffi::IS_STRING;
use plan::{Plan, Source};
use std::cell::RefCell;
use tokenbucket_core::{AmountError, Put, Quota, Step, Ticks};

pub use ask::{attempt, peek};
pub use attempt_all::attempt_all;
pub use userland::{bootstrap, compare_microtimes, seconds_to_tokens, tokens_to_seconds};
pub use wait::wait;

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
        &declared::TOKEN_BUCKET
    }

    fn born() -> Self {
        Self::default()
    }

    fn cloned(&self) -> Option<Self> {
        Some(Self::default())
    }
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

/// Derives the plan from the properties that `source` names.
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

/// `__construct(TokenBucketStorage $storage, $identifier, $bucket_capacity, $tokens_per_second)`
pub fn construct(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    let storage = call.object_of(1, &declared::TOKEN_BUCKET_STORAGE)?;
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
pub fn consume(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let number = match call.count() {
        0 => Number::Int(1),
        _ => call.untyped_number(1)?,
    };
    let bucket = call.this::<Bucket>();
    let direct = with_plan(bucket, |plan| {
        if !plan.is_direct {
            return Ok(None);
        }
        let cost = cost(&plan.quota, number).map_err(|error| exceptions::bad_amount(1, error))?;
        let Some(cost) = cost else {
            // More than the capacity is never granted.
            return Ok(Some(false));
        };
        let step = Step::new(cost, plan.quota.burst());
        Ok(Some(storage::grants(plan.key(), &step)))
    })??;
    let granted = match direct {
        Some(granted) => granted,
        None => ask::granted(bucket, number)?,
    };
    value::set_bool(result, granted);
    Ok(())
}

/// `refund(int|float $tokens = 1): void`
pub fn refund(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    let number = tokens(call, 0)?;
    let bucket = call.this::<Bucket>();
    let asked = ask::Asked::of(bucket, number, 1, "refund")?;
    let cost = asked
        .refund(number)
        .map_err(|error| exceptions::bad_amount(1, error))?;
    let burst = asked.burst;
    asked.native.put(asked.key(), &Put::Refund { cost, burst })
}

/// `reset(): void`
pub fn reset(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    let bucket = call.this::<Bucket>();
    let asked = ask::Asked::of(bucket, Number::Int(0), 1, "reset")?;
    let burst = asked.burst;
    asked.native.put(asked.key(), &Put::Reset { burst })
}

/// The optional last argument `$tokens`, behind `before` required ones.
fn tokens(call: &mut Call<'_>, before: u32) -> Result<Number, Thrown> {
    if call.count() > before {
        call.number(before + 1)
    } else {
        Ok(Number::Int(1))
    }
}
