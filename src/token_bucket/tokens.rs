//! The argument `$tokens` of several methods.

use crate::zend::{Call, Number, Thrown};

/// Returns the optional last argument, which follows `before` required arguments. Returns 1 if it
/// was not passed.
///
/// # Errors
/// Throws `TypeError` if the argument is not a number.
pub fn optional(call: &mut Call<'_>, before: u32) -> Result<Number, Thrown> {
    if call.count() > before {
        call.number(before + 1)
    } else {
        Ok(Number::Int(1))
    }
}
