//! `attemptAll()`: takes tokens from every bucket, or from none.

use super::groups::{Group, checks, groups};
use super::list::{elements, questions};
use super::question::Question;
use super::undo::Undo;
use crate::decision;
use crate::storage::Storage;
use crate::tokens;
use ext_php_rs::types::ZendHashTable;
use gcra::batch::{Batch, Batched, Taken, by_bucket, sum, take_all};
use gcra::{Decision, Key, Quota, Step, Ticks, Timestamp, boot_clock};
use stores::remote::time_left::TimeLeft;
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
    groups: Vec<Group>,
    /// For each bucket: true if the failure policy decided its last step instead of the store.
    fell_back: Vec<bool>,
    /// For each bucket: true if its store failed when the bucket was checked.
    failed: Vec<bool>,
    /// The ticks that the call has waited for remote stores.
    spent: Ticks,
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
            failed: vec![false; questions.len()],
            spent: 0,
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

    /// Returns the storage and the key of a bucket.
    fn bucket(&self, index: usize) -> (&'a dyn Storage, Key<'a>) {
        (self.storages[index], self.questions[index].plan.key())
    }

    /// Returns the buckets and the steps of an operation.
    fn operation(&self, indexes: &[usize]) -> (Vec<(&'a dyn Storage, Key<'a>)>, Vec<Step>) {
        let of = |&index: &usize| (self.bucket(index), self.steps[index]);
        indexes.iter().map(of).unzip()
    }

    /// Notes whether the failure policy decided for the buckets of an operation. Replaces the index
    /// in a result of the operation by the index in the batch.
    fn note(&mut self, indexes: &[usize], fell_back: bool) -> impl Fn(Taken) -> Taken {
        let indexes = indexes.to_vec();
        for &index in &indexes {
            self.fell_back[index] = fell_back;
        }
        move |taken| Taken {
            index: indexes[taken.index],
            ..taken
        }
    }

    /// Runs one step on each bucket of a remote class: the sum of its steps, dry if `is_dry` is
    /// true. All buckets are asked at once. Passes each bucket's take to `decided`.
    fn ask_each(
        &mut self,
        buckets: &[Vec<usize>],
        is_dry: bool,
        left: TimeLeft,
        mut decided: impl FnMut(&mut Self, Taken),
    ) -> Result<(), Thrown> {
        let step = |mine: &Vec<usize>| {
            let step = sum(mine, &self.steps);
            if is_dry { step.dry() } else { step }
        };
        let steps: Vec<_> = buckets.iter().map(step).collect();
        let places: Vec<_> = buckets.iter().map(|mine| self.bucket(mine[0])).collect();
        let Some((storage, _)) = places.first() else {
            return Ok(());
        };
        let start = boot_clock();
        let mut answers = Vec::with_capacity(buckets.len());
        let result = storage.take_each(&places, &steps, Some(left), &mut |place, answer| {
            answers.push((place, answer));
        });
        self.spend(start);
        answers.sort_unstable_by_key(|&(place, _)| place);
        for (place, (outcome, fell_back)) in answers {
            let mine = &buckets[place];
            let (_, steps) = self.operation(mine);
            let all: Vec<_> = (0..mine.len()).collect();
            let taken = self.note(mine, fell_back)(Taken::of(&all, &steps, outcome));
            decided(self, taken);
        }
        result
    }

    /// Counts the time since `start` as time that the call has waited.
    fn spend(&mut self, start: Timestamp) {
        self.spent += boot_clock().saturating_since(start);
    }

    /// Checks buckets of one remote class. Returns the first one that would be denied.
    fn check_each(&mut self, indexes: &[usize]) -> Result<Option<Taken>, Thrown> {
        let hashes = indexes.iter().map(|&index| self.bucket(index).1.hash);
        let is_same =
            |a: usize, b: usize| self.storages[indexes[a]].is_same(self.storages[indexes[b]]);
        let mut buckets = by_bucket(hashes, is_same);
        for place in buckets.iter_mut().flatten() {
            *place = indexes[*place];
        }
        let mut refused = None;
        let left = TimeLeft::after(self.spent).half();
        self.ask_each(&buckets, true, left, |calls, taken| {
            if !taken.outcome.granted() {
                refused.get_or_insert(taken);
            }
            calls.failed[taken.index] = calls.fell_back[taken.index];
        })?;
        Ok(refused)
    }

    /// Returns the time that an operation of the group may take. Leaves a half of the time to
    /// later groups on remote stores.
    fn left(&self, group: usize) -> TimeLeft {
        let left = TimeLeft::after(self.spent);
        let is_remote = |other: &Group| self.storages[other[0][0]].is_remote();
        if self.groups[group + 1..].iter().any(is_remote) {
            left.half()
        } else {
            left
        }
    }

    /// Takes the tokens of one operation, which are those of all its steps or of none.
    fn take_at_once(&mut self, indexes: &[usize], left: TimeLeft) -> Result<Batched, Thrown> {
        let (buckets, steps) = self.operation(indexes);
        let start = boot_clock();
        let answer = buckets[0].0.take_all(&buckets, &steps, left);
        if buckets[0].0.is_remote() {
            self.spend(start);
        }
        let (batched, fell_back) = answer?;
        let in_batch = self.note(indexes, fell_back);
        let batched = batched.map(|taken| taken.into_iter().map(&in_batch).collect());
        Ok(batched.map_err(in_batch))
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

    fn refused(&mut self) -> Result<Option<Taken>, Thrown> {
        for indexes in checks(&self.storages, &self.groups) {
            let refused = if self.storages[indexes[0]].is_remote() {
                self.check_each(&indexes)?
            } else {
                let (buckets, steps) = self.operation(&indexes);
                let (refused, fell_back) = buckets[0].0.refused(&buckets, &steps)?;
                refused.map(self.note(&indexes, fell_back))
            };
            if refused.is_some() {
                return Ok(refused);
            }
        }
        Ok(None)
    }

    fn take(&mut self, group: usize, taken: &mut Vec<Taken>) -> Result<Option<Taken>, Thrown> {
        let left = self.left(group);
        let operations = self.groups[group].clone();
        let has_failed = |mine: &Vec<usize>| mine.iter().any(|&index| self.failed[index]);
        // A store that has just failed is not asked again, so that the others have the time.
        let (failed, asked): (Vec<_>, Vec<_>) = operations.into_iter().partition(has_failed);
        let mut refused = None;
        for (operations, left) in [(failed, TimeLeft::NONE), (asked, left)] {
            if let [indexes] = &operations[..] {
                match self.take_at_once(indexes, left)? {
                    Ok(more) => taken.extend(more),
                    Err(one) => drop(refused.get_or_insert(one)),
                }
                continue;
            }
            self.ask_each(&operations, false, left, |_, one| {
                if one.outcome.granted() {
                    taken.push(one);
                } else {
                    refused.get_or_insert(one);
                }
            })?;
        }
        Ok(refused)
    }

    fn give_back(&mut self, taken: &[Taken]) -> Result<(), Thrown> {
        let mut undo = Undo::default();
        for one in taken {
            let (storage, key) = self.bucket(one.index);
            undo.add(storage, key, one.give_back(), self.fell_back[one.index]);
        }
        undo.run()
    }
}
