//! SHA-256 in hexadecimal digits, for names that a store does not accept as they are.
//!
//! The whole hash is used, because callers choose the names. With half of the hash, 2^64 attempts
//! would suffice to find two names with the same digits.

use sha2::{Digest, Sha256};

pub const DIGITS: usize = 64;

/// Returns the digits of the hash of `name`, in lower case.
pub fn digits(name: &[u8]) -> [u8; DIGITS] {
    const HEXADECIMAL: &[u8; 16] = b"0123456789abcdef";
    let mut digits = [0; DIGITS];
    for (pair, byte) in digits.chunks_exact_mut(2).zip(Sha256::digest(name)) {
        pair[0] = HEXADECIMAL[usize::from(byte >> 4)];
        pair[1] = HEXADECIMAL[usize::from(byte & 15)];
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_name_has_the_hash_that_everybody_knows() {
        let expected = b"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(&digits(b""), expected);
    }
}
