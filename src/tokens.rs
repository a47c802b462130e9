//! Numbers of tokens: the argument `$tokens` of several methods, and the conversion of numbers to
//! exact amounts.

use gcra::{AmountError, Tokens};
use zend::{Call, Number, Thrown};

/// Returns a number of PHP as an amount of tokens. Fails with the reason if the number is not a
/// valid amount.
pub fn amount(number: Number) -> Result<Tokens, AmountError> {
    match number {
        Number::Int(int) => Tokens::from_int(int),
        Number::Float(float) => Tokens::from_float(float),
    }
}

/// Returns the optional argument that follows `before` other arguments. Returns 1 if it was not
/// passed.
pub fn optional(call: &mut Call<'_>, before: u32) -> Result<Number, Thrown> {
    or(call, before, 1)
}

/// Does the same as [`optional`], with another number for a missing argument.
pub fn or(call: &mut Call<'_>, before: u32, missing: i64) -> Result<Number, Thrown> {
    if call.count() > before {
        call.number(before + 1)
    } else {
        Ok(Number::Int(missing))
    }
}

/// Returns the sum of two numbers that are valid amounts. The result is finite.
pub fn sum(a: Number, b: Number) -> Number {
    if let (Number::Int(a), Number::Int(b)) = (a, b)
        && let Some(sum) = a.checked_add(b)
    {
        return Number::Int(sum);
    }
    Number::Float((a.to_float() + b.to_float()).min(f64::MAX))
}
