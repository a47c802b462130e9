//! The argument `$tokens`.

use crate::zend::{Call, Number, Thrown};

/// Returns the optional last argument, behind `before` required ones; 1 if it is not passed.
///
/// # Errors
/// `TypeError`.
pub fn optional(call: &mut Call<'_>, before: u32) -> Result<Number, Thrown> {
    if call.count() > before {
        call.number(before + 1)
    } else {
        Ok(Number::Int(1))
    }
}
