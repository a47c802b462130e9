//! The hash of the operator's password. PHP's settings only show whether there is one.

use crate::ini::GUARD_PASSWORD_HASH;
use crate::log;
use zend::password;
use zend::system::{self, Ending, Shared, Starting};

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

/// Reports whether a hash is set. Without one, every password is wrong.
pub fn is_set() -> bool {
    HASH.get().is_some()
}

/// Compares a password with the hash.
pub fn is_right(text: &[u8]) -> bool {
    HASH.get()
        .is_some_and(|hash| password::is_right(text, hash))
}
