//! Values that PHP code has returned, or that it may have released meanwhile.

use super::{bailout, value};
use ext_php_rs::ffi::{IS_ARRAY, IS_OBJECT, zval_ptr_dtor};
use ext_php_rs::types::Zval;
use std::mem::{self, ManuallyDrop};
use std::ops::Deref;

/// A value whose release may run PHP code, its destructor. If that code ends in a fatal error, the
/// Rust frames are unwound.
#[derive(Debug)]
pub struct Kept(Zval);

impl Kept {
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
        // Other values have no destructor, and constant arrays have no reference count. Dropping
        // the value itself suffices for these.
        if !matches!(value::kind(&self.0), IS_OBJECT | IS_ARRAY) || !value::is_counted(&self.0) {
            return;
        }
        let mut value = ManuallyDrop::new(mem::take(&mut self.0));
        // SAFETY: objects and arrays begin with this header, and the value keeps them alive.
        let header = unsafe { &raw mut (*value.value.counted).gc };
        // SAFETY: as above. Like a temporary value of the engine, this is not reported to the cycle
        // collector.
        unsafe {
            if (*header).refcount > 1 {
                (*header).refcount -= 1;
                return;
            }
        }
        let value = &raw mut *value;
        // SAFETY: the value was taken, so this releases it once.
        bailout::release(|| unsafe { zval_ptr_dtor(value) });
    }
}
