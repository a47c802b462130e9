//! The state of a `TokenBucket` object: its four properties, and the plan derived from them.

use super::calendar::{Calendar, CalendarCell};
use super::plan::{
    CAPACITY, IDENTIFIER, Memo, NAMES, Overrides, Plan, RATE, STORAGE, Source, counting, limit,
    storage_of,
};
use crate::classes::TOKEN_BUCKET;
use crate::exceptions::{Origin, bad_limit, bad_property};
use ext_php_rs::ffi::{IS_LONG, IS_STRING};
use std::cell::RefCell;
use std::mem;
use zend::{Class, Identity, Number, Object, State, Thrown, Zval, hooks, value};

/// The state of an object, in addition to the properties.
#[derive(Debug, Default)]
pub struct Bucket {
    memo: RefCell<Memo>,
    /// The calendar of a `TokenBucket\Quota`.
    calendar: CalendarCell,
}

impl Bucket {
    /// Returns the cell of the calendar, which is empty if the object is not a quota.
    pub const fn calendar(&self) -> &CalendarCell {
        &self.calendar
    }
}

impl State for Bucket {
    const SLOTS: usize = RATE + 1;
    const CLASS: &'static Class = &TOKEN_BUCKET;

    fn cloned(&self) -> Option<Self> {
        Some(Self {
            calendar: self.calendar.clone(),
            ..Self::default()
        })
    }

    fn report(&self, mut report: impl FnMut(&Zval)) {
        if let Ok(memo) = self.memo.try_borrow() {
            report(memo.storage());
        }
    }
}

/// Copies the current value of a property. May run the hook of a subclass.
pub fn property(bucket: &Object<Bucket>, slot: usize) -> Result<Zval, Thrown> {
    if hooks::has_hook(bucket.zend(), NAMES[slot]) {
        return hooks::read(bucket.zend(), NAMES[slot], &TOKEN_BUCKET);
    }
    Ok(bucket.copy_property(slot))
}

/// Sets a property. May run the hook of a subclass.
pub fn set_property(bucket: &Object<Bucket>, slot: usize, value: Zval) -> Result<(), Thrown> {
    if hooks::has_hook(bucket.zend(), NAMES[slot]) {
        return hooks::write(bucket.zend(), NAMES[slot], &TOKEN_BUCKET, value);
    }
    bucket.set_property(slot, value);
    Ok(())
}

/// Copies the current properties.
fn properties(bucket: &Object<Bucket>) -> Result<[Zval; RATE + 1], Thrown> {
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
#[inline(always)]
pub fn with_plan<R>(bucket: &Object<Bucket>, read: impl FnOnce(&Plan) -> R) -> Result<R, Thrown> {
    let mut memo = bucket.memo.borrow();
    // A property that has become a PHP reference does not match here. `renew` compares the value
    // behind it.
    if !memo.is_current(|slot, identity| bucket.slot(slot).is(identity)) {
        drop(memo);
        renew(bucket)?;
        memo = bucket.memo.borrow();
    }
    Ok(read(&memo.plan))
}

/// Passes the current plan to `read`, without a check of the properties. Call it right after
/// [`with_plan`], before PHP code can run.
pub fn with_latest_plan<R>(bucket: &Object<Bucket>, read: impl FnOnce(&Plan) -> R) -> R {
    read(&bucket.memo.borrow().plan)
}

/// Derives a new plan, unless the properties are unchanged behind a PHP reference.
#[cold]
#[inline(never)]
fn renew(bucket: &Object<Bucket>) -> Result<(), Thrown> {
    let mut source = properties(bucket)?;
    let is_same = |slot: usize, identity: Identity| identity.is_of(&source[slot]);
    if bucket.memo.borrow().is_current(is_same) {
        return Ok(());
    }
    storage_of(&source[STORAGE])?;
    let identifier = value::to_string(&source[IDENTIFIER]);
    let identifier = identifier.ok_or_else(|| bad_property("_identifier", "string"))?;
    if !matches!(value::kind(&source[IDENTIFIER]), IS_STRING | IS_LONG) {
        // The conversion may have run PHP code that has changed any property. The converted value
        // has no identity, so the next call reads the identifier anew.
        let converted = mem::take(&mut source[IDENTIFIER]);
        source = properties(bucket)?;
        source[IDENTIFIER] = converted;
    }
    let number = |slot: usize| {
        let number = value::to_number(&source[slot]);
        number.ok_or_else(|| bad_property(NAMES[slot], "int|float"))
    };
    let numbers = [number(CAPACITY)?, number(RATE)?];
    derive(
        bucket,
        &source.each_ref(),
        &identifier,
        numbers,
        Origin::Properties,
    )
}

/// Derives the bucket's plan from `source` and keeps it; see [`Memo::derive`]. `origin` says
/// whether the message of an exception names an argument or a property.
pub fn derive(
    bucket: &Object<Bucket>,
    source: &Source<'_>,
    identifier: &Zval,
    numbers: [Number; 2],
    origin: Origin,
) -> Result<(), Thrown> {
    let calendar = bucket.calendar.get();
    let limit = |grain| match calendar {
        Some(Calendar { period, .. }) => counting(numbers[0], period.shortest()),
        None => limit(numbers, grain),
    };
    let limit = |grain| limit(grain).map_err(|error| bad_limit(origin, error));
    let overrides = Overrides::of(bucket.zend(), &TOKEN_BUCKET);
    Memo::derive(&bucket.memo, overrides, source, identifier, limit).map(drop)
}
