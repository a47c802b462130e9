//! `TokenBucket\Compat\RateLimiter`: a bucket of `initNum` tokens that refills in `expire` seconds.
//!
//! On Redis the bucket is the JSON object that the original component keeps under `cacheKey`. So
//! hosts with the original and hosts with this class share the bucket. On other storages it is an
//! ordinary bucket.
//!
//! Each call reads the current values of the public properties.

use super::{amount, count, fallback, run, wrong_type};
use crate::storage::{self, Servers};
use crate::{classes, tokens};
use compat::{Wait, json_bucket};
use ext_php_rs::ffi::{IS_FALSE, IS_NULL};
use gcra::{AmountError, Grain, Limit, LimitError, Step, Tokens, seconds};
use segment::By;
use std::cell::Cell;
use stores::remote::Visit;
use zend::{Call, Class, Identity, Object, State, Thrown, Zval, throw, value};

// The slots of the properties, in the order of their declaration.
const REDIS: usize = 0;
const CACHE_KEY: usize = 1;
const INIT_NUM: usize = 2;
const EXPIRE: usize = 3;
/// The storage made from the client in [`CLIENT`].
const STORAGE: usize = 4;
const CLIENT: usize = 5;

/// The state of an object: the wait after its last request.
#[derive(Clone, Debug, Default)]
pub struct RateLimiter {
    wait: Cell<Wait>,
}

impl State for RateLimiter {
    const SLOTS: usize = CLIENT + 1;
    const CLASS: &'static Class = &classes::RATE_LIMITER;

    fn cloned(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// Implements `__construct($cacheKey = '', $initNum = 30, $expire = 60)`. `$expire` is in seconds.
pub fn construct(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    let this = call.this::<RateLimiter>();
    // Without a key, leave the properties unchanged, so that a subclass can set their values.
    if call.count() == 0 || !value::is_truthy(call.arg(1)) {
        return Ok(());
    }
    for (argument, property) in [(2, INIT_NUM), (3, EXPIRE)] {
        if call.count() < argument || is_left_out(call.arg(argument)) {
            continue;
        }
        amount(call, argument)?;
        this.set_property(property, call.arg(argument).shallow_clone());
    }
    this.set_property(CACHE_KEY, call.arg(1).shallow_clone());
    Ok(())
}

/// Returns true if an argument means the default: null, false or an empty string. 0 is a valid
/// limit.
fn is_left_out(argument: &Zval) -> bool {
    let is_empty_string = argument.is_string() && value::bytes(argument).is_empty();
    is_empty_string || matches!(value::kind(argument), IS_NULL | IS_FALSE)
}

/// Implements `handler()`. Returns true if this request is allowed.
pub fn handler(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let this = call.this::<RateLimiter>();
    let wait = decide(this)?;
    this.wait.set(wait);
    value::set_bool(result, wait.admits());
    Ok(())
}

/// Implements `retryAfter(): float`. Returns the wait after the object's last request, in seconds.
pub fn retry_after(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    *result = super::retry_after(&call.this::<RateLimiter>().wait);
    Ok(())
}

fn decide(this: &Object<RateLimiter>) -> Result<Wait, Thrown> {
    // All values are copied, because PHP code that runs below, such as `__toString()` or a client's
    // method, may change the properties.
    let key = this.copy_property(CACHE_KEY);
    if !value::is_truthy(&key) {
        return Err(throw::value_error(&of("cacheKey", "must not be empty")));
    }
    let key = value::to_string(&key).ok_or_else(|| not_of_type("cacheKey", "string"))?;
    let identifier = value::bytes(&key);
    let storage = storage(this)?;
    let Some(object) = value::object(&storage) else {
        let step = step(this, Grain::Nanosecond)?;
        return Ok(step.map_or(Wait::NEVER, |(_, step)| {
            Wait::after(&step, &storage::take_here(identifier, &step))
        }));
    };
    let native = storage::of(object).ok_or_else(unfit)?;
    let Some((limit, step)) = step(this, native.grain())? else {
        return Ok(Wait::NEVER);
    };
    let Some(Servers::Redis(redis)) = native.servers()? else {
        let outcome = native.take(native.key(identifier), &step, None)?.value;
        return Ok(Wait::after(&step, &outcome));
    };
    // The prefix separates the fallback's bucket from another bucket in shared memory that has this
    // identifier.
    let bucket = [b"RateLimiter\0", identifier].concat();
    let key = redis.transport().raw_name(identifier);
    let take = |visit: &Visit<'_, _>| {
        let wait = json_bucket::take(visit, &key, &limit)?;
        count(native, &bucket, By::Store, wait.admits());
        Ok(wait)
    };
    run(redis, &key, take, |policy| {
        Wait::after(&step, &fallback(native, policy, &bucket, &step))
    })
}

/// Returns the storage in `$redis`, or the storage made from the client in `$redis`. Returns null
/// if `$redis` is null.
fn storage(this: &Object<RateLimiter>) -> Result<Zval, Thrown> {
    let redis = this.copy_property(REDIS);
    if value::kind(&redis) == IS_NULL {
        return Ok(redis);
    }
    let object = value::object(&redis).ok_or_else(unfit)?;
    if storage::of(object).is_some() || !storage::is_client(object) {
        return Ok(redis);
    }
    // The property slot keeps the client alive, so no other object can have its address and
    // identity.
    if Identity::of(&this.copy_property(CLIENT)).is_of(&redis) {
        return Ok(this.copy_property(STORAGE));
    }
    let unfit = |why: &str| throw::value_error(&of("redis", why));
    let storage = storage::storage_of(object, &unfit)?;
    this.set_property(STORAGE, storage.shallow_clone());
    this.set_property(CLIENT, redis.shallow_clone());
    Ok(storage)
}

/// Returns the limit and the step of one request. Returns `None` if `$initNum` is 0, so that no
/// request is allowed.
fn step(this: &Object<RateLimiter>, grain: Grain) -> Result<Option<(Limit, Step)>, Thrown> {
    let number = |slot, name| {
        let number = value::to_number(&this.copy_property(slot));
        number.ok_or_else(|| not_of_type(name, "int|float"))
    };
    let amount = |name, error: AmountError| throw::value_error(&of(name, &error.to_string()));
    let tokens = tokens::amount(number(INIT_NUM, "initNum")?);
    let tokens = tokens.map_err(|error| amount("initNum", error))?;
    let span = seconds::to_ticks(number(EXPIRE, "expire")?.to_float());
    let span = span.map_err(|error| amount("expire", error))?;
    if span < grain.ticks() {
        return Err(throw::value_error(&of("expire", "must be greater than 0")));
    }
    let limit = match Limit::within(tokens, span, grain) {
        Err(LimitError::NoCapacity) => return Ok(None),
        Err(_) => {
            let message = "must not be more than can be counted in $expire seconds";
            return Err(throw::value_error(&of("initNum", message)));
        }
        Ok(limit) => limit,
    };
    let cost = limit.cost(Tokens::ONE);
    Ok(cost.map(|cost| (limit, Step::new(cost, limit.span()))))
}

fn of(property: &str, message: &str) -> String {
    format!("TokenBucket\\Compat\\RateLimiter::${property} {message}")
}

fn not_of_type(property: &str, expected: &str) -> Thrown {
    wrong_type(&of(property, &format!("must be of type {expected}")))
}

fn unfit() -> Thrown {
    throw::type_error(&of(
        "redis",
        "must be one of the extension's own storages, a client of type Redis, or null",
    ))
}
