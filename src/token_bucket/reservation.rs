//! `reserve()`, and the class `TokenBucket\Reservation` that it returns.
//!
//! A reservation takes the next tokens of the bucket, in order of arrival. These tokens may not be
//! refilled yet. Then the reservation is due when they have been refilled.

use super::Bucket;
use super::question::Question;
use super::wait::{patience, until};
use crate::storage::{self, Storage, Undo};
use crate::{classes, decision, tokens};
use gcra::{MAX_WAIT, Put, Timestamp, seconds};
use std::cell::Cell;
use zend::object::instantiate;
use zend::{Call, Class, Held, Object, Slept, State, Thrown, Zval, invoke, throw, value};

// The slots of the properties, in the order of their declaration.
const DECISION: usize = 0;
const DELAY: usize = 1;
const STORAGE: usize = 2;
const IDENTIFIER: usize = 3;

/// The state of an object.
#[derive(Debug, Default)]
pub struct Reservation {
    /// `None` if nothing was reserved.
    granted: Option<Granted>,
    is_cancelled: Cell<bool>,
}

/// A reservation that was granted.
#[derive(Debug)]
struct Granted {
    /// The instant from which the tokens may be used, on the clock of [`Storage::now`].
    due: Timestamp,
    /// Undoes the reservation.
    give_back: Put,
    /// True if the failure policy decided instead of the store.
    fallback: bool,
    /// The process that reserved. A forked child has a copy of the object, which must not give the
    /// same tokens back again.
    process: u32,
}

impl State for Reservation {
    const SLOTS: usize = IDENTIFIER + 1;
    const CLASS: &'static Class = &classes::RESERVATION;
}

/// Implements `reserve(int|float $tokens = 1, float $maxWait = INF): TokenBucket\Reservation`.
pub fn reserve(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let number = tokens::optional(call, 0)?;
    let max_wait = call.optional(2, patience)?.unwrap_or(MAX_WAIT);
    let mut question = Question::of(call.this::<Bucket>(), number, 1)?;
    question.refuse_windows("reserve()")?;
    question.wait_at_most(max_wait);
    let storage = question.native("reserve")?;
    let taken = question.take(storage)?;
    let decision = question.decision(&taken);
    let (outcome, fallback) = (taken.value, taken.fallback);
    let delay = question.step.debt(outcome.empty_at, outcome.now);
    let reservation = Reservation {
        granted: decision.allowed().then(|| Granted {
            due: storage.now() + delay,
            give_back: Put::cancel(question.step.cost, question.step.span, outcome.empty_at),
            fallback,
            process: std::process::id(),
        }),
        is_cancelled: Cell::new(false),
    };
    let shown = if decision.allowed() {
        seconds::from_ticks(delay)
    } else {
        f64::INFINITY
    };
    let decision = decision::to_object(&question.plan.limit, &decision);
    *result = instantiate(reservation, |object| {
        object.set_property(DECISION, decision);
        object.set_property(DELAY, value::of_float(shown));
        object.set_property(STORAGE, question.storage());
        object.set_property(IDENTIFIER, question.plan.identifier());
        Ok(())
    })?;
    Ok(())
}

/// Implements `__construct()`. It is private in PHP, because only the extension makes reservations.
pub fn construct(_call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    Ok(())
}

/// Implements `wait(): void`.
pub fn wait(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    let this = call.this::<Reservation>();
    let Some(granted) = &this.granted else {
        return Err(throw::logic("The reservation was not granted"));
    };
    let storage = storage_of(this)?;
    loop {
        if this.is_cancelled.get() {
            return Err(throw::logic("The reservation was cancelled"));
        }
        if until(&*storage, granted.due) == Slept::ToTheEnd {
            return Ok(());
        }
        match invoke::interrupt_handler() {
            Ok(true) => {}
            Ok(false) => return undo(this),
            Err(thrown) => {
                throw::aside(|| undo(this))?;
                return Err(thrown);
            }
        }
    }
}

/// Implements `cancel(): void`.
pub fn cancel(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    undo(call.this::<Reservation>())
}

/// Gives the tokens back, unless that was done before, nothing was reserved, or another process
/// reserved the tokens.
fn undo(this: &Object<Reservation>) -> Result<(), Thrown> {
    let Some(granted) = &this.granted else {
        return Ok(());
    };
    if this.is_cancelled.replace(true) {
        return Ok(());
    }
    let storage = storage_of(this)?;
    if granted.process != std::process::id() && !storage.is_private() {
        return Ok(());
    }
    let identifier = this.copy_property(IDENTIFIER);
    let key = storage.key(value::bytes(&identifier));
    Undo::new(&*storage, key, granted.give_back, granted.fallback).give_back()
}

fn storage_of(this: &Object<Reservation>) -> Result<Held<dyn Storage>, Thrown> {
    // `reserve` has set the property to a storage of the extension.
    storage::held(this.copy_property(STORAGE)).map_err(|_| Thrown)
}
