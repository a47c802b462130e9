//! A request whose script does not run yet, and a response without that script.

use super::{Kept, bailout, invoke, symbols, system, value};
use ext_php_rs::ffi::{
    TRACK_VARS_SERVER, ext_php_rs_executor_globals, ext_php_rs_process_globals,
    ext_php_rs_sapi_globals, ext_php_rs_sapi_module, php_output_write, sapi_header_line,
    sapi_header_op, sapi_header_op_enum_SAPI_HEADER_ADD, sapi_header_op_enum_SAPI_HEADER_REPLACE,
    sapi_header_op_enum_SAPI_HEADER_SET_STATUS, zend_hash_str_find,
};
use ext_php_rs::types::{ArrayKey, ZendHashTable, Zval};
use std::cell::OnceCell;
use std::ffi::CStr;
use std::ptr;

/// The current request. Its variables do not change while no PHP code runs.
#[derive(Debug)]
pub struct Request {
    /// The header fields of the client. Empty until a field is read that the server did not pass as
    /// a variable.
    fields: OnceCell<Option<Kept>>,
}

impl Request {
    /// Returns the current request. It must not be used after PHP code has run.
    pub(super) const fn current() -> Self {
        Self {
            fields: OnceCell::new(),
        }
    }

    /// Returns the value of a variable of the request, as CGI names it, or `None` if the server did
    /// not pass it.
    pub fn variable(&self, name: &CStr) -> Option<&[u8]> {
        // SAFETY: the engine sets the pointer before modules start. It is valid for the life of the
        // process.
        let getenv = unsafe { (*ext_php_rs_sapi_module()).getenv };
        let Some(getenv) = getenv else {
            return server_variable(name);
        };
        // SAFETY: the name is passed with its length. The server interface returns null or a C
        // string that it keeps until the request ends.
        let value = unsafe {
            let value = getenv(name.as_ptr(), name.count_bytes());
            (!value.is_null()).then(|| CStr::from_ptr(value).to_bytes())
        };
        value.or_else(|| self.withheld(name))
    }

    /// Returns the path of the file that PHP runs, or no bytes if it is unknown.
    pub fn script(&self) -> &[u8] {
        // SAFETY: the globals live as long as the engine. The path is null or a C string that the
        // server interface keeps until the request ends.
        unsafe {
            let path = (*ext_php_rs_sapi_globals()).request_info.path_translated;
            if path.is_null() {
                return b"";
            }
            CStr::from_ptr(path).to_bytes()
        }
    }

    /// Returns a header field with a password, which Apache does not pass as a variable unless
    /// `CGIPassAuth` is on.
    fn withheld(&self, name: &CStr) -> Option<&[u8]> {
        let field = match name.to_bytes() {
            b"HTTP_AUTHORIZATION" => "Authorization",
            b"HTTP_PROXY_AUTHORIZATION" => "Proxy-Authorization",
            _ => return None,
        };
        let fields = self.fields.get_or_init(|| {
            // A function of the module for Apache. No PHP code can have replaced it yet, but
            // `disable_functions` may have removed it.
            let function = value::of_bytes(b"apache_request_headers");
            let is_apache = system::interface_name() == "apache2handler";
            (is_apache && invoke::is_callable(&function))
                .then(|| invoke::callable(&function, &mut []).ok())
                .flatten()
        });
        let fields = fields.as_ref()?.array()?;
        let is_field = |key: &ArrayKey<'_>| key.to_string().eq_ignore_ascii_case(field);
        let found = fields.iter().find(|(key, _)| is_field(key));
        Some(found?.1.zend_str()?.as_bytes())
    }
}

/// Returns the number of cookies that PHP reads at most.
pub fn most_cookies() -> usize {
    // SAFETY: the globals live as long as the engine.
    let most = unsafe { (*ext_php_rs_process_globals()).max_input_vars };
    usize::try_from(most).unwrap_or(0)
}

/// Passes PHP's `$_SERVER` to `read`, which must run no PHP code. Passes `None` if PHP code has set
/// it to something else than an array.
pub fn read_server<R>(read: impl FnOnce(Option<&ZendHashTable>) -> R) -> R {
    create_server();
    let name = "_SERVER";
    // SAFETY: the globals live as long as the engine. An element of the table of global variables
    // may point to its value. The value does not change before PHP code runs.
    let server = unsafe {
        let globals = &raw mut (*ext_php_rs_executor_globals()).symbol_table;
        let found: *const Zval =
            zend_hash_str_find(globals, name.as_ptr().cast(), name.len()).cast();
        found.as_ref().and_then(|value| {
            let value = if value.is_indirect() {
                &*value.value.zv.cast()
            } else {
                value
            };
            super::value::dereference(value).array()
        })
    };
    read(server)
}

/// Makes PHP create `$_SERVER` if the request has none yet.
fn create_server() {
    let server = "_SERVER";
    // SAFETY: the name is passed with its length. The call may allocate memory of the engine.
    bailout::door(|| unsafe {
        symbols::zend_is_auto_global_str(server.as_ptr().cast(), server.len())
    });
}

/// Passes the current request to `read`, which must run no PHP code. A change of `$_SERVER` does
/// not change the variables. But PHP code may have changed those of Apache by `apache_setenv()`,
/// and those of CGI by `putenv()`.
pub fn read<R>(read: impl FnOnce(&Request) -> R) -> R {
    read(&Request::current())
}

/// Sends a response to the request. Each of `fields` is a line of its header. Before this call,
/// only a session that PHP starts itself may have set header fields. The response replaces the
/// session's `Cache-Control`.
pub fn respond<'a>(
    _: &Request,
    status: u16,
    mut fields: impl Iterator<Item = &'a str>,
    body: &str,
) {
    let set_status = sapi_header_op_enum_SAPI_HEADER_SET_STATUS;
    let status = ptr::without_provenance_mut(usize::from(status));
    // The closure owns nothing, because a fatal error jumps over it.
    let fields = &mut fields;
    // SAFETY: the argument of the first operation is a number. The request has begun. The text is
    // passed with its length.
    bailout::door(|| unsafe {
        sapi_header_op(set_status, status);
        add(fields);
        php_output_write(body.as_ptr().cast(), body.len());
    });
}

/// Adds lines to the header of the response that the script of the request will send.
pub fn add_fields<'a>(_: &Request, mut fields: impl Iterator<Item = &'a str>) {
    let fields = &mut fields;
    // SAFETY: the request has begun. The closure owns nothing.
    bailout::door(|| unsafe { add(fields) });
}

/// Adds lines to the header of the response. `Cache-Control` replaces that of a session.
///
/// # Safety
/// A request must have begun. A fatal error jumps over this frame, which owns nothing.
unsafe fn add<'a>(fields: &mut impl Iterator<Item = &'a str>) {
    for field in fields {
        // Adding takes less time than replacing.
        let operation = if field.starts_with("Cache-Control:") {
            sapi_header_op_enum_SAPI_HEADER_REPLACE
        } else {
            sapi_header_op_enum_SAPI_HEADER_ADD
        };
        // SAFETY: the bytes 0 are valid for the fields of a line, which the engine copies. Releases
        // of PHP differ in the other fields of this structure. The text is passed with its length.
        unsafe {
            let mut line: sapi_header_line = std::mem::zeroed();
            line.line = field.as_ptr().cast();
            line.line_len = field.len();
            sapi_header_op(operation, (&raw mut line).cast());
        }
    }
}

/// Returns a string of `$_SERVER`. PHP's own web server passes its variables only there.
fn server_variable<'a>(name: &CStr) -> Option<&'a [u8]> {
    create_server();
    // SAFETY: the array and its strings do not change before PHP code runs.
    unsafe {
        let globals = &raw const (*ext_php_rs_process_globals()).http_globals;
        let server: *const Zval = (&raw const (*globals)[TRACK_VARS_SERVER as usize]).cast();
        let value = (*server).array()?.get(name.to_str().ok()?)?;
        Some(value.zend_str()?.as_bytes())
    }
}
