//! `attemptAll()`: tokens from every bucket, or from none.

use super::ask::Asked;
use super::{Bucket, with_plan};
use crate::decision;
use crate::storage::{Batched, Native};
use crate::zend::{Call, Number, Object, Thrown, Zval, throw, value};
use tokenbucket_core::batch::{Batch, Taken, take_all};
use tokenbucket_core::{Outcome, Put, Step, Ticks};

/// `attemptAll(array $buckets, int|float $tokens = 1): TokenBucket\Decision`
pub fn attempt_all(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let list = call.array(1)?;
    let number = if call.count() == 2 {
        call.number(2)?
    } else {
        Number::Int(1)
    };
    if list.is_empty() {
        return Err(throw::argument_value(1, "must not be empty"));
    }
    // Held: an element may be a reference, and what asking runs may empty it.
    let held: Vec<Zval> = list
        .values()
        .map(|zval| value::dereference(zval).shallow_clone())
        .collect();
    let buckets = held.iter().map(|zval| {
        value::object(zval)
            .and_then(Object::<Bucket>::of)
            .ok_or_else(|| throw::argument_type(1, "must contain only TokenBucket objects"))
    });
    let buckets = buckets.collect::<Result<Vec<_>, _>>()?;
    let mut calls = Calls::of(&buckets, number)?;
    let (asked, taken) = if let Some(refused) = calls.too_many()? {
        refused
    } else {
        let answer = match calls.take_at_once()? {
            Some(answer) => answer,
            None => take_all(&mut calls)?,
        };
        let taken = answer.unwrap_or_else(|refused| vec![refused]);
        calls.tightest(&taken)?
    };
    let decision = asked.decision_on(&taken.step, &taken.outcome);
    *result = decision::to_object(&asked.quota, &decision)?;
    Ok(())
}

/// The buckets' questions.
struct Calls<'a> {
    asked: Vec<Asked<'a>>,
    steps: Vec<Step>,
}

impl<'a> Calls<'a> {
    fn of(buckets: &[&'a Object<Bucket>], number: Number) -> Result<Self, Thrown> {
        let asked = buckets.iter().map(|bucket| {
            // How many tokens a new bucket is left with is told only by taking some.
            if with_plan(bucket, |plan| plan.overrides.bootstrap)? {
                return Err(throw::logic(
                    "TokenBucket::attemptAll() cannot ask a class that overrides _bootstrap()",
                ));
            }
            Asked::of(bucket, number, 2, "attemptAll")
        });
        let asked = asked.collect::<Result<Vec<_>, _>>()?;
        let steps = asked.iter().map(Asked::step).collect();
        Ok(Self { asked, steps })
    }

    /// The first bucket that can never hold so many, and a look at it.
    fn too_many(&self) -> Result<Option<(&Asked<'a>, Taken)>, Thrown> {
        let Some(index) = self.asked.iter().position(|asked| asked.cost.is_none()) else {
            return Ok(None);
        };
        let asked = &self.asked[index];
        let step = asked.step();
        let outcome = asked.take(&step, None)?;
        Ok(Some((
            asked,
            Taken {
                index,
                step,
                outcome,
            },
        )))
    }

    /// All or none in one operation, if the storages can do that.
    fn take_at_once(&self) -> Result<Option<Batched>, Thrown> {
        let buckets = self.asked.iter().map(|asked| (asked.native, asked.key()));
        let buckets: Vec<_> = buckets.collect();
        Native::take_all(&buckets, &self.steps)
    }

    /// Of the answers the one with the fewest tokens left.
    fn tightest(&self, taken: &[Taken]) -> Result<(&Asked<'a>, Taken), Thrown> {
        let answers = taken.iter().map(|&taken| (&self.asked[taken.index], taken));
        let left = |(asked, taken): &(&Asked<'a>, Taken)| {
            asked.decision_on(&taken.step, &taken.outcome).remaining
        };
        answers.min_by_key(left).ok_or(Thrown)
    }
}

impl Batch for Calls<'_> {
    type Error = Thrown;

    fn steps(&self) -> &[Step] {
        &self.steps
    }

    fn same_bucket(&self, a: usize, b: usize) -> bool {
        let (a, b) = (&self.asked[a], &self.asked[b]);
        a.native.is_same(b.native) && a.key() == b.key()
    }

    fn take(&mut self, index: usize, step: &Step) -> Result<Outcome, Thrown> {
        self.asked[index].take(step, None)
    }

    fn refund(&mut self, index: usize, cost: Ticks) -> Result<(), Thrown> {
        let asked = &self.asked[index];
        let burst = asked.burst;
        // Also when another storage has thrown: a database cannot be asked while an exception is pending.
        throw::aside(|| asked.native.put(asked.key(), &Put::Refund { cost, burst }))
    }
}
