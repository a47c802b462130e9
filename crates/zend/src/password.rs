//! Passwords, compared with hashes of PHP's `password_hash()`.

use super::{bailout, symbols, value};

/// Compares a password with a hash in constant time. Returns false if PHP does not know the
/// algorithm of the hash.
///
/// Calls no PHP function. Otherwise the hash would be an argument of a call, which the backtrace of
/// a fatal error and the observers of functions show to PHP code.
#[must_use]
pub fn is_right(password: &[u8], hash: &[u8]) -> bool {
    let values = [password, hash].map(value::of_bytes);
    // SAFETY: both values are strings, and the values are alive until the end of this function. PHP
    // returns the algorithm of a hash, or its default one. An algorithm lives as long as its
    // module.
    bailout::door(|| unsafe {
        let [password, hash] = [values[0].value.str_, values[1].value.str_];
        let default = symbols::php_password_algo_default();
        let algorithm = symbols::php_password_algo_identify_ex(hash, default).as_ref();
        let verify = algorithm.and_then(|algorithm| algorithm.verify);
        verify.is_some_and(|verify| verify(password, hash))
    })
}
