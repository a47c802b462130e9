//! The extension's exceptions, and the PHP exceptions for errors of the other crates.
//!
//! An invalid argument throws a `ValueError` that names it. A failed store throws a
//! `TokenBucket\StorageException`, or is reported as the setting `tokenbucket.failure_report` says.
//! A denial is a result and throws nothing.

use crate::ini::{self, FailureReport};
use crate::{classes, log};
use gcra::seconds::SpanError;
use gcra::{AmountError, LimitError};
use stores::remote::{Answer, Answered, Failure, untimed};
use zend::Zval;
use zend::throw::{self, Thrown};

/// Throws `ValueError` for an invalid number of tokens or seconds.
#[cold]
pub fn bad_amount(argument: u32, error: AmountError) -> Thrown {
    throw::argument_value(argument, &error.to_string())
}

/// Throws `ValueError` for an invalid cost or span. The cost is the PHP argument at position
/// `argument`, and the span is the next argument.
#[cold]
pub fn bad_span(argument: u32, error: SpanError) -> Thrown {
    match error {
        SpanError::Cost(error) => bad_amount(argument, error),
        SpanError::Full(error) => bad_amount(argument + 1, error),
    }
}

/// Throws `TokenBucket\StorageException` for a failed store.
#[cold]
#[allow(clippy::needless_pass_by_value)]
pub fn store_failed(failure: Failure) -> Thrown {
    store_failed_by(&failure, None)
}

/// Does the same as [`store_failed`]. `previous` is the exception of another extension that caused
/// the failure, if there was one.
#[cold]
pub fn store_failed_by(failure: &Failure, previous: Option<Zval>) -> Thrown {
    throw::of_class(&classes::STORAGE_EXCEPTION, &failure.to_string(), previous)
}

/// Throws `TokenBucket\StorageException` if a store failed and its policy throws, and does the same
/// as [`report_failure`] otherwise.
pub fn throw_or_report<R>(result: Answered<R>) -> Result<Answer<R>, Thrown> {
    report_failure(result.map_err(store_failed)?)
}

/// Reports the failure in the answer, if there is one. May run PHP code, so call it while nothing
/// is borrowed.
pub fn report_failure<R>(mut answer: Answer<R>) -> Result<Answer<R>, Thrown> {
    answer.warning.take().map_or(Ok(()), warn_of)?;
    Ok(answer)
}

/// Reports a failure that the failure policy hides from the caller.
#[cold]
pub fn warn_of(failure: Box<Failure>) -> Result<(), Thrown> {
    let message = failure.warning();
    drop(failure);
    untimed(|| report(&message, throw::warning))
}

/// Throws `TokenBucket\AccessDeniedException` for code that may not act on a client of the guard.
#[cold]
pub fn access_denied(message: &str) -> Thrown {
    throw::of_class(&classes::ACCESS_DENIED_EXCEPTION, message, None)
}

/// Reports a failure that the failure policy hides from the caller. `warn` raises the PHP warning,
/// if `tokenbucket.failure_report` selects a warning.
#[cold]
pub fn report(message: &str, warn: fn(&str) -> Result<(), Thrown>) -> Result<(), Thrown> {
    match ini::failure_report() {
        FailureReport::Log => log::write(message),
        FailureReport::Warning => return warn(message),
        FailureReport::None => {}
    }
    Ok(())
}

/// Reports a failure like [`report`] where PHP code cannot run, because the request or an object
/// ends. Writes it to PHP's log instead of a warning.
#[cold]
pub fn report_in_log(message: &str) {
    if !matches!(ini::failure_report(), FailureReport::None) {
        log::write(message);
    }
}

/// Throws the exception for too many requests. It has no message, as in the original class.
#[cold]
pub fn rate_exceeded() -> Thrown {
    throw::of_class(&classes::RATE_EXCEEDED_EXCEPTION, "", None)
}

/// The origin of a capacity and a rate.
#[derive(Clone, Copy, Debug)]
pub enum Origin {
    /// `TokenBucket::__construct()`.
    Constructor,
    /// The properties of an object, which a subclass has changed.
    Properties,
    /// `TokenBucket\Quota::__construct()`.
    Quota,
}

/// Throws `ValueError` for a capacity and a rate that do not form a valid quota.
#[cold]
pub fn bad_limit(origin: Origin, error: LimitError) -> Thrown {
    let (capacity, rate) = ((3, "bucket_capacity"), (4, "tokens_per_second"));
    let ((argument, property), message) = match error {
        LimitError::Capacity(AmountError::NotFinite) => (capacity, "must be finite"),
        LimitError::Capacity(_) | LimitError::NoCapacity => (capacity, "must be greater than 0"),
        LimitError::Rate(AmountError::NotFinite) => (rate, "must be finite"),
        LimitError::Rate(_) | LimitError::NoRate => (rate, "must be greater than 0"),
        LimitError::RateTooHigh => (rate, "must be less than or equal to 1.0E+15"),
        LimitError::SpanTooLong => {
            let message = "must refill within 2^60 nanoseconds at the given rate";
            (capacity, message)
        }
    };
    match origin {
        Origin::Quota => {
            let message = "must be between 1 and the microseconds of the period's shortest window";
            throw::argument_value(3, message)
        }
        Origin::Constructor => throw::argument_value(argument, message),
        Origin::Properties => throw::value_error(&format!("TokenBucket::$_{property} {message}")),
    }
}

/// Throws `TypeError` for a property of an invalid type. Throws nothing if an exception is already
/// pending.
#[cold]
pub fn bad_property(property: &str, expected: &str) -> Thrown {
    if throw::is_pending() {
        return Thrown;
    }
    throw::type_error(&format!(
        "TokenBucket::${property} must be of type {expected}"
    ))
}
