//! `TokenBucket\Compat\MinuteWindow`: limits the requests in a window of whole minutes. Denied
//! requests count, too.
//!
//! On memcached and Redis there is one counter per minute. Its name is the prefix, the address and
//! `date("dHi")` in the script's time zone. A call increments the counter of this minute, then sums
//! the counters of all minutes in the window. If two calls race, the later call gets the greater
//! count. On other stores a call is a step that charges denials.

use super::{count, fallback, must_be_one_server, native, run, storage as argument};
use crate::storage::{Servers, Storage};
use crate::{classes, exceptions};
use compat::Wait;
use compat::charged::charged;
use compat::minutes::{self, CounterGroup, Life, MOST_MINUTES, MinuteCounters};
use gcra::{Step, TICKS_PER_SECOND, wall_clock};
use segment::By;
use std::cell::Cell;
use stores::remote::{Remote, Visit};
use zend::{Call, Class, State, Thrown, Zval, system, throw, value};

// The slots of the properties, in the order of their declaration.
const STORAGE: usize = 0;
const IP: usize = 1;
const PREFIX: usize = 2;

/// The date format at the end of a counter's name: day, hour and minute.
const NAME: &std::ffi::CStr = c"dHi";

/// The state of an object: the wait after its last request.
#[derive(Clone, Debug, Default)]
pub struct Window {
    wait: Cell<Wait>,
}

impl State for Window {
    const SLOTS: usize = PREFIX + 1;
    const CLASS: &'static Class = &classes::MINUTE_WINDOW;

    fn cloned(&self) -> Option<Self> {
        Some(self.clone())
    }
}

pub fn construct(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    let storage = argument(call)?;
    must_be_one_server(&storage)?;
    let ip = call.untyped_string(2)?;
    let prefix = call.optional(3, Call::untyped_string)?;
    let prefix = prefix.unwrap_or_else(|| value::of_bytes(b"rate"));
    let this = call.this::<Window>();
    this.set_property(STORAGE, storage);
    this.set_property(IP, ip);
    this.set_property(PREFIX, prefix);
    Ok(())
}

/// Implements `limitRequestsInMinutes($allowedRequests, $minutes)`. Throws an exception if the
/// limit is exceeded.
pub fn limit_requests_in_minutes(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    let allowed = call.untyped_number(1)?.to_float();
    if allowed.is_nan() {
        return Err(throw::argument_value(1, "must not be NAN"));
    }
    let minutes = minutes_argument(call)?;
    let this = call.this::<Window>();
    // This keeps the storage alive, because PHP code that runs below may give the object another
    // one.
    let held = this.copy_property(STORAGE);
    let request = WindowRequest {
        native: native::<Window>(&held)?,
        prefix: this.copy_property(PREFIX),
        ip: this.copy_property(IP),
        allowed: allowed.floor().max(0.0),
        minutes,
    };
    let wait = request.wait()?;
    this.wait.set(wait);
    if wait.admits() {
        Ok(())
    } else {
        Err(exceptions::rate_exceeded())
    }
}

/// Implements `retryAfter(): float`. Returns the wait after the object's last request, in seconds.
pub fn retry_after(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    *result = super::retry_after(&call.this::<Window>().wait);
    Ok(())
}

/// Reads the argument `$minutes`, which must be a whole number from 1 to [`MOST_MINUTES`].
fn minutes_argument(call: &mut Call<'_>) -> Result<u32, Thrown> {
    let minutes = call.untyped_number(2)?.to_float();
    if minutes.fract() != 0.0 || !(1.0..=f64::from(MOST_MINUTES)).contains(&minutes) {
        let message = "must be a whole number from 1 to 40320";
        return Err(throw::argument_value(2, message));
    }
    // The cast is exact, because the number is whole and its range was checked above.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    Ok(minutes as u32)
}

struct WindowRequest<'a> {
    native: &'a dyn Storage,
    prefix: Zval,
    ip: Zval,
    /// The allowed requests in the window. The number is whole or infinite.
    allowed: f64,
    minutes: u32,
}

impl WindowRequest<'_> {
    /// Counts the request. Returns the wait until the next request is allowed.
    fn wait(&self) -> Result<Wait, Thrown> {
        match self.native.servers()? {
            Some(Servers::Redis(redis)) => return self.by_counters(redis),
            Some(Servers::Memcached(memcached)) => return self.by_counters(memcached),
            None => {}
        }
        let identifier = self.bucket();
        let key = self.native.key(&identifier);
        let step = self.step();
        let outcome = self.native.take(key, &step, None)?.value;
        Ok(Wait::after(&step, &outcome))
    }

    fn by_counters<T: MinuteCounters>(&self, remote: &Remote<'static, T>) -> Result<Wait, Thrown> {
        // The cast fits, because the seconds stay below 2^33 for two centuries.
        let now = wall_clock().as_secs().cast_signed();
        let (prefix, ip) = (value::bytes(&self.prefix), value::bytes(&self.ip));
        let names = minutes::window(self.minutes, now, |second| {
            [prefix, ip, &system::local_date(NAME, second)].concat()
        });
        let (mut counts, mut life) = (vec![0; names.len()], Some(Life::new(self.minutes, now)));
        for CounterGroup { places, keys } in remote.transport().by_server(&names) {
            // This minute's counter is the first name, so it is on the first server. Only that call
            // gets the lifetime of the counter.
            let (first, life) = (keys.first().cloned(), life.take());
            let counted = |visit: &Visit<'_, T>| T::count(visit, &keys, life).map(Ok);
            let counted = run(remote, &first.unwrap_or_default(), counted, |policy| {
                let step = self.step();
                let outcome = fallback(self.native, policy, &self.bucket(), &step);
                Err(Wait::after(&step, &outcome))
            });
            match counted? {
                Ok(found) => {
                    for (place, count) in places.into_iter().zip(found) {
                        counts[place] = count;
                    }
                }
                // The store failed, and its policy decided.
                Err(wait) => return Ok(wait),
            }
        }
        let wait = minutes::wait(&counts, self.allowed, self.minutes, now);
        count(self.native, &self.bucket(), By::Store, wait.admits());
        Ok(wait)
    }

    /// Returns the bucket's identifier on storages without counters. Unlike a counter's name, the
    /// identifier is unique to this prefix and address.
    fn bucket(&self) -> Vec<u8> {
        let (prefix, ip) = (value::bytes(&self.prefix), value::bytes(&self.ip));
        let head = format!("minute-window:{}:{}:", self.minutes, prefix.len());
        [head.as_bytes(), prefix, ip].concat()
    }

    fn step(&self) -> Step {
        let window = u64::from(self.minutes) * 60 * TICKS_PER_SECOND;
        charged(self.allowed, window, self.native.grain())
    }
}
