//! The hash of the operator's password. PHP's settings only show whether there is one.

use crate::ini::GUARD_PASSWORD_HASH;
use crate::{exceptions, log};
use zend::system::{self, Ending, Shared, Starting};
use zend::{Thrown, invoke, value};

static HASH: Shared<Vec<u8>> = Shared::new();

/// Takes the hash out of php.ini, before the settings are registered. Warns about an invalid hash,
/// and does not quote it, because it may be a password.
pub fn conceal(starting: &Starting) {
    let shown = |hash: &[u8]| if is_hash(hash) { c"hidden" } else { c"" };
    let hash = system::conceal(starting, GUARD_PASSWORD_HASH, shown);
    if is_hash(&hash) {
        HASH.set(starting, hash);
    } else if !hash.is_empty() {
        log::startup_warning(&format!(
            "{} must be a hash of password_hash(); no password is accepted",
            GUARD_PASSWORD_HASH.to_string_lossy()
        ));
    }
}

/// Forgets the hash, because PHP may start again in this process.
pub fn forget(ending: &Ending) {
    HASH.take(ending);
}

/// Reports whether a text has the form of a hash that PHP's `password_hash()` makes.
fn is_hash(text: &[u8]) -> bool {
    (text.starts_with(b"$2y$") && text.len() == 60) || text.starts_with(b"$argon2")
}

/// Reports whether a password can be right.
pub fn is_set() -> bool {
    HASH.get().is_some()
}

/// Compares a password with the hash by PHP's own function, in constant time.
///
/// # Errors
/// Throws `TokenBucket\AccessDeniedException` if PHP lacks this function.
pub fn is_right(password: &[u8]) -> Result<bool, Thrown> {
    let Some(hash) = HASH.get() else {
        return Ok(false);
    };
    let mut arguments = [password, hash].map(value::of_bytes);
    let result = invoke::internal("password_verify", &mut arguments).unwrap_or_else(|| {
        let message = "No password can be verified, because disable_functions has password_verify";
        Err(exceptions::access_denied(message))
    });
    Ok(result?.bool() == Some(true))
}
