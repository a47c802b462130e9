//! The gate: a decision on a request before its first script is compiled.
//!
//! The engine compiles each file by the function `zend_compile_file`. The opcache replaces this
//! function after all modules have started. So the hook is set in the first request, in front of
//! the opcache, and it stays. Setting it again could chain the hook to itself, if another module
//! has wrapped it.

use super::request::Request;
use super::system::{Ending, Starting};
use super::{bailout, startup_warnings, symbols};
use ext_php_rs::ffi::{ext_php_rs_compiler_globals, zend_file_handle, zend_op_array};
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Decides on a request. Returns true if it has sent a response. The request then ends without any
/// script. No PHP code may run in this function.
pub type Gate = fn(&Request) -> bool;

type Compile = unsafe extern "C" fn(*mut zend_file_handle, c_int) -> *mut zend_op_array;

/// The [`Compile`] that the hook calls. Null if the hook is not set.
static NEXT: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

thread_local! {
    /// The gate that has not decided on the current request yet.
    static GATE: Cell<Option<Gate>> = const { Cell::new(None) };
}

/// Lets a gate decide before PHP displays a warning about the request.
pub fn install(starting: &Starting) {
    startup_warnings::hold(starting);
}

/// Sets the gate of a request that begins. `None` if no decision is needed.
pub fn set(gate: Option<Gate>) {
    GATE.set(gate);
    if gate.is_none() {
        startup_warnings::show();
    } else if NEXT.load(Ordering::Acquire).is_null() {
        hook();
    }
}

#[cold]
fn hook() {
    // SAFETY: the variable is a pointer, which the engine also reads and writes without a lock.
    // The hook is only set by the thread that has stored the next function.
    unsafe {
        let Some(next) = symbols::zend_compile_file else {
            return;
        };
        let next = next as *mut c_void;
        let none = ptr::null_mut();
        let stored = NEXT.compare_exchange(none, next, Ordering::AcqRel, Ordering::Relaxed);
        if stored.is_ok() {
            symbols::zend_compile_file = Some(compile);
        }
    }
}

/// Removes the hooks, unless another module has replaced them.
pub fn remove(ending: &Ending) {
    startup_warnings::remove(ending);
    // SAFETY: the module is shutting down, so nothing is compiled. The pointer is null or was a
    // `Compile`.
    unsafe {
        let is_ours = |now: Compile| ptr::fn_addr_eq(now, compile as Compile);
        if symbols::zend_compile_file.is_some_and(is_ours) {
            let next = NEXT.swap(ptr::null_mut(), Ordering::AcqRel);
            symbols::zend_compile_file = std::mem::transmute::<*mut c_void, Option<Compile>>(next);
        }
    }
}

/// Implements `zend_compile_file`.
///
/// # Safety
/// Only the engine may call this.
unsafe extern "C" fn compile(file: *mut zend_file_handle, kind: c_int) -> *mut zend_op_array {
    if is_refused() {
        // Without code, the engine also skips the files that it would run afterwards.
        return ptr::null_mut();
    }
    // SAFETY: the pointer is a `Compile`, because the hook is set. A fatal error of the compiler
    // jumps over this frame, which owns nothing.
    unsafe {
        let next = NEXT.load(Ordering::Acquire);
        let next = std::mem::transmute::<*mut c_void, Option<Compile>>(next);
        next.map_or(ptr::null_mut(), |next| next(file, kind))
    }
}

fn is_refused() -> bool {
    match GATE.get() {
        // The opcache preloads scripts in a request of its own, which no client has sent.
        Some(gate) if !is_preloading() => {
            GATE.set(None);
            let is_refused = decide(gate);
            if is_refused {
                startup_warnings::forget();
            } else {
                startup_warnings::show();
            }
            is_refused
        }
        _ => false,
    }
}

/// Returns the decision of the gate. A panic counts as a grant.
#[inline(never)]
fn decide(gate: Gate) -> bool {
    catch_unwind(AssertUnwindSafe(|| gate(&Request::current()))).unwrap_or_else(|panic| {
        drop(bailout::resume(panic));
        false
    })
}

fn is_preloading() -> bool {
    // SAFETY: the globals live as long as the engine.
    let options = unsafe { (*ext_php_rs_compiler_globals()).compiler_options };
    options & symbols::ZEND_COMPILE_PRELOAD != 0
}
