//! The constructor.

use super::bucket::{Bucket, derive, set_property};
use super::plan::IDENTIFIER;
use crate::exceptions::Origin;
use crate::{classes, storage};
use ext_php_rs::ffi::IS_STRING;
use zend::{Call, Thrown, Zval, value};

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
    // All values are copied first, because setting a property may run a hook of a subclass.
    for (slot, value) in source.map(Zval::shallow_clone).into_iter().enumerate() {
        set_property(bucket, slot, value)?;
    }
    Ok(())
}
