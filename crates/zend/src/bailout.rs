//! Fatal errors of PHP code, which the engine calls bailouts.
//!
//! A bailout jumps over all frames up to the engine's last `zend_try`, so that Rust code in between
//! would never release its values. Therefore a call goes through [`door`] if it may run PHP code,
//! or if it needs the engine's memory, which is limited. [`door`] stops the bailout and unwinds the
//! Rust frames with a panic. At the edge of the method [`call::run`](super::call::run) catches the
//! panic and resumes the bailout.
//!
//! No door is needed where the frames up to the method hold only values of the engine, because the
//! engine releases these at the end of the request.

use ext_php_rs::zend::{CatchError, bailout, try_catch};
use std::any::Any;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::thread;

/// The payload of a panic that stands for a bailout.
struct Bailout;

/// Runs `call` and returns its result. Unwinds if `call` ends in a fatal error.
///
/// Call it only inside a method, because only methods resume the bailout. `call` must own nothing
/// that needs to be released, because the engine jumps over its frame.
pub(super) fn door<R>(call: impl FnOnce() -> R) -> R {
    stopped(call).unwrap_or_else(|panic| resume_unwind(panic))
}

/// Runs `release`, which releases a value of the engine, like [`door`]. While Rust frames unwind,
/// ignores a fatal error, because a bailout or an exception follows anyway.
pub(super) fn release(release: impl FnOnce()) {
    if let Err(panic) = stopped(release)
        && !thread::panicking()
    {
        resume_unwind(panic);
    }
}

/// Runs `first`, which may end in a fatal error, and then `last` in any case. Resumes the bailout
/// afterwards, if there was one. Unlike [`door`], works outside of methods.
pub(super) fn finally(first: impl FnOnce(), last: impl FnOnce()) {
    let stopped = stopped(first);
    last();
    if let Err(panic) = stopped {
        resume(panic);
    }
}

/// Runs `call` and returns its result. If `call` ends in a fatal error, returns the payload of a
/// panic instead.
fn stopped<R>(call: impl FnOnce() -> R) -> Result<R, Box<dyn Any + Send>> {
    try_catch(AssertUnwindSafe(call)).map_err(|error| match error {
        CatchError::Bailout => Box::new(Bailout) as Box<dyn Any + Send>,
        other => Box::new(other.to_string()),
    })
}

/// Resumes the bailout that `panic` stands for. Returns any other panic. Call it only at the edge
/// to the engine, when the other frames are gone.
#[cold]
pub(super) fn resume(panic: Box<dyn Any + Send>) -> Box<dyn Any + Send> {
    if panic.is::<Bailout>() {
        drop(panic);
        // SAFETY: the jump skips no Rust value, because the caller's frame owns none.
        unsafe { bailout() }
    }
    panic
}
