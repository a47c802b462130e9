//! `TokenBucket\Lockout`: blocks after some failures, for longer and longer.
//!
//! In shared memory the state is a slot, and in a `TokenBucketStorageMemory` a record. Both are
//! like those of a bucket, but in a namespace that no bucket has. Redis and memcached keep a record
//! that is not a bucket's. If they fail, the failure policy decides: `Local` uses a lockout in this
//! host's shared memory.

use crate::decision::{self, Attempt, DecisionState};
use crate::storage::{self, RemoteStorage, Storage, StorageClass};
use crate::{attached, classes, exceptions};
use compat::lockout;
use compat::records::Records;
use gcra::lockout::{self as rules, Lockout as Rules};
use gcra::quota::MAX_SPAN;
use gcra::step::{Denial, Outcome, Verdict};
use gcra::{Key, Ticks, Timestamp, boot_clock, seconds};
use segment::slots::counters::By;
use std::cell::OnceCell;
use stores::remote::key::Kind;
use stores::remote::memcached::Memcached;
use stores::remote::redis::Redis;
use stores::remote::{OnFailure, Visit};
use zend::{Call, Class, Object, State, Thrown, Zval, throw, value};

// The slots of the properties, in the order of their declaration.
const STORAGE: usize = 0;
const IDENTIFIER: usize = 1;

/// The default length of the first block, and of the longest block.
const BLOCK: Ticks = 900 * gcra::TICKS_PER_SECOND;
const MAX_BLOCK: Ticks = 86_400 * gcra::TICKS_PER_SECOND;

/// The state of an object: its rules. Empty until the constructor runs.
#[derive(Debug, Default)]
pub struct LockoutState {
    rules: OnceCell<Rules>,
}

impl State for LockoutState {
    const SLOTS: usize = IDENTIFIER + 1;

    fn class() -> &'static Class {
        &classes::LOCKOUT
    }

    fn born() -> Self {
        Self::default()
    }

    fn cloned(&self) -> Option<Self> {
        Some(Self {
            rules: self.rules.clone(),
        })
    }
}

/// A record of a lockout: its place, and the ticks for which it is kept.
struct Record {
    namespace: &'static [u8],
    kind: Kind,
    life: Ticks,
}

/// The record of the cancelled attempts.
const CANCELS: Record = Record {
    namespace: b"cancels",
    kind: Kind::Cancels,
    life: rules::CANCEL_SPAN,
};

/// A function that returns the outcome for a state and the current instant.
type Decide<'d> = &'d dyn Fn(Timestamp, Timestamp) -> Outcome;

/// Implements `__construct()`.
pub fn construct(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    call.object_of(1, &classes::TOKEN_BUCKET_STORAGE)?;
    call.string(2)?;
    let attempts = if call.count() >= 3 { call.int(3)? } else { 5 };
    let attempts = u64::try_from(attempts)
        .ok()
        .filter(|attempts| (1..=512).contains(attempts))
        .ok_or_else(|| throw::argument_value(3, "must be between 1 and 512"))?;
    let block = length(call, 4, BLOCK)?;
    let factor = if call.count() >= 5 {
        call.float(5)?
    } else {
        2.0
    };
    if !(factor >= 1.0 && factor.is_finite()) {
        let message = "must be finite and greater than or equal to 1";
        return Err(throw::argument_value(5, message));
    }
    let max_block = length(call, 6, MAX_BLOCK)?;
    let this = call.this::<LockoutState>();
    let rules = Rules {
        attempts,
        block,
        factor,
        max_block,
    };
    if this.rules.set(rules).is_err() {
        let class = LockoutState::class().name();
        let message = format!("Cannot modify readonly property {class}::$storage");
        return Err(throw::error(&message));
    }
    this.set_property(STORAGE, call.arg(1).shallow_clone());
    this.set_property(IDENTIFIER, value::of_bytes(call.string(2)?));
    Ok(())
}

/// Returns argument `number`, a length of time in seconds, as ticks. Returns `default` if it was
/// not passed.
fn length(call: &mut Call<'_>, number: u32, default: Ticks) -> Result<Ticks, Thrown> {
    if call.count() < number {
        return Ok(default);
    }
    let ticks = seconds::to_ticks(call.float(number)?);
    match ticks.map_err(|error| exceptions::bad_amount(number, error))? {
        0 => Err(throw::argument_value(number, "must be greater than 0")),
        // `to_ticks` limits its result to the greatest span.
        MAX_SPAN => Err(throw::argument_value(
            number,
            "must be less than 2^60 nanoseconds (36 years)",
        )),
        ticks => Ok(ticks),
    }
}

/// Implements `attempt(): TokenBucket\Decision`.
pub fn attempt(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let guess = Guess::of(call.this(), "attempt")?;
    let rules = guess.rules;
    let (outcome, by) = guess.decide(&|state, now| rules.attempt(state, now))?;
    if let (Some(by), Some(store)) = (by, attached::store()) {
        store.count_for(guess.key(), by, outcome.granted());
    }
    let attempt = Attempt {
        lockout: guess.key().hash.to_ne_bytes(),
        counted: outcome.granted().then_some((by, outcome.empty_at)),
    };
    *result = guess.object(&outcome, by, Some(attempt));
    Ok(())
}

/// Implements `cancel(TokenBucket\Decision $attempt): bool`. The attempt is cancelled where it was
/// counted: in the store, or in the lockout that `Local` uses on this host.
pub fn cancel(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let decision = call.object_of(1, &classes::DECISION)?;
    let guess = Guess::of(call.this(), "cancel")?;
    let decision = value::object(decision).and_then(Object::<DecisionState>::of);
    let hash = guess.key().hash.to_ne_bytes();
    let attempt = decision.and_then(|decision| decision::take_attempt(decision, hash));
    let attempt = attempt.ok_or_else(|| {
        throw::argument_value(1, "must be the decision of attempt() of this lockout")
    })?;
    value::set_bool(result, false);
    let Some((by, written)) = attempt.counted else {
        return Ok(());
    };
    let rules = guess.rules;
    let take_back = |state, now| rules.cancel(written, state, now);
    let is_here = by == Some(By::Policy);
    if guess.change(is_here, &CANCELS, &rules::take_cancel)? {
        let is_changed = guess.change(is_here, &guess.failures(), &take_back)?;
        value::set_bool(result, is_changed);
    }
    Ok(())
}

/// Implements `peek(): TokenBucket\Decision`.
pub fn peek(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let guess = Guess::of(call.this(), "peek")?;
    let rules = guess.rules;
    let (outcome, by) = guess.decide(&|state, now| rules.peek(state, now))?;
    *result = guess.object(&outcome, by, None);
    Ok(())
}

/// Implements `succeed(): void`. Clears the lockout of the store, and the one that `Local` uses on
/// this host.
pub fn succeed(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    let guess = Guess::of(call.this(), "succeed")?;
    guess.decide(&Rules::succeed)?;
    if guess.storage()?.is_remote() {
        guess.update_here(&guess.failures(), &Rules::succeed);
    }
    Ok(())
}

/// The values of one call. The storage and the identifier are kept alive, because the handler of a
/// warning may run PHP code.
struct Guess {
    rules: Rules,
    held: Zval,
    identifier: Zval,
    method: &'static str,
}

impl Guess {
    fn of(this: &Object<LockoutState>, method: &'static str) -> Result<Self, Thrown> {
        let rules = this.rules.get().copied();
        Ok(Self {
            rules: rules.ok_or_else(|| {
                throw::error("The TokenBucket\\Lockout object has not been constructed")
            })?,
            held: this.copy_property(STORAGE),
            identifier: this.copy_property(IDENTIFIER),
            method,
        })
    }

    /// Returns the storage.
    ///
    /// # Errors
    /// Throws `LogicException` for a storage that keeps no lockouts.
    fn storage(&self) -> Result<&dyn Storage, Thrown> {
        let native = value::object(&self.held).and_then(storage::of);
        native.ok_or_else(|| self.unsupported())
    }

    fn unsupported(&self) -> Thrown {
        throw::logic(&format!(
            "TokenBucket\\Lockout::{}() needs a storage in shared memory, in memory, on Redis or on \
             memcached",
            self.method
        ))
    }

    /// Returns the record of the failures.
    const fn failures(&self) -> Record {
        Record {
            namespace: b"",
            kind: Kind::Lockout,
            life: self.rules.max_block,
        }
    }

    /// Returns the key of the slot of the failures.
    fn key(&self) -> Key<'_> {
        self.key_of(&self.failures())
    }

    /// Returns the key of a record's slot. No bucket has this key.
    fn key_of(&self, record: &Record) -> Key<'_> {
        let native = value::object(&self.held).and_then(storage::of);
        let hasher = native.map_or(gcra::KeyHasher::new([0; 2]), Storage::hasher);
        let hasher = hasher.namespace(&[b"lockout", record.namespace, b""]);
        hasher.key(value::bytes(&self.identifier))
    }

    /// Decides on the failures. Also returns the part of the extension that has decided, if its
    /// decisions are counted.
    fn decide(&self, decide: Decide<'_>) -> Result<(Outcome, Option<By>), Thrown> {
        let record = self.failures();
        self.update(&record, decide, |policy| {
            let now = boot_clock();
            let (verdict, empty_at) = match policy {
                OnFailure::Local => return self.update_here(&record, decide),
                OnFailure::Allow => (Verdict::Granted, Timestamp::ZERO),
                OnFailure::Deny | OnFailure::Throw => {
                    (Verdict::Denied(Denial::Unavailable), Timestamp::ZERO)
                }
            };
            Outcome {
                verdict,
                now,
                empty_at,
            }
        })
    }

    /// Changes a record of this host's lockout, or of the storage's, and reports whether `decide`
    /// has granted that. If the storage fails, nothing changes.
    fn change(&self, is_here: bool, record: &Record, decide: Decide<'_>) -> Result<bool, Thrown> {
        if is_here {
            return Ok(self.update_here(record, decide).granted());
        }
        let failed = |_| Outcome::denied(Denial::Unavailable, Timestamp::ZERO, boot_clock());
        Ok(self.update(record, decide, failed)?.0.granted())
    }

    /// Returns the outcome of `decide`, after its state is written to the record. If the server
    /// fails, returns the outcome of `fallback`.
    fn update(
        &self,
        record: &Record,
        decide: Decide<'_>,
        fallback: impl FnOnce(OnFailure) -> Outcome,
    ) -> Result<(Outcome, Option<By>), Thrown> {
        let storage = self.storage()?;
        if let Some(redis) = storage::remote::<Redis>(storage) {
            return self.ask(redis, record, decide, fallback);
        }
        if let Some(memcached) = storage::remote::<Memcached>(storage) {
            return self.ask(memcached, record, decide, fallback);
        }
        let outcome = storage.update(self.key_of(record), record.life, decide);
        let by = storage.is_direct().then_some(By::SharedMemory);
        Ok((outcome.ok_or_else(|| self.unsupported())?, by))
    }

    fn ask<T: StorageClass + Records>(
        &self,
        storage: &Object<RemoteStorage<T>>,
        record: &Record,
        decide: Decide<'_>,
        fallback: impl FnOnce(OnFailure) -> Outcome,
    ) -> Result<(Outcome, Option<By>), Thrown> {
        let identifier = value::bytes(&self.identifier);
        let take = |visit: &Visit<'_, T>| {
            let name = visit.store.name_of(record.kind, identifier);
            let outcome = lockout::take(visit, &name, decide, record.life)?;
            Ok((outcome, Some(By::Store)))
        };
        let name = |transport: &T| transport.name_of(record.kind, identifier);
        storage.ask(name, take, |policy| (fallback(policy), Some(By::Policy)))
    }

    /// Does the same as [`Guess::update`] in this host's shared memory.
    fn update_here(&self, record: &Record, decide: Decide<'_>) -> Outcome {
        storage::update_here(self.key_of(record), record.life, decide)
    }

    fn object(&self, outcome: &Outcome, by: Option<By>, attempt: Option<Attempt>) -> Zval {
        let (decision, next) = self.rules.decision(outcome, by == Some(By::Policy));
        decision::of_lockout(self.rules.attempts, &decision, next, attempt)
    }
}
