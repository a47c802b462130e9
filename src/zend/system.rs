//! What the engine knows about this process: settings, its name, pending interrupts.

use super::symbols;
pub use super::symbols::{FAILURE, SUCCESS};
use ext_php_rs::ffi::{
    IS_STRING_EX, ext_php_rs_executor_globals, ext_php_rs_sapi_module, php_info_print_table_end,
    php_info_print_table_row, php_info_print_table_start, zend_ini_entry, zend_string,
};
use ext_php_rs::flags::IniEntryPermission;
use ext_php_rs::types::{ZendStr, Zval};
use ext_php_rs::zend::{IniEntryDef, ModuleEntry};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Proof that the module is starting: there is one thread, and no PHP code runs.
#[derive(Debug)]
pub struct Starting(());

impl Starting {
    /// For MINIT alone, which only the engine calls.
    pub const fn in_startup() -> Self {
        Self(())
    }
}

/// Proof that the module is shutting down: no PHP code runs any more.
#[derive(Debug)]
pub struct Ending(());

impl Ending {
    /// For MSHUTDOWN alone, which only the engine calls.
    pub const fn in_shutdown() -> Self {
        Self(())
    }
}

/// The value of a setting, now.
pub fn setting(name: &CStr) -> Vec<u8> {
    let mut exists = false;
    let (name, length) = (name.as_ptr(), name.count_bytes());
    // SAFETY: the engine returns null or a C string that lives until the setting changes.
    unsafe {
        copy(symbols::zend_ini_string_ex(
            name,
            length,
            0,
            &raw mut exists,
        ))
    }
}

/// Copies a C string; null is an empty one.
///
/// # Safety
/// `text` is null, or a live C string.
pub(super) unsafe fn copy(text: *const c_char) -> Vec<u8> {
    if text.is_null() {
        return Vec::new();
    }
    // SAFETY: by contract.
    unsafe { CStr::from_ptr(text) }.to_bytes().to_vec()
}

/// Forgets the settings of a module that is unloaded.
pub fn forget_settings(module: i32) {
    // SAFETY: called once, while the module shuts down.
    unsafe { symbols::zend_unregister_ini_entries(module) };
}

/// Prints the settings of a module, for `phpinfo()`.
pub fn print_settings(module: *mut ModuleEntry) {
    // SAFETY: the engine passed its own module entry; both types describe the same.
    unsafe { symbols::display_ini_entries(module.cast()) };
}

/// The name of the server interface: `cli`, `fpm-fcgi`, ….
pub fn interface_name() -> String {
    // SAFETY: set before modules start, for the life of the process.
    let module = unsafe { ext_php_rs_sapi_module().as_ref() };
    // SAFETY: as above.
    let name = module.map_or_else(Vec::new, |module| unsafe { copy(module.name) });
    String::from_utf8_lossy(&name).into_owned()
}

/// Whether PHP code waits to run a signal handler or to end at a time limit.
pub fn is_interrupted() -> bool {
    // SAFETY: the globals live as long as the engine. The flag is a byte that signal handlers set.
    unsafe {
        let globals = ext_php_rs_executor_globals();
        ptr::read_volatile(&raw const (*globals).vm_interrupt.value)
    }
}

/// What tells the running fiber from others; 0 outside of fibers.
pub fn fiber() -> usize {
    // SAFETY: the globals live as long as the engine.
    unsafe { (*ext_php_rs_executor_globals()).active_fiber.addr() }
}

/// PHP's `date($format, $instant)`, in the script's time zone.
pub fn local_date(format: &CStr, instant: i64) -> Vec<u8> {
    // SAFETY: a C string and its length; what comes back is a string of ours, or null, which is released here.
    unsafe {
        let text = symbols::php_format_date(format.as_ptr(), format.count_bytes(), instant, true);
        if text.is_null() {
            return Vec::new();
        }
        let mut held = Zval::new();
        held.value.str_ = text;
        held.u1.type_info = IS_STRING_EX;
        super::value::bytes(&held).to_vec()
    }
}

/// Sets a variable of the environment that the next image of this process will see.
pub fn set_environment(_: &Starting, name: &str, value: &str) {
    // SAFETY: the module is starting: there is no second thread.
    unsafe { std::env::set_var(name, value) };
}

/// The number of the group with this name.
pub fn group_id(name: &str) -> Option<u32> {
    let name = CString::new(name).ok()?;
    // SAFETY: called while modules start, on the only thread; the entry is read at once.
    unsafe { libc::getgrnam(name.as_ptr()).as_ref() }.map(|group| group.gr_gid)
}

/// A value that lives from the module's start to its end.
#[derive(Debug)]
pub struct Shared<T>(AtomicPtr<T>);

impl<T: Sync> Shared<T> {
    /// Not there yet.
    pub const fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    /// The value, while the module is started.
    #[inline]
    pub fn get(&self) -> Option<&'static T> {
        // SAFETY: null or set by `set`. It is released only in MSHUTDOWN, when no method can run.
        // Acquire: pairs with the release in `set`.
        unsafe { self.0.load(Ordering::Acquire).as_ref() }
    }

    /// Sets the value.
    pub fn set(&self, _: &Starting, value: T) {
        let old = self
            .0
            .swap(Box::into_raw(Box::new(value)), Ordering::AcqRel);
        debug_assert!(old.is_null(), "the module started twice");
    }

    /// Takes the value out. Nothing may use what `get` has returned before.
    pub fn take(&self, _: &Ending) -> Option<Box<T>> {
        let old = self.0.swap(ptr::null_mut(), Ordering::AcqRel);
        // SAFETY: made by `set`, and taken out by this thread alone.
        (!old.is_null()).then(|| unsafe { Box::from_raw(old) })
    }
}

/// Prints a table of `phpinfo()`.
pub fn print_table(rows: &[(&str, String)]) {
    // SAFETY: called while phpinfo() prints; each row passes as many C strings as it says.
    unsafe {
        php_info_print_table_start();
        for (name, value) in rows {
            let (name, value) = (CString::new(*name), CString::new(value.as_str()));
            if let (Ok(name), Ok(value)) = (name, value) {
                php_info_print_table_row(2, name.as_ptr(), value.as_ptr());
            }
        }
        php_info_print_table_end();
    }
}

const _: () = assert!(
    ext_php_rs::ffi::USING_ZTS == 0,
    "thread-safe builds of PHP are not supported yet: a followed setting is one a process"
);

/// A setting that is followed as it changes, so that reading it takes no look-up.
#[derive(Debug)]
pub struct Followed(AtomicPtr<zend_string>);

impl Followed {
    /// Not registered yet.
    pub const fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    /// The setting's definition.
    pub const fn definition(
        &'static self,
        name: &'static CStr,
        default: &'static CStr,
        permission: IniEntryPermission,
    ) -> IniEntryDef {
        IniEntryDef {
            on_modify: Some(follow),
            mh_arg1: ptr::from_ref(self).cast_mut().cast(),
            ..IniEntryDef::new(name, default, permission)
        }
    }

    /// Copies the value.
    pub fn value(&self) -> Vec<u8> {
        // SAFETY: null, or the value that the engine told of last and keeps until it tells of another.
        unsafe { self.0.load(Ordering::Relaxed).cast::<ZendStr>().as_ref() }
            .map_or_else(Vec::new, |value| value.as_bytes().to_vec())
    }
}

/// The engine's `on_modify`.
///
/// # Safety
/// Called by the engine, with the pointer of a definition that `Followed::definition` made.
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
        .0
        .store(value, Ordering::Relaxed);
    0
}
