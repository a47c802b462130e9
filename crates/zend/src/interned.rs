//! Strings that are made once, while the module starts.

use super::system::Starting;
use super::value;
use ext_php_rs::ffi::{IS_STRING, zend_string, zend_string_init_interned};
use ext_php_rs::types::Zval;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// A string of PHP that lives as long as the engine and needs no reference count. It is empty until
/// the module has started.
#[derive(Debug)]
pub struct Interned(AtomicPtr<zend_string>);

impl Interned {
    /// Returns an empty string. [`Self::make`] sets its text.
    pub const fn unmade() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    pub fn make(&self, _: &Starting, text: &str) {
        // SAFETY: the engine sets this function pointer before it starts modules. It copies the
        // text.
        let string = unsafe {
            zend_string_init_interned.map(|make| make(text.as_ptr().cast(), text.len(), true))
        };
        self.0.store(string.unwrap_or(ptr::null_mut()), Relaxed);
    }

    #[inline]
    pub fn to_zval(&self) -> Zval {
        // Relaxed, because the string is made before any other thread exists.
        let string = self.0.load(Relaxed);
        if string.is_null() {
            return value::of_text(b"");
        }
        let mut value = Zval::new();
        value.value.str_ = string;
        // An interned string has no flag of a counted reference.
        value.u1.type_info = IS_STRING;
        value
    }
}
