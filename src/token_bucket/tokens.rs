//! The argument `$tokens`.

use crate::zend::{Call, Number, Thrown};

/// Returns the optional last argument after `before` required ones, or 1 if it was not passed.
///
/// # Errors
/// Throws `TypeError` if it is not a number.
pub fn optional(call: &mut Call<'_>, before: u32) -> Result<Number, Thrown> {
    if call.count() > before {
        call.number(before + 1)
    } else {
        Ok(Number::Int(1))
    }
}
