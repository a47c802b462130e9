//! A pointer to a live object in the engine's memory.
//!
//! It is no reference, because the engine writes to an object while Rust code holds it: counts,
//! properties and flags change in every call.

use ext_php_rs::ffi::{zend_class_entry, zend_object};
use std::marker::PhantomData;
use std::ptr::NonNull;

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
}
