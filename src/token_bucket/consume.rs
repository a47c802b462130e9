//! The constructor and `consume()`, the fast path.

use super::attempt;
use super::bucket::{Bucket, derive, set_property, with_plan};
use super::plan::IDENTIFIER;
use super::question::Question;
use crate::exceptions::{self, Origin};
use crate::{classes, storage};
use ext_php_rs::ffi::IS_STRING;
use zend::{Call, Number, Thrown, Zval, value};

/// Implements `__construct($storage, $identifier, $bucket_capacity, $tokens_per_second)`. Throws
/// `ValueError` or `TypeError` for an invalid argument.
pub fn construct(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    // Recognising a storage of the extension is faster than looking up its interfaces.
    if value::object(call.arg(1)).and_then(storage::of).is_none() {
        call.object_of(1, &classes::TOKEN_BUCKET_STORAGE)?;
    }
    let converted = match value::kind(call.arg(2)) {
        IS_STRING => None,
        _ => Some(call.untyped_string(2)?),
    };
    let numbers = [call.untyped_number(3)?, call.untyped_number(4)?];
    let bucket = call.this::<Bucket>();
    // The properties keep the values as passed, as in the userland class.
    let source = [call.arg(1), call.arg(2), call.arg(3), call.arg(4)];
    let identifier = converted.as_ref().unwrap_or(source[IDENTIFIER]);
    derive(bucket, &source, identifier, numbers, Origin::Constructor)?;
    // The values are copied before a hook of a subclass may run.
    for (slot, value) in source.map(Zval::shallow_clone).into_iter().enumerate() {
        set_property(bucket, slot, value)?;
    }
    Ok(())
}

/// Implements `consume($token_count = 1): bool`. Returns true if the tokens were taken.
///
/// In shared memory this is the fast path. It needs only the property slots, the plan and the
/// bucket's slot.
pub fn consume(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let number = match call.count() {
        0 => Number::Int(1),
        _ => call.untyped_number(1)?,
    };
    let bucket = call.this::<Bucket>();
    let direct = with_plan(bucket, |plan| {
        plan.is_direct.then(|| {
            let step = plan.step(number)?;
            Ok(storage::grants(plan.key(), &step))
        })
    })?;
    let granted = match direct {
        Some(granted) => granted.map_err(|error| exceptions::bad_amount(1, error))?,
        None => attempt::granted(&Question::of_latest_plan(bucket, number, 1)?)?,
    };
    value::set_bool(result, granted);
    Ok(())
}
