//! One call from PHP: its arguments, coerced as PHP's own functions coerce theirs.

use super::class::Class;
use super::object::{Object, State};
use super::symbols;
use super::throw::{self, Thrown};
use super::value::{self, Number};
use ext_php_rs::ffi::{
    IS_ARRAY, IS_FALSE, IS_NULL, IS_OBJECT, IS_STRING, IS_TRUE, zend_execute_data, zend_object,
    zend_wrong_parameters_count_error, zval,
};
use ext_php_rs::types::{ZendHashTable, ZendStr, Zval};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

/// A running call.
pub struct Call<'a> {
    frame: &'a mut zend_execute_data,
}

/// Runs a method's body. Nothing unwinds out of it.
#[inline(always)]
pub fn run<'a>(
    frame: &'a mut zend_execute_data,
    result: &mut Zval,
    body: impl FnOnce(&mut Call<'a>, &mut Zval) -> Result<(), Thrown>,
) {
    let body = AssertUnwindSafe(|| {
        if body(&mut Call { frame }, result).is_err() && !throw::is_pending() {
            throw::error("tokenbucket failed without saying why, which is a bug");
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
        unsafe { self.frame.This.u2.num_args }
    }

    /// Throws unless as many arguments were passed as the function declares.
    ///
    /// # Errors
    /// `ArgumentCountError`.
    #[inline(always)]
    pub fn check_count(&self) -> Result<(), Thrown> {
        // SAFETY: the frame of a running function names it.
        let function = unsafe { &(*self.frame.func).common };
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

    /// Argument `number`, from 1, behind any reference. There must be that many.
    #[inline]
    pub(super) fn raw(&mut self, number: u32) -> *mut Zval {
        const HEAD: usize = size_of::<zend_execute_data>().div_ceil(size_of::<zval>());
        debug_assert!(number >= 1 && number <= self.count());
        // SAFETY: the arguments follow the frame, as ZEND_CALL_ARG has it.
        unsafe {
            let arg = ptr::from_mut(self.frame)
                .cast::<Zval>()
                .add(HEAD + number as usize - 1);
            ptr::from_ref(value::dereference(&*arg)).cast_mut()
        }
    }

    /// Argument `number`, from 1, as it was passed.
    #[inline]
    pub fn arg(&mut self, number: u32) -> &'a Zval {
        // SAFETY: arguments stay in the frame until the call returns.
        unsafe { &*self.raw(number) }
    }

    /// The object that the method was called on.
    #[inline]
    pub fn this<T: State>(&self) -> &'a Object<T> {
        // SAFETY: an instance method runs with an object of its class, and classes with a state `T`
        // make only objects that have one. The frame holds a reference to it.
        unsafe { Object::of_zend(self.frame.This.value.obj) }
    }

    /// The engine's part of the object that runs, if there is one: a closure can be bound to none.
    pub(super) fn this_zend(&self) -> Option<*mut zend_object> {
        let is_object = value::kind(&self.frame.This) == IS_OBJECT;
        // SAFETY: every field of the union is plain bits.
        is_object.then_some(unsafe { self.frame.This.value.obj })
    }

    /// `static::NAME`, if a class that extends `class` was called and has it as a number.
    pub fn static_constant(&self, class: &Class, name: &str) -> Option<f64> {
        // SAFETY: a static method's frame holds the called class; the names are released here.
        unsafe {
            if ptr::eq(self.frame.This.value.ce, class.entry()) {
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
    fn wrong(&mut self, number: u32, expected: symbols::zend_expected_type) -> Thrown {
        let arg = self.raw(number);
        if !throw::is_pending() {
            // SAFETY: called in the frame of the function that it speaks of, with its argument.
            unsafe {
                symbols::zend_wrong_parameter_error(
                    symbols::ZPP_ERROR_WRONG_ARG.cast_signed(),
                    number,
                    ptr::null_mut(),
                    expected,
                    arg,
                );
            }
        }
        Thrown
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
        let mut converted = ptr::null_mut();
        // SAFETY: the argument is live; converting it in place is what PHP's own functions do.
        let parsed = unsafe {
            symbols::zend_parse_arg_number_slow(self.raw(number), &raw mut converted, number)
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
        match value::to_number(self.arg(number)) {
            Some(plain) => Ok(plain),
            None => Err(self.wrong(number, symbols::Z_EXPECTED_NUMBER)),
        }
    }

    /// A string in weak mode, whatever the caller's: for a parameter without a type.
    ///
    /// # Errors
    /// `TypeError`, or what `__toString` threw.
    pub fn untyped_string(&mut self, number: u32) -> Result<Zval, Thrown> {
        let arg = self.arg(number);
        if value::kind(arg) != IS_NULL {
            return value::to_string(arg)
                .ok_or_else(|| self.wrong(number, symbols::Z_EXPECTED_STRING));
        }
        let (mut null, mut string) = (Zval::null(), ptr::null_mut());
        // SAFETY: a copy of ours, converted in place, with the deprecation that PHP has for this.
        let converted =
            unsafe { symbols::zend_parse_arg_str_weak(&raw mut null, &raw mut string, number) };
        if converted { Ok(null) } else { Err(Thrown) }
    }

    /// `float`, in the caller's mode.
    ///
    /// # Errors
    /// `TypeError`.
    pub fn float(&mut self, number: u32) -> Result<f64, Thrown> {
        if let Some(Number::Float(float)) = value::as_number(self.arg(number)) {
            return Ok(float);
        }
        let mut float = 0.0;
        // SAFETY: the argument is live.
        if unsafe { symbols::zend_parse_arg_double_slow(self.raw(number), &raw mut float, number) }
        {
            return Ok(float);
        }
        Err(self.wrong(number, symbols::Z_EXPECTED_DOUBLE))
    }

    /// `int`, in the caller's mode.
    ///
    /// # Errors
    /// `TypeError`.
    pub fn int(&mut self, number: u32) -> Result<i64, Thrown> {
        if let Some(Number::Int(int)) = value::as_number(self.arg(number)) {
            return Ok(int);
        }
        let mut int = 0;
        // SAFETY: the argument is live.
        if unsafe { symbols::zend_parse_arg_long_slow(self.raw(number), &raw mut int, number) } {
            return Ok(int);
        }
        Err(self.wrong(number, symbols::Z_EXPECTED_LONG))
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
        let mut truth = false;
        // SAFETY: the argument is live.
        if unsafe { symbols::zend_parse_arg_bool_slow(self.raw(number), &raw mut truth, number) } {
            return Ok(truth);
        }
        Err(self.wrong(number, symbols::Z_EXPECTED_BOOL))
    }

    /// `string`, in the caller's mode.
    ///
    /// # Errors
    /// `TypeError`, or what `__toString` threw.
    pub fn string(&mut self, number: u32) -> Result<&'a [u8], Thrown> {
        let mut string = ptr::null_mut();
        if value::kind(self.arg(number)) == IS_STRING {
            return Ok(value::bytes(self.arg(number)));
        }
        // SAFETY: the argument is live; converting it in place is what PHP's own functions do, and
        // keeps the string alive until the call returns.
        unsafe {
            if symbols::zend_parse_arg_str_slow(self.raw(number), &raw mut string, number) {
                return Ok((*string.cast::<ZendStr>()).as_bytes());
            }
        }
        Err(self.wrong(number, symbols::Z_EXPECTED_STRING))
    }

    /// `array|string`: the string, or else the array.
    ///
    /// # Errors
    /// `TypeError`, or what `__toString` threw.
    pub fn string_or_array(
        &mut self,
        number: u32,
    ) -> Result<Result<&'a [u8], &'a ZendHashTable>, Thrown> {
        let arg = self.arg(number);
        match value::kind(arg) {
            IS_STRING => return Ok(Ok(value::bytes(arg))),
            // SAFETY: the kind says so; the argument keeps it alive.
            IS_ARRAY => return Ok(Err(unsafe { &*arg.value.arr })),
            _ => {}
        }
        let mut string = ptr::null_mut();
        // SAFETY: as in `string`.
        unsafe {
            if symbols::zend_parse_arg_str_slow(self.raw(number), &raw mut string, number) {
                return Ok(Ok((*string.cast::<ZendStr>()).as_bytes()));
            }
        }
        Err(self.wrong(number, symbols::Z_EXPECTED_ARRAY_OR_STRING))
    }

    /// `array`.
    ///
    /// # Errors
    /// `TypeError`.
    pub fn array(&mut self, number: u32) -> Result<&'a ZendHashTable, Thrown> {
        let arg = self.arg(number);
        if value::kind(arg) == IS_ARRAY {
            // SAFETY: the kind says so; the argument keeps it alive.
            return Ok(unsafe { &*arg.value.arr });
        }
        Err(self.wrong(number, symbols::Z_EXPECTED_ARRAY))
    }

    /// An object of `class`.
    ///
    /// # Errors
    /// `TypeError`.
    pub fn object_of(&mut self, number: u32, class: &Class) -> Result<&'a Zval, Thrown> {
        let arg = self.arg(number);
        if value::kind(arg) == IS_OBJECT && value::object(arg).is_some_and(|o| class.has(o)) {
            return Ok(arg);
        }
        let name = class.name();
        // SAFETY: called in the frame of the function that it speaks of, with its argument.
        unsafe {
            symbols::zend_wrong_parameter_class_error(number, name.as_ptr(), self.raw(number));
        }
        Err(Thrown)
    }
}
