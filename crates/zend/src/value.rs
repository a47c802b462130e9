//! Conversions between PHP values and Rust values.

use super::{Obj, bailout, conversions, symbols};
use ext_php_rs::ffi::{
    IS_DOUBLE, IS_FALSE, IS_LONG, IS_NULL, IS_OBJECT, IS_OBJECT_EX, IS_REFERENCE, IS_STRING,
    IS_TRUE, IS_UNDEF, zval_ptr_dtor,
};
use ext_php_rs::types::{ZendHashTable, ZendStr, Zval};
use std::marker::PhantomData;
use std::ptr;

/// PHP's `int|float`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    Int(i64),
    Float(f64),
}

impl Number {
    /// Returns the number as a double. Integers beyond 2^53 are rounded, as in PHP.
    pub const fn to_float(self) -> f64 {
        match self {
            Self::Int(int) => int as f64,
            Self::Float(float) => float,
        }
    }

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

/// Returns true if the value holds a counted reference, which must be released.
#[inline]
pub(super) fn is_counted(value: &Zval) -> bool {
    // SAFETY: both views of `u1` are plain integers. The flags of other values are 0.
    unsafe { value.u1.v.type_flags != 0 }
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

/// Returns a copy of the value behind a PHP reference, or the value itself.
pub(super) fn behind(value: Zval) -> Zval {
    if kind(&value) == IS_REFERENCE {
        dereference(&value).shallow_clone()
    } else {
        value
    }
}

/// Returns the number that the value holds, without conversion.
#[inline]
pub fn as_number(value: &Zval) -> Option<Number> {
    match kind(value) {
        // SAFETY: the kind shows which field of the union was written.
        IS_LONG => Some(Number::Int(unsafe { value.value.lval })),
        // SAFETY: as above.
        IS_DOUBLE => Some(Number::Float(unsafe { value.value.dval })),
        _ => None,
    }
}

/// Converts the value to a number in weak mode, also in `strict_types` files. Use this for untyped
/// parameters. Returns `None` for null, objects and other values that are not numeric.
#[inline]
pub fn to_number(value: &Zval) -> Option<Number> {
    as_number(value).or_else(|| convert_to_number(value))
}

#[cold]
fn convert_to_number(value: &Zval) -> Option<Number> {
    if kind(value) == IS_NULL || kind(value) == IS_OBJECT {
        return None;
    }
    let mut float = 0.0;
    let (value, place) = (ptr::from_ref(value).cast_mut(), &raw mut float);
    // SAFETY: the value is live and is not changed. The engine uses the parameter's number only in
    // the deprecation for null, and null was excluded.
    let convert = || unsafe { conversions::double_weak(value, place, u32::MAX) };
    bailout::door(convert).then(|| whole(float))
}

/// Returns a whole double as an integer, so that "10" and 10 are the same amount.
// The cast is exact, because the number is whole and within 2^53.
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
    let (from, to) = (&raw mut copy, &raw mut string);
    // SAFETY: `copy` belongs to this function, so it may be converted in place. The engine uses the
    // parameter's number only in the deprecation for null.
    let convert = || unsafe { conversions::str_weak(from, to, number) };
    bailout::door(convert).then_some(copy)
}

/// Returns the bytes of a string. Returns no bytes for any other value.
#[inline]
pub fn bytes(value: &Zval) -> &[u8] {
    if kind(value) == IS_STRING {
        // SAFETY: the kind was checked. The string lives as long as the value.
        unsafe { &*value.value.str_.cast::<ZendStr>() }.as_bytes()
    } else {
        &[]
    }
}

/// Returns a PHP string of these bytes.
pub fn of_bytes(bytes: &[u8]) -> Zval {
    bailout::door(|| of_text(bytes))
}

/// Returns a PHP string of these bytes, faster than [`of_bytes`]. If the memory limit is reached,
/// the caller's frames are skipped, so they own no memory of the process.
pub fn of_text(bytes: &[u8]) -> Zval {
    let mut value = Zval::new();
    if bytes.is_empty() {
        // SAFETY: the engine sets the empty string when it starts. Interned strings need no
        // reference count.
        unsafe {
            value.value.str_ = symbols::zend_empty_string;
            value.u1.type_info = IS_STRING;
        }
    } else {
        value.set_zend_string(ZendStr::new(bytes, false));
    }
    value
}

pub fn of_float(float: f64) -> Zval {
    Number::Float(float).to_zval()
}

/// Returns a value that holds a counted reference to the object.
pub fn of_object(object: Obj<'_>) -> Zval {
    let mut value = Zval::new();
    // SAFETY: the object is live, and its pointer may be written through. The value holds the
    // reference that is counted here, and releases it when it is dropped.
    unsafe {
        (*object.as_ptr()).gc.refcount += 1;
        value.value.obj = object.as_ptr();
        value.u1.type_info = IS_OBJECT_EX;
    }
    value
}

/// Returns the object that the value holds, or `None` if it is not an object.
#[inline]
pub fn object(value: &Zval) -> Option<Obj<'_>> {
    if kind(value) == IS_OBJECT {
        // SAFETY: the kind was checked. The value holds the engine's own pointer and keeps the
        // object alive.
        unsafe { Obj::new(value.value.obj) }
    } else {
        None
    }
}

/// A place in the engine's memory that holds a value for `'a`, such as an argument or a property
/// slot.
///
/// `Val` is a pointer and not a reference, because PHP code may replace the value at any time. So
/// its methods copy the value.
#[derive(Clone, Copy, Debug)]
pub struct Val<'a>(ptr::NonNull<Zval>, PhantomData<&'a Zval>);

impl Val<'_> {
    /// Wraps a pointer.
    ///
    /// # Safety
    /// `place` is not null and holds a valid value for `'a`. The pointer may be written through.
    #[inline]
    pub(super) unsafe fn new(place: *mut Zval) -> Self {
        // SAFETY: by contract `place` is not null.
        Self(unsafe { ptr::NonNull::new_unchecked(place) }, PhantomData)
    }

    /// Returns true if the place holds the value that `identity` was taken from. A PHP reference is
    /// not followed.
    #[inline]
    pub fn is(self, identity: Identity) -> bool {
        // SAFETY: the place holds a valid value. No code runs here that could change it.
        identity.is_of(unsafe { self.0.as_ref() })
    }

    /// Copies the value. Follows a PHP reference. Returns null for a property that was unset.
    pub fn copy(self) -> Zval {
        // SAFETY: as above.
        let value = dereference(unsafe { self.0.as_ref() });
        if kind(value) == IS_UNDEF {
            Zval::null()
        } else {
            value.shallow_clone()
        }
    }

    /// Puts another value into the place and releases the old value.
    #[inline(always)]
    pub(super) fn replace(self, value: Zval) {
        let place = self.0.as_ptr();
        // SAFETY: by contract the place is valid. An old value that holds no counted reference need
        // not be released.
        unsafe {
            if is_counted(&*place) {
                self.replace_counted(value);
            } else {
                overwrite(&mut *place, value);
            }
        }
    }

    #[cold]
    fn replace_counted(self, value: Zval) {
        // SAFETY: by contract the place is valid. The old value is released after the new one is in
        // place, because its destructor may read the place.
        let mut old = unsafe { self.0.replace(value) };
        let place = &raw mut old;
        // SAFETY: the old value is live, and is forgotten below.
        bailout::release(|| unsafe { zval_ptr_dtor(place) });
        std::mem::forget(old);
    }
}

/// Returns the keys and elements of an array, in order. Each key is an integer or a string of any
/// bytes. (The iterators of ext-php-rs panic if a key is not UTF-8.)
pub fn entries(array: &ZendHashTable) -> impl Iterator<Item = (Zval, &Zval)> {
    let table = ptr::from_ref(array).cast_mut();
    let mut position = 0;
    // SAFETY: the array is live and is not changed.
    unsafe { symbols::zend_hash_internal_pointer_reset_ex(table, &raw mut position) };
    (0..array.len()).map_while(move |_| {
        let mut key = Zval::new();
        // SAFETY: as above. A key is copied with a counted reference. An element is a live value,
        // because the position is not at the end of the array.
        unsafe {
            symbols::zend_hash_get_current_key_zval_ex(table, &raw mut key, &raw mut position);
            let element = symbols::zend_hash_get_current_data_ex(table, &raw mut position);
            symbols::zend_hash_move_forward_ex(table, &raw mut position);
            let element = element.cast_const().as_ref();
            element.map(|element| (key, dereference(element)))
        }
    })
}

/// Returns the elements of an array, in order. Returns no elements for any other value.
pub fn elements(value: &Zval) -> Vec<&Zval> {
    let entries = value.array().into_iter().flat_map(entries);
    entries.map(|(_, element)| element).collect()
}

/// Returns a PHP list of these elements, or `None` if they are more than an array can hold.
pub fn of_list(elements: impl IntoIterator<Item = Zval>) -> Option<Zval> {
    let mut list = bailout::door(ZendHashTable::new);
    for element in elements {
        bailout::door(|| list.push(element)).ok()?;
    }
    let mut value = Zval::new();
    value.set_hashtable(list);
    Some(value)
}

/// Sets the element `key` of an array. A key of digits becomes an integer, as in PHP.
pub fn insert(array: &mut Zval, key: &[u8], mut element: Zval) {
    debug_assert!(array.is_array());
    let (array, start, place) = (&raw mut *array, key.as_ptr().cast(), &raw mut element);
    // SAFETY: the value is live and its array has no other owner. The array takes over the element,
    // so it is forgotten below.
    bailout::door(|| unsafe { symbols::add_assoc_zval_ex(array, start, key.len(), place) });
    std::mem::forget(element);
}

/// Returns true if PHP's `if` would treat the value as true.
pub fn is_truthy(value: &Zval) -> bool {
    let value = ptr::from_ref(value).cast_mut();
    // SAFETY: the value is live and is not changed. PHP 8.5 warns about NAN.
    let is_true = bailout::door(|| unsafe { ext_php_rs::ffi::zend_is_true(value) });
    // The engine returns an `int`, and since PHP 8.4 a `bool`.
    #[allow(clippy::useless_conversion)]
    let is_true = i32::from(is_true) != 0;
    is_true
}

/// Writes `true` or `false` over a value that holds nothing to release.
#[inline]
pub fn set_bool(value: &mut Zval, truth: bool) {
    value.u1.type_info = if truth { IS_TRUE } else { IS_FALSE };
}

/// Writes a value over one that holds nothing to release. The fields are written one by one,
/// because the processor must wait when it reads a whole value right after its parts were written.
#[inline(always)]
pub fn overwrite(place: &mut Zval, value: Zval) {
    debug_assert!(!is_counted(place));
    place.value = value.value;
    place.u1 = value.u1;
    std::mem::forget(value);
}

/// The kind and bits of a value. They show whether a place still holds the same value.
///
/// The bits of a string or object are its address. So a comparison of the bits is valid only while
/// the string or object is kept alive. Only numbers, strings and objects have an identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    bits: i64,
    kind: u32,
}

impl Identity {
    /// An identity that matches no value, because no value has this kind.
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

    #[inline]
    pub fn is_of(self, value: &Zval) -> bool {
        kind(value) == self.kind && bits(value) == self.bits
    }
}

/// Returns the 64 bits of a number, or the address of a string or object.
#[inline]
fn bits(value: &Zval) -> i64 {
    // SAFETY: every field of the union is plain bits. Numbers, strings and objects use all 64.
    unsafe { value.value.lval }
}
