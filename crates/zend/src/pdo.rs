//! Reads the data source and user of a PDO object, and the session of an `SQLite` connection. PDO
//! has no methods that return these values.
//!
//! PDO's public headers declare the structure `pdo_dbh_t` for PDO drivers. Only two parts are read:
//! its beginning, which is the same in every PHP from 8.1 on, and the driver, whose place PHP's
//! headers define.

use super::{Obj, foreign, symbols, system};
use ext_php_rs::ffi::zend_object;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::{self, offset_of};
use std::ptr;

/// The layout of the beginning of `pdo_dbh_t`.
#[repr(C)]
struct Handle {
    methods: *const c_void,
    driver_data: *mut c_void,
    username: *const c_char,
    password: *const c_char,
    flags: u32,
    data_source: *const c_char,
    data_source_len: usize,
}

/// The layout of `pdo_dbh_object_t`.
#[repr(C)]
struct Whole {
    inner: *const Handle,
    std: zend_object,
}

// `engine.h` asserts the same offsets for PDO's headers.
const _: () = assert!(
    offset_of!(Handle, driver_data) == 8
        && offset_of!(Handle, username) == 16
        && offset_of!(Handle, data_source) == 40
        && offset_of!(Handle, data_source_len) == 48
        && offset_of!(Whole, std) == 8
);

/// The database that a PDO object is connected to.
#[derive(Debug)]
pub struct DataSource {
    /// The data source after the driver's name and the colon. Never show it, because it may hold a
    /// password.
    pub data_source: Vec<u8>,
    /// The user, if one was given in addition to the data source.
    pub user: Vec<u8>,
}

/// Returns the connection of a PDO object. Returns `None` for an object of another class. Also
/// returns `None` for an object without a connection, because a subclass may skip PDO's
/// constructor.
fn handle(object: Obj<'_>) -> Option<&Handle> {
    if !foreign::is_of(object, "pdo") || !foreign::is_internal("pdo") {
        return None;
    }
    // SAFETY: every object has handlers. In PDO's objects, they hold the offset of the engine's
    // part within the whole object.
    let offset = unsafe { (*(*object.as_ptr()).handlers).offset };
    if usize::try_from(offset) != Ok(offset_of!(Whole, std)) {
        return None;
    }
    // SAFETY: the object is of PDO's class, so it is part of a `pdo_dbh_object_t`. `inner` lives as
    // long as the object, unless PHP code constructs the object again. No PHP code runs here, and
    // no caller keeps the reference while PHP code runs.
    let handle = unsafe {
        let whole = object.as_ptr().byte_sub(offset_of!(Whole, std));
        (*whole.cast::<Whole>()).inner.as_ref()
    };
    handle.filter(|handle| !handle.driver_data.is_null())
}

/// Returns the database that a PDO object is connected to. Returns `None` for an object of another
/// class, and for an object without a connection.
pub fn target(object: Obj<'_>) -> Option<DataSource> {
    let handle = handle(object).filter(|handle| !handle.data_source.is_null())?;
    // SAFETY: the texts live as long as the connection. Each text is null or a C string.
    unsafe {
        let source = handle.data_source.cast::<u8>();
        let data_source = std::slice::from_raw_parts(source, handle.data_source_len).to_vec();
        let user = system::copy(handle.username);
        Some(DataSource { data_source, user })
    }
}

/// A connection of the `SQLite` library.
type Connection = *mut c_void;
type ReadState = unsafe extern "C" fn(Connection) -> c_int;
type ReadId = unsafe extern "C" fn(Connection) -> i64;
type WriteId = unsafe extern "C" fn(Connection, i64);

/// The functions of the `SQLite` library that PDO's driver uses. PDO does not report a transaction
/// that a statement began.
#[derive(Clone, Copy, Debug)]
pub struct Sqlite {
    get_autocommit: ReadState,
    last_insert_rowid: ReadId,
    set_last_insert_rowid: WriteId,
}

impl Sqlite {
    /// Finds the functions in the library that the driver was linked with. Returns `None` if the
    /// driver is missing, or if its library does not export them.
    pub fn find() -> Option<Self> {
        // SAFETY: the entry of a loaded module is live. A module that is part of PHP has no handle
        // of its own. Then the null handle stands for the whole program.
        let module = unsafe { system::module("pdo_sqlite").as_ref()?.handle };
        let symbol = |name: &CStr| {
            // SAFETY: the handle is null or of a loaded library.
            let found = unsafe { libc::dlsym(module, name.as_ptr()) };
            (!found.is_null()).then_some(found)
        };
        let functions = [
            symbol(c"sqlite3_get_autocommit")?,
            symbol(c"sqlite3_last_insert_rowid")?,
            symbol(c"sqlite3_set_last_insert_rowid")?,
        ];
        // SAFETY: SQLite's public interface declares the functions with these types.
        unsafe {
            Some(Self {
                get_autocommit: mem::transmute::<*mut c_void, ReadState>(functions[0]),
                last_insert_rowid: mem::transmute::<*mut c_void, ReadId>(functions[1]),
                set_last_insert_rowid: mem::transmute::<*mut c_void, WriteId>(functions[2]),
            })
        }
    }

    /// Reports whether a transaction is open. Returns `None` if the object has no connection to
    /// `SQLite`.
    pub fn in_transaction(self, object: Obj<'_>) -> Option<bool> {
        let connection = connection(object)?;
        // SAFETY: the connection is open as long as the object.
        Some(unsafe { (self.get_autocommit)(connection) } == 0)
    }

    /// Returns the id of the row that was inserted last.
    pub fn last_insert_id(self, object: Obj<'_>) -> Option<i64> {
        let connection = connection(object)?;
        // SAFETY: as above.
        Some(unsafe { (self.last_insert_rowid)(connection) })
    }

    /// Sets the id of the row that was inserted last.
    pub fn set_last_insert_id(self, object: Obj<'_>, id: i64) {
        if let Some(connection) = connection(object) {
            // SAFETY: as above.
            unsafe { (self.set_last_insert_rowid)(connection, id) };
        }
    }
}

/// Returns the `SQLite` connection of a PDO object, or `None` if the object has none.
fn connection(object: Obj<'_>) -> Option<Connection> {
    let handle = handle(object)?;
    let driver_at = symbols::PDO_DRIVER_AT as usize;
    if driver_at == 0 {
        return None;
    }
    // SAFETY: the handle is the beginning of a `pdo_dbh_t`, which has a pointer to its driver at
    // this place. The driver begins with its name, a C string. `driver_data` of this driver begins
    // with the pointer to the connection.
    unsafe {
        let driver = ptr::from_ref(handle)
            .byte_add(driver_at)
            .cast::<*const *const c_char>();
        let name = (*driver).as_ref()?;
        if CStr::from_ptr(*name) != c"sqlite" {
            return None;
        }
        let connection = *handle.driver_data.cast::<Connection>();
        (!connection.is_null()).then_some(connection)
    }
}
