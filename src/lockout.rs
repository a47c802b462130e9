//! `TokenBucket\Lockout`: blocks after some failures, for longer and longer.
//!
//! In shared memory the state is a slot, and in a `TokenBucketStorageMemory` a record. Both are
//! like those of a bucket, but in a namespace that no bucket has. Other stores keep a record that
//! is not a bucket's. If they fail, the failure policy decides: `Local` uses a lockout in this
//! host's shared memory.

use crate::decision::{self, Attempt, DecisionState};
use crate::storage::{self, Decide, Location, Reported, Storage, Swap};
use crate::{attached, classes, tokens};
use gcra::lockout::{self as rules, Lockout as Rules};
use gcra::{Denial, Key, Outcome, Ticks, Timestamp, Verdict, boot_clock};
use segment::By;
use std::cell::OnceCell;
use stores::remote::{Answer, Kind, OnFailure};
use zend::{Call, Class, Held, Object, State, Thrown, Zval, throw, value};

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
    const CLASS: &'static Class = &classes::LOCKOUT;

    fn cloned(&self) -> Option<Self> {
        Some(Self {
            rules: self.rules.clone(),
        })
    }
}

pub fn construct(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    call.object_of(1, &classes::TOKEN_BUCKET_STORAGE)?;
    call.string(2)?;
    let attempts = call.optional(3, Call::int)?.unwrap_or(5);
    let attempts = u64::try_from(attempts)
        .ok()
        .filter(|attempts| (1..=512).contains(attempts))
        .ok_or_else(|| throw::argument_value(3, "must be between 1 and 512"))?;
    let block = call.optional(4, length)?.unwrap_or(BLOCK);
    let factor = call.optional(5, Call::float)?.unwrap_or(2.0);
    if !(factor >= 1.0 && factor.is_finite()) {
        let message = "must be finite and greater than or equal to 1";
        return Err(throw::argument_value(5, message));
    }
    let max_block = call.optional(6, length)?.unwrap_or(MAX_BLOCK);
    let this = call.this::<LockoutState>();
    let rules = Rules {
        attempts,
        block,
        factor,
        max_block,
        unit: rules::UNIT,
        one_clock: true,
    };
    if this.rules.set(rules).is_err() {
        let class = LockoutState::CLASS.name();
        let message = format!("Cannot modify readonly property {class}::$storage");
        return Err(throw::error(&message));
    }
    this.set_property(STORAGE, call.arg(1).shallow_clone());
    this.set_property(IDENTIFIER, value::of_bytes(call.string(2)?));
    Ok(())
}

/// Returns argument `number`, a length of time in seconds, as ticks.
fn length(call: &mut Call<'_>, number: u32) -> Result<Ticks, Thrown> {
    match tokens::span(call.float(number)?, number)? {
        0 => Err(throw::argument_value(number, "must be greater than 0")),
        ticks => Ok(ticks),
    }
}

/// Implements `attempt(): TokenBucket\Decision`.
pub fn attempt(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let guess = Guess::of(call.this(), "attempt")?;
    let rules = guess.rules;
    let answer = guess.decide(&|state, now| rules.attempt(state, now), false)?;
    let (outcome, by) = (answer.value, guess.storage.decided_by(&answer));
    if let (Some(by), Some(store)) = (by, attached::store()) {
        store.count_for(guess.key(Kind::Lockout), by, outcome.granted());
    }
    let attempt = Attempt {
        lockout: guess.key(Kind::Lockout).hash.to_ne_bytes(),
        counted: outcome.granted().then_some((by, outcome.empty_at)),
    };
    *result = guess.object(&answer, Some(attempt));
    Ok(())
}

/// Implements `cancel(TokenBucket\Decision $attempt): bool`. The attempt is cancelled where it was
/// counted: in the store, or in the lockout that `Local` uses on this host.
pub fn cancel(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let decision = call.object_of(1, &classes::DECISION)?;
    let guess = Guess::of(call.this(), "cancel")?;
    let decision = value::object(decision).and_then(Object::<DecisionState>::of);
    let hash = guess.key(Kind::Lockout).hash.to_ne_bytes();
    let attempt = decision.and_then(|decision| decision::take_attempt(decision, hash));
    let attempt = attempt.ok_or_else(|| {
        throw::argument_value(1, "must be the decision of attempt() of this lockout")
    })?;
    value::set_bool(result, false);
    let Some((by, written)) = attempt.counted else {
        return Ok(());
    };
    let (rules, is_here) = (guess.rules, by == Some(By::Policy));
    let limit = |state, now| rules.take_cancel(state, now);
    let take_back = |state, now| rules.cancel(written, state, now);
    if guess.change(is_here, Kind::Cancels, &limit)? {
        let is_changed = guess.change(is_here, Kind::Lockout, &take_back)?;
        value::set_bool(result, is_changed);
    }
    Ok(())
}

/// Implements `peek(): TokenBucket\Decision`.
pub fn peek(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let guess = Guess::of(call.this(), "peek")?;
    let rules = guess.rules;
    let answer = guess.decide(&|state, now| rules.peek(state, now), true)?;
    *result = guess.object(&answer, None);
    Ok(())
}

/// Implements `succeed(): void`. Clears the lockout of the store, and the one that `Local` uses on
/// this host.
pub fn succeed(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    let guess = Guess::of(call.this(), "succeed")?;
    guess.decide(&Rules::succeed, false)?;
    if matches!(
        guess.storage.location(),
        Location::Servers | Location::Database
    ) {
        guess.swap_here(Kind::Lockout, &Rules::succeed);
    }
    Ok(())
}

/// The values of one call. The storage and the identifier are kept alive, because the handler of a
/// warning may run PHP code.
struct Guess {
    rules: Rules,
    storage: Held<dyn Storage>,
    identifier: Zval,
}

impl Guess {
    /// Throws `LogicException` for a userland storage.
    fn of(this: &Object<LockoutState>, method: &str) -> Result<Self, Thrown> {
        let rules = this.rules.get().copied();
        let rules = rules.ok_or_else(storage::not_constructed::<LockoutState>)?;
        let storage = storage::held(this.copy_property(STORAGE)).map_err(|_| {
            let needs = "needs one of the extension's own storages";
            throw::logic(&format!("TokenBucket\\Lockout::{method}() {needs}"))
        })?;
        Ok(Self {
            rules: Rules {
                unit: storage.lockout_unit(),
                one_clock: storage.has_one_clock(),
                ..rules
            },
            storage,
            identifier: this.copy_property(IDENTIFIER),
        })
    }

    /// Returns the key of a record's slot. No bucket has this key.
    fn key(&self, kind: Kind) -> Key<'_> {
        self.storage.key_of(kind, value::bytes(&self.identifier))
    }

    const fn life(&self, kind: Kind) -> Ticks {
        match kind {
            Kind::Cancels => rules::CANCEL_SPAN,
            _ => self.rules.max_block,
        }
    }

    fn decide(&self, decide: Decide<'_>, is_dry: bool) -> Reported<Outcome> {
        let swap = self.swap(Kind::Lockout, decide);
        self.storage.swap(&Swap {
            is_dry,
            fallback: &|policy| {
                let verdict = match policy {
                    OnFailure::Local => return self.swap_here(Kind::Lockout, decide),
                    OnFailure::Allow => Verdict::Granted,
                    OnFailure::Deny | OnFailure::Throw => Verdict::Denied(Denial::Unavailable),
                };
                Outcome::new(verdict, Timestamp::ZERO, boot_clock())
            },
            ..swap
        })
    }

    /// Changes a record of this host's lockout, or of the storage's, and reports whether `decide`
    /// has granted that. If the storage fails, nothing changes.
    fn change(&self, is_here: bool, kind: Kind, decide: Decide<'_>) -> Result<bool, Thrown> {
        if is_here {
            return Ok(self.swap_here(kind, decide).granted());
        }
        let answer = self.storage.swap(&self.swap(kind, decide))?;
        Ok(answer.value.granted())
    }

    /// Returns the swap that writes what `decide` returns. If the store fails, it changes nothing
    /// and is denied.
    fn swap<'a>(&'a self, kind: Kind, decide: Decide<'a>) -> Swap<'a> {
        Swap {
            kind,
            identifier: value::bytes(&self.identifier),
            life: self.life(kind),
            decide,
            is_dry: false,
            fallback: &|_| Outcome::denied(Denial::Unavailable, Timestamp::ZERO, boot_clock()),
        }
    }

    /// Changes a record in this host's shared memory.
    fn swap_here(&self, kind: Kind, decide: Decide<'_>) -> Outcome {
        storage::swap_here(self.key(kind), self.life(kind), decide)
    }

    fn object(&self, answer: &Answer<Outcome>, attempt: Option<Attempt>) -> Zval {
        let (decision, next) = self.rules.decision(&answer.value, answer.fallback);
        decision::of_lockout(self.rules.attempts, &decision, next, attempt)
    }
}
