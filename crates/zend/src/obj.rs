//! A pointer to a live object in the engine's memory.
//!
//! [`Obj`] is a pointer and not a reference, because the engine writes to an object while Rust code
//! uses it. Any call of the engine may change the object's reference count, properties and flags.

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
    /// Wraps a pointer. Returns `None` for null.
    ///
    /// # Safety
    /// The object lives for `'a`. The pointer is the engine's own, so that it may be written
    /// through.
    #[inline]
    pub(super) unsafe fn new(object: *mut zend_object) -> Option<Self> {
        NonNull::new(object).map(|object| Self(object, PhantomData))
    }

    /// Returns the engine's pointer.
    #[inline]
    pub(super) fn as_ptr(self) -> *mut zend_object {
        self.0.as_ptr()
    }

    #[inline]
    pub(super) fn class(self) -> *mut zend_class_entry {
        // SAFETY: a live object has a class.
        unsafe { (*self.as_ptr()).ce }
    }

    /// Returns true if the object is an instance of `class` or of a subclass. Returns false for a
    /// null `class`.
    ///
    /// # Safety
    /// `class` is null or a live class.
    #[inline]
    pub(super) unsafe fn is_of(self, class: *mut zend_class_entry) -> bool {
        // SAFETY: by contract, a `class` that is not null is live.
        ptr::eq(self.class(), class)
            || !class.is_null() && unsafe { instanceof_function_slow(self.class(), class) }
    }
}

/// Returns the class of this name, or null if there is no such class. Ignores the case of letters
/// and does not autoload classes.
pub(super) fn find_class(name: &str) -> *mut zend_class_entry {
    // SAFETY: the globals live as long as the engine, and the table of classes holds classes. The
    // executor has its own pointer to this table, but that pointer is not set yet while modules
    // start.
    unsafe {
        let table = (*ext_php_rs_compiler_globals()).class_table;
        zend_hash_str_find_ptr_lc(table, name.as_ptr().cast(), name.len()).cast()
    }
}

/// Returns the method of this name, or null if there is no such method. Ignores the case of
/// letters.
///
/// # Safety
/// `class` is a live class.
pub(super) unsafe fn find_method(class: *mut zend_class_entry, name: &str) -> *mut zend_function {
    // SAFETY: by contract the class is live. Its function table holds methods.
    unsafe {
        let table = &raw const (*class).function_table;
        zend_hash_str_find_ptr_lc(table, name.as_ptr().cast(), name.len()).cast()
    }
}
