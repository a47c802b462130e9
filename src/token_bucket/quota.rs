//! The class `TokenBucket\Quota`: a number of tokens in each window of a calendar.
//!
//! It is a bucket that becomes full at the start of each window ([`gcra::refill`]). Its methods are
//! those of `TokenBucket`, except the constructor and `window()`.

use super::bucket::{Bucket, derive, set_property, with_plan};
use super::calendar::{self, ANCHOR, Calendar, PERIOD, Period, int};
use super::plan::{IDENTIFIER, storage_of};
use crate::exceptions::Origin;
use crate::{classes, storage};
use ext_php_rs::ffi::IS_NULL;
use gcra::{TICKS_PER_SECOND, Timestamp, Windows};
use std::ops::Range;
use zend::{Call, Kept, Number, Object, Thrown, Zval, class, invoke, throw, value};

/// The anchor of a quota without one: a Monday, the first day of a month and of a year.
const DEFAULT_ANCHOR: &[u8] = b"2024-01-01 00:00:00 UTC";

/// The Unix times of the years from -9999 to 9999.
const YEARS: Range<i64> = -377_705_116_800..253_402_300_800;

/// Implements `__construct(TokenBucketStorage $storage, $identifier, int $limit, Period $period,
/// ?DateTimeInterface $anchor = null)`. Throws `ValueError` for a limit that is out of range, and
/// `LogicException` for a userland storage.
pub fn construct(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    let storage = call.object_of(1, &classes::TOKEN_BUCKET_STORAGE)?;
    if value::object(storage).and_then(storage::of).is_none() {
        let message = "TokenBucket\\Quota needs one of the extension's own storages";
        return Err(throw::logic(message));
    }
    let identifier = call.untyped_string(2)?;
    let limit = call.int(3)?;
    let name = class::case_name(call.object_of(4, &classes::PERIOD)?);
    let period = Period::of_case(value::bytes(&name)).ok_or(Thrown)?;
    let anchor = anchor(call)?;
    let bucket = call.this::<Bucket>();
    let calendar = Calendar::new(period, &anchor)?;
    let rate = value::of_float(limit as f64 / period.average());
    // As a typed property would, the object keeps the converted limit.
    let mut capacity = Zval::new();
    capacity.set_long(limit);
    let source = [call.arg(1), &identifier, &capacity, &rate];
    // Set the calendar first, because `derive` makes the plan of a quota only if the object has
    // one.
    let before = bucket.calendar().replace(Some(calendar));
    let numbers = [Number::Int(limit), Number::Int(1)];
    let derived = derive(bucket, &source, source[IDENTIFIER], numbers, Origin::Quota);
    derived.inspect_err(|_| bucket.calendar().set(before))?;
    let period = call.arg(4).shallow_clone();
    for (slot, value) in source.map(Zval::shallow_clone).into_iter().enumerate() {
        set_property(bucket, slot, value)?;
    }
    bucket.set_declared(PERIOD, period);
    bucket.set_declared(ANCHOR, anchor.into_zval());
    Ok(())
}

/// Returns a copy of the anchor as a `DateTimeImmutable`. Later changes of the caller's object do
/// not change the windows.
fn anchor(call: &Call<'_>) -> Result<Kept, Thrown> {
    if call.count() < 5 || value::kind(call.arg(5)) == IS_NULL {
        let text = value::of_bytes(DEFAULT_ANCHOR);
        return invoke::named("date_create_immutable", &mut [text]);
    }
    let anchor = call.object_of_foreign(5, "DateTimeInterface")?;
    let anchor = invoke::named("DateTimeImmutable::createFromInterface", &mut [anchor])?;
    timestamp(&anchor, 5)?;
    Ok(anchor)
}

/// Returns the Unix time of a date object, which is the PHP argument at position `argument`. Throws
/// `ValueError` for a date outside of [`YEARS`], because sums of its seconds could overflow.
fn timestamp(date: &Zval, argument: u32) -> Result<i64, Thrown> {
    let seconds = int(value::object(date).ok_or(Thrown)?, "gettimestamp")?;
    if YEARS.contains(&seconds) {
        return Ok(seconds);
    }
    let message = "must be between the years -9999 and 9999";
    Err(throw::argument_value(argument, message))
}

/// Implements `window(?DateTimeInterface $at = null): array`. Returns the start and the end of the
/// window that contains the instant, in the time zone of the anchor.
pub fn window(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let bucket = call.this::<Bucket>();
    let home = bucket.copy_property(super::plan::STORAGE);
    let storage = storage::of(storage_of(&home)?).ok_or(Thrown)?;
    let now = if call.count() < 1 || value::kind(call.arg(1)) == IS_NULL {
        let now = with_plan(bucket, |plan| storage.unix_time(plan.key()))?;
        (now.0 / TICKS_PER_SECOND).cast_signed()
    } else {
        let at = call.object_of_foreign(1, "DateTimeInterface")?;
        timestamp(&at, 1)?
    };
    let [_, start, end, _] = starts(bucket, now)?;
    let anchor = bucket.copy_declared(ANCHOR);
    let object = value::object(&anchor).ok_or(Thrown)?;
    let instant = |seconds| calendar::date(object, seconds).map(Kept::into_zval);
    let window = [instant(start)?, instant(end)?];
    *result = value::of_list(window).ok_or(Thrown)?;
    Ok(())
}

/// Returns the starts of the windows around the instant `now`, a Unix time in seconds, of a quota.
/// Fails if PHP's date engine fails.
pub fn starts(bucket: &Object<Bucket>, now: i64) -> Result<[i64; 4], Thrown> {
    let mut calendar = bucket.calendar().get().ok_or(Thrown)?;
    let [_, start, end, _] = calendar.starts;
    if !(start..end).contains(&now) {
        let anchor = bucket.copy_declared(ANCHOR);
        calendar.starts = calendar.around(value::object(&anchor).ok_or(Thrown)?, now)?;
        bucket.calendar().set(Some(calendar));
    }
    Ok(calendar.starts)
}

/// Returns the windows of a call on a quota at `now`, a Unix time.
pub fn windows(bucket: &Object<Bucket>, now: Timestamp) -> Result<Windows, Thrown> {
    let [before, start, end, later] = starts(bucket, (now.0 / TICKS_PER_SECOND).cast_signed())?;
    let length = |from: i64, to: i64| u32::try_from(to - from).unwrap_or(0);
    let lengths = [
        length(before, start),
        length(start, end),
        length(end, later),
    ];
    let start = Timestamp(start.unsigned_abs() * TICKS_PER_SECOND);
    Ok(Windows::new(start, lengths))
}
