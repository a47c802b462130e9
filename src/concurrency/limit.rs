//! `TokenBucket\ConcurrencyLimit`: at most a number of permits of an identifier are held at once.

use super::permit::Prepared;
use super::wait::{Place, may_end, wait};
use crate::storage::{self, HeldPermit, PermitPlace, Reported, Storage, acquire_in_segment};
use crate::token_bucket::wait::{patience, until};
use crate::{classes, exceptions, tokens};
use gcra::{Key, Row, Ticks};
use segment::{Acquired, MAX_LIMIT, Refusal};
use std::cell::Cell;
use stores::remote::Answer;
use zend::{Call, Class, Held, Object, State, Thrown, Zval, throw, value};

// The slots of the properties, in the order of their declaration.
const STORAGE: usize = 0;
const IDENTIFIER: usize = 1;
const LIMIT: usize = 2;
const LEASE: usize = 3;

/// The state of an object.
#[derive(Clone, Debug, Default)]
pub struct ConcurrencyLimit {
    /// 0 until the constructor has run.
    limit: Cell<u16>,
    /// The hash of the key and the row that counts its decisions, if the permits are in the segment
    /// and the key cannot change.
    hashed: Cell<Option<Hashed>>,
    /// The length of a lease on a server.
    lease: Cell<Ticks>,
}

/// A key without its identifier, which permits in the segment do not need.
#[derive(Clone, Copy, Debug)]
struct Hashed {
    /// The hash in two halves, because a 128-bit integer would need an alignment of 16 bytes.
    halves: [u64; 2],
    row: Row,
}

impl State for ConcurrencyLimit {
    const SLOTS: usize = LEASE + 1;
    const CLASS: &'static Class = &classes::CONCURRENCY_LIMIT;

    fn cloned(&self) -> Option<Self> {
        Some(self.clone())
    }
}

pub fn construct(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    let object = call.object_of(1, &classes::TOKEN_BUCKET_STORAGE)?;
    let storage = object.shallow_clone();
    call.string(2)?;
    let identifier = call.arg(2).shallow_clone();
    let limit = permits(3, call.int(3)?)?;
    let lease = call.optional(4, lease)?.unwrap_or(60.0);
    let ticks = tokens::span(lease, 4)?;
    if permits_of(&storage).is_none() {
        return Err(unsupported());
    }
    let this = call.this::<ConcurrencyLimit>();
    if this.limit.get() != 0 {
        return Err(storage::constructed_already::<ConcurrencyLimit>());
    }
    this.limit.set(limit);
    this.lease.set(ticks);
    this.hashed
        .set(hashed_in_segment(&storage, value::bytes(&identifier)));
    let mut shown = Zval::new();
    shown.set_long(i64::from(limit));
    this.set_property(STORAGE, storage);
    this.set_property(IDENTIFIER, identifier);
    this.set_property(LIMIT, shown);
    this.set_property(LEASE, value::of_float(lease));
    Ok(())
}

/// Returns the value of argument `number`, a number of permits.
fn permits(number: u32, value: i64) -> Result<u16, Thrown> {
    let permits = u16::try_from(value).ok();
    let permits = permits.filter(|it| (1..=MAX_LIMIT).contains(it));
    permits.ok_or_else(|| {
        let message = format!("must be between 1 and {MAX_LIMIT}");
        throw::argument_value(number, &message)
    })
}

/// Returns argument `number`, the lease in seconds.
fn lease(call: &mut Call<'_>, number: u32) -> Result<f64, Thrown> {
    let lease = call.float(number)?;
    let message = match lease {
        _ if lease.is_nan() => "must not be NAN",
        f64::INFINITY => "must be finite",
        _ if lease <= 0.0 => "must be greater than 0",
        _ => return Ok(lease),
    };
    Err(throw::argument_value(number, message))
}

fn permits_of(storage: &Zval) -> Option<PermitPlace> {
    let storage = value::object(storage).and_then(storage::of)?;
    storage.permits()
}

/// Returns the value of [`ConcurrencyLimit::hashed`].
// Each cast keeps 64 bits of the hash on purpose.
#[allow(clippy::cast_possible_truncation)]
fn hashed_in_segment(storage: &Zval, identifier: &[u8]) -> Option<Hashed> {
    let storage = value::object(storage).and_then(storage::of)?;
    if !storage.is_direct() || !storage.can_be_held() {
        return None;
    }
    let Key { hash, row, .. } = storage.key(identifier);
    let halves = [hash as u64, (hash >> 64) as u64];
    Some(Hashed { halves, row })
}

/// Throws the `LogicException` for a storage that keeps no permits.
#[cold]
fn unsupported() -> Thrown {
    throw::logic(&format!(
        "{} needs a {}, a {} or a {}, because other storages cannot keep permits",
        classes::CONCURRENCY_LIMIT.name(),
        classes::TOKEN_BUCKET_STORAGE_SHARED_MEMORY.name(),
        classes::TOKEN_BUCKET_STORAGE_REDIS.name(),
        classes::TOKEN_BUCKET_STORAGE_MEMORY.name(),
    ))
}

struct Question {
    storage: Held<dyn Storage>,
    permits: PermitPlace,
    identifier: Zval,
    limit: u16,
    lease: Ticks,
}

impl Question {
    fn of(this: &Object<ConcurrencyLimit>) -> Result<Self, Thrown> {
        let storage = storage::held(this.copy_property(STORAGE));
        let storage = storage.map_err(|_| storage::not_constructed::<ConcurrencyLimit>())?;
        let permits = storage.permits().ok_or_else(unsupported)?;
        Ok(Self {
            storage,
            permits,
            identifier: this.copy_property(IDENTIFIER),
            limit: this.limit.get(),
            lease: this.lease.get(),
        })
    }

    fn key(&self) -> Key<'_> {
        self.storage.key(value::bytes(&self.identifier))
    }

    /// Throws `LogicException` unless the storage limits the callers that wait.
    fn check_waiting(&self) -> Result<(), Thrown> {
        let class = match self.permits {
            PermitPlace::Segment => return Ok(()),
            PermitPlace::Object(_) => &classes::TOKEN_BUCKET_STORAGE_MEMORY,
            PermitPlace::Server(_) => &classes::TOKEN_BUCKET_STORAGE_REDIS,
        };
        Err(throw::logic(&format!(
            "{} does not support argument $maxWaiting of {}::acquire()",
            class.name(),
            classes::CONCURRENCY_LIMIT.name(),
        )))
    }
}

/// Implements `acquire(float $timeout = 0.0, ?int $maxWaiting = null): TokenBucket\Permit`.
pub fn acquire(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let (timeout, max_waiting) = match call.count() {
        0 => (0, None),
        _ => (patience(call, 1)?, max_waiting(call)?),
    };
    let this = call.this::<ConcurrencyLimit>();
    // These objects are made first. The question may own memory outside PHP's heap, which would
    // leak if PHP reached its memory limit while it makes objects.
    let prepared = Prepared::new(this.limit.get());
    if let (Some(hashed), 0) = (this.hashed.get(), timeout) {
        *result = prepared.settle(at_once(hashed, this.limit.get()));
        return Ok(());
    }
    let taken = Question::of(this)?.acquire(timeout, max_waiting)?;
    if taken.fallback {
        prepared.set_fallback();
    }
    let permit = taken.map(|taken| prepared.settle(taken));
    *result = exceptions::report_failure(permit)?.value;
    Ok(())
}

/// Returns argument 2, the most callers that wait, or `None` if it is null or was not passed.
fn max_waiting(call: &mut Call<'_>) -> Result<Option<u16>, Thrown> {
    let most = call.int_or_null(2)?;
    most.map(|most| permits(2, most)).transpose()
}

/// Takes a permit in the segment, or counts the refusal. Runs no PHP code.
#[inline]
fn at_once(hashed: Hashed, limit: u16) -> Result<Acquired<HeldPermit>, Refusal> {
    let [low, high] = hashed.halves.map(u128::from);
    let key = Key {
        identifier: b"",
        hash: low | high << 64,
        row: hashed.row,
    };
    let taken = acquire_in_segment(key, limit);
    taken.inspect_err(|refusal| PermitPlace::Segment.count(*refusal))
}

impl Question {
    /// Takes a permit within `timeout`, or counts the refusal. At most `max_waiting` callers wait.
    fn acquire(
        &self,
        timeout: Ticks,
        max_waiting: Option<u16>,
    ) -> Reported<Result<Acquired<HeldPermit>, Refusal>> {
        let (storage, permits) = (&*self.storage, &self.permits);
        if max_waiting.is_some() {
            self.check_waiting()?;
        }
        let (key, limit, lease) = (self.key(), self.limit, self.lease);
        let taken = permits.acquire(key, limit, lease);
        let mut taken = taken.map_err(exceptions::store_failed)?;
        if timeout > 0 && may_end(&taken) {
            if storage.is_private() {
                // Only this process could give a permit back, and it is waiting. So no try can
                // succeed.
                until(storage, storage.now() + timeout);
            } else {
                exceptions::report_failure(taken)?;
                let place = max_waiting.map(|most| Place::take(key, most)).transpose();
                taken = match place {
                    Ok(_place) => wait(permits, key, limit, lease, timeout)?,
                    Err(refusal) => Answer::sure(Err(refusal)),
                };
            }
        }
        if let Err(refusal) = taken.value {
            permits.count(refusal);
        }
        Ok(taken)
    }
}

/// Implements `held(): int`.
pub fn held(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let question = Question::of(call.this::<ConcurrencyLimit>())?;
    let held = question.permits.held(question.key(), question.limit);
    let held = exceptions::throw_or_report(held)?.value;
    // The conversion cannot fail, because the number is at most the limit.
    result.set_long(i64::try_from(held).unwrap_or(i64::MAX));
    Ok(())
}
