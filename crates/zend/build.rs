//! Generates the engine's declarations from PHP's headers and checks that this PHP is supported.

use std::env;
use std::error::Error;
use std::path::PathBuf;
use std::process::Command;

/// The releases of PHP that need other code than the releases before, with the names of their `cfg`
/// flags. The numbers are those of `php-config --vernum`.
const RELEASES: [(u32, &str); 3] = [(80_300, "php83"), (80_400, "php84"), (80_600, "php86")];
/// The oldest supported release.
const FIRST: u32 = 80_200;
/// The first unsupported release. The extension may compile for it, but constants of its engine
/// differ.
const UNTESTED: u32 = 80_700;

/// The functions that `symbols.rs` takes from PHP's headers, as a regular expression.
const FUNCTIONS: &str = "zend_parse_arg_(bool|long|double|str|str_or_long|number)_slow|zend_parse_arg_(double|str)_weak\
    |zend_wrong_parameter(s_none|_class|_type)_error|zend_argument_(value|type)_error\
    |zend_exception_set_previous|zend_is_(unwind|graceful)_exit|zend_clear_exception|php_error_docref|zend_error(_zstr)?\
    |php_format_date|zend_declare_typed_property|zend_declare_class_constant\
    |zend_register_(internal_enum|functions)|zend_enum_add_case_cstr|zend_add_attribute|zend_class_implements\
    |zend_create_closure|tsrm_realpath|zend_update_property|object_init_ex|zend_get_class_constant_ex|add_(property|assoc)_zval_ex\
    |zend_hash_(internal_pointer_reset|get_current_(key_zval|data)|move_forward)_ex|zend_std_get_gc|zend_get_gc_buffer_(create|grow)\
    |(sub|mul|div)_function|zend_is_auto_global_str|zend_ini_string_ex|php_log_err_with_severity|zend_unregister_ini_entries|display_ini_entries|php_ini_get_configuration_hash|php_password_algo_(default|identify_ex)";
const VARIABLES: &str = "spl_ce_LogicException|module_registry|PDO_DRIVER_AT|zend_empty_string|zend_interrupt_function|zend_standard_class_def\
    |zend_compile_file|zend_error_cb|ZEND_COMPILE_PRELOAD|ZEND_ACC_READONLY|ZEND_ATTRIBUTE_PERSISTENT|ZEND_INTERNAL_CLASS\
    |MAY_BE_(VOID|NULL|BOOL|LONG|DOUBLE|STRING|ARRAY|OBJECT|STATIC)|MAXPATHLEN|E_(WARNING|NOTICE|DEPRECATED|USER_WARNING|CORE_WARNING)|ZEND_INI_STAGE_STARTUP|MODULE_PERSISTENT";
const TYPES: &str = "_?zend_expected_type|zend_result|ZEND_RESULT_CODE|_?zend_attribute|zend_class_type|zpp_parse_bool_status|(__)?time_t|_?php_password_algo";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=PHP_CONFIG");
    println!("cargo::rerun-if-env-changed=PATH");
    let version: u32 = php_config("--vernum")?.parse()?;
    let release = format!("{}.{}", version / 10_000, version / 100 % 100);
    println!("cargo::metadata=RELEASE={release}");
    if !(FIRST..UNTESTED).contains(&version) {
        return Err(
            format!("tokenbucket supports PHP 8.2 to 8.6, and this is PHP {release}").into(),
        );
    }
    for (first, name) in RELEASES {
        println!("cargo::rustc-check-cfg=cfg({name})");
        if version >= first {
            println!("cargo::rustc-cfg={name}");
        }
    }
    declare_engine(&php_config("--includes")?)
}

/// Writes the declarations to `engine.rs`. Makes Cargo run this script again when a header changes.
fn declare_engine(includes: &str) -> Result<(), Box<dyn Error>> {
    bindgen::builder()
        .header("src/engine.h")
        .clang_args(includes.split_whitespace())
        .parse_callbacks(Box::new(bindgen::CargoCallbacks::new()))
        .allowlist_function(FUNCTIONS)
        .allowlist_var(VARIABLES)
        .allowlist_type(TYPES)
        // All other types come from ext-php-rs, so that both sets of declarations use the same
        // types.
        .allowlist_recursively(false)
        .opaque_type("_zend_attribute")
        .prepend_enum_name(false)
        .formatter(bindgen::Formatter::None)
        .generate()?
        .write_to_file(PathBuf::from(env::var("OUT_DIR")?).join("engine.rs"))?;
    Ok(())
}

fn php_config(argument: &str) -> Result<String, Box<dyn Error>> {
    let config = env::var("PHP_CONFIG").unwrap_or_else(|_| "php-config".to_owned());
    let output = Command::new(&config).arg(argument).output();
    let output = output.map_err(|error| format!("{config}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{config} {argument}: {}", output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}
