//! Functions that throw exceptions and raise warnings. Messages about arguments have PHP's own
//! form.

use super::{Class, Obj, bailout, foreign, symbols, value};
use ext_php_rs::ffi::{
    ext_php_rs_executor_globals, ext_php_rs_zend_object_release, zend_class_entry, zend_object,
    zend_throw_exception,
};
use ext_php_rs::types::Zval;
use ext_php_rs::zend::{ExecutorGlobals, ce};
use std::any::Any;
use std::ffi::CString;
use std::ptr;

/// The error type of functions that have thrown a PHP exception. The caller must return to PHP.
#[must_use]
#[derive(Clone, Copy, Debug)]
pub struct Thrown;

/// Returns the text as a C string. Removes NUL bytes.
pub(super) fn text(message: &str) -> CString {
    // Our own messages hold no NUL byte, but a panic's message may.
    CString::new(message.replace('\0', "")).unwrap_or_default()
}

pub fn is_pending() -> bool {
    ExecutorGlobals::has_exception()
}

/// Returns `value`, unless the PHP code that has just run threw an exception. Fails if an exception
/// is pending.
pub(super) fn unless_pending<R>(value: R) -> Result<R, Thrown> {
    if is_pending() { Err(Thrown) } else { Ok(value) }
}

/// Runs `body` without a pending exception. Removes a pending exception before `body`, and restores
/// it after. If `body` throws, the exception that was taken becomes the previous exception of the
/// new one. `exit()` takes precedence over any exception, in either order.
///
/// The exception is kept in this frame and not in the engine's globals, because `body` may look up
/// classes, catch exceptions and suspend the fiber.
pub fn aside<R>(body: impl FnOnce() -> R) -> R {
    // SAFETY: the globals live as long as the engine. The engine does the same around destructors.
    let (globals, pending, opline) = unsafe {
        let globals = ext_php_rs_executor_globals();
        let pending = ptr::replace(&raw mut (*globals).exception, ptr::null_mut());
        (globals, pending, (*globals).opline_before_exception)
    };
    let result = body();
    if pending.is_null() {
        return result;
    }
    // SAFETY: `pending` still holds the reference that was taken from the globals. Each branch
    // passes it on once, and the same holds for the reference to `new`.
    unsafe {
        (*globals).opline_before_exception = opline;
        let new = (*globals).exception;
        if new.is_null() {
            (*globals).exception = pending;
        } else if is_exit(pending) {
            (*globals).exception = pending;
            // The destructor of an exception may run PHP code.
            bailout::door(|| ext_php_rs_zend_object_release(new));
        } else if is_exit(new) {
            bailout::door(|| ext_php_rs_zend_object_release(pending));
        } else {
            symbols::zend_exception_set_previous(new, pending);
        }
    }
    result
}

/// Returns true if the pending exception is the engine's own. The engine throws such an exception
/// for `exit()`, and to end a fiber that is never resumed. PHP code cannot catch it.
///
/// # Safety
/// `exception` is a live object.
unsafe fn is_exit(exception: *mut zend_object) -> bool {
    // SAFETY: the caller guarantees a live object.
    unsafe { symbols::zend_is_unwind_exit(exception) || symbols::zend_is_graceful_exit(exception) }
}

/// Throws `ValueError: Class::method(): Argument #number ($name) message`.
#[cold]
pub fn argument_value(number: u32, message: &str) -> Thrown {
    let message = text(message);
    let (format, start) = (c"%s".as_ptr(), message.as_ptr());
    // SAFETY: the format takes one C string. The engine adds the names of the running function,
    // which has at least `number` parameters.
    bailout::door(|| unsafe { symbols::zend_argument_value_error(number, format, start) });
    Thrown
}

/// Throws `TypeError: Class::method(): Argument #number ($name) message`.
#[cold]
pub fn argument_type(number: u32, message: &str) -> Thrown {
    let message = text(message);
    let (format, start) = (c"%s".as_ptr(), message.as_ptr());
    // SAFETY: as in `argument_value`.
    bailout::door(|| unsafe { symbols::zend_argument_type_error(number, format, start) });
    Thrown
}

/// Throws `ValueError: message`.
#[cold]
pub fn value_error(message: &str) -> Thrown {
    exception(ce::value_error(), message)
}

/// Throws `TypeError: message`.
#[cold]
pub fn type_error(message: &str) -> Thrown {
    exception(ce::type_error(), message)
}

/// Throws `Error: message`.
#[cold]
pub fn error(message: &str) -> Thrown {
    exception(ce::error(), message)
}

/// Throws `LogicException: message`.
#[cold]
pub fn logic(message: &str) -> Thrown {
    // SAFETY: the class is registered when PHP starts and is not changed afterwards.
    exception(unsafe { &*symbols::spl_ce_LogicException }, message)
}

fn exception(class: &zend_class_entry, message: &str) -> Thrown {
    raise(ptr::from_ref(class).cast_mut(), message);
    Thrown
}

fn raise(class: *mut zend_class_entry, message: &str) -> *mut zend_object {
    let message = text(message);
    let start = message.as_ptr();
    // SAFETY: the class is registered. The engine copies the C string.
    bailout::door(|| unsafe { zend_throw_exception(class, start, 0) })
}

/// Catches the pending exception if it is of the class named `class` (in lower case) or of a
/// subclass. Returns `None` and leaves other exceptions pending.
pub fn catch(class: &str) -> Option<Zval> {
    // SAFETY: the globals live as long as the engine. A pending exception is a live object.
    let pending = unsafe { Obj::new((*ext_php_rs_executor_globals()).exception) }?;
    if !foreign::is_of(pending, class) {
        return None;
    }
    // This reference keeps the exception alive when it is cleared.
    let held = value::of_object(pending);
    // SAFETY: called while a method of the extension runs.
    unsafe { symbols::zend_clear_exception() };
    Some(held)
}

/// Throws an `Error` with the message of a panic, which is a bug of the extension. The message may
/// quote any characters, so it is escaped.
#[cold]
pub(super) fn panicked(extension: &str, panic: &(dyn Any + Send)) {
    let message = panic
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_default();
    let _ = error(&format!(
        "{extension} panicked, which is a bug: {}",
        message.escape_default()
    ));
}

/// Throws an exception of a class of the extension, with a previous exception if there is one.
#[cold]
pub fn of_class(class: &Class, message: &str, previous: Option<Zval>) -> Thrown {
    let thrown = raise(class.entry(), message);
    if let Some(previous) = previous.filter(|previous| value::object(previous).is_some()) {
        // SAFETY: both are live exceptions. The new exception takes over the reference, so
        // `previous` is forgotten.
        unsafe {
            symbols::zend_exception_set_previous(thrown, previous.value.obj);
            std::mem::forget(previous);
        }
    }
    Thrown
}

/// Raises a warning. Runs the warning handler that PHP code has set, if any. The handler may throw.
#[cold]
pub fn warning(message: &str) -> Result<(), Thrown> {
    let message = text(message);
    let (start, kind) = (message.as_ptr(), symbols::E_WARNING.cast_signed());
    // SAFETY: the format takes one C string.
    bailout::door(|| unsafe {
        symbols::php_error_docref(ptr::null(), kind, c"%s".as_ptr(), start);
    });
    unless_pending(())
}

/// Raises a warning as `trigger_error()` does; see [`warning`].
#[cold]
pub fn user_warning(message: &str) -> Result<(), Thrown> {
    let held = value::of_bytes(message.as_bytes());
    // SAFETY: the value holds a live string, which the engine does not keep.
    let text = unsafe { held.value.str_ };
    // SAFETY: as above.
    bailout::door(|| unsafe {
        symbols::zend_error_zstr(symbols::E_USER_WARNING.cast_signed(), text);
    });
    unless_pending(())
}
