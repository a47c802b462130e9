//! A call from PHP to a method of an extension. Arguments are converted as PHP's own functions do.

use super::{
    Class, Number, Obj, Object, State, Thrown, bailout, conversions, foreign, symbols, throw, value,
};
pub use ext_php_rs::ffi::zend_execute_data as Frame;
use ext_php_rs::ffi::{
    IS_ARRAY, IS_FALSE, IS_LONG, IS_NULL, IS_OBJECT, IS_REFERENCE, IS_STRING, IS_TRUE,
    zend_wrong_parameters_count_error, zval,
};
use ext_php_rs::types::{ZendHashTable, ZendStr, Zval};
use std::any::Any;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{self, NonNull};

/// A running call of a PHP function or method.
pub struct Call<'a> {
    /// The frame. It is a pointer and not a reference, because the arguments lie behind the frame.
    frame: NonNull<Frame>,
    life: PhantomData<&'a mut Frame>,
}

/// Runs a method's body. Catches panics, so that none unwinds into PHP. A panic throws an `Error`,
/// unless it stands for a fatal error of PHP code. `extension` is the name of the extension, for
/// messages about its bugs.
#[inline(always)]
pub fn run<'a>(
    extension: &str,
    frame: &'a mut Frame,
    result: &mut Zval,
    body: impl FnOnce(&mut Call<'a>, &mut Zval) -> Result<(), Thrown>,
) {
    // The frame comes from C, so its provenance is exposed. A pointer made from this reference
    // would not cover the arguments behind the frame.
    let frame = ptr::with_exposed_provenance_mut(ptr::from_mut(frame).addr());
    let body = AssertUnwindSafe(|| {
        let mut call = Call {
            // SAFETY: the pointer was made from a reference, so it is not null.
            frame: unsafe { NonNull::new_unchecked(frame) },
            life: PhantomData,
        };
        if body(&mut call, result).is_err() && !throw::is_pending() {
            let _ = throw::error(&format!(
                "{extension} failed without a message, which is a bug"
            ));
        }
    });
    if let Err(panic) = catch_unwind(body) {
        report(extension, panic);
    }
}

/// Throws an `Error` for a panic, or resumes the bailout that it stands for.
#[cold]
fn report(extension: &str, panic: Box<dyn Any + Send>) {
    let panic = bailout::resume(panic);
    // The exception may exceed the memory limit, so reporting the panic may unwind, too.
    let report = AssertUnwindSafe(|| throw::panicked(extension, panic.as_ref()));
    if let Err(end) = catch_unwind(report) {
        drop(panic);
        bailout::resume(end);
    }
}

impl<'a> Call<'a> {
    /// Returns the number of arguments that were passed.
    #[inline]
    pub fn count(&self) -> u32 {
        // SAFETY: the engine keeps the number of arguments in this field.
        unsafe { (*self.frame.as_ptr()).This.u2.num_args }
    }

    /// Checks the number of arguments against the function's declaration.
    #[inline(always)]
    pub fn check_count(&self) -> Result<(), Thrown> {
        // SAFETY: the frame of a running function points to that function.
        let function = unsafe { &(*(*self.frame.as_ptr()).func).common };
        let (least, most) = (function.required_num_args, function.num_args);
        if (least..=most).contains(&self.count()) {
            return Ok(());
        }
        // SAFETY: called in the frame of the function that the message names.
        unsafe {
            if most == 0 {
                symbols::zend_wrong_parameters_none_error();
            } else {
                zend_wrong_parameters_count_error(least, most);
            }
        }
        Err(Thrown)
    }

    /// Reads argument `number` by `read`. Returns `None` if it was not passed.
    pub fn optional<R>(
        &mut self,
        number: u32,
        read: impl FnOnce(&mut Self, u32) -> Result<R, Thrown>,
    ) -> Result<Option<R>, Thrown> {
        let is_passed = number <= self.count();
        is_passed.then(|| read(self, number)).transpose()
    }

    /// Returns a pointer to argument `number`, counted from 1. Follows a PHP reference. Panics if
    /// fewer arguments were passed.
    #[inline]
    fn raw(&self, number: u32) -> *mut Zval {
        const HEAD: usize = size_of::<Frame>().div_ceil(size_of::<zval>());
        assert!(number >= 1 && number <= self.count(), "no such argument");
        // SAFETY: the arguments follow the frame, as in `ZEND_CALL_ARG`. A value of kind
        // `IS_REFERENCE` holds a pointer to a live reference.
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

    /// Returns argument `number`, counted from 1, without conversion. Panics if fewer arguments
    /// were passed.
    #[inline]
    pub fn arg(&self, number: u32) -> &Zval {
        // SAFETY: arguments stay in the frame until the call returns. Only methods of `Call` that
        // borrow the call mutably convert an argument.
        unsafe { &*self.raw(number) }
    }

    /// Returns the object that the method was called on. Panics if the object's class has another
    /// state.
    #[inline]
    pub fn this<T: State>(&self) -> &'a Object<T> {
        match self.this_object().and_then(Object::of) {
            Some(object) => object,
            None => panic!("a method of another class"),
        }
    }

    /// Returns the object that the function was called on. Returns `None` in a closure that is
    /// bound to no object.
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

    /// Returns the constant `static::NAME` as a double. Returns `None` if the called class is
    /// `class` itself, or if the constant is not a number.
    pub fn static_constant(&self, class: &Class, name: &str) -> Option<f64> {
        // SAFETY: a static method's frame holds the called class. The two name strings are released
        // at the end of this block.
        unsafe {
            if ptr::eq((*self.frame.as_ptr()).This.value.ce, class.entry()) {
                return None;
            }
            let (scope, name) = (ZendStr::new("static", false), ZendStr::new(name, false));
            let [scope, name] =
                [&scope, &name].map(|text| ptr::from_ref(&**text).cast_mut().cast());
            let entry = class.entry();
            // The constant may be an expression that runs PHP code.
            let find = || symbols::zend_get_class_constant_ex(scope, name, entry, 0);
            let found = bailout::door(find);
            found
                .as_ref()
                .and_then(value::to_number)
                .map(Number::to_float)
        }
    }

    #[cold]
    fn wrong(&self, number: u32, expected: symbols::zend_expected_type) -> Thrown {
        let arg = self.raw(number);
        // SAFETY: called in the frame of the function that the message names, with one of its
        // arguments. If an exception is pending, the engine keeps that exception.
        bailout::door(|| unsafe {
            symbols::zend_wrong_parameter_type_error(number, expected, arg);
        });
        Thrown
    }

    /// Converts argument `number` in place, as PHP's own functions do. `convert` calls the engine's
    /// function, which gets the argument and the place of the result. Returns `None` if the
    /// conversion fails.
    fn converted<T: Default>(
        &mut self,
        number: u32,
        convert: impl FnOnce(*mut zval, *mut T) -> bool,
    ) -> Option<T> {
        let mut result = T::default();
        let (arg, place) = (self.raw(number), &raw mut result);
        bailout::door(|| convert(arg, place)).then_some(result)
    }

    /// Returns argument `number` as `int|float`, converted in the caller's mode (weak or strict).
    #[inline]
    pub fn number(&mut self, number: u32) -> Result<Number, Thrown> {
        if let Some(plain) = value::as_number(self.arg(number)) {
            return Ok(plain);
        }
        // A copy is converted, because the bytes of the argument's string may be borrowed.
        let mut copy = self.arg(number).shallow_clone();
        let mut converted = ptr::null_mut();
        let (from, to) = (&raw mut copy, &raw mut converted);
        // SAFETY: the copy belongs to this function, so it may be converted in place.
        let convert = || unsafe { symbols::zend_parse_arg_number_slow(from, to, number) };
        if bailout::door(convert)
            // SAFETY: the conversion has set the pointer to a live value.
            && let Some(plain) = value::as_number(unsafe { &*converted })
        {
            return Ok(plain);
        }
        Err(self.wrong(number, symbols::Z_EXPECTED_NUMBER))
    }

    /// Returns argument `number` as `int|float`. Converts in weak mode even in `strict_types`
    /// files, because the parameter is untyped.
    #[inline]
    pub fn untyped_number(&mut self, number: u32) -> Result<Number, Thrown> {
        value::to_number(self.arg(number))
            .ok_or_else(|| self.wrong(number, symbols::Z_EXPECTED_NUMBER))
    }

    /// Returns argument `number` as a string. Converts in weak mode even in `strict_types` files,
    /// because the parameter is untyped.
    pub fn untyped_string(&mut self, number: u32) -> Result<Zval, Thrown> {
        let string = value::to_string_as_argument(self.arg(number), number);
        string.ok_or_else(|| self.wrong(number, symbols::Z_EXPECTED_STRING))
    }

    /// Returns argument `number` as `float`, converted in the caller's mode.
    pub fn float(&mut self, number: u32) -> Result<f64, Thrown> {
        if let Some(Number::Float(float)) = value::as_number(self.arg(number)) {
            return Ok(float);
        }
        let converted = self.converted(number, |arg, double| {
            // SAFETY: the argument is live, and this function writes a double.
            unsafe { conversions::double_slow(arg, double, number) }
        });
        converted.ok_or_else(|| self.wrong(number, symbols::Z_EXPECTED_DOUBLE))
    }

    /// Returns argument `number` as `int`, converted in the caller's mode.
    pub fn int(&mut self, number: u32) -> Result<i64, Thrown> {
        let int = self.long(number);
        int.ok_or_else(|| self.wrong(number, symbols::Z_EXPECTED_LONG))
    }

    /// Returns argument `number` as `?int`, converted in the caller's mode. Returns `None` for
    /// null, and if the argument was not passed.
    pub fn int_or_null(&mut self, number: u32) -> Result<Option<i64>, Thrown> {
        if number > self.count() || self.arg(number).is_null() {
            return Ok(None);
        }
        let int = self.long(number).map(Some);
        int.ok_or_else(|| self.wrong(number, symbols::Z_EXPECTED_LONG_OR_NULL))
    }

    /// Returns argument `number` as an integer, or `None` if it cannot be converted.
    fn long(&mut self, number: u32) -> Option<i64> {
        if let Some(Number::Int(int)) = value::as_number(self.arg(number)) {
            return Some(int);
        }
        self.converted(number, |arg, long| {
            // SAFETY: the argument is live, and this function writes an integer.
            unsafe { symbols::zend_parse_arg_long_slow(arg, long, number) }
        })
    }

    /// Returns argument `number` as `bool`, converted in the caller's mode.
    pub fn bool(&mut self, number: u32) -> Result<bool, Thrown> {
        match value::kind(self.arg(number)) {
            IS_TRUE => return Ok(true),
            IS_FALSE => return Ok(false),
            _ => {}
        }
        let converted = self.converted(number, |arg, bool| {
            // SAFETY: the argument is live, and this function writes a `bool`.
            unsafe { conversions::bool_slow(arg, bool, number) }
        });
        converted.ok_or_else(|| self.wrong(number, symbols::Z_EXPECTED_BOOL))
    }

    /// Returns the bytes of argument `number` as `string`, converted in the caller's mode.
    pub fn string(&mut self, number: u32) -> Result<&'a [u8], Thrown> {
        let text = self.text(number);
        text.ok_or_else(|| self.wrong(number, symbols::Z_EXPECTED_STRING))
    }

    /// Returns the bytes of argument `number` as `?string`, converted in the caller's mode. Returns
    /// `None` for null, and if the argument was not passed.
    pub fn string_or_null(&mut self, number: u32) -> Result<Option<&'a [u8]>, Thrown> {
        if number > self.count() || self.arg(number).is_null() {
            return Ok(None);
        }
        let text = self.text(number).map(Some);
        text.ok_or_else(|| self.wrong(number, symbols::Z_EXPECTED_STRING_OR_NULL))
    }

    /// Returns the bytes of argument `number` as a string, or `None` if it cannot be converted.
    fn text(&mut self, number: u32) -> Option<&'a [u8]> {
        let arg = self.raw(number);
        let mut string = ptr::null_mut();
        let place = &raw mut string;
        // SAFETY: the argument is live, and PHP's own functions convert arguments in place, too. No
        // later conversion replaces a string, so the frame keeps the string alive until the call
        // returns.
        unsafe {
            if value::kind(&*arg) == IS_STRING {
                return Some(value::bytes(&*arg));
            }
            let convert = || conversions::str_slow(arg, place, number);
            bailout::door(convert).then(|| (*string.cast::<ZendStr>()).as_bytes())
        }
    }

    /// Returns argument `number` of type `int|string|null`.
    pub fn key_or_null(&mut self, number: u32) -> Result<Zval, Thrown> {
        let arg = self.raw(number);
        let (mut string, mut int) = (ptr::null_mut(), 0);
        // SAFETY: the argument is live, and PHP's own functions convert arguments in place, too.
        unsafe {
            if matches!(value::kind(&*arg), IS_NULL | IS_LONG | IS_STRING) {
                return Ok((*arg).shallow_clone());
            }
            let (string, int) = (&raw mut string, &raw mut int);
            let convert = || symbols::zend_parse_arg_str_or_long_slow(arg, string, int, number);
            if !bailout::door(convert) {
                return Err(self.wrong(number, symbols::Z_EXPECTED_STRING_OR_LONG_OR_NULL));
            }
        }
        let mut key = Zval::new();
        if string.is_null() {
            key.set_long(int);
            return Ok(key);
        }
        // SAFETY: the conversion has put the string into the argument.
        Ok(unsafe { (*arg).shallow_clone() })
    }

    /// Returns argument `number` if it is an array.
    fn elements(&self, number: u32) -> Option<&'a ZendHashTable> {
        let arg = self.arg(number);
        // SAFETY: the kind was checked. No conversion replaces an array, so the frame keeps the
        // array alive until the call returns.
        (value::kind(arg) == IS_ARRAY).then(|| unsafe { &*arg.value.arr.cast_const() })
    }

    /// Returns argument `number` of type `array|string`: `Ok` with a string's bytes, or `Err` with
    /// the array. Throws `TypeError` if the argument is neither, or the exception of `__toString`.
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

    /// Returns argument `number`, which must be an array.
    pub fn array(&mut self, number: u32) -> Result<&'a ZendHashTable, Thrown> {
        let array = self.elements(number);
        array.ok_or_else(|| self.wrong(number, symbols::Z_EXPECTED_ARRAY))
    }

    /// Returns argument `number`, which must be an array or null. Returns `None` for null, and if
    /// the argument was not passed. Throws `TypeError` if the argument is neither.
    pub fn array_or_null(&mut self, number: u32) -> Result<Option<&'a ZendHashTable>, Thrown> {
        if number > self.count() || self.arg(number).is_null() {
            return Ok(None);
        }
        let array = self.elements(number).map(Some);
        array.ok_or_else(|| self.wrong(number, symbols::Z_EXPECTED_ARRAY_OR_NULL))
    }

    /// Returns argument `number`, which must be an object of `class` or of a subclass.
    pub fn object_of(&self, number: u32, class: &Class) -> Result<&Zval, Thrown> {
        let object = self.object(number, |object| class.has(object));
        object.ok_or_else(|| self.wrong_class(number, class.name()))
    }

    /// Returns argument `number`, which must be an object of the class named `class`. The class
    /// belongs to PHP or another extension, which may be missing.
    pub fn object_of_foreign(&self, number: u32, class: &str) -> Result<Zval, Thrown> {
        let object = self.object(number, |object| foreign::is_of(object, class));
        object
            .map(Zval::shallow_clone)
            .ok_or_else(|| self.wrong_class(number, class))
    }

    fn object(&self, number: u32, is_one: impl FnOnce(Obj<'_>) -> bool) -> Option<&Zval> {
        let arg = self.arg(number);
        value::object(arg).is_some_and(is_one).then_some(arg)
    }

    #[cold]
    fn wrong_class(&self, number: u32, class: &str) -> Thrown {
        let (class, arg) = (throw::text(class), self.raw(number));
        // SAFETY: called in the frame of the function that the message names, with one of its
        // arguments.
        bailout::door(|| unsafe {
            symbols::zend_wrong_parameter_class_error(number, class.as_ptr(), arg);
        });
        Thrown
    }
}

/// Makes an engine handler from a plain Rust function.
#[macro_export]
macro_rules! handler {
    ($body:expr) => {{
        extern "C" fn handler(frame: &mut $crate::call::Frame, result: &mut $crate::Zval) {
            $crate::call::run(env!("CARGO_PKG_NAME"), frame, result, $body);
        }
        handler
    }};
}

/// Makes a handler like [`handler!`] that first checks the number of arguments.
#[macro_export]
macro_rules! method {
    ($body:expr) => {
        $crate::handler!(|call, result| {
            call.check_count()?;
            $body(call, result)
        })
    };
}
