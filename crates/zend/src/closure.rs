//! PHP closures (`\Closure`) that run a Rust function.
//!
//! The closure's `$this` is a plain object. The values that the closure remembers are properties of
//! that object, where the cycle collector can find them.

use super::class::interned;
use super::declare::{Handler, raw};
use super::obj::find_method;
use super::value::Val;
use super::{Class, symbols};
use ext_php_rs::ffi::{
    ZEND_ACC_FAKE_CLOSURE, ZEND_ACC_PUBLIC, zend_internal_function, zend_read_property,
};
use ext_php_rs::types::Zval;
use std::mem::MaybeUninit;
use std::ptr;

/// Returns a closure that runs `handler` and remembers the values of `memory` by name. Returns
/// `None` if the engine cannot create it.
///
/// `model` is a method of `class` without parameters. The closure is made from a copy of `model`.
pub fn closure(
    class: &Class,
    model: &str,
    handler: Handler,
    memory: &[(&str, &Zval)],
) -> Option<Zval> {
    let mut this = Zval::new();
    let mut result = Zval::new();
    // SAFETY: the standard class can always be instantiated. The model is an internal function of a
    // registered class. The copy of the model is complete. The engine copies the copy into the
    // closure.
    unsafe {
        let plain = symbols::zend_standard_class_def;
        if symbols::object_init_ex(&raw mut this, plain) != 0 {
            return None;
        }
        for (name, value) in memory {
            let mut value = value.shallow_clone();
            let (start, length) = (name.as_ptr().cast(), name.len());
            symbols::add_property_zval_ex(&raw mut this, start, length, &raw mut value);
        }
        let mut function = function(class, model, handler)?;
        function.scope = plain;
        let function = (&raw mut function).cast();
        #[cfg(not(php86))]
        let this = &raw mut this;
        #[cfg(php86)]
        let this = this.value.obj;
        symbols::zend_create_closure(&raw mut result, function, plain, plain, this);
    }
    Some(result)
}

/// Returns a function like the method `model` of `class` that runs `handler` instead.
fn function(class: &Class, model: &str, handler: Handler) -> Option<zend_internal_function> {
    let mut function = MaybeUninit::<zend_internal_function>::uninit();
    // SAFETY: the model is an internal function of a registered class, so the copy is complete.
    // Only the size of an internal function is copied, because other functions are larger.
    let mut function = unsafe {
        let model = find_method(class.entry(), model).cast::<zend_internal_function>();
        ptr::copy_nonoverlapping(model.as_ref()?, function.as_mut_ptr(), 1);
        function.assume_init()
    };
    function.handler = Some(raw(handler));
    function.function_name = interned(c"{closure}");
    // The engine treats this as a closure made from a function. For other closures, `var_dump()` of
    // PHP 8.4 prints a file.
    function.fn_flags = ZEND_ACC_PUBLIC | ZEND_ACC_FAKE_CLOSURE;
    Some(function)
}

impl super::Call<'_> {
    /// Returns the value that the running closure remembers under `name`, or null if this value is
    /// missing.
    pub fn remembered(&self, name: &str) -> Zval {
        let mut buffer = Zval::new();
        let Some(this) = self.this_object() else {
            return Zval::null();
        };
        // SAFETY: the closure keeps the object alive, even if reading the property runs PHP code. A
        // closure can be bound to another object. Reading is valid for an object of any class.
        unsafe {
            let (class, this) = (this.class(), this.as_ptr());
            let (start, length) = (name.as_ptr().cast(), name.len());
            let found = zend_read_property(class, this, start, length, true, &raw mut buffer);
            Val::new(found).copy()
        }
    }
}
