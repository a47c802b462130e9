//! Classes of other extensions, which may not be there when this one starts: found by name, as they are needed.

use super::{Call, Thrown, symbols, value};
use ext_php_rs::ffi::{
    ext_php_rs_executor_globals, instanceof_function_slow, zend_class_entry,
    zend_hash_str_find_ptr_lc,
};
use ext_php_rs::types::{ZendObject, Zval};
use std::ffi::CStr;
use std::ptr;

fn find(class: &str) -> *mut zend_class_entry {
    // SAFETY: the globals live as long as the engine; the table of classes holds classes.
    unsafe {
        let table = (*ext_php_rs_executor_globals()).class_table;
        zend_hash_str_find_ptr_lc(table, class.as_ptr().cast(), class.len()).cast()
    }
}

/// Whether the object is of the class that is called `class`, in lower case, or of one that extends it. Loads
/// nothing.
pub fn is_of(object: &ZendObject, class: &str) -> bool {
    let entry = find(class);
    // SAFETY: not null, hence a class.
    !entry.is_null()
        && (ptr::eq(object.ce, entry) || unsafe { instanceof_function_slow(object.ce, entry) })
}

/// Whether an extension has declared the class that is called so, and not PHP code.
pub fn is_internal(class: &str) -> bool {
    // SAFETY: null or a class.
    unsafe { find(class).as_ref() }
        .is_some_and(|entry| u32::from(entry.type_.cast_unsigned()) == symbols::ZEND_INTERNAL_CLASS)
}

impl<'a> Call<'a> {
    /// An object of a class of PHP's or of another extension's, which may not be there.
    ///
    /// # Errors
    /// `TypeError`.
    pub fn object_of_foreign(&mut self, number: u32, class: &CStr) -> Result<&'a Zval, Thrown> {
        let arg = self.arg(number);
        let name = class.to_str().unwrap_or_default();
        if value::object(arg).is_some_and(|object| is_of(object, name)) {
            return Ok(arg);
        }
        // SAFETY: called in the frame of the function that it speaks of, with its argument.
        unsafe {
            symbols::zend_wrong_parameter_class_error(number, class.as_ptr(), self.raw(number));
        }
        Err(Thrown)
    }
}
