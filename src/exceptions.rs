//! The extension's exceptions, and what errors of the core become in PHP.
//!
//! An argument fault is a `ValueError` that names the argument. A failing store is a
//! `TokenBucket\StorageException`. A denial is neither: it is an answer.

use crate::classes;
use crate::zend::Zval;
use crate::zend::throw::{self, Thrown};
use tokenbucket_core::remote::Failure;
use tokenbucket_core::seconds::SpanError;
use tokenbucket_core::{AmountError, QuotaError};

/// A number of tokens or seconds that is none.
#[cold]
pub fn bad_amount(argument: u32, error: AmountError) -> Thrown {
    throw::argument_value(argument, &error.to_string())
}

/// A cost (`argument`) or a full span (the one behind it) that is none.
#[cold]
pub fn bad_span(argument: u32, error: SpanError) -> Thrown {
    match error {
        SpanError::Cost(error) => bad_amount(argument, error),
        SpanError::Full(error) => bad_amount(argument + 1, error),
    }
}

/// A store that failed, where its policy is to throw; because of what another extension threw, if it did.
#[cold]
pub fn storage_failed(failure: &Failure, previous: Option<Zval>) -> Thrown {
    throw::of_class(&classes::STORAGE_EXCEPTION, &failure.to_string(), previous)
}

/// More requests than were allowed: without a message, as in the class that this one replaces.
#[cold]
pub fn rate_exceeded() -> Thrown {
    throw::of_class(&classes::RATE_EXCEEDED_EXCEPTION, "", None)
}

/// Where a capacity and a rate came from.
#[derive(Clone, Copy, Debug)]
pub enum Origin {
    /// `TokenBucket::__construct()`.
    Constructor,
    /// Properties that a subclass changed.
    Properties,
}

/// A capacity and a rate that make no quota.
#[cold]
pub fn bad_quota(origin: Origin, error: QuotaError) -> Thrown {
    let (capacity, rate) = ((3, "bucket_capacity"), (4, "tokens_per_second"));
    let ((argument, property), message) = match error {
        QuotaError::Capacity(AmountError::NotFinite) => (capacity, "must be finite"),
        QuotaError::Capacity(_) | QuotaError::NoCapacity => (capacity, "must be greater than 0"),
        QuotaError::Rate(AmountError::NotFinite) => (rate, "must be finite"),
        QuotaError::Rate(_) | QuotaError::NoRate => (rate, "must be greater than 0"),
        QuotaError::RateTooHigh => (rate, "must be less than or equal to 1.0E+15"),
        QuotaError::BurstTooLong => {
            let message = "must refill within 2^60 nanoseconds at the given rate";
            (capacity, message)
        }
    };
    match origin {
        Origin::Constructor => throw::argument_value(argument, message),
        Origin::Properties => throw::value_error(&format!("TokenBucket::$_{property} {message}")),
    }
}

/// A property of a bucket whose type is of no use.
#[cold]
pub fn bad_property(property: &str, expected: &str) -> Thrown {
    if throw::is_pending() {
        return Thrown;
    }
    throw::type_error(&format!(
        "TokenBucket::${property} must be of type {expected}"
    ))
}
