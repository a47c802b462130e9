//! Static tables that describe methods to the engine, as a C extension's arginfo does.

use super::symbols;
use ext_php_rs::ffi::{
    ZEND_ACC_ABSTRACT, zend_execute_data, zend_function_entry, zend_internal_arg_info, zend_string,
    zend_type, zval,
};
pub use ext_php_rs::ffi::{
    ZEND_ACC_FINAL as FINAL, ZEND_ACC_NO_DYNAMIC_PROPERTIES as NO_DYNAMIC_PROPERTIES,
    ZEND_ACC_NOT_SERIALIZABLE as NOT_SERIALIZABLE, ZEND_ACC_PRIVATE as PRIVATE,
    ZEND_ACC_PROTECTED as PROTECTED, ZEND_ACC_PUBLIC as PUBLIC, ZEND_ACC_STATIC as STATIC,
};
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::ptr;

/// The type of a parameter, a return value or a property, as the engine's mask.
#[derive(Clone, Copy, Debug)]
pub struct Type(u32, Option<&'static CStr>);

impl Type {
    /// No declared type.
    pub const NONE: Self = Self(0, None);
    pub const VOID: Self = Self(symbols::MAY_BE_VOID, None);
    pub const NULL: Self = Self(symbols::MAY_BE_NULL, None);
    pub const BOOL: Self = Self(symbols::MAY_BE_BOOL, None);
    pub const INT: Self = Self(symbols::MAY_BE_LONG, None);
    pub const FLOAT: Self = Self(symbols::MAY_BE_DOUBLE, None);
    pub const STRING: Self = Self(symbols::MAY_BE_STRING, None);
    pub const ARRAY: Self = Self(symbols::MAY_BE_ARRAY, None);
    pub const OBJECT: Self = Self(symbols::MAY_BE_OBJECT, None);
    pub const STATIC: Self = Self(symbols::MAY_BE_STATIC, None);

    pub const fn class(name: &'static CStr) -> Self {
        Self(0, Some(name))
    }

    /// Returns the union of this type and another type that is not a class.
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0, self.1)
    }

    pub(super) const fn raw(self) -> zend_type {
        match self.1 {
            None => zend_type {
                ptr: ptr::null_mut(),
                type_mask: self.0,
            },
            // Internal functions name a class by a C string. Registration replaces it with the
            // engine's own string.
            Some(name) => zend_type {
                ptr: name.as_ptr().cast_mut().cast(),
                type_mask: LITERAL_CLASS_NAME | self.0,
            },
        }
    }

    /// Returns the type of a property. Properties name a class by the engine's own string, which
    /// `intern` makes.
    pub(super) fn of_property(self, intern: fn(&CStr) -> *mut zend_string) -> zend_type {
        match self.1 {
            None => self.raw(),
            Some(name) => zend_type {
                ptr: intern(name).cast(),
                type_mask: ext_php_rs::ffi::_ZEND_TYPE_NAME_BIT | self.0,
            },
        }
    }
}

#[cfg(php83)]
const LITERAL_CLASS_NAME: u32 = ext_php_rs::ffi::_ZEND_TYPE_LITERAL_NAME_BIT;
#[cfg(not(php83))]
const LITERAL_CLASS_NAME: u32 = ext_php_rs::ffi::_ZEND_TYPE_NAME_BIT;

/// A parameter in a list of parameters. The first element of a list describes the return value
/// instead.
pub type Info = zend_internal_arg_info;

/// Returns the first element of a list: the number of required parameters, and the return type.
pub const fn returns(required: usize, kind: Type) -> Info {
    Info {
        name: ptr::without_provenance(required),
        ..self::required(c"", kind)
    }
}

/// Returns a parameter with neither a type nor a default.
pub const fn untyped(name: &'static CStr) -> Info {
    required(name, Type::NONE)
}

/// Returns a parameter without a default.
pub const fn required(name: &'static CStr, kind: Type) -> Info {
    Info {
        name: name.as_ptr(),
        type_: kind.raw(),
        default_value: ptr::null(),
    }
}

/// Returns a parameter with a default, written as in PHP.
pub const fn optional(name: &'static CStr, kind: Type, default: &'static CStr) -> Info {
    Info {
        default_value: default.as_ptr(),
        ..required(name, kind)
    }
}

/// A Rust function that the engine can call.
pub type Handler = extern "C" fn(&mut zend_execute_data, &mut zval);

/// The flags of a method or function as the engine declares them.
#[cfg(php86)]
type Flags = u64;
#[cfg(not(php86))]
type Flags = u32;

pub type Entry = zend_function_entry;

/// A function as the engine declares it.
type RawHandler = unsafe extern "C" fn(*mut zend_execute_data, *mut zval);

/// Returns the handler as the engine declares it.
pub(super) const fn raw(handler: Handler) -> RawHandler {
    // SAFETY: references and pointers have the same calling convention. The engine passes a live
    // frame and a live result.
    unsafe { std::mem::transmute::<Handler, RawHandler>(handler) }
}

/// Returns a method or function with a body.
pub const fn entry(
    name: &'static CStr,
    flags: u32,
    handler: Handler,
    info: &'static [Info],
) -> Entry {
    Entry {
        handler: Some(raw(handler)),
        flags: flags as Flags,
        ..abstract_entry(name, info)
    }
}

/// Returns a method of an interface.
pub const fn abstract_entry(name: &'static CStr, info: &'static [Info]) -> Entry {
    Entry {
        fname: name.as_ptr(),
        arg_info: info.as_ptr(),
        // The first element is the return value. The count fits because no method has more than a
        // few parameters.
        #[allow(clippy::cast_possible_truncation)]
        num_args: (info.len() - 1) as u32,
        flags: (PUBLIC | ZEND_ACC_ABSTRACT) as Flags,
        ..END
    }
}

/// A list of methods or functions that ends with [`END`].
#[derive(Clone, Copy, Debug)]
pub struct Entries(pub &'static [Entry]);

// SAFETY: only the engine reads the entries, and they point to constants.
unsafe impl Sync for Entries {}

/// The end of a list of methods.
// SAFETY: null pointers and zeros are valid in this structure. The engine takes such an entry as
// the end of a list.
pub const END: Entry = unsafe { MaybeUninit::zeroed().assume_init() };
