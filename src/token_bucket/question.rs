//! A question: the values of one call on a bucket, derived once when the call begins.

use super::bucket::{Bucket, with_latest_plan, with_plan};
use super::plan::{Plan, STORAGE};
use super::{protected, quota};
use crate::storage::{self, Reported, Storage};
use crate::{exceptions, tokens};
use gcra::{
    Decision, Denial, MAX_WAIT, Outcome, Patience, Put, Refill, Step, TICKS_PER_MICROSECOND,
    Ticket, Ticks, Timestamp, Windows,
};
use stores::remote::{Answer, Stopwatch, TimeLeft};
use zend::{Held, Kept, Number, Object, Thrown, Zval, throw};

/// A call for a number of tokens from a bucket.
#[derive(Debug)]
pub struct Question<'a> {
    pub bucket: &'a Object<Bucket>,
    pub number: Number,
    pub step: Step,
    pub home: Home,
    /// The bucket's plan when the call began.
    pub plan: Plan,
}

/// The storage of a bucket. It is kept alive during the call, because PHP code may give the bucket
/// another storage.
#[derive(Debug)]
pub enum Home {
    /// A storage of the extension, which runs steps.
    Native(Held<dyn Storage>),
    /// A userland storage, which decides in PHP.
    Userland(Kept),
}

impl<'a> Question<'a> {
    /// Derives the question for `number` tokens. Errors refer to the PHP argument at position
    /// `argument`. Throws `ValueError` or `TypeError` for an invalid number or property.
    pub fn of(bucket: &'a Object<Bucket>, number: Number, argument: u32) -> Result<Self, Thrown> {
        let plan = with_plan(bucket, Plan::copy)?;
        Self::of_plan(bucket, plan, number, argument)
    }

    /// Derives the question from the plan that [`with_plan`] has just updated.
    pub fn of_latest_plan(
        bucket: &'a Object<Bucket>,
        number: Number,
        argument: u32,
    ) -> Result<Self, Thrown> {
        let plan = with_latest_plan(bucket, Plan::copy);
        Self::of_plan(bucket, plan, number, argument)
    }

    #[inline(always)]
    fn of_plan(
        bucket: &'a Object<Bucket>,
        plan: Plan,
        number: Number,
        argument: u32,
    ) -> Result<Self, Thrown> {
        let home = match storage::held(bucket.copy_property(STORAGE)) {
            Ok(storage) => Home::Native(storage),
            Err(object) => Home::Userland(object.into()),
        };
        let step = plan.step(number);
        let mut step = step.map_err(|error| exceptions::bad_amount(argument, error))?;
        if let Home::Native(storage) = &home
            && plan.overrides.tokens_to_seconds
            && !step.exceeds_capacity()
        {
            step = protected::step(bucket, plan.overrides, number, storage.grain())?;
        }
        let mut question = Self {
            bucket,
            number,
            step,
            home,
            plan,
        };
        if question.plan.limit.window().is_some() {
            question.enter_window()?;
        }
        Ok(question)
    }

    /// Gives the call the current window of its quota.
    fn enter_window(&mut self) -> Result<(), Thrown> {
        let now = self.native("attempt")?.unix_time(self.plan.key());
        let windows = quota::windows(self.bucket, now)?;
        self.step.refill = Refill::Windows(windows);
        self.plan.limit = self.plan.limit.in_window(windows.lengths[1]);
        Ok(())
    }

    /// Marks a call that [was late](Question::is_late) and has been derived again.
    pub fn mark_repeat(&mut self) {
        if let Refill::Windows(windows) = &mut self.step.refill {
            windows.is_repeat = true;
        }
    }

    /// Reports whether the call must be repeated in another window, because it was denied and its
    /// window has ended meanwhile, or because the store's clock is in none of its windows. The
    /// other window may have tokens. If less than half of the time is left, a denial stands.
    pub fn is_late(&self, outcome: &Outcome, left: TimeLeft) -> bool {
        let Refill::Windows(windows) = self.step.refill else {
            return false;
        };
        if self.step.is_outside(outcome) {
            return true;
        }
        let is_over = |storage: &dyn Storage| {
            let timeout = storage.timeout();
            left.of(timeout) >= timeout / 2 && storage.unix_time(self.plan.key()) >= windows.end()
        };
        !outcome.granted()
            && !self.step.exceeds_capacity()
            && self.native("attempt").is_ok_and(is_over)
    }

    /// Returns the windows of a call that is repeated.
    fn repeated(&self, storage: &dyn Storage) -> Result<Windows, Thrown> {
        let now = storage.unix_time(self.plan.key());
        let windows = quota::windows(self.bucket, now)?;
        Ok(Windows {
            is_repeat: true,
            ..windows
        })
    }

    /// Returns the ticket of a call that is repeated with this step.
    pub fn repeated_ticket(
        &self,
        index: usize,
        storage: &dyn Storage,
        step: &Step,
    ) -> Result<Ticket<'_>, Thrown> {
        let refill = Refill::Windows(self.repeated(storage)?);
        let step = Step { refill, ..*step };
        Ok(Ticket {
            step,
            ..self.ticket(index)
        })
    }

    /// Returns the step with the windows around `now`, if it has windows and they are others.
    pub fn step_at(&self, now: Timestamp) -> Step {
        let refill = match self.step.refill {
            Refill::Windows(windows) if !windows.contain(now) => {
                quota::windows(self.bucket, now).map(Refill::Windows).ok()
            }
            _ => None,
        };
        Step {
            refill: refill.unwrap_or(self.step.refill),
            ..self.step
        }
    }

    /// Runs `step`, which is the step of the call or its dry form. Repeats it in the next window if
    /// it [is late](Question::is_late) and the store has answered: after a failure, it may have
    /// counted the call.
    pub fn run(&self, storage: &dyn Storage, step: &Step) -> Reported<Outcome> {
        match step.refill {
            Refill::Windows(_) => self.run_in_window(storage, step),
            _ => storage.take(self.plan.key(), step, None),
        }
    }

    #[cold]
    fn run_in_window(&self, storage: &dyn Storage, step: &Step) -> Reported<Outcome> {
        let start = Stopwatch::start();
        let answer = storage.take(self.plan.key(), step, None)?;
        if answer.fallback || answer.value.granted() {
            return Ok(answer);
        }
        let left = TimeLeft::since(&start, storage.timeout());
        if !self.is_late(&answer.value, left) {
            return Ok(answer);
        }
        let ticket = self.repeated_ticket(0, storage, step)?;
        let mut result = None;
        storage.take_each(&[(storage, ticket)], Some(left), &mut |_, answer| {
            result = Some(answer);
        })?;
        result.ok_or(Thrown)
    }

    /// Returns the state of the bucket, as the outcome of a dry step for no tokens, and that step.
    pub fn look(&self, storage: &dyn Storage) -> Result<(Answer<Outcome>, Step), Thrown> {
        let step = Step {
            cost: 0,
            ..self.step
        };
        let seen = self.run(storage, &step.dry())?;
        let (cost, dry) = (0, true);
        let step = self.step_at(seen.value.now);
        Ok((seen, Step { cost, dry, ..step }))
    }

    /// Returns the change that gives `cost` ticks back.
    fn refund(&self, cost: Ticks) -> Put {
        match self.step.refill {
            Refill::Windows(windows) => Put::Uncount {
                cost,
                windows,
                is_undo: false,
            },
            _ => Put::refund(cost, self.step.span),
        }
    }

    /// Gives `cost` ticks back. Repeats the change if the store's clock is in none of its windows.
    pub fn give_back(&self, storage: &dyn Storage, cost: Ticks) -> Reported<()> {
        let key = self.plan.key();
        let done = storage.put(key, &self.refund(cost))?;
        if done.value {
            return Ok(done.map(drop));
        }
        let put = Put::Uncount {
            cost,
            windows: self.repeated(storage)?,
            is_undo: false,
        };
        Ok(storage.put(key, &put)?.map(drop))
    }

    /// Refuses a call that quotas do not support, because they are not refilled within a window.
    /// Throws `LogicException` for a quota.
    pub fn refuse_windows(&self, call: &str) -> Result<(), Thrown> {
        match self.step.refill {
            Refill::Windows(_) => Err(throw::logic(&format!(
                "TokenBucket\\Quota does not support {call}"
            ))),
            _ => Ok(()),
        }
    }

    /// Returns the step, with the times of an overriding `_tokens_to_seconds()` also for a call for
    /// more than the capacity. May run PHP code.
    pub fn measured_step(&self) -> Result<Step, Thrown> {
        let overrides = self.plan.overrides;
        if !overrides.tokens_to_seconds || !self.step.exceeds_capacity() {
            return Ok(self.step);
        }
        protected::step(self.bucket, overrides, self.number, self.plan.limit.grain())
    }

    /// Returns the extension's storage. `method` is the name of a method that userland storages do
    /// not support. Throws `LogicException` for a userland storage.
    pub fn native(&self, method: &str) -> Result<&dyn Storage, Thrown> {
        self.native_for(method, "")
    }

    /// Does the same as [`Question::native`]. `what` describes the unsupported call.
    fn native_for(&self, method: &str, what: &str) -> Result<&dyn Storage, Thrown> {
        match &self.home {
            Home::Native(storage) => Ok(&**storage),
            Home::Userland(_) => Err(throw::logic(&format!(
                "TokenBucket::{method}(){what} needs one of the extension's own storages"
            ))),
        }
    }

    /// Returns the ticket of this question, which has place `index` in a batch.
    pub fn ticket(&self, index: usize) -> Ticket<'_> {
        Ticket {
            index,
            key: self.plan.key(),
            step: self.step,
        }
    }

    /// Lets the call take tokens of the future that are refilled within `max_wait` ticks. A call
    /// for more than the capacity is still denied.
    ///
    /// Adds the rounding of the time per token to `max_wait`, and at least a microsecond. So a
    /// caller that waits a minute gets the tokens of a minute.
    pub fn wait_at_most(&mut self, max_wait: Ticks) {
        if self.step.exceeds_capacity() {
            return;
        }
        let rounding = self.plan.limit.rounding(max_wait);
        let max_wait = max_wait + rounding.max(TICKS_PER_MICROSECOND);
        let patience = Patience::Wait(max_wait.min(MAX_WAIT));
        self.step = self.step.with(patience);
    }

    /// Lets the call leave at least `floor` tokens in the bucket. Errors refer to the PHP argument
    /// at position `argument` of `method`. May run PHP code.
    ///
    /// The ticks of the floor are the cost of the call's tokens and the floor together, minus the
    /// cost of the call's tokens alone, so that a full bucket grants a call that leaves the rest of
    /// the capacity. Throws `ValueError` for an invalid number, and `LogicException` for a userland
    /// storage.
    pub fn leave(&mut self, floor: Number, argument: u32, method: &str) -> Result<(), Thrown> {
        if tokens::of_argument(floor, argument)?.is_zero() {
            return Ok(());
        }
        let grain = self.native_for(method, " with a floor")?.grain();
        self.refuse_windows(&format!("{method}() with a floor"))?;
        let all = tokens::sum(self.number, floor);
        let step = self.plan.step(all);
        let step = step.map_err(|error| exceptions::bad_amount(argument, error))?;
        let cost = if step.exceeds_capacity() {
            self.step.span + grain.ticks()
        } else if self.plan.overrides.tokens_to_seconds {
            protected::step(self.bucket, self.plan.overrides, all, grain)?.cost
        } else {
            step.cost
        };
        let floor = cost.saturating_sub(self.step.cost);
        self.step = self.step.with(Patience::Leave(floor));
        Ok(())
    }

    pub fn storage(&self) -> Zval {
        match &self.home {
            Home::Native(storage) => storage.object(),
            Home::Userland(object) => object.shallow_clone(),
        }
    }

    /// Takes the tokens from `storage`. If the bucket has no record, an overriding `_bootstrap()`
    /// proposes its first state. May run PHP code. Throws the exception of `_bootstrap()`, and then
    /// writes nothing.
    #[inline(always)]
    pub fn take(&self, storage: &dyn Storage) -> Reported<Outcome> {
        let (key, step) = (self.plan.key(), &self.step);
        if !self.plan.overrides.bootstrap {
            return self.run(storage, step);
        }
        let first = storage::first_state(storage, key, step, || {
            protected::bootstrap(self.bucket, &self.number.to_zval())
        })?;
        let denied = first.value.and_then(|it| self.too_late(it, storage.now()));
        if let Some(denied) = denied {
            return Ok(first.map(|_| denied));
        }
        storage.take_after(key, step, first)
    }

    /// Returns the denial of a call that waits or has a floor, if its tokens would be there too
    /// late. `first` is the state after the call that `_bootstrap()` has proposed. Any other call
    /// takes its tokens from the proposal in any case, as in the userland class.
    fn too_late(&self, first: Timestamp, now: Timestamp) -> Option<Outcome> {
        let max_wait = self.step.max_wait;
        let is_late = max_wait != 0 && first > now.saturating_add_signed(max_wait);
        let empty_at = first.saturating_sub(self.step.cost);
        is_late.then(|| Outcome::denied(Denial::Insufficient, empty_at, now))
    }

    /// Returns the decision for the outcome of the step. `retryAfter` is that of a caller that
    /// cannot wait.
    #[inline(always)]
    pub fn decision(&self, outcome: &Answer<Outcome>) -> Decision {
        let step = Step {
            max_wait: self.step.max_wait.min(0),
            ..self.step_at(outcome.value.now)
        };
        Decision {
            verdict: step.reason(&outcome.value),
            fallback: outcome.fallback,
            ..Decision::new(&self.plan.limit, &step, &outcome.value)
        }
    }
}
