//! The name of a bucket in a table.
//!
//! The column may fold case, ignore trailing spaces, truncate, or refuse bytes that are not text.
//! So an identifier is stored unchanged only if usual columns cannot confuse it with another
//! identifier. Other programs can share the row of such an identifier. Every other identifier is
//! hashed. If the column's collation may treat even such identifiers as equal, for example `i` and
//! `y` in Lithuanian, every identifier is hashed. [`super::Query::Columns`] asks for that.
//!
//! Invariant: different identifiers have different names, unless their SHA-256 hashes collide. An
//! identifier that looks like a hashed name is hashed, too.

use crate::digest::digits;
use crate::remote::key::Kind;
use std::borrow::Cow;

const MARKER: &[u8] = b"tokenbucket-sha256:";

/// The longest name that a `varchar(255)` holds, in bytes.
const LONGEST: usize = 255;

/// Returns the name of `identifier` in the table.
///
/// Worked example: `ip 10.0.0.1` is stored unchanged. `Ann` is stored as `tokenbucket-sha256:` and
/// 64 digits, because a column that folds case confuses it with `ann`.
pub fn stored(identifier: &[u8]) -> Cow<'_, [u8]> {
    if is_plain(identifier) {
        return Cow::Borrowed(identifier);
    }
    Cow::Owned(hashed(identifier))
}

/// Returns the name of the bucket `name`, which [`stored`] returned, in a column that may treat
/// different names as equal.
pub fn folded(name: &[u8]) -> Cow<'_, [u8]> {
    if name.starts_with(MARKER) {
        return Cow::Borrowed(name);
    }
    Cow::Owned(hashed(name))
}

/// Returns the name of the record of this kind that belongs to the bucket `identifier`. No bucket
/// has this name, and [`folded`] keeps it.
pub fn stored_kind(kind: Kind, identifier: &[u8]) -> Vec<u8> {
    [&hashed(identifier), kind.suffix()].concat()
}

fn hashed(identifier: &[u8]) -> Vec<u8> {
    [MARKER, &digits(identifier)].concat()
}

fn is_plain(identifier: &[u8]) -> bool {
    let is_kept = |byte: &u8| matches!(byte, b' '..=b'~') && !byte.is_ascii_uppercase();
    identifier.len() <= LONGEST
        && identifier.iter().all(is_kept)
        && identifier.last() != Some(&b' ')
        && !identifier.starts_with(MARKER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_every_column_keeps_apart_is_stored_as_it_is() {
        let longest = [b'x'; 255];
        for plain in [
            &b"ip 10.0.0.1"[..],
            b"",
            b" a",
            b"it's \\ \"?:%_`~",
            &longest,
        ] {
            assert_eq!(&*stored(plain), plain);
        }
    }

    #[test]
    fn every_name_is_hashed_once_in_a_column_that_folds() {
        let ann = stored(b"Ann").into_owned();
        assert_eq!(&*folded(&ann), &*ann);
        let i = folded(b"i").into_owned();
        assert!(i.len() == 83 && i.starts_with(MARKER) && i != *folded(b"y"));
    }

    #[test]
    fn the_rest_is_hashed_and_nothing_is_taken_for_it() {
        let hashed = stored(b"Ann").into_owned();
        assert!(hashed.len() == 83 && hashed.starts_with(MARKER));
        let long = [b'x'; 256];
        let mut names = vec![hashed.clone(), stored(b"ann").into_owned()];
        for other in [
            &b"ann "[..],
            b"ann\0",
            b"\xff",
            "\u{e4}".as_bytes(),
            b" ",
            &long,
            &hashed,
        ] {
            names.push(stored(other).into_owned());
        }
        assert!(names.iter().skip(2).all(|name| name.len() == 83));
        let lockout = stored_kind(Kind::Lockout, b"ann");
        assert_eq!(&*folded(&lockout), &*lockout);
        names.extend([stored(&lockout).into_owned(), lockout]);
        names.push(stored_kind(Kind::Cancels, b"ann"));
        let all = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
