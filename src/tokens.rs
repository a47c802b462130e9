//! Numbers of tokens and seconds in arguments, and their conversion to exact amounts and ticks.

use crate::exceptions::bad_amount;
use gcra::{AmountError, MAX_SPAN, Ticks, Tokens, seconds};
use zend::{Call, Number, Thrown, throw};

/// Returns a number of PHP as an amount of tokens. Fails with the reason if the number is not a
/// valid amount.
pub fn amount(number: Number) -> Result<Tokens, AmountError> {
    match number {
        Number::Int(int) => Tokens::from_int(int),
        Number::Float(float) => Tokens::from_float(float),
    }
}

/// Does the same as [`amount`] for the number in an argument.
pub fn of_argument(number: Number, argument: u32) -> Result<Tokens, Thrown> {
    amount(number).map_err(|error| bad_amount(argument, error))
}

/// Returns the seconds in an argument as ticks, at most [`MAX_SPAN`].
pub fn ticks(seconds: f64, argument: u32) -> Result<Ticks, Thrown> {
    seconds::to_ticks(seconds).map_err(|error| bad_amount(argument, error))
}

/// Returns the seconds in an argument as ticks. They must be less than [`MAX_SPAN`].
pub fn span(seconds: f64, argument: u32) -> Result<Ticks, Thrown> {
    match ticks(seconds, argument)? {
        ticks @ ..MAX_SPAN => Ok(ticks),
        _ => Err(throw::argument_value(
            argument,
            "must be less than 2^60 nanoseconds (36 years)",
        )),
    }
}

/// Returns the optional argument that follows `before` other arguments. Returns 1 if it was not
/// passed.
pub fn optional(call: &mut Call<'_>, before: u32) -> Result<Number, Thrown> {
    or(call, before, 1)
}

/// Does the same as [`optional`], with another number for a missing argument.
pub fn or(call: &mut Call<'_>, before: u32, missing: i64) -> Result<Number, Thrown> {
    let number = call.optional(before + 1, Call::number)?;
    Ok(number.unwrap_or(Number::Int(missing)))
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
