//! `attemptAll()`: takes tokens from every bucket, or from none.

use super::bucket::Bucket;
use super::question::Question;
use super::tokens;
use crate::decision;
use crate::storage::Storage;
use crate::zend::{Call, Kept, Number, Object, Thrown, Zval, throw, value};
use ext_php_rs::types::ZendHashTable;
use tokenbucket_core::batch::{Batch, Taken, firsts_on_buckets, take_all};
use tokenbucket_core::remote::Batched;
use tokenbucket_core::{Decision, Outcome, Quota, Step};

/// Implements `attemptAll(array $buckets, int|float $tokens = 1): TokenBucket\Decision`. Returns
/// the decision of the bucket that denied, or of the bucket with the fewest tokens left.
pub fn attempt_all(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let list = call.array(1)?;
    let number = tokens::optional(call, 1)?;
    if list.is_empty() {
        return Err(throw::argument_value(1, "must not be empty"));
    }
    let (quota, decision, refused_by) = decide(list, number)?;
    *result = decision::refused_by(&quota, &decision, refused_by)?;
    Ok(())
}

/// Takes the tokens of all buckets or of none. Returns the quota and the decision of one bucket,
/// and the key of a bucket that refused.
fn decide(list: &ZendHashTable, number: Number) -> Result<(Quota, Decision, Option<Zval>), Thrown> {
    let entries = value::entries(list);
    let elements = entries
        .iter()
        .map(|(_, element)| Element::of(element, number));
    let elements = elements.collect::<Result<Vec<_>, _>>()?;
    // The elements are not used from here on, because PHP code may change the array.
    let keys: Vec<_> = entries.into_iter().map(|(key, _)| key).collect();
    let questions = elements.iter().map(Element::question);
    let questions = questions.collect::<Result<Vec<_>, _>>()?;
    let mut calls = Calls::of(&questions)?;
    let taken = if let Some(refused) = calls.too_many()? {
        refused
    } else {
        let answer = match calls.take_at_once()? {
            Some(answer) => answer,
            None => take_all(&mut calls)?,
        };
        let taken = answer.unwrap_or_else(|refused| vec![refused]);
        calls.tightest(taken).ok_or(Thrown)?
    };
    let quota = questions[taken.index].plan.quota;
    let decision = Decision {
        fallback: calls.fell_back[taken.index],
        ..Decision::new(&quota, &taken.step, &taken.outcome)
    };
    let refused_by = (!decision.allowed()).then(|| keys[taken.index].shallow_clone());
    Ok((quota, decision, refused_by))
}

/// An element of `$buckets`: a bucket, or a list of a bucket and its tokens.
struct Element {
    /// The bucket. It is held, because PHP code that runs during the call may overwrite an element
    /// that is a PHP reference.
    bucket: Kept,
    number: Number,
    /// The number of the argument that contains `number`.
    argument: u32,
}

impl Element {
    /// Reads an element. `number` is the number of tokens if the element does not contain one.
    fn of(element: &Zval, number: Number) -> Result<Self, Thrown> {
        let wrong = || {
            throw::argument_type(
                1,
                "must contain only TokenBucket objects, or lists of a TokenBucket object and a \
                 number of tokens",
            )
        };
        let (bucket, own) = match element.array() {
            None => (element, None),
            Some(pair) => {
                let at = |index| pair.get_index(index).map(value::dereference);
                let (bucket, own) = at(0)
                    .zip(at(1))
                    .filter(|_| pair.len() == 2)
                    .ok_or_else(wrong)?;
                (bucket, Some(value::as_number(own).ok_or_else(wrong)?))
            }
        };
        value::object(bucket)
            .and_then(Object::<Bucket>::of)
            .ok_or_else(wrong)?;
        Ok(Self {
            bucket: bucket.shallow_clone().into(),
            number: own.unwrap_or(number),
            argument: if own.is_some() { 1 } else { 2 },
        })
    }

    fn question(&self) -> Result<Question<'_>, Thrown> {
        let bucket = value::object(&self.bucket).and_then(Object::<Bucket>::of);
        Question::of(bucket.ok_or(Thrown)?, self.number, self.argument)
    }
}

/// The calls on all buckets of one `attemptAll()`.
struct Calls<'a> {
    questions: &'a [Question<'a>],
    storages: Vec<&'a dyn Storage>,
    steps: Vec<Step>,
    /// For each step: the index of the first step on its bucket.
    firsts: Vec<usize>,
    /// For each bucket: true if the failure policy decided its last step instead of the store.
    fell_back: Vec<bool>,
}

impl<'a> Calls<'a> {
    fn of(questions: &'a [Question<'a>]) -> Result<Self, Thrown> {
        // An overriding `_bootstrap()` proposes a first state for tokens that are then taken. Here
        // a bucket may be left without taking tokens.
        if questions
            .iter()
            .any(|question| question.plan.overrides.bootstrap)
        {
            return Err(throw::logic(
                "TokenBucket::attemptAll() does not support a class that overrides _bootstrap()",
            ));
        }
        let storages = questions.iter().map(|it| it.native("attemptAll"));
        let storages = storages.collect::<Result<Vec<_>, _>>()?;
        let hashes = questions.iter().map(|question| question.plan.key().hash);
        let firsts = firsts_on_buckets(hashes, |a, b| storages[a].is_same(storages[b]));
        let quota = |index: usize| questions[index].plan.quota;
        if firsts
            .iter()
            .enumerate()
            .any(|(index, &first)| quota(index) != quota(first))
        {
            return Err(throw::argument_value(
                1,
                "must not contain buckets that have one storage and one identifier, but different \
                 quotas",
            ));
        }
        Ok(Self {
            questions,
            storages,
            firsts,
            steps: questions.iter().map(|question| question.step).collect(),
            fell_back: vec![false; questions.len()],
        })
    }

    /// Finds the first bucket whose capacity is less than the tokens of the call. Runs a dry step
    /// on that bucket and returns the result. Returns `None` if there is no such bucket.
    fn too_many(&mut self) -> Result<Option<Taken>, Thrown> {
        let Some(index) = self.steps.iter().position(Step::exceeds_capacity) else {
            return Ok(None);
        };
        let step = self.steps[index];
        let outcome = self.take(index, &step.dry())?;
        Ok(Some(Taken {
            index,
            step,
            outcome,
        }))
    }

    /// Takes tokens from all buckets or none in one operation. Returns `None` if the storages do
    /// not support that together.
    fn take_at_once(&mut self) -> Result<Option<Batched>, Thrown> {
        let keys = self.questions.iter().map(|question| question.plan.key());
        let buckets: Vec<_> = self.storages.iter().copied().zip(keys).collect();
        // The index is valid because there is at least one bucket.
        let answer = self.storages[0].take_all(&buckets, &self.steps)?;
        Ok(answer.map(|(batched, fell_back)| {
            self.fell_back.fill(fell_back);
            batched
        }))
    }

    /// Returns the result with the fewest tokens left.
    fn tightest(&self, taken: Vec<Taken>) -> Option<Taken> {
        taken.into_iter().min_by_key(|taken| {
            let quota = &self.questions[taken.index].plan.quota;
            Decision::new(quota, &taken.step, &taken.outcome).remaining
        })
    }
}

impl Batch for Calls<'_> {
    type Error = Thrown;

    fn steps(&self) -> &[Step] {
        &self.steps
    }

    fn first_on_bucket(&self, index: usize) -> usize {
        self.firsts[index]
    }

    fn take(&mut self, index: usize, step: &Step) -> Result<Outcome, Thrown> {
        let key = self.questions[index].plan.key();
        let (outcome, fell_back) = self.storages[index].take_or_fall_back(key, step, None)?;
        self.fell_back[index] = fell_back;
        Ok(outcome)
    }

    fn give_back(&mut self, taken: &Taken) -> Result<(), Thrown> {
        let index = taken.index;
        let (storage, key) = (self.storages[index], self.questions[index].plan.key());
        // Another storage may have thrown an exception. While an exception is pending, no method of
        // PDO can be called.
        throw::aside(|| storage.give_back(key, &taken.give_back(), self.fell_back[index]))
    }
}
