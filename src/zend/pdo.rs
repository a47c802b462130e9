//! Reads the data source and user of a PDO object. PDO has no methods that return these values.
//!
//! PDO's public headers declare this structure for PDO drivers. Only its beginning is read, which
//! is the same in every PHP from 8.1 on.

use super::obj::Obj;
use super::{foreign, system};
use ext_php_rs::ffi::zend_object;
use std::ffi::{c_char, c_void};
use std::mem::offset_of;

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
pub struct Target {
    /// The data source after the driver's name and the colon. Never show it, because it may hold a
    /// password.
    pub data_source: Vec<u8>,
    /// The user, if one was given in addition to the data source.
    pub user: Vec<u8>,
}

/// Returns the database that a PDO object is connected to. Returns `None` for an object of another
/// class. Also returns `None` for an object without a connection, because a subclass may skip PDO's
/// constructor.
pub fn target(object: Obj<'_>) -> Option<Target> {
    if !foreign::is_of(object, "pdo") || !foreign::is_internal("pdo") {
        return None;
    }
    // SAFETY: every object has handlers. In PDO's objects, they hold the offset of the engine's
    // part within the whole object.
    let offset = unsafe { (*(*object.as_ptr()).handlers).offset };
    if usize::try_from(offset) != Ok(offset_of!(Whole, std)) {
        return None;
    }
    // SAFETY: the object is of PDO's class, so it is part of a `pdo_dbh_object_t`. `inner` and its
    // texts live as long as the object. Each text is null or a C string. No PHP code runs here.
    unsafe {
        let whole = object.as_ptr().byte_sub(offset_of!(Whole, std));
        let handle = (*whole.cast::<Whole>()).inner.as_ref()?;
        if handle.driver_data.is_null() || handle.data_source.is_null() {
            return None;
        }
        let source = handle.data_source.cast::<u8>();
        let data_source = std::slice::from_raw_parts(source, handle.data_source_len).to_vec();
        let user = system::copy(handle.username);
        Some(Target { data_source, user })
    }
}
