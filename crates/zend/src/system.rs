//! Process-wide services of the engine: settings, `phpinfo()`, interrupts, dates.

pub use super::symbols::{FAILURE, SUCCESS};
use super::throw::text;
use super::{bailout, symbols};
use ext_php_rs::ffi::{
    IS_STRING, IS_STRING_EX, ext_php_rs_executor_globals, ext_php_rs_sapi_module,
    php_info_print_table_end, php_info_print_table_row, php_info_print_table_start,
    zend_hash_str_find, zend_hash_str_find_ptr_lc, zend_hash_str_update, zend_ini_entry,
    zend_string,
};
use ext_php_rs::flags::IniEntryPermission;
use ext_php_rs::types::{ArrayKey, ZendHashTable, ZendStr, Zval};
use ext_php_rs::zend::{IniEntryDef, ModuleEntry};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The kind of a module that php.ini loads.
pub const PERSISTENT: c_int = symbols::MODULE_PERSISTENT.cast_signed();

/// Proof that the module is starting. Only one thread exists, and no PHP code runs.
#[derive(Debug)]
pub struct Starting(());

impl Starting {
    /// Makes the proof. Only MINIT may call this, and only the engine calls MINIT.
    pub const fn in_startup() -> Self {
        Self(())
    }
}

/// Proof that the module is shutting down. No PHP code runs any more.
#[derive(Debug)]
pub struct Ending(());

impl Ending {
    /// Makes the proof. Only MSHUTDOWN may call this, and only the engine calls MSHUTDOWN.
    pub const fn in_shutdown() -> Self {
        Self(())
    }
}

/// Returns the current value of a setting, or no bytes if there is no such setting.
pub fn setting(name: &CStr) -> Vec<u8> {
    let mut exists = false;
    let (name, length) = (name.as_ptr(), name.count_bytes());
    // SAFETY: the engine returns null or a C string that lives until the setting changes. The
    // string is copied at once.
    unsafe {
        copy(symbols::zend_ini_string_ex(
            name,
            length,
            false.into(),
            &raw mut exists,
        ))
    }
}

/// Copies a C string. Returns no bytes for null.
///
/// # Safety
/// `text` is null, or a live C string.
pub(super) unsafe fn copy(text: *const c_char) -> Vec<u8> {
    if text.is_null() {
        return Vec::new();
    }
    // SAFETY: by contract `text` is a live C string, because it is not null.
    unsafe { CStr::from_ptr(text) }.to_bytes().to_vec()
}

/// Returns true if a section `[HOST=…]` or `[PATH=…]` of php.ini has a setting whose name begins
/// with `prefix`.
pub fn has_section_with(_: &Starting, prefix: &str) -> bool {
    // SAFETY: the engine has read its configuration, which does not change while modules start. It
    // holds a section as an array of settings by their names.
    let all = unsafe { symbols::php_ini_get_configuration_hash().as_ref() };
    let begins = |key: ArrayKey<'_>| key.to_string().starts_with(prefix);
    let mut sections = all
        .into_iter()
        .flatten()
        .filter_map(|(_, value)| value.array());
    sections.any(|section| section.iter().any(|(key, _)| begins(key)))
}

/// Takes the value of a setting out of php.ini, before the setting is registered, and leaves in its
/// place the text that `shown` returns for it. Does the same in the sections of php.ini. So no
/// report of PHP and no function shows the value. Returns the value outside of sections, or no
/// bytes if php.ini does not have it.
pub fn conceal(_: &Starting, name: &CStr, shown: fn(&[u8]) -> &'static CStr) -> Vec<u8> {
    // SAFETY: the engine has read its configuration, and nothing else uses it while modules start.
    // It holds a section as an array of settings by their names.
    unsafe {
        let all = symbols::php_ini_get_configuration_hash();
        for (_, section) in all.as_ref().into_iter().flatten() {
            if section.is_array() {
                let _ = conceal_in(section.value.arr, name, shown);
            }
        }
        conceal_in(all, name, shown)
    }
}

/// # Safety
/// The table is the engine's configuration or a section of it, and nothing else uses it.
unsafe fn conceal_in(
    table: *mut ZendHashTable,
    name: &CStr,
    shown: fn(&[u8]) -> &'static CStr,
) -> Vec<u8> {
    let (start, length) = (name.as_ptr(), name.count_bytes());
    // SAFETY: by contract. A value is copied before it is released. The text that replaces it is
    // interned. It lives as long as the engine, because it is made while PHP starts: a module that
    // `dl()` loads later does not start.
    unsafe {
        let Some(value) = zend_hash_str_find(table, start, length)
            .cast::<Zval>()
            .as_ref()
        else {
            return Vec::new();
        };
        let concealed = super::value::bytes(value).to_vec();
        let mut other = Zval::new();
        other.value.str_ = super::class::interned(shown(&concealed));
        other.u1.type_info = IS_STRING;
        zend_hash_str_update(table, start, length, (&raw mut other).cast());
        concealed
    }
}

/// Returns the definition of a setting that keeps the value of PHP's start.
pub const fn fixed(name: &'static CStr) -> IniEntryDef {
    IniEntryDef {
        on_modify: Some(keep),
        ..IniEntryDef::new(name, c"", IniEntryPermission::System)
    }
}

/// Implements the engine's `on_modify`. Refuses each change after the start.
unsafe extern "C" fn keep(
    _entry: *mut zend_ini_entry,
    _value: *mut zend_string,
    _first: *mut c_void,
    _second: *mut c_void,
    _third: *mut c_void,
    stage: c_int,
) -> c_int {
    if stage == symbols::ZEND_INI_STAGE_STARTUP.cast_signed() {
        SUCCESS
    } else {
        FAILURE
    }
}

/// Unregisters the settings of a module that shuts down.
pub fn forget_settings(module: i32) {
    // SAFETY: called once, while the module shuts down.
    unsafe { symbols::zend_unregister_ini_entries(module) };
}

/// Returns the module of this name, or null if it is not loaded.
pub(super) fn module(name: &str) -> *mut ModuleEntry {
    // SAFETY: the engine's table of modules holds pointers to entries, by names in lower case.
    unsafe {
        let modules = &raw mut symbols::module_registry;
        zend_hash_str_find_ptr_lc(modules, name.as_ptr().cast(), name.len()).cast()
    }
}

/// Reports whether a module of this name is loaded.
pub fn has_module(name: &str) -> bool {
    !module(name).is_null()
}

/// Prints the settings of the module of this name, for `phpinfo()`.
pub fn print_settings(name: &str) {
    let module = module(name);
    if !module.is_null() {
        // SAFETY: the entry of a loaded module is live.
        unsafe { symbols::display_ini_entries(module) };
    }
}

/// Writes a line of printable characters to PHP's error log: the file or the system log of
/// `error_log`, or else the log of the server interface. Runs no PHP code, and ignores
/// `log_errors`, as PHP's `error_log()` does.
pub fn log(line: &str) {
    let line = text(line);
    // SAFETY: the engine copies the C string.
    bailout::door(|| unsafe {
        symbols::php_log_err_with_severity(line.as_ptr(), libc::LOG_WARNING);
    });
}

/// Returns the name of the server interface: `cli`, `fpm-fcgi`, ….
pub fn interface_name() -> String {
    // SAFETY: the engine sets the pointer before modules start. It is valid for the life of the
    // process.
    let module = unsafe { ext_php_rs_sapi_module().as_ref() };
    // SAFETY: as above.
    let name = module.map_or_else(Vec::new, |module| unsafe { copy(module.name) });
    String::from_utf8_lossy(&name).into_owned()
}

/// Raises a warning of printable characters while PHP starts, before any script runs.
pub fn startup_warning(message: &str) {
    if interface_name() == "fpm-fcgi" {
        // The log of php-fpm is not open yet. Without error_log in php.ini the warning would be
        // lost.
        eprintln!("WARNING: {message}");
    }
    let message = text(message);
    // SAFETY: the format takes one C string.
    unsafe {
        let kind = symbols::E_CORE_WARNING.cast_signed();
        symbols::zend_error(kind, c"%s".as_ptr(), message.as_ptr());
    };
}

/// Returns true if PHP has an interrupt pending, such as a signal handler or the time limit.
pub fn is_interrupted() -> bool {
    // SAFETY: the globals live as long as the engine. The flag is a byte that signal handlers set.
    unsafe {
        let globals = ext_php_rs_executor_globals();
        ptr::read_volatile(&raw const (*globals).vm_interrupt.value)
    }
}

/// Returns a number that identifies the running fiber, or 0 outside of fibers.
pub fn fiber() -> usize {
    // SAFETY: the globals live as long as the engine.
    unsafe { (*ext_php_rs_executor_globals()).active_fiber.addr() }
}

/// Returns PHP's `date($format, $instant)` in the script's time zone. `instant` is a Unix timestamp
/// in seconds. Returns no bytes if the date cannot be formatted.
pub fn local_date(format: &CStr, instant: i64) -> Vec<u8> {
    // SAFETY: the format is passed with its length. The result is null or a string that this
    // function owns and releases.
    unsafe {
        let (start, length) = (format.as_ptr(), format.count_bytes());
        let print = || symbols::php_format_date(start, length, instant, true);
        let text = bailout::door(print);
        if text.is_null() {
            return Vec::new();
        }
        let mut held = Zval::new();
        held.value.str_ = text;
        held.u1.type_info = IS_STRING_EX;
        super::value::bytes(&held).to_vec()
    }
}

/// Sets an environment variable, which this process keeps when it executes itself.
pub fn set_environment(_: &Starting, name: &str, value: &str) {
    // SAFETY: the module is starting, so there is no second thread.
    unsafe { std::env::set_var(name, value) };
}

/// Returns the ID of the group with this name, or `None` if there is no such group.
pub fn group_id(name: &str) -> Option<u32> {
    let name = CString::new(name).ok()?;
    // SAFETY: called while modules start, on the only thread. The entry is read at once.
    unsafe { libc::getgrnam(name.as_ptr()).as_ref() }.map(|group| group.gr_gid)
}

/// A value that lives from the module's start to its end.
#[derive(Debug)]
pub struct Shared<T>(AtomicPtr<T>);

impl<T: Sync> Default for Shared<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Sync> Shared<T> {
    /// Returns a holder without a value.
    pub const fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    /// Returns the value while the module is running.
    #[inline]
    pub fn get(&self) -> Option<&'static T> {
        // SAFETY: the pointer is null or was set by `set`. It is released only in MSHUTDOWN, when
        // no method can run. Acquire: pairs with the release in `set`.
        unsafe { self.0.load(Ordering::Acquire).as_ref() }
    }

    pub fn set(&self, _: &Starting, value: T) {
        let old = self
            .0
            .swap(Box::into_raw(Box::new(value)), Ordering::AcqRel);
        debug_assert!(old.is_null(), "the module started twice");
    }

    /// Removes and returns the value. No earlier result of `get` may be used afterwards.
    pub fn take(&self, _: &Ending) -> Option<Box<T>> {
        let old = self.0.swap(ptr::null_mut(), Ordering::AcqRel);
        // SAFETY: `set` made the pointer, and the swap returns it only once.
        (!old.is_null()).then(|| unsafe { Box::from_raw(old) })
    }
}

/// Returns a path of the file system without symbolic links, from PHP's cache of such paths if
/// possible, or `None` if there is no such file.
pub fn real_path(path: &[u8]) -> Option<Vec<u8>> {
    let path = CString::new(path).ok()?;
    let mut real = [0; symbols::MAXPATHLEN as usize];
    // SAFETY: both are C strings, and the second has the length that the engine expects. The result
    // is null or the second one.
    unsafe {
        let found = symbols::tsrm_realpath(path.as_ptr(), real.as_mut_ptr());
        (!found.is_null()).then(|| CStr::from_ptr(found).to_bytes().to_vec())
    }
}

/// Prints a table of `phpinfo()`. Leaves out a row with a NUL byte.
pub fn print_table(rows: &[(String, String)]) {
    // SAFETY: called while phpinfo() prints. The first argument of each row is the number of the C
    // strings that follow.
    unsafe {
        php_info_print_table_start();
        for (name, value) in rows {
            let (name, value) = (CString::new(name.as_str()), CString::new(value.as_str()));
            if let (Ok(name), Ok(value)) = (name, value) {
                php_info_print_table_row(2, name.as_ptr(), value.as_ptr());
            }
        }
        php_info_print_table_end();
    }
}

/// True if this PHP is thread-safe. Then each thread runs requests, with settings of its own.
pub const HAS_THREADS: bool = ext_php_rs::ffi::USING_ZTS != 0 && !cfg!(feature = "one-thread");

/// A setting whose current value is kept here, so that reading it needs no look-up. The engine
/// reports each change. In a thread-safe PHP each thread has its own value, which is looked up.
#[derive(Debug)]
pub struct Followed {
    name: &'static CStr,
    value: AtomicPtr<zend_string>,
}

impl Followed {
    /// Returns a setting that is not registered yet.
    pub const fn new(name: &'static CStr) -> Self {
        let value = AtomicPtr::new(ptr::null_mut());
        Self { name, value }
    }

    pub const fn definition(
        &'static self,
        default: &'static CStr,
        permission: IniEntryPermission,
    ) -> IniEntryDef {
        IniEntryDef {
            on_modify: if HAS_THREADS { None } else { Some(follow) },
            mh_arg1: ptr::from_ref(self).cast_mut().cast(),
            ..IniEntryDef::new(self.name, default, permission)
        }
    }

    fn value(&self) -> *mut zend_string {
        if !HAS_THREADS {
            return self.value.load(Ordering::Relaxed);
        }
        let (name, length) = (self.name.as_ptr(), self.name.count_bytes());
        // SAFETY: the globals of this thread live as long as its requests. The table of settings
        // holds entries.
        unsafe {
            let settings = (*ext_php_rs_executor_globals()).ini_directives;
            let entry = zend_hash_str_find(settings, name, length).as_ref();
            let entry = entry.and_then(|entry| entry.value.ptr.cast::<zend_ini_entry>().as_ref());
            entry.map_or(ptr::null_mut(), |entry| entry.value)
        }
    }

    /// Passes the value to `read` and returns the result. `read` must not run PHP code, because
    /// that could change the setting.
    pub fn read<R>(&self, read: impl FnOnce(&[u8]) -> R) -> R {
        // SAFETY: the pointer is null or the current value. The engine keeps that value until it
        // reports another value.
        let value = unsafe { self.value().cast::<ZendStr>().as_ref() };
        read(value.map_or(b"".as_slice(), |value| value.as_bytes()))
    }
}

/// Implements the engine's `on_modify`.
///
/// # Safety
/// Only the engine may call this, with the pointer of a definition that `Followed::definition`
/// made.
unsafe extern "C" fn follow(
    _entry: *mut zend_ini_entry,
    value: *mut zend_string,
    followed: *mut c_void,
    _second: *mut c_void,
    _third: *mut c_void,
    _stage: c_int,
) -> c_int {
    // SAFETY: the definition passes the address of a static.
    unsafe { &*followed.cast::<Followed>() }
        .value
        .store(value, Ordering::Relaxed);
    0
}
