//! Functions of the engine that the binding does not declare. Signatures as in PHP's headers.

use ext_php_rs::ffi::{
    HashTable, zend_class_entry, zend_function, zend_function_entry, zend_long, zend_module_entry,
    zend_object, zend_string, zend_type, zval,
};
use std::ffi::{c_char, c_int, c_void};

/// `ZPP_ERROR_WRONG_ARG`.
pub const WRONG_ARGUMENT: c_int = 9;
/// `Z_EXPECTED_LONG`.
pub const EXPECTED_INT: c_int = 0;
/// `Z_EXPECTED_BOOL`.
pub const EXPECTED_BOOL: c_int = 2;
/// `Z_EXPECTED_STRING`.
pub const EXPECTED_STRING: c_int = 4;
/// `Z_EXPECTED_ARRAY`.
pub const EXPECTED_ARRAY: c_int = 6;
/// `Z_EXPECTED_ARRAY_OR_STRING`.
pub const EXPECTED_ARRAY_OR_STRING: c_int = if cfg!(php83) { 26 } else { 24 };
/// `Z_EXPECTED_DOUBLE`.
pub const EXPECTED_DOUBLE: c_int = 20;
/// `Z_EXPECTED_NUMBER`.
pub const EXPECTED_NUMBER: c_int = 22;

// SAFETY: each signature is that of the headers of the PHP that this is built against.
unsafe extern "C" {
    pub static mut spl_ce_LogicException: *mut zend_class_entry;
    pub static mut zend_empty_string: *mut zend_string;
    pub static mut zend_standard_class_def: *mut zend_class_entry;

    pub fn zend_parse_arg_bool_slow(arg: *const zval, dest: *mut bool, num: u32) -> bool;
    pub fn zend_parse_arg_long_slow(arg: *const zval, dest: *mut zend_long, num: u32) -> bool;
    pub fn zend_parse_arg_double_slow(arg: *const zval, dest: *mut f64, num: u32) -> bool;
    pub fn zend_parse_arg_double_weak(arg: *const zval, dest: *mut f64, num: u32) -> bool;
    pub fn zend_parse_arg_str_slow(arg: *mut zval, dest: *mut *mut zend_string, num: u32) -> bool;
    pub fn zend_parse_arg_str_weak(arg: *mut zval, dest: *mut *mut zend_string, num: u32) -> bool;
    pub fn zend_parse_arg_number_slow(arg: *mut zval, dest: *mut *mut zval, num: u32) -> bool;

    pub fn zend_wrong_parameters_none_error();
    pub fn zend_wrong_parameter_error(
        code: c_int,
        num: u32,
        name: *const c_char,
        expected: c_int,
        arg: *mut zval,
    );
    pub fn zend_wrong_parameter_class_error(num: u32, name: *const c_char, arg: *mut zval);
    pub fn zend_argument_value_error(num: u32, format: *const c_char, ...);
    pub fn zend_argument_type_error(num: u32, format: *const c_char, ...);
    pub fn zend_value_error(format: *const c_char, ...);
    pub fn zend_type_error(format: *const c_char, ...);
    pub fn zend_exception_save();
    pub fn zend_exception_restore();
    pub fn php_error_docref(doc: *const c_char, kind: c_int, format: *const c_char, ...);
    pub fn zend_error(kind: c_int, format: *const c_char, ...);
    pub fn zend_error_zstr(kind: c_int, message: *mut zend_string);
    pub fn php_format_date(
        format: *const c_char,
        length: usize,
        instant: i64,
        local: bool,
    ) -> *mut zend_string;

    pub fn zend_declare_typed_property(
        ce: *mut zend_class_entry,
        name: *mut zend_string,
        default: *mut zval,
        access: c_int,
        doc: *mut zend_string,
        kind: zend_type,
    ) -> *mut c_void;
    pub fn zend_declare_class_constant_long(
        ce: *mut zend_class_entry,
        name: *const c_char,
        length: usize,
        value: zend_long,
    );
    pub fn zend_declare_class_constant_double(
        ce: *mut zend_class_entry,
        name: *const c_char,
        length: usize,
        value: f64,
    );
    pub fn zend_register_internal_enum(
        name: *const c_char,
        kind: u8,
        functions: *const zend_function_entry,
    ) -> *mut zend_class_entry;
    pub fn zend_enum_add_case_cstr(
        ce: *mut zend_class_entry,
        name: *const c_char,
        value: *mut zval,
    );
    pub fn zend_add_attribute(
        attributes: *mut *mut HashTable,
        name: *mut zend_string,
        count: u32,
        flags: u32,
        offset: u32,
        line: u32,
    ) -> *mut c_void;
    pub fn zend_register_functions(
        scope: *mut zend_class_entry,
        functions: *const zend_function_entry,
        table: *mut HashTable,
        kind: c_int,
    ) -> c_int;
    pub fn zend_class_implements(ce: *mut zend_class_entry, count: c_int, ...);

    pub fn zend_create_closure(
        result: *mut zval,
        function: *mut zend_function,
        scope: *mut zend_class_entry,
        called_scope: *mut zend_class_entry,
        this: *mut zval,
    );
    pub fn object_init_ex(result: *mut zval, ce: *mut zend_class_entry) -> c_int;
    pub fn zend_get_class_constant_ex(
        class: *mut zend_string,
        constant: *mut zend_string,
        scope: *mut zend_class_entry,
        flags: u32,
    ) -> *mut zval;

    pub fn zend_clear_exception();
    pub fn zend_exception_set_previous(exception: *mut zend_object, previous: *mut zend_object);

    pub fn add_property_zval_ex(
        object: *mut zval,
        key: *const c_char,
        length: usize,
        value: *mut zval,
    );

    pub fn add_assoc_zval_ex(array: *mut zval, key: *const c_char, length: usize, value: *mut zval);

    pub fn sub_function(result: *mut zval, a: *mut zval, b: *mut zval) -> c_int;
    pub fn mul_function(result: *mut zval, a: *mut zval, b: *mut zval) -> c_int;
    pub fn div_function(result: *mut zval, a: *mut zval, b: *mut zval) -> c_int;

    pub fn zend_ini_string_ex(
        name: *const c_char,
        length: usize,
        original: c_int,
        exists: *mut bool,
    ) -> *mut c_char;
    pub fn zend_unregister_ini_entries(module: c_int);
    pub fn display_ini_entries(module: *mut zend_module_entry);
}
