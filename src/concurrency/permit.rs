//! `TokenBucket\Permit`: the result of `acquire()`, granted or denied.

use super::held::{self, HeldEntry};
use crate::storage::HeldPermit;
use crate::{classes, decision};
use segment::{Acquired, Refusal};
use std::cell::Cell;
use zend::object::instantiate_with;
use zend::{Call, Class, Object, State, Thrown, Zval, value};

/// The slot of the property.
const DECISION: usize = 0;

/// The state of an object: the entry of its permit in the list of this thread.
#[derive(Debug, Default)]
pub struct PermitState {
    entry: Cell<HeldEntry>,
}

impl State for PermitState {
    const SLOTS: usize = DECISION + 1;
    const CLASS: &'static Class = &classes::PERMIT;
}

impl Drop for PermitState {
    fn drop(&mut self) {
        if let Some(permit) = held::release(self.entry.get()) {
            permit.release_quietly();
        }
    }
}

/// Returns the object for permits that this thread holds already, with the decision about them.
pub fn of_entry(decision: Zval, entry: HeldEntry) -> Zval {
    let entry = Cell::new(entry);
    instantiate_with(PermitState { entry }, [decision])
}

/// The objects of a call that asks for a permit. They are made before the permit is taken, because
/// a permit must not be lost when PHP's memory limit is reached.
pub struct Prepared {
    permit: Zval,
    decision: Zval,
}

impl Prepared {
    /// Returns the objects for a permit out of `limit`.
    #[inline]
    pub fn new(limit: u16) -> Self {
        let decision = decision::of_permit(limit);
        Self {
            permit: instantiate_with(PermitState::default(), [decision.shallow_clone()]),
            decision,
        }
    }

    /// Notes that a failure policy decided.
    #[cold]
    pub fn set_fallback(&self) {
        decision::set_fallback(&self.decision);
    }

    /// Returns the permit with the result of the call. Allocates none of PHP's memory.
    #[inline]
    pub fn settle(self, result: Result<Acquired<HeldPermit>, Refusal>) -> Zval {
        let permit = value::object(&self.permit).and_then(Object::<PermitState>::of);
        match (result, permit) {
            (Ok(granted), Some(permit)) => {
                permit.entry.set(held::keep(granted.permit));
                decision::set_free_permits(&self.decision, granted.free);
            }
            (Ok(granted), None) => drop(granted.permit.release()),
            (Err(refusal), _) => decision::deny_permit(&self.decision, refusal),
        }
        self.permit
    }
}

/// Implements `release(): void`.
pub fn release(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    match held::release(call.this::<PermitState>().entry.get()) {
        Some(permit) => permit.release(),
        None => Ok(()),
    }
}

/// Implements `renew(): bool`.
pub fn renew(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    result.set_bool(held::renew(call.this::<PermitState>().entry.get())?);
    Ok(())
}

/// Implements `__construct()`. It is private in PHP, because only limits make permits.
pub fn construct(_call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    Ok(())
}
