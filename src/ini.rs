//! The INI settings and their values. An invalid value raises a warning, and the default is used.

use crate::log::startup_warning;
use ext_php_rs::flags::IniEntryPermission;
use ext_php_rs::zend::{IniEntryDef, IniEntryDefs};
use guard::{MaxAge, Networks, Rule, SyntaxError};
use segment::host::{self, HostSettings};
use segment::memory::Access;
use std::ffi::CStr;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use zend::system::{self, Followed};

const SIZE: &CStr = c"tokenbucket.shm_size";
const PATH: &CStr = c"tokenbucket.shm_path";
const MODE: &CStr = c"tokenbucket.shm_mode";
const GROUP: &CStr = c"tokenbucket.shm_group";
const FULL: &CStr = c"tokenbucket.shm_full";
const REPORT: &CStr = c"tokenbucket.failure_report";
const TRACK: &CStr = c"tokenbucket.track_identifiers";
const GUARD_MODE: &CStr = c"tokenbucket.guard_mode";
const GUARD_HEADERS: &CStr = c"tokenbucket.guard_headers";
/// The hash of the operator's password.
pub const GUARD_PASSWORD_HASH: &CStr = c"tokenbucket.guard_password_hash";

static NAMESPACE: Followed = Followed::new(c"tokenbucket.namespace");
static GUARD_MODE_TEXT: Followed = Followed::new(GUARD_MODE);
static GUARD_HEADERS_TEXT: Followed = Followed::new(GUARD_HEADERS);

/// The limits of the operator.
pub static GUARD: Parsed<Vec<Rule>> = Parsed::new(
    c"tokenbucket.guard",
    Rule::parse,
    "no limit of this setting is in force",
);
/// The limits that an application adds.
pub static GUARD_LOCAL: Parsed<Vec<Rule>> = Parsed::new(
    c"tokenbucket.guard_local",
    Rule::parse,
    "no limit of this setting is in force",
);
/// The limits of preflight requests, which the other limits then do not count.
pub static GUARD_PREFLIGHTS: Parsed<Vec<Rule>> = Parsed::new(
    c"tokenbucket.guard_preflights",
    Rule::parse,
    "the other limits count preflight requests, too",
);
/// The proxies whose `X-Forwarded-For` the guard believes.
pub static GUARD_TRUSTED_PROXIES: Parsed<Networks> = Parsed::new(
    c"tokenbucket.guard_trusted_proxies",
    Networks::parse,
    "no proxy is trusted, so all clients of a proxy share its bucket",
);
/// The clients that the guard does not limit.
pub static GUARD_ALLOW: Parsed<Networks> = Parsed::new(
    c"tokenbucket.guard_allow",
    Networks::parse,
    "all clients are limited",
);

/// The greatest age of a request that the guard serves.
pub static GUARD_MAX_AGE: Parsed<MaxAge> = Parsed::new(
    c"tokenbucket.guard_max_age",
    MaxAge::parse,
    "requests of any age are served",
);

const DEFAULT_SIZE: usize = 32 << 20;
const LEAST_SIZE: usize = 4 << 10;
const GREATEST_SIZE: usize = 256 << 30;
const DEFAULT_MODE: u32 = 0o600;

static ENTRIES: IniEntryDefs<18> = IniEntryDefs::new([
    IniEntryDef::new(SIZE, c"32M", IniEntryPermission::System),
    IniEntryDef::new(PATH, c"", IniEntryPermission::System),
    IniEntryDef::new(MODE, c"0600", IniEntryPermission::System),
    IniEntryDef::new(GROUP, c"", IniEntryPermission::System),
    IniEntryDef::new(FULL, c"evict", IniEntryPermission::System),
    IniEntryDef::new(REPORT, c"log", IniEntryPermission::System),
    IniEntryDef::new(TRACK, c"0", IniEntryPermission::System),
    NAMESPACE.definition(c"", IniEntryPermission::PerDir),
    GUARD.definition(IniEntryPermission::System),
    GUARD_LOCAL.definition(IniEntryPermission::PerDir),
    GUARD_PREFLIGHTS.definition(IniEntryPermission::System),
    GUARD_TRUSTED_PROXIES.definition(IniEntryPermission::System),
    GUARD_ALLOW.definition(IniEntryPermission::System),
    GUARD_MAX_AGE.definition(IniEntryPermission::System),
    GUARD_MODE_TEXT.definition(c"enforce", IniEntryPermission::System),
    GUARD_HEADERS_TEXT.definition(c"0", IniEntryPermission::System),
    system::fixed(GUARD_PASSWORD_HASH),
    IniEntryDef::end(),
]);

/// Registers the settings. Warns about invalid values of settings that a pool may change.
pub fn register(module: i32) {
    IniEntryDef::register(ENTRIES.as_slice(), module);
    let expected = "\"log\", \"warning\" or \"none\"";
    checked(REPORT, expected, FailureReport::Log, report);
    let errors = [
        guard_enforces().err(),
        guard_headers().err(),
        GUARD.value().err(),
        GUARD_LOCAL.value().err(),
        GUARD_PREFLIGHTS.value().err(),
        GUARD_TRUSTED_PROXIES.value().err(),
        GUARD_ALLOW.value().err(),
        GUARD_MAX_AGE.value().err(),
    ];
    for error in errors.iter().flatten() {
        startup_warning(error);
    }
}

/// A setting with a syntax of its own. It may differ between requests.
pub struct Parsed<T> {
    name: &'static CStr,
    value: Followed,
    parse: fn(&str) -> Result<T, SyntaxError>,
    /// The effect of an invalid text, in words.
    otherwise: &'static str,
}

impl<T> Parsed<T> {
    const fn new(
        name: &'static CStr,
        parse: fn(&str) -> Result<T, SyntaxError>,
        otherwise: &'static str,
    ) -> Self {
        Self {
            name,
            value: Followed::new(name),
            parse,
            otherwise,
        }
    }

    const fn definition(&'static self, permission: IniEntryPermission) -> IniEntryDef {
        self.value.definition(c"", permission)
    }

    /// Passes the current text to `read` and returns the result.
    pub fn text<R>(&self, read: impl FnOnce(&[u8]) -> R) -> R {
        self.value.read(read)
    }

    /// Parses the current text. Fails with a message that quotes the text from the position of the
    /// error.
    pub fn value(&self) -> Result<T, String> {
        self.value.read(|text| {
            let text = String::from_utf8_lossy(text);
            (self.parse)(&text).map_err(|error| {
                let (name, otherwise) = (self.name.to_string_lossy(), self.otherwise);
                format!("{name} {}; {otherwise}", expected(&text, error))
            })
        })
    }
}

/// Returns the message for a text that cannot be parsed. It quotes the text from the position of
/// the error.
pub fn expected(text: &str, SyntaxError { at, expected }: SyntaxError) -> String {
    let rest = quotable(&text[at..]);
    let at = at + 1;
    format!("must have {expected} at position {at}, \"{rest}\" given")
}

/// Returns whether the guard denies requests. Otherwise it only counts them. Fails with a message
/// that quotes the invalid value.
pub fn guard_enforces() -> Result<bool, String> {
    GUARD_MODE_TEXT.read(|value| match value {
        b"enforce" => Ok(true),
        _ if value.trim_ascii() == b"enforce" => Ok(true),
        _ if value.trim_ascii() == b"observe" => Ok(false),
        _ => {
            let expected = "\"enforce\" or \"observe\"";
            Err(mismatch(GUARD_MODE, expected, value, "using \"enforce\""))
        }
    })
}

/// Returns whether the responses to granted requests have header fields. Fails with a message that
/// quotes the invalid value.
#[inline]
pub fn guard_headers() -> Result<bool, String> {
    GUARD_HEADERS_TEXT.read(|value| match value {
        [b'0'] => Ok(false),
        _ => str::from_utf8(value)
            .ok()
            .and_then(|value| switch(value.trim()))
            .ok_or_else(|| mismatch(GUARD_HEADERS, "0 or 1", value, "using 0")),
    })
}

/// The way to report a failure that the failure policy hides from the caller.
#[derive(Clone, Copy, Debug)]
pub enum FailureReport {
    /// In PHP's error log.
    Log,
    /// As a PHP warning, which may run a handler of the application.
    Warning,
    None,
}

/// Returns the value of `tokenbucket.failure_report`. It may differ between pools.
pub fn failure_report() -> FailureReport {
    read(REPORT, report).unwrap_or(FailureReport::Log)
}

pub struct SharedMemorySettings {
    /// The size of a new segment, and the behaviour when a segment is full.
    pub segment: HostSettings,
    /// The file of a named segment, or `None` for a private segment.
    pub path: Option<PathBuf>,
    /// The access rights of a new named segment: its mode and group.
    pub access: Access,
}

/// Reads the settings once, while the module starts.
pub fn shared_memory() -> SharedMemorySettings {
    SharedMemorySettings {
        segment: HostSettings {
            lines: host::lines(checked(SIZE, "a size of 4K to 256G", DEFAULT_SIZE, size)),
            diagnostics: checked(TRACK, "0 or 1", false, switch),
            evict: checked(FULL, "\"evict\" or \"refuse\"", true, evict),
        },
        path: path(),
        access: Access {
            mode: checked(MODE, "an octal mode such as 0600", DEFAULT_MODE, mode),
            group: checked(GROUP, "a group", None, group),
        },
    }
}

/// Returns the file of a named segment, or `None` for a private segment.
pub fn path() -> Option<PathBuf> {
    let path = system::setting(PATH);
    (!path.is_empty()).then(|| PathBuf::from(std::ffi::OsString::from_vec(path)))
}

/// Passes the current value of `tokenbucket.namespace` to `read` and returns the result. The value
/// may differ between pools and requests.
pub fn namespace<R>(read: impl FnOnce(&[u8]) -> R) -> R {
    NAMESPACE.read(read)
}

fn checked<T>(name: &CStr, expected: &str, default: T, read: fn(&str) -> Option<T>) -> T {
    self::read(name, read).unwrap_or_else(|| {
        startup_warning(&mismatch(
            name,
            expected,
            &system::setting(name),
            "using the default",
        ));
        default
    })
}

fn mismatch(name: &CStr, expected: &str, value: &[u8], otherwise: &str) -> String {
    let name = name.to_string_lossy();
    let value = quotable(&String::from_utf8_lossy(value));
    format!("{name} must be {expected}, \"{value}\" given; {otherwise}")
}

/// Returns the beginning of a text, without double quotes, so that it can stand in quotes.
fn quotable(text: &str) -> String {
    const MOST: usize = 100;
    let mut quoted = text.replace('"', "'");
    if let Some((end, _)) = quoted.char_indices().nth(MOST) {
        quoted.truncate(end);
        quoted.push_str("...");
    }
    quoted
}

fn read<T>(name: &CStr, read: fn(&str) -> Option<T>) -> Option<T> {
    let value = system::setting(name);
    read(std::str::from_utf8(&value).ok()?.trim())
}

fn size(value: &str) -> Option<usize> {
    let digits = value.trim_end_matches(['k', 'K', 'm', 'M', 'g', 'G']);
    let shift = match value.strip_prefix(digits)? {
        "" => 0,
        "k" | "K" => 10,
        "m" | "M" => 20,
        "g" | "G" => 30,
        _ => return None,
    };
    let bytes = digits.parse::<usize>().ok()?.checked_mul(1 << shift)?;
    (LEAST_SIZE..=GREATEST_SIZE)
        .contains(&bytes)
        .then_some(bytes)
}

fn switch(value: &str) -> Option<bool> {
    match value.to_ascii_lowercase().as_str() {
        "1" | "on" | "yes" | "true" => Some(true),
        "0" | "off" | "no" | "false" | "" => Some(false),
        _ => None,
    }
}

fn evict(value: &str) -> Option<bool> {
    match value {
        "evict" => Some(true),
        "refuse" => Some(false),
        _ => None,
    }
}

fn report(value: &str) -> Option<FailureReport> {
    match value {
        "log" => Some(FailureReport::Log),
        "warning" => Some(FailureReport::Warning),
        // The parser of php.ini converts `none` without quotes to an empty value.
        "none" | "" => Some(FailureReport::None),
        _ => None,
    }
}

fn mode(value: &str) -> Option<u32> {
    let mode = u32::from_str_radix(value, 8).ok()?;
    // The owner needs read and write access. Other bits than read and write are invalid.
    (mode & 0o600 == 0o600 && mode & !0o666 == 0).then_some(mode)
}

/// Parses a group's number or name. An empty value means no group. Returns `None` if there is no
/// such group.
#[allow(clippy::option_option)]
fn group(value: &str) -> Option<Option<u32>> {
    if value.is_empty() {
        return Some(None);
    }
    let number = value.parse().ok();
    number.or_else(|| system::group_id(value)).map(Some)
}
