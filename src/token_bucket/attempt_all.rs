//! `attemptAll()`: takes tokens from every bucket, or from none.

use super::list::{elements, questions};
use super::question::Question;
use crate::decision;
use crate::storage::Storage;
use crate::tokens;
use ext_php_rs::types::ZendHashTable;
use gcra::batch::{Batch, Batched, Taken, by_bucket, take_all};
use gcra::{Decision, Key, Quota, Step};
use zend::{Call, Number, Thrown, Zval, throw};

/// Implements `attemptAll(array $buckets, int|float $tokens = 1): TokenBucket\Decision`. Returns
/// the decision of the bucket that denied, or of the bucket with the fewest tokens left.
pub fn attempt_all(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let list = call.array(1)?;
    let number = tokens::optional(call, 1)?;
    let (quota, decision, refused_by) = decide(list, number)?;
    *result = decision::refused_by(&quota, &decision, refused_by)?;
    Ok(())
}

/// Takes the tokens of all buckets or of none. Returns the quota and the decision of one bucket,
/// and the key of a bucket that refused.
fn decide(list: &ZendHashTable, number: Number) -> Result<(Quota, Decision, Option<Zval>), Thrown> {
    let (keys, elements) = elements(list, number)?;
    let questions = questions(&elements)?;
    let (index, decision) = match &questions[..] {
        // One bucket needs no batch, which takes longer.
        [question] => {
            let storage = storages(&questions)?[0];
            (0, question.decision(question.take(storage)?))
        }
        _ => decide_batch(&questions)?,
    };
    let quota = questions[index].plan.quota;
    let refused_by = (!decision.allowed()).then(|| keys[index].shallow_clone());
    Ok((quota, decision, refused_by))
}

/// Takes the tokens of all buckets or of none. Returns the index of one bucket and its decision.
fn decide_batch(questions: &[Question<'_>]) -> Result<(usize, Decision), Thrown> {
    let mut calls = Calls::of(questions)?;
    let taken = if let Some(refused) = calls.too_many()? {
        refused
    } else {
        let taken = take_all(&mut calls)?.unwrap_or_else(|refused| vec![refused]);
        calls.tightest(taken).ok_or(Thrown)?
    };
    let quota = &questions[taken.index].plan.quota;
    let decision = Decision {
        fallback: calls.fell_back[taken.index],
        ..Decision::new(quota, &taken.step, &taken.outcome)
    };
    Ok((taken.index, decision))
}

/// Returns the storage of each bucket.
///
/// # Errors
/// Throws `LogicException` for a bucket that only PHP code can decide.
fn storages<'a>(questions: &'a [Question<'_>]) -> Result<Vec<&'a dyn Storage>, Thrown> {
    // An overriding `_bootstrap()` proposes a first state for tokens that are then taken. Here a
    // bucket may be left without taking tokens.
    if questions.iter().any(|it| it.plan.overrides.bootstrap) {
        return Err(throw::logic(
            "TokenBucket::attemptAll() does not support a class that overrides _bootstrap()",
        ));
    }
    questions.iter().map(|it| it.native("attemptAll")).collect()
}

/// The calls on all buckets of one `attemptAll()`.
struct Calls<'a> {
    questions: &'a [Question<'a>],
    storages: Vec<&'a dyn Storage>,
    steps: Vec<Step>,
    /// The groups of the batch: the indexes of their steps, in order.
    groups: Vec<Vec<usize>>,
    /// For each bucket: true if the failure policy decided its last step instead of the store.
    fell_back: Vec<bool>,
}

impl<'a> Calls<'a> {
    fn of(questions: &'a [Question<'a>]) -> Result<Self, Thrown> {
        let storages = storages(questions)?;
        let hashes = questions.iter().map(|question| question.plan.key().hash);
        let is_same = |a: usize, b: usize| storages[a].is_same(storages[b]);
        let buckets = by_bucket(hashes, is_same);
        let quota = |index: usize| questions[index].plan.quota;
        let differs = |mine: &Vec<usize>| mine.iter().any(|&index| quota(index) != quota(mine[0]));
        if buckets.iter().any(differs) {
            return Err(throw::argument_value(
                1,
                "must not contain buckets that have one storage and one identifier, but different \
                 quotas",
            ));
        }
        let keys: Vec<_> = questions.iter().map(|it| it.plan.key()).collect();
        Ok(Self {
            questions,
            groups: groups(&storages, &keys, buckets),
            storages,
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
        let key = self.questions[index].plan.key();
        let answer = self.storages[index].take_or_fall_back(key, &step.dry(), None)?;
        let (outcome, fell_back) = answer;
        self.fell_back[index] = fell_back;
        Ok(Some(Taken {
            index,
            step,
            outcome,
        }))
    }

    /// Returns the buckets and the steps of a group.
    fn group(&self, group: usize) -> (Vec<(&'a dyn Storage, Key<'a>)>, Vec<Step>) {
        let of = |&index: &usize| {
            let key = self.questions[index].plan.key();
            ((self.storages[index], key), self.steps[index])
        };
        self.groups[group].iter().map(of).unzip()
    }

    /// Notes whether the failure policy decided for a group. Replaces the index in a result of the
    /// group by the index in the batch.
    fn note(&mut self, group: usize, fell_back: bool) -> impl Fn(Taken) -> Taken {
        let group = self.groups[group].clone();
        for &index in &group {
            self.fell_back[index] = fell_back;
        }
        move |taken| Taken {
            index: group[taken.index],
            ..taken
        }
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

    fn groups(&self) -> usize {
        self.groups.len()
    }

    fn refused(&mut self, group: usize) -> Result<Option<Taken>, Thrown> {
        let (buckets, steps) = self.group(group);
        let (refused, fell_back) = buckets[0].0.refused(&buckets, &steps)?;
        Ok(refused.map(self.note(group, fell_back)))
    }

    fn take(&mut self, group: usize) -> Result<Batched, Thrown> {
        let (buckets, steps) = self.group(group);
        let (batched, fell_back) = buckets[0].0.take_all(&buckets, &steps)?;
        let in_batch = self.note(group, fell_back);
        let batched = batched.map(|taken| taken.into_iter().map(&in_batch).collect());
        Ok(batched.map_err(in_batch))
    }

    fn give_back(&mut self, taken: &Taken) -> Result<(), Thrown> {
        let index = taken.index;
        let (storage, key) = (self.storages[index], self.questions[index].plan.key());
        // Another storage may have thrown an exception. While an exception is pending, no method of
        // PDO can be called.
        throw::aside(|| storage.undo(key, &taken.give_back(), self.fell_back[index]))
    }
}

/// Combines the buckets whose storages take from them in one operation into a group, in order.
/// Shared memory is the last group, see [`gcra::batch`].
fn groups(
    storages: &[&dyn Storage],
    keys: &[Key<'_>],
    buckets: Vec<Vec<usize>>,
) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let joins = |a: usize, b: usize| storages[a].joins(keys[a], storages[b], keys[b]);
    for bucket in buckets {
        match groups.iter_mut().find(|group| joins(group[0], bucket[0])) {
            Some(group) => group.extend(bucket),
            None => groups.push(bucket),
        }
    }
    for group in &mut groups {
        group.sort_unstable();
    }
    groups.sort_by_key(|group| storages[group[0]].is_direct());
    groups
}
