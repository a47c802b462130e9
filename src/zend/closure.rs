//! A real `\Closure` around a Rust function.
//!
//! The engine makes closures of functions; what this one remembers stands in properties of a plain
//! object that is its `$this`, where the cycle collector sees it.

use super::class::{Class, interned};
use super::declare::Handler;
use super::symbols;
use ext_php_rs::ffi::{
    ZEND_ACC_FAKE_CLOSURE, ZEND_ACC_PUBLIC, zend_execute_data, zend_hash_str_find_ptr_lc,
    zend_internal_function, zend_read_property, zval,
};
use ext_php_rs::types::Zval;
use std::mem::MaybeUninit;
use std::ptr;

/// A closure that runs `handler`, remembering `memory` by name.
///
/// `model` is a method of `class` without parameters; the closure is made in its image.
pub fn closure(
    class: &Class,
    model: &str,
    handler: Handler,
    memory: &[(&str, &Zval)],
) -> Option<Zval> {
    let mut this = Zval::new();
    let mut result = Zval::new();
    // SAFETY: the standard class can always be instantiated. The model is an internal function of a
    // registered class; its copy is complete, and the engine copies it again into the closure.
    unsafe {
        let plain = symbols::zend_standard_class_def;
        if symbols::object_init_ex(&raw mut this, plain) != 0 {
            return None;
        }
        for (name, value) in memory {
            let mut value = value.shallow_clone();
            symbols::add_property_zval_ex(
                &raw mut this,
                name.as_ptr().cast(),
                name.len(),
                &raw mut value,
            );
        }
        let table = &raw const class.entry().as_ref()?.function_table;
        let model: *const zend_internal_function =
            zend_hash_str_find_ptr_lc(table, model.as_ptr().cast(), model.len()).cast();
        let mut function = MaybeUninit::<zend_internal_function>::uninit();
        // Only as much as an internal function has: others are longer.
        ptr::copy_nonoverlapping(model.as_ref()?, function.as_mut_ptr(), 1);
        let internal = &mut *function.as_mut_ptr();
        internal.handler = Some(std::mem::transmute::<
            Handler,
            unsafe extern "C" fn(*mut zend_execute_data, *mut zval),
        >(handler));
        internal.function_name = interned(c"{closure}");
        // A closure made of a function, to the engine. Of any other PHP 8.4 tells the file in var_dump().
        internal.fn_flags = ZEND_ACC_PUBLIC | ZEND_ACC_FAKE_CLOSURE;
        internal.scope = plain;
        symbols::zend_create_closure(
            &raw mut result,
            function.as_mut_ptr().cast(),
            plain,
            plain,
            &raw mut this,
        );
    }
    Some(result)
}

impl super::Call<'_> {
    /// What the running closure remembers under `name`; null when it remembers nothing.
    pub fn remembered(&self, name: &str) -> Zval {
        let mut buffer = Zval::new();
        let Some(this) = self.this_object() else {
            return Zval::null();
        };
        // SAFETY: the object is live, and the closure holds it: code of a class that it was bound to may run.
        unsafe {
            zend_read_property(
                this.class(),
                this.as_ptr(),
                name.as_ptr().cast(),
                name.len(),
                true,
                &raw mut buffer,
            )
            .as_ref()
            .map_or_else(Zval::null, |value| {
                super::value::dereference(value).shallow_clone()
            })
        }
    }
}
