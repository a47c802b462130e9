//! `attemptEach()`: decides each bucket on its own, with one round trip for each server.

use super::attempt;
use super::list::{derive_questions, elements};
use super::question::{Home, Question};
use super::undo::undo_all;
use crate::decision;
use crate::storage::{Storage, Undo};
use gcra::{Decision, Few, Outcome, Step, Taken};
use std::any::TypeId;
use stores::remote::{Answer, Stopwatch, TimeLeft};
use zend::{Call, Number, Thrown, Zval, value};

/// Implements `attemptEach(array $buckets): array`. Returns the decision of each bucket under the
/// bucket's key.
pub fn attempt_each(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let elements = elements(call.array(1)?)?;
    let mut questions = Few::new();
    derive_questions(&mut questions, &elements, Number::Int(1), "attemptEach")?;
    let mut calls = Calls {
        questions: &questions,
        decisions: vec![None; questions.len()],
        taken: Vec::new(),
    };
    if let Err(thrown) = calls.run() {
        calls.give_back();
        return Err(thrown);
    }
    let mut decisions = value::of_list([]).ok_or(Thrown)?;
    for (index, element) in elements.iter().enumerate() {
        let decision = calls.decisions[index].ok_or(Thrown)?;
        let Question { plan, step, .. } = &questions[index];
        let decision =
            decision::to_object_beside_memory(&plan.limit, &decision, step.floor(), Zval::null());
        let key = value::to_string(&element.key).ok_or(Thrown)?;
        value::insert(&mut decisions, value::bytes(&key), decision);
    }
    *result = decisions;
    Ok(())
}

/// The calls on all buckets of one `attemptEach()`.
struct Calls<'a> {
    questions: &'a [Question<'a>],
    decisions: Vec<Option<Decision>>,
    /// The takes that storages of the extension granted.
    taken: Vec<Answer<Taken>>,
}

impl<'a> Calls<'a> {
    /// Decides all questions.
    fn run(&mut self) -> Result<(), Thrown> {
        for group in groups(self.questions) {
            let question = &self.questions[group[0]];
            match native(question) {
                Some(storage) => self.take_each(storage, &group)?,
                None => self.take_alone(group[0])?,
            }
        }
        Ok(())
    }

    /// Decides questions whose storages are of the same class as `storage`. Repeats those that are
    /// [late](Question::is_late) in the time that is left, unless their store failed.
    fn take_each(&mut self, storage: &'a dyn Storage, group: &[usize]) -> Result<(), Thrown> {
        let questions = self.questions;
        let ticket =
            |&index: &usize| Some((native(&questions[index])?, questions[index].ticket(index)));
        let tickets: Few<_> = group.iter().filter_map(ticket).collect();
        let (start, mut late) = (storage.is_remote().then(Stopwatch::start), Vec::new());
        let longest = tickets.iter().map(|(storage, _)| storage.timeout()).max();
        let left = || {
            start
                .zip(longest)
                .map(|(start, it)| TimeLeft::since(&start, it))
        };
        storage.take_each(&tickets, None, &mut |index, answer| {
            let question = &questions[index];
            let is_denied = !answer.fallback && !answer.value.granted();
            if is_denied && question.is_late(&answer.value, left().unwrap_or(TimeLeft::ALL)) {
                late.push((index, question.step.is_outside(&answer.value)));
            }
            self.decide(index, question.step, answer);
        })?;
        if late.is_empty() {
            return Ok(());
        }
        // Another server may have used up the time. Then denials stand, and a call that the store
        // has not decided gets half of a timeout.
        let half = TimeLeft::rest(longest.unwrap_or(0) / 2);
        let rest = left().unwrap_or(TimeLeft::ALL);
        let rest = if rest < half {
            late.retain(|&(_, is_outside)| is_outside);
            half
        } else {
            rest
        };
        let again = late.into_iter().map(|(index, _)| {
            let (question, storage) = (&questions[index], native(&questions[index]).ok_or(Thrown)?);
            let ticket = question.repeated_ticket(index, storage, &question.step)?;
            Ok((storage, ticket))
        });
        let again = again.collect::<Result<Few<_>, _>>()?;
        storage.take_each(&again, Some(rest), &mut |index, answer| {
            let ticket = again.iter().find(|(_, ticket)| ticket.index == index);
            let step = ticket.map_or(questions[index].step, |(_, ticket)| ticket.step);
            self.decide(index, step, answer);
        })
    }

    /// Decides a question that may run PHP code.
    fn take_alone(&mut self, index: usize) -> Result<(), Thrown> {
        let question = &self.questions[index];
        match &question.home {
            Home::Native(storage) => {
                self.decide(index, question.step, question.take(&**storage)?);
            }
            Home::Userland(_) => self.decisions[index] = Some(attempt::decide(question)?),
        }
        Ok(())
    }

    fn decide(&mut self, index: usize, step: Step, outcome: Answer<Outcome>) {
        let question = &self.questions[index];
        self.decisions[index] = Some(question.decision(&outcome));
        if outcome.value.granted() {
            let taken = outcome.map(|outcome| Taken::new(index, step, outcome));
            self.taken.push(taken);
        }
    }

    /// Gives the taken tokens back, because the caller gets an exception instead of the decisions.
    fn give_back(&self) {
        let takes = self.taken.iter().filter_map(|taken| {
            let question = &self.questions[taken.value.index];
            let Home::Native(storage) = &question.home else {
                return None;
            };
            let (key, put) = (question.plan.key(), taken.value.give_back());
            Some(Undo::new(&**storage, key, put, taken.fallback))
        });
        undo_all(takes.collect()).ok();
    }
}

/// Returns the storage of a question that needs only a step. Returns `None` for a userland storage,
/// and for a class that overrides `_bootstrap()`.
fn native<'a>(question: &'a Question<'_>) -> Option<&'a dyn Storage> {
    match &question.home {
        Home::Native(storage) if !question.plan.overrides.bootstrap => Some(&**storage),
        _ => None,
    }
}

/// Groups the indexes of questions by the classes of their storages, in order. Each question that
/// may run PHP code is a group of its own, and no group has questions before and after it, because
/// they may be about the same bucket.
fn groups(questions: &[Question<'_>]) -> Vec<Vec<usize>> {
    let mut groups: Vec<(Option<TypeId>, Vec<usize>)> = Vec::new();
    for (index, question) in questions.iter().enumerate() {
        let class = native(question).map(<dyn Storage>::class);
        let mut others = groups
            .iter_mut()
            .rev()
            .take_while(|(other, _)| other.is_some());
        match others.find(|(other, _)| class.is_some() && *other == class) {
            Some((_, group)) => group.push(index),
            None => groups.push((class, vec![index])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}
