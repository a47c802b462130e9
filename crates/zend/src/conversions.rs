//! The engine's conversions of arguments, with the signatures that they had before PHP 8.6. Each
//! writes the converted value and returns true, or returns false.

#[cfg(not(php86))]
pub use super::symbols::{
    zend_parse_arg_bool_slow as bool_slow, zend_parse_arg_double_slow as double_slow,
    zend_parse_arg_double_weak as double_weak, zend_parse_arg_str_slow as str_slow,
    zend_parse_arg_str_weak as str_weak,
};

#[cfg(php86)]
pub use since_php_86::{bool_slow, double_slow, double_weak, str_slow, str_weak};

#[cfg(php86)]
mod since_php_86 {
    use super::super::symbols;
    use ext_php_rs::ffi::{zend_string, zval};

    /// # Safety
    /// `arg` is a live argument, and `to` can be written to.
    pub unsafe fn bool_slow(arg: *const zval, to: *mut bool, number: u32) -> bool {
        // SAFETY: by contract.
        unsafe {
            let status = symbols::zend_parse_arg_bool_slow(arg, number);
            *to = status == symbols::ZPP_PARSE_BOOL_STATUS_TRUE;
            status != symbols::ZPP_PARSE_BOOL_STATUS_ERROR
        }
    }

    /// # Safety
    /// `arg` is a live argument that is not a double, and `to` can be written to.
    pub unsafe fn double_slow(arg: *const zval, to: *mut f64, number: u32) -> bool {
        // SAFETY: by contract. NAN is an error, because no other value converts to NAN.
        unsafe {
            *to = symbols::zend_parse_arg_double_slow(arg, number);
            !(*to).is_nan()
        }
    }

    /// # Safety
    /// `arg` is a live argument that is not a double, and `to` can be written to.
    pub unsafe fn double_weak(arg: *const zval, to: *mut f64, number: u32) -> bool {
        // SAFETY: as above.
        unsafe {
            *to = symbols::zend_parse_arg_double_weak(arg, number);
            !(*to).is_nan()
        }
    }

    /// # Safety
    /// `arg` is a live argument that may be changed, and `to` can be written to.
    pub unsafe fn str_slow(arg: *mut zval, to: *mut *mut zend_string, number: u32) -> bool {
        // SAFETY: by contract. Null is an error.
        unsafe {
            *to = symbols::zend_parse_arg_str_slow(arg, number);
            !(*to).is_null()
        }
    }

    /// # Safety
    /// `arg` is a live argument that may be changed, and `to` can be written to.
    pub unsafe fn str_weak(arg: *mut zval, to: *mut *mut zend_string, number: u32) -> bool {
        // SAFETY: as above.
        unsafe {
            *to = symbols::zend_parse_arg_str_weak(arg, number);
            !(*to).is_null()
        }
    }
}
