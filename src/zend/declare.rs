//! Static tables that describe methods to the engine, as a C extension's arginfo does.

use super::symbols;
use ext_php_rs::ffi::{ZEND_ACC_ABSTRACT, ZEND_ACC_PUBLIC, zend_execute_data};
use ext_php_rs::ffi::{zend_function_entry, zend_internal_arg_info, zend_type, zval};
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::ptr;

/// A table that only the engine reads.
#[repr(transparent)]
#[derive(Debug)]
pub struct Table<T>(pub T);

// SAFETY: the tables are constants; their pointers are to constants, too.
unsafe impl<T> Sync for Table<T> {}

/// The type of a parameter, a return value or a property, as the engine's mask.
#[derive(Clone, Copy, Debug)]
pub struct Type(u32, Option<&'static CStr>);

impl Type {
    /// None declared.
    pub const NONE: Self = Self(0, None);
    /// `void`
    pub const VOID: Self = Self(symbols::MAY_BE_VOID, None);
    /// `bool`
    pub const BOOL: Self = Self(symbols::MAY_BE_BOOL, None);
    /// `int`
    pub const INT: Self = Self(symbols::MAY_BE_LONG, None);
    /// `int|float`
    pub const NUMBER: Self = Self(symbols::MAY_BE_LONG | symbols::MAY_BE_DOUBLE, None);
    /// `float`
    pub const FLOAT: Self = Self(symbols::MAY_BE_DOUBLE, None);
    /// `string`
    pub const STRING: Self = Self(symbols::MAY_BE_STRING, None);
    /// `array|string`
    pub const STRING_OR_ARRAY: Self = Self(symbols::MAY_BE_STRING | symbols::MAY_BE_ARRAY, None);
    /// `array`
    pub const ARRAY: Self = Self(symbols::MAY_BE_ARRAY, None);

    /// `object`
    pub const OBJECT: Self = Self(symbols::MAY_BE_OBJECT, None);
    /// `static`
    pub const STATIC: Self = Self(symbols::MAY_BE_STATIC, None);

    /// A class.
    pub const fn class(name: &'static CStr) -> Self {
        Self(0, Some(name))
    }

    pub(super) const fn raw(self) -> zend_type {
        match self.1 {
            None => zend_type {
                ptr: ptr::null_mut(),
                type_mask: self.0,
            },
            // Internal functions name a class by a C string; registration turns it into the engine's own.
            Some(name) => zend_type {
                ptr: name.as_ptr().cast_mut().cast(),
                type_mask: LITERAL_CLASS_NAME,
            },
        }
    }
}

#[cfg(php83)]
const LITERAL_CLASS_NAME: u32 = ext_php_rs::ffi::_ZEND_TYPE_LITERAL_NAME_BIT;
#[cfg(not(php83))]
const LITERAL_CLASS_NAME: u32 = ext_php_rs::ffi::_ZEND_TYPE_NAME_BIT;

/// A parameter, or, first of a list, what is returned.
pub type Info = zend_internal_arg_info;

/// How many parameters are required, and what is returned.
pub const fn returns(required: usize, kind: Type) -> Info {
    Info {
        name: ptr::without_provenance(required),
        type_: kind.raw(),
        default_value: ptr::null(),
    }
}

/// A parameter without a default.
pub const fn required(name: &'static CStr, kind: Type) -> Info {
    Info {
        name: name.as_ptr(),
        type_: kind.raw(),
        default_value: ptr::null(),
    }
}

/// A parameter with a default, written as in PHP.
pub const fn optional(name: &'static CStr, kind: Type, default: &'static CStr) -> Info {
    Info {
        name: name.as_ptr(),
        type_: kind.raw(),
        default_value: default.as_ptr(),
    }
}

/// A function of the engine's kind.
pub type Handler = extern "C" fn(&mut zend_execute_data, &mut zval);

/// A method or function.
pub type Entry = zend_function_entry;

/// A method or function with a body.
pub const fn entry(
    name: &'static CStr,
    handler: Handler,
    info: &'static [Info],
    flags: u32,
) -> Entry {
    // SAFETY: a reference is passed as a pointer is; the engine passes a live frame and a live result.
    let handler = unsafe {
        std::mem::transmute::<Handler, unsafe extern "C" fn(*mut zend_execute_data, *mut zval)>(
            handler,
        )
    };
    raw(name, Some(handler), info, flags)
}

/// A method of an interface.
pub const fn abstract_entry(name: &'static CStr, info: &'static [Info]) -> Entry {
    raw(name, None, info, ZEND_ACC_PUBLIC | ZEND_ACC_ABSTRACT)
}

const fn raw(
    name: &'static CStr,
    handler: Option<unsafe extern "C" fn(*mut zend_execute_data, *mut zval)>,
    info: &'static [Info],
    flags: u32,
) -> Entry {
    Entry {
        fname: name.as_ptr(),
        handler,
        arg_info: info.as_ptr(),
        // The first is the return value; no method has more than a handful.
        #[allow(clippy::cast_possible_truncation)]
        num_args: (info.len() - 1) as u32,
        flags,
        #[cfg(php84)]
        frameless_function_infos: ptr::null(),
        #[cfg(php84)]
        doc_comment: ptr::null(),
    }
}

/// Ends a list of methods.
// SAFETY: all pointers null, all numbers zero: what the engine looks for.
pub const END: Entry = unsafe { MaybeUninit::zeroed().assume_init() };

/// Makes engine handlers of plain Rust functions: `handlers! { handler => body; … }`, where `handler` may be
/// generic over one class: `handler<S: Storage> => body::<S>`.
macro_rules! handlers {
    ($($handler:ident $(<$class:ident: $bound:path>)? => $body:path;)*) => {$(
        extern "C" fn $handler $(<$class: $bound>)? (
            frame: &mut ::ext_php_rs::ffi::zend_execute_data,
            result: &mut ::ext_php_rs::ffi::zval,
        ) {
            $crate::zend::call::run(frame, result, $body);
        }
    )*};
}

pub(crate) use handlers;
