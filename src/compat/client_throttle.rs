//! `TokenBucket\Compat\ClientThrottle`: is a client over its limit in a window? TRUE if so.
//!
//! On memcached its record is the serialised array that ext-memcache writes, changed inside of the lock that
//! others take who keep such records; elsewhere it is a step. Denied calls are charged either way.
//!
//! It lets pass, and warns in the words that people look for in their logs, when the store gives no answer
//! and the storage's policy is `Local`, which is the default, or `Allow`; `Deny` and `Throw` mean what they
//! say.

use super::{native, storage as argument};
use crate::declared;
use crate::exceptions;
use crate::storage::{self, Storage, take_openly};
use crate::zend::{Call, Class, Object, State, Thrown, Zval, invoke, throw, value};
use tokenbucket_core::charged::charged;
use tokenbucket_core::record::serialized_bucket::Throttle;
use tokenbucket_core::remote::memcached::Memcached;
use tokenbucket_core::remote::memcached::throttle::Items;
use tokenbucket_core::{Step, seconds};

/// The slot of the property `$storage`.
const STORAGE: usize = 0;
/// The window of who names none, in seconds.
const WINDOW: f64 = 300.0;
/// The longest window, in seconds: 31 years.
const LONGEST_WINDOW: f64 = 1e9;
/// What a record's key is followed by in its lock's.
const LOCK: &[u8] = b"_lock";

/// All that an object keeps is in its property.
#[derive(Debug)]
pub struct Limiter;

impl State for Limiter {
    const SLOTS: usize = STORAGE + 1;

    fn class() -> &'static Class {
        &declared::CLIENT_THROTTLE
    }

    fn born() -> Self {
        Self
    }

    fn cloned(&self) -> Option<Self> {
        Some(Self)
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
        let name = declared::CLIENT_THROTTLE.name();
        throw::type_error(&format!(
            "{}::key() must return a string",
            name.to_string_lossy()
        ))
    })
}

/// Takes a token: whether it was there, `None` if nobody knows.
fn take(native: &dyn Storage, key: &[u8], limit: f64, window: f64) -> Result<Option<bool>, Thrown> {
    let identifier = [b"client-throttle:".as_slice(), key].concat();
    let step = step(native, limit, window);
    let Some(storage) = storage::remote::<Memcached>(native) else {
        return take_openly(native, &identifier, &step);
    };
    // Up to 10^12.
    #[allow(clippy::cast_possible_truncation)]
    let milliseconds = (window * 1e3).ceil() as i64;
    // What is wrong with either was said above.
    let throttle = Throttle::new(limit, milliseconds).ok_or(Thrown)?;
    storage.ask_openly(
        |memcached| memcached.shared_key(key, LOCK.len()),
        |memcached, deadline| {
            let items = Items {
                record: &memcached.shared_key(key, LOCK.len()),
                lock: &memcached.shared_key(&[key, LOCK].concat(), 0),
            };
            memcached.throttle(items, &throttle, deadline)
        },
        |policy| storage.stand_in(policy, &identifier, &step),
    )
}

fn step(native: &dyn Storage, limit: f64, window: f64) -> Step {
    let window = seconds::to_ticks(window).unwrap_or(0);
    charged(limit, window, native.grain())
}
