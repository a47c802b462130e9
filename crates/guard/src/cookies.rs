//! The names of a request's cookies, as PHP's `$_COOKIE` has them.

use std::borrow::Cow;

/// The names that PHP gives no cookie whose name it had to change for this.
const PROTECTED: [&[u8]; 2] = [b"__Host-", b"__Secure-"];

/// Returns the names in a `Cookie` header field, of which PHP reads at most `most` cookies.
///
/// Only `;` separates cookies, also in quotes: `a=1, b=2` is one cookie. A cookie may lack its
/// value. Names are never decoded. `a.b` and `a b` are `a_b`, and `a[b]` is `a`. `[a]` is dropped.
pub fn names(field: &[u8], most: usize) -> impl Iterator<Item = Cow<'_, [u8]>> {
    // PHP reads a C string.
    let end = field.iter().position(|&byte| byte == 0);
    let cookies = field[..end.unwrap_or(field.len())].split(|&byte| byte == b';');
    let sent = cookies.filter_map(|cookie| {
        let name = cookie.split(|&byte| byte == b'=').next()?;
        let blanks = name.iter().take_while(|&&byte| is_blank(byte)).count();
        Some(&name[blanks..]).filter(|name| !name.is_empty())
    });
    // A cookie whose name PHP drops counts, too.
    sent.take(most).filter_map(known_as)
}

/// Reports what C's `isspace()` reports.
const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// Returns the name by which PHP code knows a cookie, if it can have one.
fn known_as(sent: &[u8]) -> Option<Cow<'_, [u8]>> {
    let bracket = sent.iter().position(|&byte| byte == b'[');
    let name = match bracket {
        Some(0) => return None,
        Some(at) if sent[at..].contains(&b']') => &sent[..at],
        _ => sent,
    };
    if !name.iter().any(|&byte| changed(byte) != byte) {
        return Some(name.into());
    }
    let name: Vec<u8> = name.iter().copied().map(changed).collect();
    let is_forged = |prefix: &&[u8]| name.starts_with(prefix) && !sent.starts_with(prefix);
    (!PROTECTED.iter().any(is_forged)).then(|| name.into())
}

/// Returns a byte as PHP has it in the name of a variable.
pub const fn changed(byte: u8) -> u8 {
    match byte {
        b' ' | b'.' | b'[' => b'_',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(field: &str, most: usize) -> Vec<String> {
        let names = names(field.as_bytes(), most);
        names
            .map(|name| String::from_utf8_lossy(&name).into_owned())
            .collect()
    }

    #[test]
    fn cookies_have_the_names_that_php_gives_them() {
        for (field, expected) in [
            ("", ""),
            ("a=1", "a"),
            ("a", "a"),
            ("a=", "a"),
            ("a=1; b=2;c", "a b c"),
            ("a=1, b=2", "a"),
            ("a=\"1; b=2\"", "a b"),
            ("=1; ;=;  =b; c", "c"),
            ("\t\u{b}\r a=1", "a"),
            ("a =1;\tb", "a_ b"),
            ("%61=1", "%61"),
            ("a.b=1; a b=1", "a_b a_b"),
            ("a[b]=1; b[]=1; c[d", "a b c_d"),
            ("[a]=1; [b; d]", "d]"),
            ("a=1\0; b=2", "a"),
            ("__Host-a; __Secure-b", "__Host-a __Secure-b"),
            ("._Host-a; _.Secure-b; __host-a", "__host-a"),
        ] {
            assert_eq!(read(field, 1000).join(" "), expected, "{field}");
        }
    }

    #[test]
    fn only_the_first_cookies_count() {
        assert_eq!(read("a; b; c", 2), ["a", "b"]);
        assert_eq!(read("a; ;=; b", 2), ["a", "b"]);
        assert_eq!(read("[a]; b", 1), [""; 0]);
        assert_eq!(read("a", 0), [""; 0]);
    }
}
