//! The values of PHP that this extension reads and makes.

use super::obj::Obj;
use super::symbols;
use ext_php_rs::ffi::{
    IS_DOUBLE, IS_FALSE, IS_LONG, IS_NULL, IS_OBJECT, IS_OBJECT_EX, IS_REFERENCE, IS_STRING,
    IS_TRUE, IS_UNDEF, zval_ptr_dtor,
};
use ext_php_rs::types::Zval;
use ext_php_rs::types::{ZendHashTable, ZendStr};
use std::marker::PhantomData;
use std::ptr;
use tokenbucket_core::{AmountError, Tokens};

/// PHP's `int|float`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// An `int`.
    Int(i64),
    /// A `float`.
    Float(f64),
}

impl Number {
    /// Returns the number as an amount of tokens.
    ///
    /// # Errors
    /// The reason why it is not a valid amount.
    pub fn tokens(self) -> Result<Tokens, AmountError> {
        match self {
            Self::Int(int) => Tokens::from_int(int),
            Self::Float(float) => Tokens::from_float(float),
        }
    }

    /// Returns the number as a double. Integers beyond 2^53 are rounded, as in PHP.
    pub const fn to_float(self) -> f64 {
        match self {
            Self::Int(int) => int as f64,
            Self::Float(float) => float,
        }
    }

    /// Returns the number as a value of PHP.
    pub fn to_zval(self) -> Zval {
        let mut value = Zval::new();
        match self {
            Self::Int(int) => value.set_long(int),
            Self::Float(float) => value.set_double(float),
        }
        value
    }
}

/// Returns the type of a value (`IS_LONG`, ...), without its flags.
#[inline]
pub fn kind(value: &Zval) -> u32 {
    // SAFETY: both views of `u1` are plain integers.
    u32::from(unsafe { value.u1.v.type_ })
}

/// Returns the value behind a PHP reference, or the value itself.
#[inline]
pub fn dereference(value: &Zval) -> &Zval {
    if kind(value) == IS_REFERENCE {
        // SAFETY: a value of this kind holds a pointer to a live reference.
        unsafe { &(*value.value.ref_).val }
    } else {
        value
    }
}

/// Returns the number that the value holds, without conversion.
#[inline]
pub fn as_number(value: &Zval) -> Option<Number> {
    match kind(value) {
        // SAFETY: the kind says which field of the union was written.
        IS_LONG => Some(Number::Int(unsafe { value.value.lval })),
        // SAFETY: as above.
        IS_DOUBLE => Some(Number::Float(unsafe { value.value.dval })),
        _ => None,
    }
}

/// Converts the value to a number in weak mode, whatever the caller's mode. Meant for untyped
/// parameters. Returns `None` if that fails.
pub fn to_number(value: &Zval) -> Option<Number> {
    if let Some(number) = as_number(value) {
        return Some(number);
    }
    if kind(value) == IS_NULL || kind(value) == IS_OBJECT {
        return None;
    }
    let mut float = 0.0;
    let value = ptr::from_ref(value).cast_mut();
    // SAFETY: the value is live and is not changed. Only null needs the parameter's name, for its
    // deprecation, and null was excluded.
    unsafe { symbols::zend_parse_arg_double_weak(value, &raw mut float, u32::MAX) }
        .then(|| whole(float))
}

/// Returns a whole double as an integer, so that "10" and 10 are the same amount.
// The number is checked to be whole and within 2^53.
#[allow(clippy::cast_possible_truncation)]
fn whole(float: f64) -> Number {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if float.fract() == 0.0 && float.abs() <= EXACT {
        Number::Int(float as i64)
    } else {
        Number::Float(float)
    }
}

/// Converts the value to a string in weak mode. Returns `None` for arrays, for objects without
/// `__toString`, or if `__toString` threw.
pub fn to_string(value: &Zval) -> Option<Zval> {
    if kind(value) == IS_NULL {
        return Some(of_bytes(b""));
    }
    to_string_as_argument(value, u32::MAX)
}

/// Converts argument `number` of the running function like [`to_string`]. A null argument is
/// deprecated, and PHP names the argument in the message.
pub(super) fn to_string_as_argument(value: &Zval, number: u32) -> Option<Zval> {
    let (mut copy, mut string) = (value.shallow_clone(), ptr::null_mut());
    if kind(value) == IS_STRING {
        return Some(copy);
    }
    // SAFETY: `copy` is our own live value, which may be converted in place. Only null needs the
    // parameter's name.
    unsafe { symbols::zend_parse_arg_str_weak(&raw mut copy, &raw mut string, number) }
        .then_some(copy)
}

/// Returns the bytes of a string; empty for any other value.
#[inline]
pub fn bytes(value: &Zval) -> &[u8] {
    if kind(value) == IS_STRING {
        // SAFETY: the kind was checked. The string lives as long as the value.
        unsafe { &*value.value.str_.cast::<ZendStr>() }.as_bytes()
    } else {
        &[]
    }
}

/// Returns a string of PHP.
pub fn of_bytes(bytes: &[u8]) -> Zval {
    let mut value = Zval::new();
    if bytes.is_empty() {
        // SAFETY: set when the engine started. Interned strings are not counted.
        unsafe {
            value.value.str_ = symbols::zend_empty_string;
            value.u1.type_info = IS_STRING;
        }
    } else {
        value.set_zend_string(ZendStr::new(bytes, false));
    }
    value
}

/// Returns a `float` of PHP.
pub fn of_float(float: f64) -> Zval {
    Number::Float(float).to_zval()
}

/// Returns a value that holds a counted reference to the object.
pub fn of_object(object: Obj<'_>) -> Zval {
    let mut value = Zval::new();
    // SAFETY: the object is live, and its pointer may be written through. The value holds the
    // reference that is counted here.
    unsafe {
        (*object.as_ptr()).gc.refcount += 1;
        value.value.obj = object.as_ptr();
        value.u1.type_info = IS_OBJECT_EX;
    }
    value
}

/// Returns the object that the value holds, if any.
#[inline]
pub fn object(value: &Zval) -> Option<Obj<'_>> {
    if kind(value) == IS_OBJECT {
        // SAFETY: the kind was checked. The object lives as long as the value, which holds the
        // engine's own pointer.
        unsafe { Obj::new(value.value.obj) }
    } else {
        None
    }
}

/// A place in the engine's memory that holds a value for `'a`: an argument, or a property's slot.
///
/// It is a pointer and not a reference, because PHP code may replace the value at any time. Values
/// that are read are copied.
#[derive(Clone, Copy, Debug)]
pub struct Val<'a>(ptr::NonNull<Zval>, PhantomData<&'a Zval>);

impl Val<'_> {
    /// Wraps a pointer.
    ///
    /// # Safety
    /// The place holds a valid value for `'a`, and the pointer may be written through.
    #[inline]
    pub(super) unsafe fn new(place: *mut Zval) -> Self {
        // SAFETY: by contract it is not null.
        Self(unsafe { ptr::NonNull::new_unchecked(place) }, PhantomData)
    }

    /// Returns true if the place holds the value that `identity` was taken from. A PHP reference is
    /// not followed.
    #[inline]
    pub fn is(self, identity: Identity) -> bool {
        // SAFETY: the place holds a valid value. No code runs here that could change it.
        identity.is_of(unsafe { self.0.as_ref() })
    }

    /// Copies the value, following a PHP reference. Returns null for a property that was unset.
    pub fn copy(self) -> Zval {
        // SAFETY: as above.
        let value = dereference(unsafe { self.0.as_ref() });
        if kind(value) == IS_UNDEF {
            Zval::null()
        } else {
            value.shallow_clone()
        }
    }

    /// Puts another value into the place and releases the old one.
    pub(super) fn replace(self, value: Zval) {
        // SAFETY: by contract. The old value is released only after the new one is in place,
        // because its destructor may read the place. It is forgotten here because it was already
        // released.
        unsafe {
            let mut old = self.0.replace(value);
            zval_ptr_dtor(&raw mut old);
            std::mem::forget(old);
        }
    }
}

/// Returns the elements of an array, in order; empty for any other value.
pub fn elements(value: &Zval) -> Vec<&Zval> {
    let array = value.array();
    array.map_or_else(Vec::new, |array| array.values().map(dereference).collect())
}

/// Returns a list, or `None` if it has more elements than an array can hold.
pub fn of_list(elements: impl IntoIterator<Item = Zval>) -> Option<Zval> {
    let mut list = ZendHashTable::new();
    for element in elements {
        list.push(element).ok()?;
    }
    let mut value = Zval::new();
    value.set_hashtable(list);
    Some(value)
}

/// Sets an element of an array. A key of digits becomes an integer, as in PHP.
pub fn insert(array: &mut Zval, key: &[u8], mut element: Zval) {
    debug_assert!(array.is_array());
    // SAFETY: a live value with an array that nobody else holds. The array owns the element from
    // here on.
    unsafe {
        symbols::add_assoc_zval_ex(array, key.as_ptr().cast(), key.len(), &raw mut element);
    }
    std::mem::forget(element);
}

/// Returns true if PHP's `if` would treat the value as true.
pub fn is_truthy(value: &Zval) -> bool {
    // SAFETY: a live value.
    let is_true = unsafe { ext_php_rs::ffi::zend_is_true(ptr::from_ref(value).cast_mut()) };
    // An `int`; a `bool` since PHP 8.4.
    #[allow(clippy::useless_conversion)]
    let is_true = i32::from(is_true) != 0;
    is_true
}

/// Writes `true` or `false` over a value that holds nothing to release.
#[inline]
pub fn set_bool(value: &mut Zval, truth: bool) {
    value.u1.type_info = if truth { IS_TRUE } else { IS_FALSE };
}

/// The bits by which a value is recognised if it comes again and needs no conversion.
///
/// Equal bits mean an equal value only while something keeps the string or object behind them
/// alive. Values of other kinds have no identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    bits: i64,
    kind: u32,
}

impl Identity {
    /// The identity of no value: no value has this kind.
    pub const NONE: Self = Self {
        bits: 0,
        kind: u32::MAX,
    };

    /// Returns the identity of a number, a string or an object, and `NONE` for other values.
    pub fn of(value: &Zval) -> Self {
        match kind(value) {
            kind @ (IS_LONG | IS_DOUBLE | IS_STRING | IS_OBJECT) => Self {
                bits: bits(value),
                kind,
            },
            _ => Self::NONE,
        }
    }

    /// Returns true if `value` is the same value.
    #[inline]
    pub fn is_of(self, value: &Zval) -> bool {
        kind(value) == self.kind && bits(value) == self.bits
    }
}

/// Returns the bits of a value of a kind that has any.
#[inline]
fn bits(value: &Zval) -> i64 {
    // SAFETY: every field of the union is plain bits. Kinds that have bits use all 64.
    unsafe { value.value.lval }
}
