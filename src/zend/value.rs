//! Values of PHP, as far as this extension looks at them.

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
    /// As an amount of tokens.
    ///
    /// # Errors
    /// What makes it none.
    pub fn tokens(self) -> Result<Tokens, AmountError> {
        match self {
            Self::Int(int) => Tokens::from_int(int),
            Self::Float(float) => Tokens::from_float(float),
        }
    }

    /// As a double; integers beyond 2^53 are rounded, as PHP does.
    pub const fn to_float(self) -> f64 {
        match self {
            Self::Int(int) => int as f64,
            Self::Float(float) => float,
        }
    }

    /// As a value of PHP.
    pub fn to_zval(self) -> Zval {
        let mut value = Zval::new();
        match self {
            Self::Int(int) => value.set_long(int),
            Self::Float(float) => value.set_double(float),
        }
        value
    }
}

/// What a value is, without its flags.
#[inline]
pub fn kind(value: &Zval) -> u32 {
    // SAFETY: both views of `u1` are plain integers.
    u32::from(unsafe { value.u1.v.type_ })
}

/// The value behind a reference, or the value itself.
#[inline]
pub fn dereference(value: &Zval) -> &Zval {
    if kind(value) == IS_REFERENCE {
        // SAFETY: a value of this kind holds a pointer to a live reference.
        unsafe { &(*value.value.ref_).val }
    } else {
        value
    }
}

/// The number that the value holds, without conversion.
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

/// The number that the value is in weak mode, whatever the caller's mode: for untyped parameters.
pub fn to_number(value: &Zval) -> Option<Number> {
    if let Some(number) = as_number(value) {
        return Some(number);
    }
    if kind(value) == IS_NULL || kind(value) == IS_OBJECT {
        return None;
    }
    let mut float = 0.0;
    let value = ptr::from_ref(value).cast_mut();
    // SAFETY: the value is live and is not changed; null, which alone needs a parameter's name for its
    // deprecation, was excluded.
    unsafe { symbols::zend_parse_arg_double_weak(value, &raw mut float, u32::MAX) }
        .then(|| whole(float))
}

/// A whole double as an integer, so that "10" and 10 are one amount.
// Checked to be whole and within 2^53.
#[allow(clippy::cast_possible_truncation)]
fn whole(float: f64) -> Number {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if float.fract() == 0.0 && float.abs() <= EXACT {
        Number::Int(float as i64)
    } else {
        Number::Float(float)
    }
}

/// The value as a string of PHP in weak mode; `None` for arrays and objects that are none, or when
/// `__toString` threw.
pub fn to_string(value: &Zval) -> Option<Zval> {
    if kind(value) == IS_NULL {
        return Some(of_bytes(b""));
    }
    to_string_as_argument(value, u32::MAX)
}

/// The same of argument `number` of the running function, which PHP deprecates to be null.
pub(super) fn to_string_as_argument(value: &Zval, number: u32) -> Option<Zval> {
    let (mut copy, mut string) = (value.shallow_clone(), ptr::null_mut());
    if kind(value) == IS_STRING {
        return Some(copy);
    }
    // SAFETY: `copy` is ours to convert in place, and is live. Only null needs the parameter's name.
    unsafe { symbols::zend_parse_arg_str_weak(&raw mut copy, &raw mut string, number) }
        .then_some(copy)
}

/// The bytes of a value that holds a string; none for another.
#[inline]
pub fn bytes(value: &Zval) -> &[u8] {
    if kind(value) == IS_STRING {
        // SAFETY: the kind says so; the string lives as long as the value.
        unsafe { &*value.value.str_.cast::<ZendStr>() }.as_bytes()
    } else {
        &[]
    }
}

/// A string of PHP.
pub fn of_bytes(bytes: &[u8]) -> Zval {
    let mut value = Zval::new();
    if bytes.is_empty() {
        // SAFETY: set when the engine started; an interned string is not counted.
        unsafe {
            value.value.str_ = symbols::zend_empty_string;
            value.u1.type_info = IS_STRING;
        }
    } else {
        value.set_zend_string(ZendStr::new(bytes, false));
    }
    value
}

/// A `float` of PHP.
pub fn of_float(float: f64) -> Zval {
    Number::Float(float).to_zval()
}

/// A value that holds the object, too.
pub fn of_object(object: Obj<'_>) -> Zval {
    let mut value = Zval::new();
    // SAFETY: the object is live, and its pointer may be written through; the value holds the
    // reference that is counted here.
    unsafe {
        (*object.as_ptr()).gc.refcount += 1;
        value.value.obj = object.as_ptr();
        value.u1.type_info = IS_OBJECT_EX;
    }
    value
}

/// The object that the value holds.
#[inline]
pub fn object(value: &Zval) -> Option<Obj<'_>> {
    if kind(value) == IS_OBJECT {
        // SAFETY: the kind says so; the object lives as long as the value, which holds the engine's
        // own pointer.
        unsafe { Obj::new(value.value.obj) }
    } else {
        None
    }
}

/// A place in the engine's memory that holds a value for `'a`: an argument, or a property's slot.
///
/// It is no reference, because PHP code may replace the value at any time. Whatever is read is copied.
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

    /// Whether the place holds the value that `identity` was taken of, not behind a reference.
    #[inline]
    pub fn is(self, identity: Identity) -> bool {
        // SAFETY: the place holds a valid value; no code runs that could change it meanwhile.
        identity.is_of(unsafe { self.0.as_ref() })
    }

    /// Copies the value, behind any reference; null for a property that was unset.
    pub fn copy(self) -> Zval {
        // SAFETY: as above.
        let value = dereference(unsafe { self.0.as_ref() });
        if kind(value) == IS_UNDEF {
            Zval::null()
        } else {
            value.shallow_clone()
        }
    }

    /// Puts another value into the place, and releases the old one.
    pub(super) fn replace(self, value: Zval) {
        // SAFETY: by contract. The old value is released only when the new one stands, because its
        // destructor may look at the place; it is forgotten here because it is released already.
        unsafe {
            let mut old = self.0.replace(value);
            zval_ptr_dtor(&raw mut old);
            std::mem::forget(old);
        }
    }
}

/// The elements of an array, in order; none for another value.
pub fn elements(value: &Zval) -> Vec<&Zval> {
    let array = value.array();
    array.map_or_else(Vec::new, |array| array.values().map(dereference).collect())
}

/// A list; `None` if it has more elements than an array can.
pub fn of_list(elements: impl IntoIterator<Item = Zval>) -> Option<Zval> {
    let mut list = ZendHashTable::new();
    for element in elements {
        list.push(element).ok()?;
    }
    let mut value = Zval::new();
    value.set_hashtable(list);
    Some(value)
}

/// Sets an element of an array, under an integer if the key's digits are one, as PHP does.
pub fn insert(array: &mut Zval, key: &[u8], mut element: Zval) {
    debug_assert!(array.is_array());
    // SAFETY: a live value that holds an array nobody else has; it owns the element from here on.
    unsafe {
        symbols::add_assoc_zval_ex(array, key.as_ptr().cast(), key.len(), &raw mut element);
    }
    std::mem::forget(element);
}

/// Whether PHP's `if` would take the value for true.
pub fn is_truthy(value: &Zval) -> bool {
    // SAFETY: a live value.
    let is_true = unsafe { ext_php_rs::ffi::zend_is_true(ptr::from_ref(value).cast_mut()) };
    // An int; since PHP 8.4 a bool.
    #[allow(clippy::useless_conversion)]
    let is_true = i32::from(is_true) != 0;
    is_true
}

/// Writes `true` or `false` over a value that holds nothing to release.
#[inline]
pub fn set_bool(value: &mut Zval, truth: bool) {
    value.u1.type_info = if truth { IS_TRUE } else { IS_FALSE };
}

/// The bits by which a value that needs no conversion is recognised again.
///
/// Equal bits mean an equal value only while the string behind them is kept alive by somebody, so a
/// value of any other kind that is counted has no identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    bits: i64,
    kind: u32,
}

impl Identity {
    /// Of no value: no value has this kind.
    pub const NONE: Self = Self {
        bits: 0,
        kind: u32::MAX,
    };

    /// Of a number, a string or an object; none of what has no bits.
    pub fn of(value: &Zval) -> Self {
        match kind(value) {
            kind @ (IS_LONG | IS_DOUBLE | IS_STRING | IS_OBJECT) => Self {
                bits: bits(value),
                kind,
            },
            _ => Self::NONE,
        }
    }

    /// Whether `value` is the same value.
    #[inline]
    pub fn is_of(self, value: &Zval) -> bool {
        kind(value) == self.kind && bits(value) == self.bits
    }
}

/// The bits of a value of a kind that has any.
#[inline]
fn bits(value: &Zval) -> i64 {
    // SAFETY: every field of the union is plain bits, and kinds that have any have 64.
    unsafe { value.value.lval }
}
