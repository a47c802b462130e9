//! Reads the arguments of the storages' constructors and of `fromClient()`.

use crate::{classes, tokens};
use gcra::{TICKS_PER_MICROSECOND, TICKS_PER_SECOND, Ticks, ahead};
use stores::remote::{OnFailure, Settings};
use zend::{Call, State, Thrown, class, throw, value};

/// The greatest `$timeout` and the greatest `$denialCacheMaxAge` in ticks: an hour.
const MOST: Ticks = 3_600 * TICKS_PER_SECOND;
/// The default of `$denialCacheMaxAge` in the stub, in ticks.
const DENIAL_CACHE_MAX_AGE: Ticks = TICKS_PER_SECOND;
/// The default of `$prefix` in the stub.
pub const DEFAULT_PREFIX: &[u8] = b"tokenbucket:";
/// The defaults of the other arguments in the stub.
pub const DEFAULTS: Settings = Settings {
    timeout: TICKS_PER_SECOND / 20,
    on_failure: OnFailure::Local,
    denial_cache_max_age: Some(DENIAL_CACHE_MAX_AGE),
    take_ahead: 0,
};

/// The prefix and the settings of a storage on servers.
pub type Wanted<'a> = (&'a [u8], Settings);

/// Reads the arguments from number 2 on: `$prefix`, `$timeout`, and those of [`policy`]. Returns
/// the prefix and the settings.
pub fn remote<'a>(call: &mut Call<'a>) -> Result<Wanted<'a>, Thrown> {
    let prefix = call.optional(2, Call::string)?.unwrap_or(DEFAULT_PREFIX);
    let timeout = timeout(call, 3)?;
    let mut settings = policy(call, 4, DEFAULTS)?;
    settings.timeout = timeout;
    Ok((prefix, settings))
}

/// Reads argument `number`, a `$timeout`.
pub fn timeout(call: &mut Call<'_>, number: u32) -> Result<Ticks, Thrown> {
    if call.count() >= number && call.float(number)? <= 0.0 {
        return Err(throw::argument_value(number, "must be greater than 0"));
    }
    Ok(call.optional(number, span)?.unwrap_or(DEFAULTS.timeout))
}

/// Reads the arguments from number `first` on: `$onFailure`, `$denialCache`, `$denialCacheMaxAge`
/// and `$takeAhead`. Returns `defaults` with these settings replaced.
pub fn policy(call: &mut Call<'_>, first: u32, defaults: Settings) -> Result<Settings, Thrown> {
    let on_failure = call.optional(first, on_failure)?;
    let denial_cache = call.optional(first + 1, Call::bool)?.unwrap_or(true);
    let max_age = call
        .optional(first + 2, span)?
        .unwrap_or(DENIAL_CACHE_MAX_AGE);
    let take_ahead = call.optional(first + 3, span_ahead)?;
    let take_ahead = take_ahead.unwrap_or(defaults.take_ahead);
    if take_ahead > 0 && !denial_cache {
        let message = "must be 0 if $denialCache is false";
        return Err(throw::argument_value(first + 3, message));
    }
    Ok(Settings {
        on_failure: on_failure.unwrap_or(defaults.on_failure),
        denial_cache_max_age: denial_cache.then_some(max_age),
        take_ahead: whole_micros(take_ahead),
        ..defaults
    })
}

/// Returns the settings of a storage whose DSN says how far it takes ahead. Without the denial
/// cache the DSN has no effect, so that an operator's tool can use the DSN of an application.
pub fn by_default(settings: Settings, take_ahead: Ticks) -> Settings {
    if settings.denial_cache_max_age.is_none() {
        return settings;
    }
    Settings {
        take_ahead: whole_micros(take_ahead),
        ..settings
    }
}

/// Rounds down to whole microseconds, the unit of Redis.
const fn whole_micros(ticks: Ticks) -> Ticks {
    ticks - ticks % TICKS_PER_MICROSECOND
}

/// Refuses `$takeAhead` of a storage that cannot take ahead. Throws `LogicException`.
pub fn refuse_take_ahead(settings: &Settings) -> Result<(), Thrown> {
    if settings.take_ahead == 0 {
        return Ok(());
    }
    Err(throw::logic(
        "$takeAhead must be 0, because only TokenBucketStorageRedis can take tokens ahead",
    ))
}

/// Reads argument `number`, which must be a case of `TokenBucket\OnFailure`.
fn on_failure(call: &mut Call<'_>, number: u32) -> Result<OnFailure, Thrown> {
    let name = class::case_name(call.object_of(number, &classes::ON_FAILURE)?);
    match value::bytes(&name) {
        b"Local" => Ok(OnFailure::Local),
        b"Allow" => Ok(OnFailure::Allow),
        b"Deny" => Ok(OnFailure::Deny),
        b"Throw" => Ok(OnFailure::Throw),
        // Unreachable, because the enum has only these cases.
        _ => Err(Thrown),
    }
}

/// Converts argument `number` from seconds, at most an hour, to ticks.
fn span(call: &mut Call<'_>, number: u32) -> Result<Ticks, Thrown> {
    span_up_to(MOST, call, number)
}

/// Converts argument `number` from seconds, at most [`ahead::MOST`], to ticks.
fn span_ahead(call: &mut Call<'_>, number: u32) -> Result<Ticks, Thrown> {
    span_up_to(ahead::MOST, call, number)
}

fn span_up_to(most: Ticks, call: &mut Call<'_>, number: u32) -> Result<Ticks, Thrown> {
    let ticks = tokens::ticks(call.float(number)?, number)?;
    if ticks > most {
        let message = format!("must be less than or equal to {}", most / TICKS_PER_SECOND);
        return Err(throw::argument_value(number, &message));
    }
    Ok(ticks)
}

/// Throws the `Error` for an object whose constructor is called twice.
pub fn constructed_already<S: State>() -> Thrown {
    let class = S::CLASS.name();
    throw::error(&format!("{class} has already been constructed"))
}

/// Throws the `Error` for an object whose constructor was not called.
pub fn not_constructed<S: State>() -> Thrown {
    let class = S::CLASS.name();
    throw::error(&format!("The {class} object has not been constructed"))
}
