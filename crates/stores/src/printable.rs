//! Text that is safe in logs, on terminals and in HTML pages.
//!
//! Identifiers, paths and replies of servers may contain any bytes. A line break would forge a line
//! of a log, an escape sequence would control a terminal, and `<` would begin a tag.

/// Returns the text with these bytes escaped: `<`, the backslash, and every byte that is not
/// printable ASCII. A line break becomes `\n`, other bytes become `\x` and two digits.
pub fn printable(text: impl AsRef<[u8]>) -> String {
    let bytes = text.as_ref();
    let mut safe = String::with_capacity(bytes.len());
    for &byte in bytes {
        match byte {
            b'<' => safe.push_str("\\x3c"),
            // Quotes stay, because they are harmless and frequent in errors of databases.
            // `escape_ascii` would escape them.
            b'"' | b'\'' => safe.push(char::from(byte)),
            _ => safe.extend(byte.escape_ascii().map(char::from)),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_harmless_bytes_are_left_as_they_are() {
        assert_eq!(
            printable("Table 'a' > \"b\" & c~"),
            "Table 'a' > \"b\" & c~"
        );
        assert_eq!(
            printable(b"a\r\n\t\0\x1b[31m\x7f"),
            r"a\r\n\t\x00\x1b[31m\x7f"
        );
        assert_eq!(printable("<b>\\\u{e4}"), r"\x3cb>\\\xc3\xa4");
        assert_eq!(printable(b"\xff"), r"\xff");
    }

    #[test]
    fn each_byte_becomes_printable_and_differs_from_the_others() {
        let all: std::collections::BTreeSet<_> =
            (0..=u8::MAX).map(|byte| printable([byte])).collect();
        assert_eq!(all.len(), 256);
        assert!(
            all.iter()
                .flat_map(|text| text.bytes())
                .all(|byte| (b' '..=b'~').contains(&byte))
        );
    }
}
