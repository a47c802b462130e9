//! How remote storages are made: the arguments of a constructor or of `fromClient()`.

use super::on_failure;
use crate::exceptions;
use crate::zend::{Call, Thrown, throw};
use tokenbucket_core::remote::{OnFailure, Settings};
use tokenbucket_core::{TICKS_PER_SECOND, Ticks, seconds};

/// The greatest timeout, and the greatest age of a hint: an hour.
const MOST: Ticks = 3_600 * TICKS_PER_SECOND;
/// What the stub says.
const DEFAULT_TIMEOUT: Ticks = TICKS_PER_SECOND / 20;
/// What the stub says.
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
