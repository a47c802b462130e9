//! `TokenBucket\Compat\ClientThrottle`: returns TRUE if a client is over its limit in a window.
//!
//! On memcached the record is the serialised array that ext-memcache writes. A call changes the
//! record under the same lock as the original class. On other stores a call is a step. Denied calls
//! are charged in both cases.
//!
//! If the store fails, the storage's failure policy decides. `Local`, which is the default, and
//! `Allow` allow the call and report the failure by `tokenbucket.failure_report`. The report has
//! the text of the original class, because people search their logs for that text. `Deny` and
//! `Throw` work as in other limiters.

use super::{amount, count, fallback, native, storage as argument, wrong_type};
use crate::storage::{Servers, Storage};
use crate::{classes, exceptions};
use compat::Wait;
use compat::charged::charged;
use compat::throttle::{self, Throttle};
use gcra::{Step, seconds};
use segment::By;
use std::cell::Cell;
use stores::printable;
use stores::remote::{Answer, Cause, OnFailure, Redis, Remote, StepRequest, Transport, Visit};
use zend::{Call, Class, Object, State, Thrown, Zval, invoke, throw, value};

/// The property slot of `$storage`.
const STORAGE: usize = 0;
/// The default window, in seconds.
const WINDOW: f64 = 300.0;
/// The longest window, in seconds: 31 years.
const LONGEST_WINDOW: f64 = 1e9;

/// The state of an object: the wait after its last call.
#[derive(Clone, Debug, Default)]
pub struct ClientThrottle {
    wait: Cell<Wait>,
}

impl State for ClientThrottle {
    const SLOTS: usize = STORAGE + 1;
    const CLASS: &'static Class = &classes::CLIENT_THROTTLE;

    fn cloned(&self) -> Option<Self> {
        Some(self.clone())
    }
}

pub fn construct(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    let storage = argument(call)?;
    call.this::<ClientThrottle>().set_property(STORAGE, storage);
    Ok(())
}

/// Implements `key($id)`. Returns the identifier of a client's bucket. The identifier is the same
/// in all applications unless a subclass overrides this method.
pub fn key(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let id = call.untyped_string(1)?;
    *result = value::of_bytes(&[b"throttle_".as_slice(), value::bytes(&id)].concat());
    Ok(())
}

/// Implements `check($id, $limit, $window = 300): bool`. Returns true if the client is over the
/// limit. `$window` is in seconds.
pub fn check(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let limit = amount(call, 2)?;
    let window = call.optional(3, amount)?.unwrap_or(WINDOW);
    if window == 0.0 {
        return Err(throw::argument_value(3, "must be greater than 0"));
    }
    if window > LONGEST_WINDOW {
        let message = "must be less than or equal to 1.0E+9";
        return Err(throw::argument_value(3, message));
    }
    let this = call.this::<ClientThrottle>();
    let key = key_of(this, call.arg(1))?;
    // This keeps the storage alive, because PHP code that runs below may give the object another
    // one.
    let held = this.copy_property(STORAGE);
    let native = native::<ClientThrottle>(&held)?;
    // A limit below one token never grants a call.
    let wait = if limit < 1.0 {
        Some(Wait::NEVER)
    } else {
        take(native, value::bytes(&key), limit, window)?
    };
    this.wait.set(wait.unwrap_or_default());
    if wait.is_none() {
        let message = format!("Unable to obtain lock ob {}", printable(value::bytes(&key)));
        exceptions::report(&message, throw::user_warning)?;
    }
    value::set_bool(result, wait.is_some_and(|wait| !wait.admits()));
    Ok(())
}

/// Implements `retryAfter(): float`. Returns the wait after the object's last call, in seconds.
pub fn retry_after(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    *result = super::retry_after(&call.this::<ClientThrottle>().wait);
    Ok(())
}

fn key_of(this: &Object<ClientThrottle>, id: &Zval) -> Result<Zval, Thrown> {
    let key = invoke::method(this.zend(), "key", &mut [id.shallow_clone()])?;
    value::to_string(&key).ok_or_else(|| {
        wrong_type("TokenBucket\\Compat\\ClientThrottle::key() must return a string")
    })
}

/// Takes a token. Returns the wait until the bucket holds a token. Returns `None` if the store
/// failed and the policy is `Local` or `Allow`.
fn take(native: &dyn Storage, key: &[u8], limit: f64, window: f64) -> Result<Option<Wait>, Thrown> {
    let ticks = seconds::to_ticks(window).unwrap_or(0);
    let step = charged(limit, ticks, native.grain());
    let identifier = [b"client-throttle:".as_slice(), key].concat();
    match native.servers()? {
        Some(Servers::Memcached(memcached)) => {
            // The cast is exact, because the value is at most 10^12.
            #[allow(clippy::cast_possible_truncation)]
            let milliseconds = (window * 1e3).ceil() as i64;
            // This cannot fail, because the arguments were checked before.
            let limits = Throttle::new(limit, milliseconds).ok_or(Thrown)?;
            let name = throttle::record(memcached.transport(), key);
            let take = |visit: &Visit<'_, _>| throttle::take(visit, key, &limits);
            run_openly(native, memcached, &name, &identifier, &step, take)
        }
        Some(Servers::Redis(redis)) => {
            let request = StepRequest::new(redis.transport().name(&identifier), step);
            let take = |visit: &Visit<'_, Redis>| {
                Ok(Wait::after(&step, &Redis::take(visit, &request)?.outcome))
            };
            run_openly(native, redis, &request.name, &identifier, &step, take)
        }
        None => {
            let outcome = native.take(native.key(&identifier), &step, None)?.value;
            Ok(Some(Wait::after(&step, &outcome)))
        }
    }
}

/// Runs `take` on the store, for the record `name`. If the store failed and the policy is `Local`
/// or `Allow`, returns `None` without a warning. For an invalid record, the policy runs `step` on
/// the bucket `identifier`, as in other limiters.
fn run_openly<T: Transport>(
    native: &dyn Storage,
    remote: &Remote<'static, T>,
    name: &[u8],
    identifier: &[u8],
    step: &Step,
    mut take: impl FnMut(&Visit<'_, T>) -> Result<Wait, Cause>,
) -> Result<Option<Wait>, Thrown> {
    let answer = remote.operate(
        name,
        |visit| {
            let wait = take(visit)?;
            count(native, identifier, By::Store, wait.admits());
            Ok(Some(wait))
        },
        |policy, cause| match (policy, cause) {
            (OnFailure::Deny | OnFailure::Throw, _) | (_, Cause::Record) => {
                let outcome = fallback(native, policy, identifier, step);
                Some(Wait::after(step, &outcome))
            }
            _ => {
                count(native, identifier, By::Policy, true);
                None
            }
        },
    );
    match answer {
        Ok(Answer { value: None, .. }) => Ok(None),
        answer => exceptions::throw_or_report(answer).map(|it| it.value),
    }
}
