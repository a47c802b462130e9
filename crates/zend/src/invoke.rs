//! Calls of PHP code. Each call may throw, and unwinds after a fatal error in PHP code. PHP code
//! may call the same object again, so hold no borrow and no lock during a call. A result that is a
//! PHP reference is copied.

use super::obj::find_method;
use super::{Class, Kept, Obj, Thrown, bailout, symbols, throw, value};
use ext_php_rs::ffi::{
    _call_user_function_impl, ext_php_rs_executor_globals, zend_call_known_function, zend_function,
    zend_is_callable,
};
use ext_php_rs::types::{ZendStr, Zval};
use std::ptr;

fn find(object: Obj<'_>, method: &str) -> *mut zend_function {
    // SAFETY: every object has a class.
    unsafe { find_method(object.class(), method) }
}

/// Returns true if the object's class overrides `method` (in lower case) of `class`.
pub fn overrides(object: Obj<'_>, method: &str, class: &Class) -> bool {
    let function = find(object, method);
    // SAFETY: the pointer is not null, so it points to a live function.
    !function.is_null() && unsafe { !ptr::eq((*function).common.scope, class.entry()) }
}

/// Returns true if the object's class is named `name`, or extends a class of that name.
pub fn is_a(object: Obj<'_>, name: &str) -> bool {
    let mut class = object.class();
    // SAFETY: every object has a class, and every class has a name. The class of a live object is
    // linked to its parent, if it has one.
    unsafe {
        while let Some(live) = class.as_ref() {
            let its = &*live.name.cast::<ZendStr>();
            if its.as_bytes().eq_ignore_ascii_case(name.as_bytes()) {
                return true;
            }
            class = live.__bindgen_anon_1.parent;
        }
    }
    false
}

/// Returns true if the object's class has all of these methods (in lower case).
pub fn has_methods(object: Obj<'_>, methods: &[&str]) -> bool {
    methods.iter().all(|method| !find(object, method).is_null())
}

/// A method of an object. It is looked up once and can be called several times.
#[derive(Clone, Copy, Debug)]
pub struct Method<'a> {
    object: Obj<'a>,
    function: *mut zend_function,
}

impl<'a> Method<'a> {
    /// Finds the object's `method` (in lower case), also if it is private or protected. Throws
    /// `Error` if the class has no such method.
    pub fn of(object: Obj<'a>, method: &str) -> Result<Self, Thrown> {
        let function = find(object, method);
        if function.is_null() {
            return Err(throw::error(&format!(
                "Call to undefined method {method}()"
            )));
        }
        Ok(Self { object, function })
    }

    pub fn call(&self, arguments: &mut [Zval]) -> Result<Kept, Thrown> {
        let (mut result, function) = (Zval::new(), self.function);
        let (this, class) = (self.object.as_ptr(), self.object.class());
        // The count fits because the extension passes only a handful of arguments.
        #[allow(clippy::cast_possible_truncation)]
        let count = arguments.len() as u32;
        let (place, none) = (&raw mut result, ptr::null_mut());
        let arguments = arguments.as_mut_ptr();
        // SAFETY: the function belongs to the object's class, which outlives the object. The callee
        // copies the arguments that it keeps. The object lives as long as `self`.
        bailout::door(|| unsafe {
            zend_call_known_function(function, this, class, place, count, arguments, none);
        });
        throw::unless_pending(value::behind(result).into())
    }
}

/// Calls `method` (in lower case) of the object, also if it is private or protected. Fails with the
/// exception of the method, or throws `Error` if there is no such method.
pub fn method(object: Obj<'_>, method: &str, arguments: &mut [Zval]) -> Result<Kept, Thrown> {
    Method::of(object, method)?.call(arguments)
}

/// Returns true if `callable` can be called from the running method's scope.
pub fn is_callable(callable: &Zval) -> bool {
    let callable = ptr::from_ref(callable).cast_mut();
    // SAFETY: the value is live and is not changed. The look-up of a class may run an autoloader.
    bailout::door(|| unsafe { zend_is_callable(callable, 0, ptr::null_mut()) })
}

/// Calls the static method or function of this name, such as `Class::method`.
pub fn named(name: &str, arguments: &mut [Zval]) -> Result<Kept, Thrown> {
    callable(&value::of_bytes(name.as_bytes()), arguments)
}

pub fn callable(callable: &Zval, arguments: &mut [Zval]) -> Result<Kept, Thrown> {
    let mut result = Zval::new();
    let (callable, none) = (ptr::from_ref(callable).cast_mut(), ptr::null_mut());
    let place = &raw mut result;
    // The count fits because the extension passes only a handful of arguments.
    #[allow(clippy::cast_possible_truncation)]
    let count = arguments.len() as u32;
    let arguments = arguments.as_mut_ptr();
    // SAFETY: the value is not changed, and the caller keeps it alive. The callee copies the
    // arguments that it keeps.
    let status = bailout::door(|| unsafe {
        _call_user_function_impl(none, callable, place, count, arguments, ptr::null_mut())
    });
    if status != 0 {
        return Err(Thrown);
    }
    throw::unless_pending(value::behind(result).into())
}

/// Runs the pending interrupt, such as a signal handler of PHP code. Returns false if the time
/// limit is over. Then the interrupt stays pending, because only the engine's loop can end the
/// script. The engine does so right after the running method.
pub fn interrupt_handler() -> Result<bool, Thrown> {
    // SAFETY: the globals live as long as the engine. The engine calls the function in the same
    // way between two instructions, and a method of the extension runs between two instructions.
    let (handle, frame) = unsafe {
        let globals = ext_php_rs_executor_globals();
        if ptr::read_volatile(&raw const (*globals).timed_out.value) {
            return Ok(false);
        }
        ptr::write_volatile(&raw mut (*globals).vm_interrupt.value, false);
        let frame = (*globals).current_execute_data;
        (symbols::zend_interrupt_function, frame)
    };
    if let Some(handle) = handle {
        // SAFETY: as above.
        bailout::door(|| unsafe { handle(frame) });
    }
    throw::unless_pending(true)
}
