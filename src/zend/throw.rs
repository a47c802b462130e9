//! Throwing exceptions with PHP's own messages, which name the argument if there is one.

use super::class::Class;
use super::obj::Obj;
use super::{foreign, symbols, system, value};
use ext_php_rs::ffi::{
    ext_php_rs_executor_globals, zend_class_entry, zend_object, zend_throw_exception,
};
use ext_php_rs::types::{ZendStr, Zval};
use ext_php_rs::zend::{ExecutorGlobals, ce};
use std::any::Any;
use std::ffi::CString;
use std::ptr;

/// A marker that an exception is pending: return to PHP.
#[derive(Clone, Copy, Debug)]
pub struct Thrown;

/// Returns the text as a C string.
pub(super) fn text(message: &str) -> CString {
    // Our own messages hold no NUL byte, but a panic's message may.
    CString::new(message.replace('\0', "")).unwrap_or_default()
}

/// Returns true if an exception is pending.
pub fn is_pending() -> bool {
    ExecutorGlobals::has_exception()
}

/// Returns the value of PHP code that has just run, unless it has thrown.
///
/// # Errors
/// If that code threw an exception.
pub(super) fn unless_pending<R>(value: R) -> Result<R, Thrown> {
    if is_pending() { Err(Thrown) } else { Ok(value) }
}

/// Runs `body` as if no exception were pending. A pending exception is saved meanwhile. If `body`
/// leaves an exception pending, the saved one becomes its previous exception.
pub fn aside<R>(body: impl FnOnce() -> R) -> R {
    // SAFETY: called in the frame of a function of ours, whose exceptions are pending in the
    // engine's globals. Each save is paired with a restore.
    unsafe { symbols::zend_exception_save() };
    let result = body();
    // SAFETY: as above.
    unsafe { symbols::zend_exception_restore() };
    result
}

/// Throws `ValueError: Class::method(): Argument #number ($name) message`.
#[cold]
pub fn argument_value(number: u32, message: &str) -> Thrown {
    let message = text(message);
    // SAFETY: the format takes one C string. The engine adds the names of the running function,
    // which has at least `number` parameters.
    unsafe { symbols::zend_argument_value_error(number, c"%s".as_ptr(), message.as_ptr()) };
    Thrown
}

/// Throws `TypeError: Class::method(): Argument #number ($name) message`.
#[cold]
pub fn argument_type(number: u32, message: &str) -> Thrown {
    let message = text(message);
    // SAFETY: as in `argument_value`.
    unsafe { symbols::zend_argument_type_error(number, c"%s".as_ptr(), message.as_ptr()) };
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
    // SAFETY: set once, when the engine started.
    exception(unsafe { &*symbols::spl_ce_LogicException }, message)
}

fn exception(class: &zend_class_entry, message: &str) -> Thrown {
    raise(ptr::from_ref(class).cast_mut(), message);
    Thrown
}

fn raise(class: *mut zend_class_entry, message: &str) -> *mut zend_object {
    let message = text(message);
    // SAFETY: a registered class and a C string, which is copied.
    unsafe { zend_throw_exception(class, message.as_ptr(), 0) }
}

/// Catches the pending exception if it is of the class named `class` (in lower case) or of a
/// subclass. Other exceptions stay pending.
pub fn catch(class: &str) -> Option<Zval> {
    // SAFETY: the globals live as long as the engine. A pending exception is a live object.
    let pending = unsafe { Obj::new((*ext_php_rs_executor_globals()).exception) }?;
    if !foreign::is_of(pending, class) {
        return None;
    }
    // Hold the exception before it is cleared.
    let held = value::of_object(pending);
    // SAFETY: called in the frame of a function of ours.
    unsafe { symbols::zend_clear_exception() };
    Some(held)
}

/// Throws an `Error` for a panic, which is a bug of ours, instead of unwinding into PHP.
#[cold]
pub fn panicked(panic: &(dyn Any + Send)) {
    let message = panic
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_default();
    error(&format!("tokenbucket panicked, which is a bug: {message}"));
}

/// Throws an exception of one of our classes, with a previous exception if there is one.
#[cold]
pub fn of_class(class: &Class, message: &str, previous: Option<Zval>) -> Thrown {
    let thrown = raise(class.entry(), message);
    if let Some(previous) = previous.filter(|previous| value::object(previous).is_some()) {
        // SAFETY: both are live exceptions. The new one takes over the reference, which is
        // forgotten here.
        unsafe {
            symbols::zend_exception_set_previous(thrown, previous.value.obj);
            std::mem::forget(previous);
        }
    }
    Thrown
}

/// Raises a warning. This runs the handler that PHP code has set. The handler may throw, or end the
/// request and never return.
///
/// # Errors
/// The exception of the handler.
#[cold]
pub fn warning(message: String) -> Result<(), Thrown> {
    // In the request's memory, which is released even if the handler never returns.
    let held = ZendStr::new(message.replace('\0', ""), false);
    drop(message);
    // SAFETY: the format takes one C string. The engine's strings end with a NUL byte, as C strings
    // do.
    unsafe {
        let text = held.as_bytes().as_ptr();
        let kind = symbols::E_WARNING.cast_signed();
        symbols::php_error_docref(ptr::null(), kind, c"%s".as_ptr(), text);
    }
    unless_pending(())
}

/// Raises a warning as `trigger_error()` does; see [`warning`].
///
/// # Errors
/// The exception of the handler.
#[cold]
pub fn user_warning(message: Vec<u8>) -> Result<(), Thrown> {
    let held = ZendStr::new(&message, false);
    drop(message);
    // SAFETY: a live string, which the engine does not keep.
    unsafe {
        let text = ptr::from_ref(&*held).cast_mut().cast();
        symbols::zend_error_zstr(symbols::E_USER_WARNING.cast_signed(), text);
    };
    unless_pending(())
}

/// Warns while PHP starts, before any script runs.
pub fn startup_warning(message: &str) {
    let message = format!("tokenbucket: {message}");
    if system::interface_name() == "fpm-fcgi" {
        // The log of php-fpm is not open yet. Without error_log in php.ini the warning would be
        // lost.
        eprintln!("WARNING: {message}");
    }
    let message = text(&message);
    // SAFETY: the format takes one C string.
    unsafe {
        let kind = symbols::E_CORE_WARNING.cast_signed();
        symbols::zend_error(kind, c"%s".as_ptr(), message.as_ptr());
    };
}
