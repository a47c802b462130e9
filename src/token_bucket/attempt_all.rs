//! `attemptAll()`: takes tokens from every bucket, or from none.

use super::groups::{Operation, OperationGroup, checks, groups};
use super::list::{Element, derive_questions, elements};
use super::question::Question;
use super::undo::undo_all;
use crate::storage::{Storage, Undo, strictest};
use crate::{decision, exceptions, tokens};
use ext_php_rs::types::ZendHashTable;
use gcra::batch::{Batch, sum, take_all};
use gcra::{Decision, Denial, Few, Outcome, Taken, Ticket, Ticks, Verdict};
use stores::remote::{Stopwatch, TimeLeft};
use zend::{Call, Number, Thrown, Zval, throw};

/// Implements `attemptAll(array $buckets, int|float $tokens = 1): TokenBucket\Decision`. Returns
/// the decision of the bucket that denied, or of the bucket with the fewest tokens left.
pub fn attempt_all(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let list = call.array(1)?;
    let number = tokens::optional(call, 1)?;
    *result = decide(list, number)?;
    Ok(())
}

/// Takes the tokens of all buckets or of none. Returns the PHP object for the decision of one
/// bucket.
fn decide(list: &ZendHashTable, number: Number) -> Result<Zval, Thrown> {
    let elements = elements(list)?;
    let mut tried = Tried::default();
    loop {
        match decide_elements(&elements, number, &tried)? {
            (_, Some(again)) if again.late.len() <= MOST_LATE => tried = again,
            (decision, _) => return Ok(decision),
        }
    }
}

/// The most late quotas for which a call is repeated.
const MOST_LATE: usize = 4;

/// The first tries of a call that must be repeated; see [`Question::is_late`] and
/// [`Calls::is_scattered`].
#[derive(Clone, Default)]
struct Tried {
    /// The ticks that it has waited for remote stores.
    spent: Ticks,
    /// The indexes of the quotas that were late.
    late: Vec<usize>,
    /// Each bucket must be decided on its own.
    is_apart: bool,
}

/// Does the same for the elements of the array, after what the call has tried. Returns a second
/// part if the call must be repeated.
fn decide_elements(
    elements: &[Element],
    number: Number,
    tried: &Tried,
) -> Result<(Zval, Option<Tried>), Thrown> {
    let mut questions = Few::new();
    derive_questions(&mut questions, elements, number, "attemptAll")?;
    if !tried.late.is_empty() {
        mark_repeats(&mut questions, &tried.late);
    }
    let (index, decision, floor, repeat) = match &questions[..] {
        // One bucket needs no batch, which takes longer.
        [question] => {
            let storage = storages(&questions)?[0];
            let decision = question.decision(&question.take(storage)?);
            (0, decision, question.step.floor(), None)
        }
        _ => decide_batch(&questions, tried)?,
    };
    let refused_by = if decision.allowed() {
        Zval::null()
    } else {
        elements[index].key.shallow_clone()
    };
    let limit = &questions[index].plan.limit;
    Ok((decision::above(limit, &decision, floor, refused_by), repeat))
}

/// Marks the quotas that were late, in the last repeat all of them.
#[cold]
fn mark_repeats(questions: &mut [Question<'_>], late: &[usize]) {
    for (index, question) in questions.iter_mut().enumerate() {
        if late.len() == MOST_LATE || late.contains(&index) {
            question.mark_repeat();
        }
    }
}

/// Takes the tokens of all buckets or of none, as [`decide_elements`] does. Returns the index of
/// one bucket, its decision, the ticks of its floor, and the tries if the call must be repeated.
fn decide_batch(
    questions: &[Question<'_>],
    tried: &Tried,
) -> Result<(usize, Decision, Ticks, Option<Tried>), Thrown> {
    let storages = storages(questions)?;
    let tickets = questions.iter().enumerate();
    let mut tickets: Few<_> = tickets.map(|(index, it)| it.ticket(index)).collect();
    let mut calls = Calls {
        questions,
        groups: groups(&mut tickets, &storages, tried.is_apart),
        storages,
        fallback: Few::from_elem(false, questions.len()),
        failed: Few::from_elem(false, questions.len()),
        spent: tried.spent,
    };
    calls.check_quotas()?;
    let taken = match calls.too_many()? {
        Some(refused) => refused,
        None => match take_all(&mut calls)? {
            Ok(taken) => calls.tightest(&taken).ok_or(Thrown)?,
            Err(refused) => refused,
        },
    };
    let question = &questions[taken.index];
    let limit = &question.plan.limit;
    let decision = Decision {
        verdict: taken.step.reason(&taken.outcome),
        fallback: calls.fallback[taken.index],
        ..Decision::new(limit, &taken.step, &taken.outcome)
    };
    let is_denied = !decision.fallback && !taken.outcome.granted();
    let is_late = is_denied && question.is_late(&taken.outcome, calls.rest());
    let is_apart = calls.is_scattered(&taken.outcome);
    let repeat = (is_late || is_apart).then(|| {
        let late = is_late.then_some(taken.index);
        Tried {
            spent: calls.spent,
            late: tried.late.iter().copied().chain(late).collect(),
            is_apart: is_apart || tried.is_apart,
        }
    });
    Ok((taken.index, decision, taken.step.floor(), repeat))
}

/// Returns the storage of each bucket. Throws `LogicException` for a bucket that only PHP code can
/// decide.
fn storages<'a>(questions: &'a [Question<'_>]) -> Result<Few<&'a dyn Storage>, Thrown> {
    // An overriding `_bootstrap()` proposes a first state for tokens that are then taken. This call
    // may check a bucket and then take no tokens from it, so the proposal would be wrong.
    if questions.iter().any(|it| it.plan.overrides.bootstrap) {
        return Err(throw::logic(
            "TokenBucket::attemptAll() does not support a class that overrides _bootstrap()",
        ));
    }
    questions.iter().map(|it| it.native("attemptAll")).collect()
}

/// The calls on all buckets of one `attemptAll()`.
struct Calls<'a, 'k> {
    questions: &'k [Question<'k>],
    storages: Few<&'k dyn Storage>,
    groups: Few<OperationGroup<'a, 'k>>,
    /// For each bucket: true if the failure policy decided its last step instead of the store.
    fallback: Few<bool>,
    /// For each bucket: true if its store failed when the bucket was checked.
    failed: Few<bool>,
    /// The ticks that the call has waited for remote stores.
    spent: Ticks,
}

impl<'k> Calls<'_, 'k> {
    /// Checks that all elements on one bucket have the same quota. Throws `ValueError` if their
    /// quotas differ.
    fn check_quotas(&self) -> Result<(), Thrown> {
        // Two calls on one quota may have different windows if one has just ended.
        let limit = |ticket: &Ticket<'_>| self.questions[ticket.index].plan.limit.in_window(0);
        let differs = |mine: &[Ticket<'_>]| match mine {
            [first, others @ ..] => others.iter().any(|other| limit(other) != limit(first)),
            [] => false,
        };
        let mut operations = self.groups.iter().flatten();
        if operations.any(|operation| operation.tickets.buckets().any(differs)) {
            return Err(throw::argument_value(
                1,
                "must not contain buckets that have one storage and one identifier, but different \
                 limits",
            ));
        }
        Ok(())
    }

    /// Reports whether buckets of one operation must be decided each on its own, so that this
    /// outcome decided nothing; see [`stores::remote::Remote::take_all`].
    fn is_scattered(&self, outcome: &Outcome) -> bool {
        let is_of_several = |it: &OperationGroup<'_, 'k>| {
            it.len() == 1 && it[0].storage.is_remote() && !it[0].is_on_one_bucket()
        };
        outcome.verdict == Verdict::Denied(Denial::Contended)
            && self.groups.iter().any(is_of_several)
    }

    /// Finds the first bucket whose capacity is less than the tokens of the call and its floor.
    /// Returns the denial, with the state that a dry step returns. Returns `None` if there is no
    /// such bucket.
    fn too_many(&mut self) -> Result<Option<Taken>, Thrown> {
        let mut questions = self.questions.iter();
        let Some(index) = questions.position(|it| it.step.exceeds_capacity()) else {
            return Ok(None);
        };
        let Ticket { key, step, .. } = self.questions[index].ticket(index);
        let seen = self.storages[index].take(key, &step.dry(), None)?;
        self.fallback[index] = seen.fallback;
        let Outcome { empty_at, now, .. } = seen.value;
        let outcome = Outcome::denied(Denial::ExceedsCapacity, empty_at, now);
        Ok(Some(Taken::new(index, step, outcome)))
    }

    /// Notes whether the failure policy decided for these tickets.
    fn note(&mut self, tickets: &[Ticket<'_>], fallback: bool) {
        for ticket in tickets {
            self.fallback[ticket.index] = fallback;
        }
    }

    /// Asks all these buckets at once. Their storages are of one remote class. The step on a bucket
    /// is the sum of its tickets' steps, dry if `is_dry` is true. Passes each bucket's take to
    /// `decided`, in order.
    fn ask_each(
        &mut self,
        buckets: &[&[Ticket<'k>]],
        is_dry: bool,
        left: TimeLeft,
        mut decided: impl FnMut(&mut Self, Taken),
    ) -> Result<(), Thrown> {
        let tickets = buckets.iter().enumerate().map(|(index, mine)| {
            let (key, step) = (mine[0].key, sum(mine));
            let step = if is_dry { step.dry() } else { step };
            let storage = self.storages[strictest(mine, &self.storages)];
            (storage, Ticket { index, key, step })
        });
        let tickets: Vec<_> = tickets.collect();
        let Some(&(storage, _)) = tickets.first() else {
            return Ok(());
        };
        let start = Stopwatch::start();
        let mut outcomes = Vec::with_capacity(buckets.len());
        let result = storage.take_each(&tickets, Some(left), &mut |place, outcome| {
            outcomes.push((place, outcome));
        });
        self.spent += start.waited();
        outcomes.sort_unstable_by_key(|&(place, _)| place);
        for (place, outcome) in outcomes {
            self.note(buckets[place], outcome.fallback);
            decided(self, Taken::of(buckets[place], outcome.value));
        }
        result
    }

    /// Checks operations on one remote class. Returns the first bucket that would be denied.
    fn check_each(&mut self, operations: &[Operation<'_, 'k>]) -> Result<Option<Taken>, Thrown> {
        let mut refused = None;
        let left = self.rest().half();
        let buckets: Vec<_> = buckets(operations).collect();
        self.ask_each(&buckets, true, left, |calls, taken| {
            if !taken.outcome.granted() {
                refused.get_or_insert(taken);
            }
            calls.failed[taken.index] = calls.fallback[taken.index];
        })?;
        Ok(refused)
    }

    /// Reports whether the store of a bucket failed when the bucket was checked.
    fn has_failed(&self, mine: &[Ticket<'_>]) -> bool {
        mine.iter().any(|ticket| self.failed[ticket.index])
    }

    /// Returns the time that is left of the call, whose timeout is the longest one of its stores.
    fn rest(&self) -> TimeLeft {
        let longest = self.storages.iter().map(|it| it.timeout()).max();
        TimeLeft::rest(longest.unwrap_or(0).saturating_sub(self.spent))
    }

    /// Returns the time that an operation of the group may take. Leaves half of the remaining time
    /// to the later groups, if one of them will ask remote stores.
    fn left(&self, group: usize) -> TimeLeft {
        let left = self.rest();
        let asks = |other: &OperationGroup<'_, '_>| {
            other[0].storage.is_remote() && !buckets(other).all(|mine| self.has_failed(mine))
        };
        if self.groups[group + 1..].iter().any(asks) {
            left.half()
        } else {
            left
        }
    }

    /// Takes the tokens of one operation, which are those of all its tickets or of none. Adds the
    /// takes to `taken`, or returns the refused one.
    fn take_at_once(
        &mut self,
        Operation { storage, tickets }: Operation<'_, 'k>,
        left: TimeLeft,
        taken: &mut Few<Taken>,
    ) -> Result<Option<Taken>, Thrown> {
        let start = storage.is_remote().then(Stopwatch::start);
        let batched = storage.take_all(tickets, &self.storages, left);
        self.spent += start.map_or(0, |start| start.waited());
        let mut batched = batched?;
        let warning = batched.warning.take();
        self.note(&tickets, batched.fallback);
        // A batch is large, so it is moved once.
        let mut refused = None;
        match batched.value {
            Ok(more) if taken.is_empty() => *taken = more,
            Ok(more) => taken.extend(more),
            Err(it) => refused = Some(it),
        }
        warning.map_or(Ok(()), exceptions::warn_of)?;
        Ok(refused)
    }

    /// Returns the take after which the fewest tokens are left, or the first of several.
    fn tightest(&self, taken: &[Taken]) -> Option<Taken> {
        let remaining = |taken: &&Taken| {
            let limit = &self.questions[taken.index].plan.limit;
            gcra::decision::remaining(limit, &taken.step, &taken.outcome)
        };
        taken.iter().min_by_key(remaining).copied()
    }
}

impl Batch for Calls<'_, '_> {
    type Error = Thrown;

    fn groups(&self) -> usize {
        self.groups.len()
    }

    fn refused(&mut self) -> Result<Option<Taken>, Thrown> {
        // One operation needs no check. Most batches are one operation, so this is a shortcut.
        if self.groups.len() == 1 && self.groups[0].len() == 1 {
            return Ok(None);
        }
        for operations in checks(&self.groups) {
            let Operation { storage, tickets } = operations[0];
            let refused = if storage.is_remote() {
                self.check_each(&operations)?
            } else {
                let refused = storage.refused(tickets, &self.storages)?;
                self.note(&tickets, refused.fallback);
                for ticket in &*tickets {
                    self.failed[ticket.index] = refused.fallback;
                }
                refused.value
            };
            if refused.is_some() {
                return Ok(refused);
            }
        }
        Ok(None)
    }

    fn take(&mut self, group: usize, taken: &mut Few<Taken>) -> Result<Option<Taken>, Thrown> {
        if let [operation] = self.groups[group][..]
            && !operation.storage.is_remote()
        {
            let has_failed = self.has_failed(&operation.tickets);
            let left = if has_failed {
                TimeLeft::NONE
            } else {
                TimeLeft::ALL
            };
            return self.take_at_once(operation, left, taken);
        }
        let left = self.left(group);
        // A store that has just failed is not asked again, so that the others have the time.
        let all = buckets(&self.groups[group]);
        let (failed, asked): (Vec<_>, Vec<_>) = all.partition(|mine| self.has_failed(mine));
        if let [operation] = self.groups[group][..]
            && failed.is_empty()
        {
            return self.take_at_once(operation, left, taken);
        }
        let mut refused = None;
        for (buckets, left) in [(failed, TimeLeft::NONE), (asked, left)] {
            self.ask_each(&buckets, false, left, |_, one| {
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
        let takes = taken.iter().map(|one| {
            let key = self.questions[one.index].plan.key();
            let (storage, fallback) = (self.storages[one.index], self.fallback[one.index]);
            Undo::new(storage, key, one.give_back(), fallback)
        });
        undo_all(takes.collect())
    }
}

/// Returns the tickets on each bucket of the operations.
fn buckets<'a, 'k>(operations: &[Operation<'a, 'k>]) -> impl Iterator<Item = &'a [Ticket<'k>]> {
    operations.iter().flat_map(|it| it.tickets.buckets())
}
