//! A pointer to a live object in the engine's memory.
//!
//! It is no reference, because the engine writes to an object while Rust code holds it: counts,
//! properties and flags change in every call.

use ext_php_rs::ffi::{
    ext_php_rs_compiler_globals, instanceof_function_slow, zend_class_entry, zend_function,
    zend_hash_str_find_ptr_lc, zend_object,
};
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

/// An object that lives for `'a`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Obj<'a>(NonNull<zend_object>, PhantomData<&'a zend_object>);

impl Obj<'_> {
    /// Wraps a pointer; `None` for null.
    ///
    /// # Safety
    /// The object lives for `'a`, and the pointer is the engine's own: it may be written through.
    #[inline]
    pub(super) unsafe fn new(object: *mut zend_object) -> Option<Self> {
        NonNull::new(object).map(|object| Self(object, PhantomData))
    }

    /// Returns the engine's pointer.
    #[inline]
    pub(super) fn as_ptr(self) -> *mut zend_object {
        self.0.as_ptr()
    }

    /// Returns the class of the object.
    #[inline]
    pub(super) fn class(self) -> *mut zend_class_entry {
        // SAFETY: a live object has a class.
        unsafe { (*self.as_ptr()).ce }
    }

    /// Whether the object is of `class`, or of one that extends or implements it.
    ///
    /// # Safety
    /// `class` is null, which no object is of, or a live class.
    #[inline]
    pub(super) unsafe fn is_of(self, class: *mut zend_class_entry) -> bool {
        // SAFETY: by contract.
        ptr::eq(self.class(), class)
            || !class.is_null() && unsafe { instanceof_function_slow(self.class(), class) }
    }
}

/// Returns the class of this name, in any case of letters, or null. Loads nothing.
pub(super) fn find_class(name: &str) -> *mut zend_class_entry {
    // SAFETY: the globals live as long as the engine; the table of classes holds classes. It is the
    // executor's, too, which has none while modules start.
    unsafe {
        let table = (*ext_php_rs_compiler_globals()).class_table;
        zend_hash_str_find_ptr_lc(table, name.as_ptr().cast(), name.len()).cast()
    }
}

/// Returns the method of this name, in any case of letters, or null.
///
/// # Safety
/// `class` is a live class.
pub(super) unsafe fn find_method(class: *mut zend_class_entry, name: &str) -> *mut zend_function {
    // SAFETY: by contract; the table of methods holds methods.
    unsafe {
        let table = &raw const (*class).function_table;
        zend_hash_str_find_ptr_lc(table, name.as_ptr().cast(), name.len()).cast()
    }
}
