//! `TokenBucket\ConcurrencyLimit`: at most a number of permits of an identifier are held at once.

use super::permit::Prepared;
use crate::classes;
use crate::storage::{self, Granted, Permits, Refusal, Storage};
use crate::token_bucket::wait::{patience, rest, sleep_until, until};
use gcra::key::Row;
use gcra::{Key, TICKS_PER_SECOND, Ticks, Timestamp, boot_clock};
use segment::permits::MAX_LIMIT;
use std::cell::Cell;
use zend::{Call, Class, Held, Object, State, Thrown, Zval, throw, value};

// The slots of the properties, in the order of their declaration.
const STORAGE: usize = 0;
const IDENTIFIER: usize = 1;
const LIMIT: usize = 2;
const LEASE: usize = 3;

/// The first pause between two tries of a wait. Each pause doubles the pause before.
const FIRST_PAUSE: Ticks = TICKS_PER_SECOND / 1_000;
/// The longest pause between two tries.
const LONGEST_PAUSE: Ticks = TICKS_PER_SECOND / 50;
/// The time between two tries that ask the kernel about holders. The other tries only read memory.
const ASK_INTERVAL: Ticks = TICKS_PER_SECOND / 10;

/// The state of an object.
#[derive(Clone, Debug, Default)]
pub struct ConcurrencyLimit {
    /// 0 until the constructor has run.
    limit: Cell<u16>,
    /// The hash of the identifier in two halves, if the permits are in the segment and the hash
    /// cannot change.
    hash: Cell<Option<[u64; 2]>>,
}

impl State for ConcurrencyLimit {
    const SLOTS: usize = LEASE + 1;

    fn class() -> &'static Class {
        &classes::CONCURRENCY_LIMIT
    }

    fn born() -> Self {
        Self::default()
    }

    fn cloned(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// Implements `__construct()`.
pub fn construct(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    let object = call.object_of(1, &classes::TOKEN_BUCKET_STORAGE)?;
    let storage = object.shallow_clone();
    call.string(2)?;
    let identifier = call.arg(2).shallow_clone();
    let limit = call.int(3)?;
    let limit = u16::try_from(limit)
        .ok()
        .filter(|it| (1..=MAX_LIMIT).contains(it));
    let Some(limit) = limit else {
        let message = format!("must be between 1 and {MAX_LIMIT}");
        return Err(throw::argument_value(3, &message));
    };
    let lease = lease(call)?;
    if permits_of(&storage).is_none() {
        return Err(unsupported());
    }
    let this = call.this::<ConcurrencyLimit>();
    if this.limit.get() != 0 {
        return Err(storage::constructed_already::<ConcurrencyLimit>());
    }
    this.limit.set(limit);
    this.hash
        .set(hash_in_segment(&storage, value::bytes(&identifier)));
    let mut shown = Zval::new();
    shown.set_long(i64::from(limit));
    this.set_property(STORAGE, storage);
    this.set_property(IDENTIFIER, identifier);
    this.set_property(LIMIT, shown);
    this.set_property(LEASE, value::of_float(lease));
    Ok(())
}

/// Returns argument 4, the lease in seconds, or the default of the stub.
fn lease(call: &mut Call<'_>) -> Result<f64, Thrown> {
    if call.count() < 4 {
        return Ok(60.0);
    }
    let lease = call.float(4)?;
    let message = match lease {
        _ if lease.is_nan() => "must not be NAN",
        f64::INFINITY => "must be finite",
        _ if lease <= 0.0 => "must be greater than 0",
        _ => return Ok(lease),
    };
    Err(throw::argument_value(4, message))
}

fn permits_of(storage: &Zval) -> Option<Permits> {
    let storage = value::object(storage).and_then(storage::of)?;
    storage.permits()
}

/// Returns the value of [`ConcurrencyLimit::hash`].
// Each cast keeps 64 bits of the hash on purpose.
#[allow(clippy::cast_possible_truncation)]
fn hash_in_segment(storage: &Zval, identifier: &[u8]) -> Option<[u64; 2]> {
    let storage = value::object(storage).and_then(storage::of)?;
    if !storage.is_direct() || !storage.can_be_held() {
        return None;
    }
    let hash = storage.key(identifier).hash;
    Some([hash as u64, (hash >> 64) as u64])
}

/// Throws the `LogicException` for a storage that keeps no permits.
#[cold]
fn unsupported() -> Thrown {
    throw::logic(&format!(
        "{} needs a {} or a {}, because other storages cannot keep permits",
        classes::CONCURRENCY_LIMIT.name(),
        classes::TOKEN_BUCKET_STORAGE_SHARED_MEMORY.name(),
        classes::TOKEN_BUCKET_STORAGE_MEMORY.name(),
    ))
}

/// The values of one call.
struct Question {
    storage: Held<dyn Storage>,
    permits: Permits,
    identifier: Zval,
    limit: u16,
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
        })
    }

    fn key(&self) -> Key<'_> {
        self.storage.key(value::bytes(&self.identifier))
    }
}

/// Implements `acquire(float $timeout = 0.0): TokenBucket\Permit`.
pub fn acquire(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let timeout = if call.count() == 0 {
        0
    } else {
        patience(call, 1)?
    };
    let this = call.this::<ConcurrencyLimit>();
    // Comes first, because the question may own memory of the process.
    let prepared = Prepared::new(this.limit.get());
    let taken = match this.hash.get() {
        Some(hash) if timeout == 0 => at_once(hash, this.limit.get()),
        _ => Question::of(this)?.acquire(timeout)?,
    };
    *result = prepared.settle(taken);
    Ok(())
}

/// Takes a permit in the segment, or counts the refusal. Runs no PHP code.
#[inline]
fn at_once([low, high]: [u64; 2], limit: u16) -> Result<Granted, Refusal> {
    let key = Key {
        // The segment keeps only hashes.
        identifier: b"",
        hash: u128::from(low) | u128::from(high) << 64,
        row: Row(0),
    };
    let taken = Permits::Segment.acquire(key, limit);
    taken.inspect_err(|refusal| Permits::Segment.count(*refusal))
}

impl Question {
    /// Takes a permit within `timeout`, or counts the refusal.
    ///
    /// # Errors
    /// Fails as [`wait`] does.
    fn acquire(&self, timeout: Ticks) -> Result<Result<Granted, Refusal>, Thrown> {
        let (storage, key, limit) = (&*self.storage, self.key(), self.limit);
        let mut taken = self.permits.acquire(key, limit);
        if timeout > 0 && matches!(taken, Err(refusal) if refusal.may_end()) {
            if storage.is_private() {
                // Only this process could give a permit back, and it waits.
                until(storage, storage.now() + timeout);
            } else {
                taken = wait(&self.permits, key, limit, timeout)?;
            }
        }
        Ok(taken.inspect_err(|refusal| self.permits.count(*refusal)))
    }
}

/// Tries to take a permit for `timeout`. Runs PHP code between two tries.
///
/// # Errors
/// Fails with the exception of an interrupt's handler. Then no permit is taken.
fn wait(
    permits: &Permits,
    key: Key<'_>,
    limit: u16,
    timeout: Ticks,
) -> Result<Result<Granted, Refusal>, Thrown> {
    let mut now = boot_clock();
    let end = now + timeout;
    let mut pause = FIRST_PAUSE;
    let mut ask_at = now + shortened(ASK_INTERVAL, now);
    loop {
        let due = (now + shortened(pause, now)).min(end);
        if !rest(|| sleep_until(due))? {
            return Ok(Err(Refusal::Interrupted));
        }
        now = boot_clock();
        if now >= end {
            return Ok(permits.acquire(key, limit));
        }
        let taken = if now < ask_at {
            permits.try_words(key, limit).ok_or(Refusal::TooMany)
        } else {
            ask_at = now + shortened(ASK_INTERVAL, now);
            permits.acquire(key, limit)
        };
        if !matches!(taken, Err(refusal) if refusal.may_end()) {
            return Ok(taken);
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Returns between a half and the whole of `pause`. The clock's latest digits are the random part,
/// so that waiting processes do not try at the same instants.
fn shortened(pause: Ticks, now: Timestamp) -> Ticks {
    pause - now.0 % (pause / 2)
}

/// Implements `held(): int`.
pub fn held(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let question = Question::of(call.this::<ConcurrencyLimit>())?;
    let held = question.permits.held(question.key(), question.limit);
    // At most the limit.
    result.set_long(i64::try_from(held).unwrap_or(i64::MAX));
    Ok(())
}
