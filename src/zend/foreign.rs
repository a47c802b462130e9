//! Classes of other extensions, which may not be there when this one starts: found by name, as they are needed.

use super::obj::Obj;
use super::symbols;
use ext_php_rs::ffi::{
    ext_php_rs_executor_globals, instanceof_function_slow, zend_class_entry,
    zend_hash_str_find_ptr_lc,
};
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
pub fn is_of(object: Obj<'_>, class: &str) -> bool {
    let entry = find(class);
    // SAFETY: not null, hence a class.
    !entry.is_null()
        && (ptr::eq(object.class(), entry)
            || unsafe { instanceof_function_slow(object.class(), entry) })
}

/// Whether an extension has declared the class that is called so, and not PHP code.
pub fn is_internal(class: &str) -> bool {
    // SAFETY: null or a class.
    unsafe { find(class).as_ref() }
        .is_some_and(|entry| u32::from(entry.type_.cast_unsigned()) == symbols::ZEND_INTERNAL_CLASS)
}
