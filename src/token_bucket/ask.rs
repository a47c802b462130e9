//! `attempt()` and `peek()`: the whole answer, and what the other methods need to ask for it.

use super::plan::{Overrides, Source};
use super::userland::First;
use super::{Bucket, tokens, userland, with_plan};
use crate::storage::{self, Backend, Native};
use crate::zend::{Call, Number, Object, Thrown, Zval, throw, value};
use crate::{decision, exceptions};
use tokenbucket_core::{
    AmountError, Decision, Denial, Key, Outcome, Quota, Reason, Step, Ticks, Verdict,
};

/// A question to a storage of ours, apart from the bucket that asks it.
#[derive(Debug)]
pub struct Asked<'a> {
    pub native: Native<'a>,
    /// Keeps the storage alive, whatever PHP code that runs meanwhile does to the bucket.
    _storage: Zval,
    identifier: Zval,
    hash: u128,
    pub quota: Quota,
    /// `None` for more than the capacity.
    pub cost: Option<Ticks>,
    pub burst: Ticks,
    pub overrides: Overrides,
}

impl<'a> Asked<'a> {
    /// What `bucket` asks for `number` tokens, argument number `argument`, in `method`.
    ///
    /// # Errors
    /// What is wrong with the number or the bucket; `LogicException` over a userland storage.
    pub fn of(
        bucket: &'a Object<Bucket>,
        number: Number,
        argument: u32,
        method: &str,
    ) -> Result<Self, Thrown> {
        Self::native(bucket, number, argument)?.ok_or_else(|| {
            throw::logic(&format!(
                "TokenBucket::{method}() needs one of the extension's own storages"
            ))
        })
    }

    /// [`Asked::of`], or `None` over a userland storage.
    ///
    /// # Errors
    /// As there.
    pub fn native(
        bucket: &'a Object<Bucket>,
        number: Number,
        argument: u32,
    ) -> Result<Option<Self>, Thrown> {
        let (identifier, hash, quota, cost, overrides) = with_plan(bucket, |plan| {
            (
                plan.identifier().shallow_clone(),
                plan.key().hash,
                plan.quota,
                super::cost(&plan.quota, number),
                plan.overrides,
            )
        })?;
        let cost = cost.map_err(|error| exceptions::bad_amount(argument, error))?;
        let Backend::Native(native) = Backend::of(Source::of(bucket).storage()?) else {
            return Ok(None);
        };
        let mut asked = Self {
            native,
            _storage: Source::of(bucket).storage.shallow_clone(),
            identifier,
            hash,
            quota,
            cost,
            burst: quota.burst(),
            overrides,
        };
        if overrides.tokens_to_seconds && cost.is_some() {
            let step = userland::step(bucket, number, native.grain())?;
            (asked.cost, asked.burst) = (Some(step.cost), step.burst);
        }
        Ok(Some(asked))
    }

    /// The bucket's name.
    pub fn key(&self) -> Key<'_> {
        Key {
            identifier: value::bytes(&self.identifier),
            hash: self.hash,
        }
    }

    /// The step; for more than the capacity a look that costs nothing.
    pub fn step(&self) -> Step {
        let step = Step::new(self.cost.unwrap_or(0), self.burst);
        if self.cost.is_some() {
            step
        } else {
            step.dry()
        }
    }

    /// What giving `number` tokens back is worth.
    ///
    /// # Errors
    /// When it is no amount.
    pub fn refund(&self, number: Number) -> Result<Ticks, AmountError> {
        Ok(match self.cost {
            Some(cost) if self.overrides.tokens_to_seconds => cost,
            // More than the capacity fills the bucket.
            _ => self.quota.refund(number.tokens()?).min(self.burst),
        })
    }

    /// Takes a step that differs from [`Asked::step`] at most in taking nothing. May run PHP code.
    ///
    /// # Errors
    /// As [`Native::take`].
    pub fn take(&self, step: &Step, first: Option<Ticks>) -> Result<Outcome, Thrown> {
        if self.cost.is_none() && self.native.is_remote() {
            return Ok(storage::exceeds_capacity());
        }
        self.native.take(self.key(), step, first)
    }

    /// The answer in words.
    pub fn decision(&self, outcome: &Outcome) -> Decision {
        self.decision_on(&self.step(), outcome)
    }

    /// The answer in words to a step that differs from [`Asked::step`].
    pub fn decision_on(&self, step: &Step, outcome: &Outcome) -> Decision {
        let verdict = match self.cost {
            Some(_) => outcome.verdict,
            None => Verdict::Denied(Denial::ExceedsCapacity),
        };
        Decision::new(
            &self.quota,
            step,
            &Outcome {
                verdict,
                ..*outcome
            },
        )
    }
}

/// `attempt(int|float $tokens = 1): TokenBucket\Decision`
pub fn attempt(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let number = tokens(call, 0)?;
    let (quota, decision) = decide(call.this::<Bucket>(), number, 1)?;
    *result = decision::to_object(&quota, &decision)?;
    Ok(())
}

/// `peek(int|float $tokens = 1): TokenBucket\Decision`
pub fn peek(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let number = tokens(call, 0)?;
    let asked = Asked::of(call.this::<Bucket>(), number, 1, "peek")?;
    let outcome = asked.take(&asked.step().dry(), None)?;
    *result = decision::to_object(&asked.quota, &asked.decision(&outcome))?;
    Ok(())
}

/// Takes `number` tokens if they are there.
///
/// # Errors
/// What is wrong with the number or the bucket, or what userland threw.
pub fn decide(
    bucket: &Object<Bucket>,
    number: Number,
    argument: u32,
) -> Result<(Quota, Decision), Thrown> {
    let Some(asked) = Asked::native(bucket, number, argument)? else {
        return userland::estimate(bucket, number);
    };
    let outcome = take(bucket, number, &asked)?;
    Ok((asked.quota, asked.decision(&outcome)))
}

/// Whether `number` tokens were taken: [`decide`] without the words.
///
/// # Errors
/// As there.
pub fn granted(bucket: &Object<Bucket>, number: Number) -> Result<bool, Thrown> {
    let Some(asked) = Asked::native(bucket, number, 1)? else {
        return userland::consume(bucket, number);
    };
    // More than the capacity is never granted.
    Ok(asked.cost.is_some() && take(bucket, number, &asked)?.granted())
}

/// Takes the tokens, of a bucket without a record in the way that an overriding `_bootstrap()` says.
fn take(bucket: &Object<Bucket>, number: Number, asked: &Asked<'_>) -> Result<Outcome, Thrown> {
    match userland::first_state(bucket, number, asked)? {
        First::Refused(outcome) => Ok(outcome),
        First::At(first) => asked.take(&asked.step(), first),
    }
}

/// A denial because of a signal, in place of `decision`.
pub fn interrupted(decision: Decision) -> Decision {
    Decision {
        reason: Reason::Interrupted,
        ..decision
    }
}
