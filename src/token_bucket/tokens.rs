//! The argument `$tokens`.

use crate::zend::{Call, Number, Thrown};

/// Returns the optional last argument, behind `before` required ones; 1 if it is not passed.
///
/// # Errors
/// `TypeError` or `ArgumentCountError`.
pub fn optional(call: &mut Call<'_>, before: u32, most: u32) -> Result<Number, Thrown> {
    call.arity(before, most)?;
    if call.count() > before {
        call.number(before + 1)
    } else {
        Ok(Number::Int(1))
    }
}
