//! One call from PHP: its arguments, coerced as PHP's own functions coerce theirs.

use super::class::Class;
use super::obj::Obj;
use super::object::{Object, State};
use super::throw::{self, Thrown};
use super::value::{self, Number};
use super::{foreign, symbols};
use ext_php_rs::ffi::{
    IS_ARRAY, IS_FALSE, IS_OBJECT, IS_REFERENCE, IS_STRING, IS_TRUE, zend_execute_data,
    zend_wrong_parameters_count_error, zval,
};
use ext_php_rs::types::{ZendHashTable, ZendStr, Zval};
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{self, NonNull};

/// A running call.
pub struct Call<'a> {
    /// No reference, because the arguments lie behind it.
    frame: NonNull<zend_execute_data>,
    life: PhantomData<&'a mut zend_execute_data>,
}

/// Runs a method's body. Nothing unwinds out of it.
#[inline(always)]
pub fn run<'a>(
    frame: &'a mut zend_execute_data,
    result: &mut Zval,
    body: impl FnOnce(&mut Call<'a>, &mut Zval) -> Result<(), Thrown>,
) {
    // The frame came from C, so that its provenance is exposed. A pointer made of this reference would
    // end before the arguments.
    let frame = ptr::with_exposed_provenance_mut(ptr::from_mut(frame).addr());
    let body = AssertUnwindSafe(|| {
        let mut call = Call {
            // SAFETY: made of a reference.
            frame: unsafe { NonNull::new_unchecked(frame) },
            life: PhantomData,
        };
        if body(&mut call, result).is_err() && !throw::is_pending() {
            throw::error("tokenbucket failed without a message, which is a bug");
        }
    });
    if let Err(panic) = catch_unwind(body) {
        throw::panicked(panic.as_ref());
    }
}

impl<'a> Call<'a> {
    /// How many arguments were passed.
    #[inline]
    pub fn count(&self) -> u32 {
        // SAFETY: the engine keeps the number of arguments there.
        unsafe { (*self.frame.as_ptr()).This.u2.num_args }
    }

    /// Throws unless as many arguments were passed as the function declares.
    ///
    /// # Errors
    /// `ArgumentCountError`.
    #[inline(always)]
    pub fn check_count(&self) -> Result<(), Thrown> {
        // SAFETY: the frame of a running function names it.
        let function = unsafe { &(*(*self.frame.as_ptr()).func).common };
        let (least, most) = (function.required_num_args, function.num_args);
        if (least..=most).contains(&self.count()) {
            return Ok(());
        }
        // SAFETY: called in the frame of the function that it speaks of.
        unsafe {
            if most == 0 {
                symbols::zend_wrong_parameters_none_error();
            } else {
                zend_wrong_parameters_count_error(least, most);
            }
        }
        Err(Thrown)
    }

    /// Returns the place of argument `number`, from 1, behind any reference.
    ///
    /// # Panics
    /// If fewer arguments were passed.
    #[inline]
    fn raw(&self, number: u32) -> *mut Zval {
        const HEAD: usize = size_of::<zend_execute_data>().div_ceil(size_of::<zval>());
        assert!(number >= 1 && number <= self.count(), "no such argument");
        // SAFETY: the arguments follow the frame, as ZEND_CALL_ARG has it. A value of the kind of a
        // reference holds a pointer to a live one.
        unsafe {
            let arg = self.frame.as_ptr().cast::<Zval>();
            let arg = arg.add(HEAD + number as usize - 1);
            if value::kind(&*arg) == IS_REFERENCE {
                &raw mut (*(*arg).value.ref_).val
            } else {
                arg
            }
        }
    }

    /// Returns argument `number`, from 1, as it was passed.
    ///
    /// # Panics
    /// If fewer arguments were passed.
    #[inline]
    pub fn arg(&self, number: u32) -> &Zval {
        // SAFETY: arguments stay in the frame until the call returns, and only a method of this type
        // that borrows it mutably converts one.
        unsafe { &*self.raw(number) }
    }

    /// Returns the object that the method was called on.
    ///
    /// # Panics
    /// If its class has another state.
    #[inline]
    pub fn this<T: State>(&self) -> &'a Object<T> {
        match self.this_object().and_then(Object::of) {
            Some(object) => object,
            None => panic!("a method of another class"),
        }
    }

    /// Returns the object that runs, if there is one: a closure can be bound to none.
    #[inline]
    pub(super) fn this_object(&self) -> Option<Obj<'a>> {
        // SAFETY: the frame holds a reference to its object until the call returns. Every field of
        // the union is plain bits.
        unsafe {
            let this = &raw const (*self.frame.as_ptr()).This;
            if value::kind(&*this) == IS_OBJECT {
                Obj::new((*this).value.obj)
            } else {
                None
            }
        }
    }

    /// `static::NAME`, if a class that extends `class` was called and has it as a number.
    pub fn static_constant(&self, class: &Class, name: &str) -> Option<f64> {
        // SAFETY: a static method's frame holds the called class; the names are released here.
        unsafe {
            if ptr::eq((*self.frame.as_ptr()).This.value.ce, class.entry()) {
                return None;
            }
            let (scope, name) = (ZendStr::new("static", false), ZendStr::new(name, false));
            let found = symbols::zend_get_class_constant_ex(
                ptr::from_ref(&*scope).cast_mut().cast(),
                ptr::from_ref(&*name).cast_mut().cast(),
                class.entry(),
                0,
            );
            found
                .as_ref()
                .and_then(value::to_number)
                .map(Number::to_float)
        }
    }

    #[cold]
    fn wrong(&self, number: u32, expected: symbols::zend_expected_type) -> Thrown {
        // SAFETY: called in the frame of the function that it speaks of, with its argument. The engine
        // keeps an exception that is pending.
        unsafe { symbols::zend_wrong_parameter_type_error(number, expected, self.raw(number)) };
        Thrown
    }

    /// Converts argument `number` in place, as PHP's own functions do; `None` if that is impossible.
    ///
    /// # Safety
    /// `convert` is one of the engine's, which takes a live argument and writes a valid `T`.
    unsafe fn converted<T: Default>(
        &mut self,
        number: u32,
        convert: unsafe extern "C" fn(*mut zval, *mut T, u32) -> bool,
    ) -> Option<T> {
        let mut result = T::default();
        // SAFETY: by contract; the argument is live.
        unsafe { convert(self.raw(number), &raw mut result, number) }.then_some(result)
    }

    /// `int|float`, in the caller's mode.
    ///
    /// # Errors
    /// `TypeError`.
    #[inline]
    pub fn number(&mut self, number: u32) -> Result<Number, Thrown> {
        if let Some(plain) = value::as_number(self.arg(number)) {
            return Ok(plain);
        }
        // A copy, because a string's bytes may be borrowed.
        let mut copy = self.arg(number).shallow_clone();
        let mut converted = ptr::null_mut();
        // SAFETY: a value of ours, converted in place.
        let parsed = unsafe {
            symbols::zend_parse_arg_number_slow(&raw mut copy, &raw mut converted, number)
        };
        if parsed
            // SAFETY: set by the conversion, to a live value.
            && let Some(plain) = value::as_number(unsafe { &*converted })
        {
            return Ok(plain);
        }
        Err(self.wrong(number, symbols::Z_EXPECTED_NUMBER))
    }

    /// A number in weak mode, whatever the caller's: for a parameter without a type.
    ///
    /// # Errors
    /// `TypeError`.
    #[inline]
    pub fn untyped_number(&mut self, number: u32) -> Result<Number, Thrown> {
        value::to_number(self.arg(number))
            .ok_or_else(|| self.wrong(number, symbols::Z_EXPECTED_NUMBER))
    }

    /// A string in weak mode, whatever the caller's: for a parameter without a type.
    ///
    /// # Errors
    /// `TypeError`, or what `__toString` threw.
    pub fn untyped_string(&mut self, number: u32) -> Result<Zval, Thrown> {
        let string = value::to_string_as_argument(self.arg(number), number);
        string.ok_or_else(|| self.wrong(number, symbols::Z_EXPECTED_STRING))
    }

    /// `float`, in the caller's mode.
    ///
    /// # Errors
    /// `TypeError`.
    pub fn float(&mut self, number: u32) -> Result<f64, Thrown> {
        if let Some(Number::Float(float)) = value::as_number(self.arg(number)) {
            return Ok(float);
        }
        // SAFETY: it writes a double.
        unsafe { self.converted(number, symbols::zend_parse_arg_double_slow) }
            .ok_or_else(|| self.wrong(number, symbols::Z_EXPECTED_DOUBLE))
    }

    /// `int`, in the caller's mode.
    ///
    /// # Errors
    /// `TypeError`.
    pub fn int(&mut self, number: u32) -> Result<i64, Thrown> {
        if let Some(Number::Int(int)) = value::as_number(self.arg(number)) {
            return Ok(int);
        }
        // SAFETY: it writes an integer.
        unsafe { self.converted(number, symbols::zend_parse_arg_long_slow) }
            .ok_or_else(|| self.wrong(number, symbols::Z_EXPECTED_LONG))
    }

    /// `bool`, in the caller's mode.
    ///
    /// # Errors
    /// `TypeError`.
    pub fn bool(&mut self, number: u32) -> Result<bool, Thrown> {
        match value::kind(self.arg(number)) {
            IS_TRUE => return Ok(true),
            IS_FALSE => return Ok(false),
            _ => {}
        }
        // SAFETY: it writes a truth.
        unsafe { self.converted(number, symbols::zend_parse_arg_bool_slow) }
            .ok_or_else(|| self.wrong(number, symbols::Z_EXPECTED_BOOL))
    }

    /// `string`, in the caller's mode.
    ///
    /// # Errors
    /// `TypeError`, or what `__toString` threw.
    pub fn string(&mut self, number: u32) -> Result<&'a [u8], Thrown> {
        let text = self.text(number);
        text.ok_or_else(|| self.wrong(number, symbols::Z_EXPECTED_STRING))
    }

    /// Returns the bytes of an argument that is a string, or can be converted to one.
    fn text(&mut self, number: u32) -> Option<&'a [u8]> {
        let arg = self.raw(number);
        let mut string = ptr::null_mut();
        // SAFETY: the argument is live; converting it in place is what PHP's own functions do. No
        // conversion replaces a string, so the frame keeps it alive until the call returns.
        unsafe {
            if value::kind(&*arg) == IS_STRING {
                return Some(value::bytes(&*arg));
            }
            let converted = symbols::zend_parse_arg_str_slow(arg, &raw mut string, number);
            converted.then(|| (*string.cast::<ZendStr>()).as_bytes())
        }
    }

    /// Returns an argument that is an array.
    fn elements(&self, number: u32) -> Option<&'a ZendHashTable> {
        let arg = self.arg(number);
        // SAFETY: the kind says so. No conversion replaces an array, so the frame keeps it alive
        // until the call returns.
        (value::kind(arg) == IS_ARRAY).then(|| unsafe { &*arg.value.arr.cast_const() })
    }

    /// `array|string`: the string, or else the array.
    ///
    /// # Errors
    /// `TypeError`, or what `__toString` threw.
    pub fn string_or_array(
        &mut self,
        number: u32,
    ) -> Result<Result<&'a [u8], &'a ZendHashTable>, Thrown> {
        if let Some(array) = self.elements(number) {
            return Ok(Err(array));
        }
        let text = self.text(number).map(Ok);
        text.ok_or_else(|| self.wrong(number, symbols::Z_EXPECTED_ARRAY_OR_STRING))
    }

    /// `array`.
    ///
    /// # Errors
    /// `TypeError`.
    pub fn array(&mut self, number: u32) -> Result<&'a ZendHashTable, Thrown> {
        let array = self.elements(number);
        array.ok_or_else(|| self.wrong(number, symbols::Z_EXPECTED_ARRAY))
    }

    /// An object of `class`.
    ///
    /// # Errors
    /// `TypeError`.
    pub fn object_of(&self, number: u32, class: &Class) -> Result<Zval, Thrown> {
        self.object(number, class.name(), |object| class.has(object))
    }

    /// An object of a class of PHP's or of another extension's, which may be missing.
    ///
    /// # Errors
    /// `TypeError`.
    pub fn object_of_foreign(&self, number: u32, class: &str) -> Result<Zval, Thrown> {
        self.object(number, class, |object| foreign::is_of(object, class))
    }

    fn object(
        &self,
        number: u32,
        class: &str,
        is_one: impl FnOnce(Obj<'_>) -> bool,
    ) -> Result<Zval, Thrown> {
        let arg = self.arg(number);
        if value::object(arg).is_some_and(is_one) {
            return Ok(arg.shallow_clone());
        }
        let (class, arg) = (throw::text(class), self.raw(number));
        // SAFETY: called in the frame of the function that it speaks of, with its argument.
        unsafe { symbols::zend_wrong_parameter_class_error(number, class.as_ptr(), arg) };
        Err(Thrown)
    }
}

/// Makes an engine handler of a plain Rust function.
macro_rules! handler {
    ($body:expr) => {{
        extern "C" fn handler(
            frame: &mut ::ext_php_rs::ffi::zend_execute_data,
            result: &mut ::ext_php_rs::ffi::zval,
        ) {
            $crate::zend::call::run(frame, result, $body);
        }
        handler
    }};
}

/// As [`handler!`], and checks first that as many arguments were passed as are declared.
macro_rules! method {
    ($body:expr) => {
        $crate::zend::call::handler!(|call, result| {
            call.check_count()?;
            $body(call, result)
        })
    };
}

pub(crate) use {handler, method};
