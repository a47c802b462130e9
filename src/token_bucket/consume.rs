//! `consume()`, the fast path.

use super::attempt;
use super::bucket::{Bucket, with_plan};
use super::question::Question;
use crate::{exceptions, storage};
use zend::{Call, Number, Thrown, Zval, value};

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
