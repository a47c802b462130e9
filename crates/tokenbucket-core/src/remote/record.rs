//! The format of a record: decimal digits, at most 2^52. Lua and SQL represent such numbers
//! exactly.
//!
//! `redis/record.lua` implements the same rule.

/// The greatest number in a record.
pub const GREATEST: u64 = 1 << 52;
/// The most digits in a record.
const MOST_DIGITS: usize = 16;

/// Returns the number in a record, or `None` if the record is invalid.
#[must_use]
pub fn parse(record: &[u8]) -> Option<u64> {
    digits(record).filter(|&number| number <= GREATEST && record.len() <= MOST_DIGITS)
}

/// Parses decimal digits. Returns `None` for any other bytes and for numbers above 2^64 - 1.
#[must_use]
pub fn digits(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_digits_up_to_2_to_the_52() {
        assert_eq!(parse(b"0"), Some(0));
        assert_eq!(parse(b"4503599627370496"), Some(GREATEST));
        for other in [
            &b""[..],
            b"4503599627370497",
            b"00000000000000001",
            b"+1",
            b"1 ",
            b"\xff",
        ] {
            assert_eq!(parse(other), None);
        }
    }
}
