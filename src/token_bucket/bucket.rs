//! The state of a `TokenBucket` object: its four properties, and the plan derived from them.

use super::plan::{CAPACITY, IDENTIFIER, NAMES, Overrides, Plan, RATE, STORAGE, Source};
use crate::classes::TOKEN_BUCKET;
use crate::exceptions::Origin;
use crate::zend::{Class, Object, State, Thrown, Zval, hooks};
use std::cell::RefCell;

/// The state of an object, in addition to the properties.
#[derive(Debug, Default)]
pub struct Bucket {
    plan: RefCell<Option<Plan>>,
}

impl State for Bucket {
    const SLOTS: usize = RATE + 1;

    fn class() -> &'static Class {
        &TOKEN_BUCKET
    }

    fn born() -> Self {
        Self::default()
    }

    fn cloned(&self) -> Option<Self> {
        Some(Self::default())
    }

    fn report(&self, report: impl FnMut(&Zval)) {
        if let Ok(plan) = self.plan.try_borrow() {
            plan.as_ref().map(Plan::storage).map(report);
        }
    }
}

/// Copies the current value of a property. May run the hook of a subclass.
///
/// # Errors
/// Fails with the exception of the hook.
pub fn property(bucket: &Object<Bucket>, slot: usize) -> Result<Zval, Thrown> {
    if hooks::has_hook(bucket.zend(), NAMES[slot]) {
        return hooks::read(bucket.zend(), NAMES[slot], &TOKEN_BUCKET);
    }
    Ok(bucket.copy_property(slot))
}

/// Sets a property. May run the hook of a subclass.
///
/// # Errors
/// Fails with the exception of the hook.
pub fn set_property(bucket: &Object<Bucket>, slot: usize, value: Zval) -> Result<(), Thrown> {
    if hooks::has_hook(bucket.zend(), NAMES[slot]) {
        return hooks::write(bucket.zend(), NAMES[slot], &TOKEN_BUCKET, value);
    }
    bucket.set_property(slot, value);
    Ok(())
}

/// Copies the current properties.
fn properties(bucket: &Object<Bucket>) -> Result<Source, Thrown> {
    let copy = |slot| property(bucket, slot);
    Ok([
        copy(STORAGE)?,
        copy(IDENTIFIER)?,
        copy(CAPACITY)?,
        copy(RATE)?,
    ])
}

/// Passes the bucket's plan to `read` and returns the result. Derives a new plan first if a
/// property has changed.
///
/// `read` must not call PHP code. Deriving a plan may run PHP code, such as `__toString()` of an
/// identifier. So hold no Rust reference to an array element over this call.
///
/// # Errors
/// Throws `ValueError` or `TypeError` for an invalid property.
#[inline(always)]
pub fn with_plan<R>(bucket: &Object<Bucket>, read: impl FnOnce(&Plan) -> R) -> Result<R, Thrown> {
    let is_current = |plan: &Plan| {
        // A property that has become a PHP reference does not match here. `renew` compares the
        // value behind it.
        plan.is_current(|slot, identity| bucket.slot(slot).is(identity))
    };
    let mut plan = bucket.plan.borrow();
    if !plan.as_ref().is_some_and(is_current) {
        drop(plan);
        renew(bucket)?;
        plan = bucket.plan.borrow();
    }
    // There is a plan, because `renew` derives a missing plan and no code removes a plan.
    plan.as_ref().map(read).ok_or(Thrown)
}

/// Passes the current plan to `read`, without a check of the properties. Call it right after
/// [`with_plan`], before PHP code can run.
pub fn with_latest_plan<R>(
    bucket: &Object<Bucket>,
    read: impl FnOnce(&Plan) -> R,
) -> Result<R, Thrown> {
    bucket.plan.borrow().as_ref().map(read).ok_or(Thrown)
}

/// Derives a new plan, unless the properties are unchanged behind a PHP reference.
#[cold]
#[inline(never)]
fn renew(bucket: &Object<Bucket>) -> Result<(), Thrown> {
    let mut source = properties(bucket)?;
    let is_current = |plan: &Plan| plan.is_current(|slot, identity| identity.is_of(&source[slot]));
    if bucket.plan.borrow().as_ref().is_some_and(is_current) {
        return Ok(());
    }
    derive(
        bucket,
        &mut source,
        || properties(bucket),
        Origin::Properties,
    )
}

/// Derives the bucket's plan from `source` and keeps it; see [`Plan::derive`].
///
/// # Errors
/// Fails as [`with_plan`] does. The message states an argument or a property, depending on
/// `origin`.
pub fn derive(
    bucket: &Object<Bucket>,
    source: &mut Source,
    again: impl FnOnce() -> Result<Source, Thrown>,
    origin: Origin,
) -> Result<(), Thrown> {
    let overrides = Overrides::of(bucket.zend(), &TOKEN_BUCKET);
    let plan = Plan::derive(overrides, source, again, origin)?;
    let old = bucket.plan.replace(Some(plan));
    drop(old);
    Ok(())
}
