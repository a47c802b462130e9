//! Fatal errors of PHP code, which the engine calls bailouts.
//!
//! A bailout jumps over all frames up to the engine's last `zend_try`, so that Rust code in between
//! would never release its values. Therefore calls that may run PHP code go through [`door`]. It
//! stops the bailout and unwinds the Rust frames with a panic. At the edge of the method
//! [`call::run`](super::call::run) catches the panic and resumes the bailout.

use ext_php_rs::zend::{CatchError, bailout, try_catch};
use std::any::Any;
use std::panic::{AssertUnwindSafe, resume_unwind};

/// The payload of a panic that stands for a bailout.
struct Bailout;

/// Runs `call`, which may run PHP code, and returns its result. Unwinds if PHP code ends in a fatal
/// error.
///
/// Call it only inside a method, because only methods resume the bailout. `call` must own nothing
/// that needs to be released, because the engine jumps over its frame.
pub(super) fn door<R>(call: impl FnOnce() -> R) -> R {
    match try_catch(AssertUnwindSafe(call)) {
        Ok(result) => result,
        Err(CatchError::Bailout) => resume_unwind(Box::new(Bailout)),
        Err(other) => resume_unwind(Box::new(other.to_string())),
    }
}

/// Resumes the bailout that `panic` stands for. Returns any other panic. Only [`run`] may call
/// this, when the frames of the method's body are gone.
///
/// [`run`]: super::call::run
#[cold]
pub(super) fn resume(panic: Box<dyn Any + Send>) -> Box<dyn Any + Send> {
    if panic.is::<Bailout>() {
        drop(panic);
        // SAFETY: the jump skips no Rust value, because only this frame is left of the method.
        unsafe { bailout() }
    }
    panic
}
