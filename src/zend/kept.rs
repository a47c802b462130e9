//! Values that PHP code has returned, or that it may have released meanwhile.

use super::{bailout, symbols, value};
use ext_php_rs::ffi::{IS_ARRAY, IS_OBJECT, zval_ptr_dtor};
use ext_php_rs::types::Zval;
use std::mem::{self, ManuallyDrop};
use std::ops::Deref;

/// A value whose release may run PHP code: its destructor, or any destructor by the cycle
/// collector. If that code ends in a fatal error, the Rust frames are unwound.
#[derive(Debug)]
pub struct Kept(Zval);

impl Kept {
    /// Returns the value itself.
    pub fn into_zval(mut self) -> Zval {
        mem::take(&mut self.0)
    }
}

impl From<Zval> for Kept {
    fn from(value: Zval) -> Self {
        Self(value)
    }
}

impl Deref for Kept {
    type Target = Zval;

    #[inline]
    fn deref(&self) -> &Zval {
        &self.0
    }
}

impl Drop for Kept {
    #[inline]
    fn drop(&mut self) {
        // Other values have no destructor.
        if matches!(value::kind(&self.0), IS_OBJECT | IS_ARRAY) && may_run_code(&self.0) {
            let mut value = ManuallyDrop::new(mem::take(&mut self.0));
            let value = &raw mut *value;
            // SAFETY: the value was taken, so this releases it once.
            bailout::release(|| unsafe { zval_ptr_dtor(value) });
        }
    }
}

/// Returns true if the release of an object or array may run PHP code. That is a destructor after
/// the last reference, or the cycle collector when it gets one more value to check.
fn may_run_code(value: &Zval) -> bool {
    // SAFETY: objects and arrays begin with this header, and the value keeps them alive.
    let header = unsafe { &(*value.value.counted).gc };
    // SAFETY: every view of `u` is plain bits.
    let is_checked = unsafe { header.u.type_info } >> symbols::GC_INFO_SHIFT != 0;
    header.refcount == 1 || !is_checked
}
