//! `TokenBucket\Permit`: the result of `acquire()`, granted or denied.

use super::held::{self, Entry};
use crate::storage::{Granted, Refusal};
use crate::{classes, decision};
use zend::object::instantiate_with;
use zend::{Call, Class, Object, State, Thrown, Zval, value};

/// The slot of the property.
const DECISION: usize = 0;

/// The state of an object: the entry of its permit in the list of this thread.
#[derive(Debug, Default)]
pub struct Permit {
    entry: Entry,
}

impl State for Permit {
    const SLOTS: usize = DECISION + 1;

    fn class() -> &'static Class {
        &classes::PERMIT
    }

    fn born() -> Self {
        Self::default()
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        held::release(self.entry);
    }
}

/// Returns an object for a permit out of `limit`. Allocates all that the call needs, because a
/// permit must not be taken and then be lost when PHP's memory limit is reached.
pub fn prepare(limit: u16) -> Zval {
    let decision = decision::of_permit(limit);
    let entry = held::reserve();
    instantiate_with(Permit { entry }, [decision])
}

/// Sets the result of the call on the object that [`prepare`] has returned. Allocates no memory.
pub fn settle(permit: &Zval, result: Result<Granted, Refusal>) {
    let Some(permit) = value::object(permit).and_then(Object::<Permit>::of) else {
        return;
    };
    match result {
        Ok(granted) => {
            held::keep(permit.entry, granted.permit);
            decision::set_free_permits(&permit.copy_property(DECISION), granted.free);
        }
        Err(refusal) => {
            held::release(permit.entry);
            decision::deny_permit(&permit.copy_property(DECISION), refusal.denial());
        }
    }
}

/// Implements `release(): void`.
#[allow(clippy::unnecessary_wraps)]
pub fn release(call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    held::release(call.this::<Permit>().entry);
    Ok(())
}

/// Implements `renew(): bool`.
#[allow(clippy::unnecessary_wraps)]
pub fn renew(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    result.set_bool(held::renew(call.this::<Permit>().entry));
    Ok(())
}

/// Implements `__construct()`. It is private in PHP, because only limits make permits.
#[allow(clippy::unnecessary_wraps)]
pub fn construct(_call: &mut Call<'_>, _result: &mut Zval) -> Result<(), Thrown> {
    Ok(())
}
