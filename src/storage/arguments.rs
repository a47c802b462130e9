//! How remote storages are made: by a constructor or by `fromClient()`, whose parameters are declared here, and
//! whose arguments are read.

use super::remote::{RemoteStorage, StorageClass};
use super::{interface, on_failure};
use crate::exceptions;
use crate::zend::declare::{END, Entry, Handler, Info, Table, Type, entry, optional, returns};
use crate::zend::{Call, Thrown, throw};
use ext_php_rs::ffi::{ZEND_ACC_PUBLIC, ZEND_ACC_STATIC};
use tokenbucket_core::remote::{OnFailure, Settings};
use tokenbucket_core::{TICKS_PER_SECOND, Ticks, seconds};

/// The greatest timeout, and the greatest age of a hint: an hour.
const MOST: Ticks = 3_600 * TICKS_PER_SECOND;
/// What `parameters` says.
const DEFAULT_TIMEOUT: Ticks = TICKS_PER_SECOND / 20;
/// What `parameters` says.
pub const DEFAULT_HINT_AGE: Ticks = TICKS_PER_SECOND;
/// What stands before identifiers where nobody says otherwise.
pub const DEFAULT_PREFIX: &[u8] = b"tokenbucket:";

/// What a storage has that nobody gave arguments to.
pub const fn default_settings() -> Settings {
    Settings {
        timeout: DEFAULT_TIMEOUT,
        on_failure: OnFailure::Local,
        hint_max_age: Some(DEFAULT_HINT_AGE),
    }
}

/// The parameters of a constructor or of `fromClient()`: `place`, which says where the store is, and those that
/// [`prefix`] and [`settings`] read.
pub const fn parameters(returned: Type, place: Info) -> Table<[Info; 7]> {
    Table([
        returns(1, returned),
        place,
        optional(c"prefix", Type::STRING, c"'tokenbucket:'"),
        optional(c"timeout", Type::FLOAT, c"0.05"),
        optional(
            c"onFailure",
            Type::class(c"TokenBucket\\OnFailure"),
            c"TokenBucket\\OnFailure::Local",
        ),
        optional(c"hints", Type::BOOL, c"true"),
        optional(c"hintMaxAge", Type::FLOAT, c"1.0"),
    ])
}

/// The methods of a class, made by its constructor and its `fromClient()`.
pub const fn methods<T: StorageClass>(
    construct: (Handler, &'static Table<[Info; 7]>),
    from_client: (Handler, &'static Table<[Info; 7]>),
) -> Table<[Entry; 6]> {
    let [prepare, bootstrap, consume] = interface::methods::<RemoteStorage<T>>();
    Table([
        entry(c"__construct", construct.0, &construct.1.0, ZEND_ACC_PUBLIC),
        entry(
            c"fromClient",
            from_client.0,
            &from_client.1.0,
            ZEND_ACC_PUBLIC | ZEND_ACC_STATIC,
        ),
        prepare,
        bootstrap,
        consume,
        END,
    ])
}

/// Argument 2, `$prefix`.
///
/// # Errors
/// `TypeError`.
pub fn prefix<'a>(call: &mut Call<'a>) -> Result<&'a [u8], Thrown> {
    if call.count() >= 2 {
        call.string(2)
    } else {
        Ok(DEFAULT_PREFIX)
    }
}

/// The arguments from number 3 on: `$timeout`, `$onFailure`, `$hints`, `$hintMaxAge`.
///
/// # Errors
/// `TypeError` or `ValueError`.
pub fn settings(call: &mut Call<'_>) -> Result<Settings, Thrown> {
    if call.count() >= 3 && call.float(3)? <= 0.0 {
        return Err(throw::argument_value(3, "must be greater than 0"));
    }
    let timeout = span(call, 3, DEFAULT_TIMEOUT)?;
    let on_failure = if call.count() >= 4 {
        on_failure::argument(call, 4)?
    } else {
        OnFailure::Local
    };
    let hints = call.count() < 5 || call.bool(5)?;
    let hint_max_age = span(call, 6, DEFAULT_HINT_AGE)?;
    Ok(Settings {
        timeout,
        on_failure,
        hint_max_age: hints.then_some(hint_max_age),
    })
}

/// Argument `number` in seconds, up to an hour.
///
/// # Errors
/// `TypeError` or `ValueError`.
pub fn span(call: &mut Call<'_>, number: u32, default: Ticks) -> Result<Ticks, Thrown> {
    if call.count() < number {
        return Ok(default);
    }
    let seconds = call.float(number)?;
    let ticks =
        seconds::to_ticks(seconds).map_err(|error| exceptions::bad_amount(number, error))?;
    if ticks > MOST {
        return Err(throw::argument_value(
            number,
            "must be less than or equal to 3600",
        ));
    }
    Ok(ticks)
}
