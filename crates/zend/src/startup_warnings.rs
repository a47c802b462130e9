//! Warnings that PHP raises while a request starts, for example about its body.
//!
//! PHP parses a request before the gate can decide on it. With `display_errors` on, a warning would
//! begin the response, so that a denial could no longer set the status. So the hook holds such a
//! warning back: it is logged at once, but displayed only after the gate has let the request pass.

use super::system::{Ending, Starting};
use super::{bailout, symbols};
use ext_php_rs::boxed::ZBox;
use ext_php_rs::ffi::{ext_php_rs_process_globals, php_core_globals, zend_string};
use ext_php_rs::types::ZendStr;
use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};
use std::{mem, ptr};

type Report = unsafe extern "C" fn(c_int, *mut zend_string, u32, *mut zend_string);

/// The [`Report`] that the hook calls. Null if the hook is not set.
static NEXT: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// A warning that has been logged, but not displayed.
struct Held {
    kind: c_int,
    file: ZBox<ZendStr>,
    line: u32,
    message: ZBox<ZendStr>,
}

thread_local! {
    static HELD: RefCell<Vec<Held>> = const { RefCell::new(Vec::new()) };
}

/// Sets the hook.
pub fn hold(_: &Starting) {
    // SAFETY: the module is starting, on the only thread.
    unsafe {
        if let Some(next) = symbols::zend_error_cb {
            NEXT.store(next as *mut c_void, Ordering::Release);
            symbols::zend_error_cb = Some(report);
        }
    }
}

/// Removes the hook, unless another module has replaced it.
pub fn remove(_: &Ending) {
    // SAFETY: the module is shutting down, so no request runs. The pointer is null or was a
    // `Report`.
    unsafe {
        let is_ours = |now: Report| ptr::fn_addr_eq(now, report as Report);
        if symbols::zend_error_cb.is_some_and(is_ours) {
            let next = NEXT.swap(ptr::null_mut(), Ordering::AcqRel);
            symbols::zend_error_cb = mem::transmute::<*mut c_void, Option<Report>>(next);
        }
    }
}

/// Displays the warnings of this request.
pub fn show() {
    // Without an error in this request, the warnings are from a request that ended before the gate
    // decided.
    if HELD.with_borrow(Vec::is_empty) || is_first() {
        forget();
        return;
    }
    let globals = globals();
    // SAFETY: the globals live as long as the engine.
    let before = unsafe { ((*globals).log_errors, (*globals).ignore_repeated_errors) };
    while let Some((kind, file, line, message)) = HELD.with_borrow(|held| held.first().map(parts)) {
        // SAFETY: as above. The strings live until they are removed.
        let display = || unsafe {
            (*globals).log_errors = false;
            (*globals).ignore_repeated_errors = false;
            next(kind, file, line, message);
        };
        // Displaying may end the request, if the client has closed the connection.
        bailout::finally(display, || {
            // SAFETY: as above.
            unsafe { ((*globals).log_errors, (*globals).ignore_repeated_errors) = before };
            HELD.with_borrow_mut(|held| drop(held.remove(0)));
        });
    }
}

/// Drops the warnings of this request.
pub fn forget() {
    HELD.with_borrow_mut(Vec::clear);
}

fn parts(held: &Held) -> (c_int, *mut zend_string, u32, *mut zend_string) {
    let [file, message] = [&held.file, &held.message].map(|text| ptr::from_ref(&**text).cast_mut());
    (held.kind, file, held.line, message)
}

/// Implements `zend_error_cb`.
///
/// # Safety
/// Only the engine may call this.
unsafe extern "C" fn report(
    kind: c_int,
    file: *mut zend_string,
    line: u32,
    message: *mut zend_string,
) {
    let globals = globals();
    // SAFETY: the globals live as long as the engine, which passes live strings. Only an error that
    // is fatal ends the request, so the setting is restored.
    unsafe {
        let displays = (*globals).display_errors;
        if !(*globals).during_request_startup || displays == 0 || is_fatal(kind) {
            next(kind, file, line, message);
            return;
        }
        if is_first() {
            forget();
        }
        let copy = |text: *mut zend_string| ZendStr::new((*text).as_bytes(), true);
        let (file_copy, message_copy) = (copy(file), copy(message));
        HELD.with_borrow_mut(|held| {
            held.push(Held {
                kind,
                file: file_copy,
                line,
                message: message_copy,
            });
        });
        (*globals).display_errors = 0;
        next(kind, file, line, message);
        (*globals).display_errors = displays;
    }
}

/// Calls the function that the hook replaced.
///
/// # Safety
/// The arguments are those of an error.
unsafe fn next(kind: c_int, file: *mut zend_string, line: u32, message: *mut zend_string) {
    // SAFETY: the pointer is null or a `Report`, by the contract of `NEXT`.
    let next =
        unsafe { mem::transmute::<*mut c_void, Option<Report>>(NEXT.load(Ordering::Acquire)) };
    if let Some(next) = next {
        // SAFETY: by contract.
        unsafe { next(kind, file, line, message) };
    }
}

/// Returns true if this request has had no error yet.
fn is_first() -> bool {
    // SAFETY: the globals live as long as the engine, which clears the last error after a request.
    unsafe { (*globals()).last_error_message.is_null() }
}

fn is_fatal(kind: c_int) -> bool {
    let others = symbols::E_WARNING | symbols::E_NOTICE | symbols::E_DEPRECATED;
    kind.cast_unsigned() & others == 0
}

fn globals() -> *mut php_core_globals {
    // SAFETY: the function has no preconditions.
    unsafe { ext_php_rs_process_globals() }
}
