//! `TokenBucket\Compat\ClientThrottle`: is a client over its limit in a window? TRUE if so.
//!
//! On memcached its record is the serialised array that ext-memcache writes, changed inside of the lock that
//! others take who keep such records; elsewhere it is a step. Denied calls are charged either way.
//!
//! It lets pass, and warns in the words that people look for in their logs, when the store gives no answer
//! and the storage's policy is `Local`, which is the default, or `Allow`; `Deny` and `Throw` mean what they
//! say.

use super::{native, storage as argument};
use crate::classes;
use crate::exceptions;
use crate::storage::{self, RemoteStorage, Storage, StorageClass};
use crate::zend::{Call, Class, Object, Thrown, Zval, invoke, throw, value};
use tokenbucket_compat::charged::charged;
use tokenbucket_compat::throttle::{self, Items, Throttle};
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
/// What a record's key is followed by in its lock's.
const LOCK: &[u8] = b"_lock";

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
        return Err(throw::argument_value(
            3,
            "must be less than or equal to 1.0E+9",
        ));
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

/// Argument `number`, finite and not negative.
fn amount(call: &mut Call<'_>, number: u32) -> Result<f64, Thrown> {
    let amount = call.untyped_number(number)?;
    match amount.tokens() {
        Ok(_) => Ok(amount.to_float()),
        Err(error) => Err(exceptions::bad_amount(number, error)),
    }
}

/// `$this->key($id)`, as a string.
fn key_of(this: &Object<Limiter>, id: &Zval) -> Result<Zval, Thrown> {
    let key = invoke::method(this.zend(), "key", &mut [id.shallow_clone()])?;
    value::to_string(&key).ok_or_else(|| {
        if throw::is_pending() {
            return Thrown;
        }
        let name = classes::CLIENT_THROTTLE.name();
        throw::type_error(&format!(
            "{}::key() must return a string",
            name.to_string_lossy()
        ))
    })
}

/// Takes a token. Returns whether it was there; `None` if the store gave no answer and its policy is not a
/// denial.
fn take(native: &dyn Storage, key: &[u8], limit: f64, window: f64) -> Result<Option<bool>, Thrown> {
    let bucket = Bucket {
        identifier: &[b"client-throttle:".as_slice(), key].concat(),
        step: charged(
            limit,
            seconds::to_ticks(window).unwrap_or(0),
            native.grain(),
        ),
    };
    if let Some(memcached) = storage::remote::<Memcached>(native) {
        // Up to 10^12.
        #[allow(clippy::cast_possible_truncation)]
        let milliseconds = (window * 1e3).ceil() as i64;
        // The arguments were checked before.
        let limits = Throttle::new(limit, milliseconds).ok_or(Thrown)?;
        return on_memcached(memcached, key, &limits, &bucket);
    }
    if let Some(redis) = storage::remote::<Redis>(native) {
        return on_redis(redis, &bucket);
    }
    let granted = native.take(native.key(bucket.identifier), &bucket.step, None)?;
    Ok(Some(granted.granted()))
}

/// The bucket that decides where there is no record of ext-memcache's.
struct Bucket<'a> {
    identifier: &'a [u8],
    step: Step,
}

fn on_memcached(
    storage: &Object<RemoteStorage<Memcached>>,
    key: &[u8],
    limits: &Throttle,
    bucket: &Bucket<'_>,
) -> Result<Option<bool>, Thrown> {
    ask_openly(
        storage,
        |memcached| memcached.shared_key(key, LOCK.len()),
        |memcached, deadline| {
            let items = Items {
                record: &memcached.shared_key(key, LOCK.len()),
                lock: &memcached.shared_key(&[key, LOCK].concat(), 0),
            };
            throttle::take(memcached, items, limits, deadline)
        },
        bucket,
    )
}

fn on_redis(
    storage: &Object<RemoteStorage<Redis>>,
    bucket: &Bucket<'_>,
) -> Result<Option<bool>, Thrown> {
    ask_openly(
        storage,
        |redis| redis.name(bucket.identifier),
        |redis, deadline| {
            let ask = Ask {
                name: redis.name(bucket.identifier),
                step: bucket.step,
                first: None,
                seen: None,
            };
            Ok(redis.take(&ask, deadline)?.outcome.granted())
        },
        bucket,
    )
}

/// Asks the store. Returns `None`, without a warning, if the store gave no answer and its policy is not a
/// denial. An invalid record is an answer: the policy decides about the bucket then, as everywhere.
fn ask_openly<T: StorageClass>(
    storage: &Object<RemoteStorage<T>>,
    name: impl FnOnce(&T) -> Vec<u8>,
    ask: impl FnOnce(&T, Ticks) -> Result<bool, Cause>,
    bucket: &Bucket<'_>,
) -> Result<Option<bool>, Thrown> {
    let remote = storage.store()?;
    let answer = remote.ask(
        &name(remote.transport()),
        |transport, deadline| ask(transport, deadline).map(Some),
        |policy, cause| match (policy, cause) {
            (OnFailure::Deny | OnFailure::Throw, _) | (_, Cause::Record) => {
                Some(storage.stand_in(policy, bucket.identifier, &bucket.step))
            }
            _ => None,
        },
    );
    match answer {
        Ok(Answer { value: None, .. }) => Ok(None),
        answer => storage::tell(remote, answer, || None),
    }
}
