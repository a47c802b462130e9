//! `TokenBucket\Compat\ClientThrottle`: is a client over its limit in a window? TRUE if so.
//!
//! On memcached its record is the serialised array that ext-memcache writes, changed inside of the lock that
//! others take who keep such records; elsewhere it is a step. Denied calls are charged either way.
//!
//! It lets pass, and warns in the words that people look for in their logs, when the store gives no answer
//! and the storage's policy is `Local`, which is the default, or `Allow`; `Deny` and `Throw` mean what they
//! say.

use super::{amount, native, storage as argument, wrong_type};
use crate::classes;
use crate::storage::{self, RemoteStorage, Storage, StorageClass};
use crate::zend::{Call, Class, Object, Thrown, Zval, invoke, throw, value};
use tokenbucket_compat::charged::charged;
use tokenbucket_compat::throttle::{self, Throttle};
use tokenbucket_core::remote::memcached::Memcached;
use tokenbucket_core::remote::redis::Redis;
use tokenbucket_core::remote::{Answer, Ask, Cause, OnFailure, Transport};
use tokenbucket_core::{Step, Ticks, seconds};

/// The slot of the property `$storage`.
const STORAGE: usize = 0;
/// The window of who names none, in seconds.
const WINDOW: f64 = 300.0;
/// The longest window, in seconds: 31 years.
const LONGEST_WINDOW: f64 = 1e9;

/// All that an object keeps is in its property.
#[derive(Clone, Debug, Default)]
pub struct Limiter;

impl super::Limiter for Limiter {
    const SLOTS: usize = STORAGE + 1;

    fn class() -> &'static Class {
        &classes::CLIENT_THROTTLE
    }
}

pub fn construct(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    let storage = argument(call)?;
    call.this::<Limiter>().set_property(STORAGE, storage);
    Ok(())
}

/// `key($id)`: what a client's bucket is called, in all applications alike. Meant to be overridden.
pub fn key(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let id = call.untyped_string(1)?;
    *result = value::of_bytes(&[b"throttle_".as_slice(), value::bytes(&id)].concat());
    Ok(())
}

/// `check($id, $limit, $window = 300): bool`
pub fn check(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let limit = amount(call, 2)?;
    let window = if call.count() == 3 {
        amount(call, 3)?
    } else {
        WINDOW
    };
    if window == 0.0 {
        return Err(throw::argument_value(3, "must be greater than 0"));
    }
    if window > LONGEST_WINDOW {
        let message = "must be less than or equal to 1.0E+9";
        return Err(throw::argument_value(3, message));
    }
    let this = call.this::<Limiter>();
    let key = key_of(this, call.arg(1))?;
    // Held: what runs below may give the object another.
    let held = this.copy_property(STORAGE);
    let native = native::<Limiter>(&held)?;
    // Less than a token is never enough for one.
    let granted = if limit < 1.0 {
        Some(false)
    } else {
        take(native, value::bytes(&key), limit, window)?
    };
    if granted.is_none() {
        let warning = [b"Unable to obtain lock ob ".as_slice(), value::bytes(&key)].concat();
        throw::user_warning(warning)?;
    }
    value::set_bool(result, granted == Some(false));
    Ok(())
}

/// `$this->key($id)`, as a string.
fn key_of(this: &Object<Limiter>, id: &Zval) -> Result<Zval, Thrown> {
    let key = invoke::method(this.zend(), "key", &mut [id.shallow_clone()])?;
    value::to_string(&key).ok_or_else(|| {
        wrong_type("TokenBucket\\Compat\\ClientThrottle::key() must return a string")
    })
}

/// Takes a token. Returns whether it was there; `None` if the store gave no answer and its policy is not a
/// denial.
fn take(native: &dyn Storage, key: &[u8], limit: f64, window: f64) -> Result<Option<bool>, Thrown> {
    let ticks = seconds::to_ticks(window).unwrap_or(0);
    let step = charged(limit, ticks, native.grain());
    let identifier = [b"client-throttle:".as_slice(), key].concat();
    if let Some(memcached) = storage::remote::<Memcached>(native) {
        // Up to 10^12.
        #[allow(clippy::cast_possible_truncation)]
        let milliseconds = (window * 1e3).ceil() as i64;
        // The arguments were checked before.
        let limits = Throttle::new(limit, milliseconds).ok_or(Thrown)?;
        let record = |memcached: &Memcached| throttle::record(memcached, key);
        let ask =
            |memcached: &Memcached, deadline| throttle::take(memcached, key, &limits, deadline);
        return ask_openly(memcached, &identifier, &step, record, ask);
    }
    if let Some(redis) = storage::remote::<Redis>(native) {
        let name = |redis: &Redis| redis.name(&identifier);
        return ask_openly(redis, &identifier, &step, name, |redis, deadline| {
            let ask = Ask {
                name: name(redis),
                step,
                first: None,
                seen: None,
            };
            Ok(redis.take(&ask, deadline)?.outcome.granted())
        });
    }
    let outcome = native.take(native.key(&identifier), &step, None)?;
    Ok(Some(outcome.granted()))
}

/// Asks the store, which calls the record `name`. Returns `None`, without a warning, if the store
/// gave no answer and its policy is not a denial. An invalid record is an answer: the policy
/// decides about `step` on the bucket `identifier` then, as everywhere.
fn ask_openly<T: StorageClass>(
    storage: &Object<RemoteStorage<T>>,
    identifier: &[u8],
    step: &Step,
    name: impl FnOnce(&T) -> Vec<u8>,
    ask: impl FnOnce(&T, Ticks) -> Result<bool, Cause>,
) -> Result<Option<bool>, Thrown> {
    let remote = storage.store()?;
    let answer = remote.ask(
        &name(remote.transport()),
        |transport, deadline| ask(transport, deadline).map(Some),
        |policy, cause| match (policy, cause) {
            (OnFailure::Deny | OnFailure::Throw, _) | (_, Cause::Record) => {
                Some(storage.stand_in(policy, identifier, step))
            }
            _ => None,
        },
    );
    match answer {
        Ok(Answer { value: None, .. }) => Ok(None),
        answer => storage::tell(remote, answer, || None),
    }
}
