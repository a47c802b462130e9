//! The path of a request, in a form that a client cannot vary without changing the target.

use percent_encoding::percent_decode;

/// Returns the path that a limit counts.
///
/// `uri` is the request's target as the client sent it. The query is cut off, escapes are decoded
/// once, and empty and dot segments are removed, as web servers do. If the rest begins with the
/// path of the `script`, the path is that of the script, because a script runs for any path below
/// it (`/login.php/anything`). Without a URI, the path is that of the script, too.
pub fn path(uri: &[u8], script: &[u8]) -> Vec<u8> {
    let script = resolved(script);
    if uri.is_empty() {
        return script;
    }
    let path: Vec<u8> = percent_decode(target(uri)).collect();
    let path = resolved(&path);
    match path.strip_prefix(script.as_slice()) {
        Some([b'/', ..]) if script.len() > 1 => script,
        _ => path,
    }
}

/// Returns the path of a URI without its query. HTTP also allows a whole URL as the target.
fn target(uri: &[u8]) -> &[u8] {
    let end = uri.iter().position(|byte| matches!(byte, b'?' | b'#'));
    let uri = &uri[..end.unwrap_or(uri.len())];
    let authority = uri.windows(3).position(|bytes| bytes == b"://");
    match authority {
        Some(at) if !uri.starts_with(b"/") => {
            let rest = &uri[at + 3..];
            let path = rest.iter().position(|&byte| byte == b'/');
            path.map_or(b"/", |path| &rest[path..])
        }
        _ => uri,
    }
}

/// Removes empty segments, "." and "..". The result begins with a slash and ends without one.
fn resolved(path: &[u8]) -> Vec<u8> {
    let mut segments: Vec<&[u8]> = Vec::new();
    for segment in path.split(|&byte| byte == b'/') {
        match segment {
            b"" | b"." => {}
            b".." => {
                segments.pop();
            }
            _ => segments.push(segment),
        }
    }
    [b"/", segments.join(&b'/').as_slice()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_path_are_equal() {
        for uri in [
            "/login",
            "/login?x=1",
            "/login#top",
            "/login?/../x",
            "//login",
            "/login/",
            "/./login",
            "/a/../login",
            "/../../login",
            "/%6cogin",
            "/%6Cogin",
            "/a/%2e%2E/login",
            "%2Flogin",
            "login",
            "http://example.org/login?x",
            "HTTP://user:pass@[::1]:80//login",
        ] {
            let path = path(uri.as_bytes(), b"/index.php");
            assert_eq!(path, b"/login", "{uri}");
        }
    }

    #[test]
    fn escapes_are_decoded_only_once() {
        assert_eq!(path(b"/%256cogin", b""), b"/%6cogin");
        assert_eq!(path(b"/%zz%", b""), b"/%zz%");
        assert_eq!(path(b"/%00", b""), b"/\0");
    }

    #[test]
    fn a_path_below_the_script_is_the_path_of_the_script() {
        for (uri, script, expected) in [
            ("/login.php/a", "/login.php", "/login.php"),
            ("/x//login.php/a/b?c", "/x/login.php", "/x/login.php"),
            ("/login.phpx", "/login.php", "/login.phpx"),
            ("/a/b", "/", "/a/b"),
            ("/a/b", "", "/a/b"),
            ("", "/login.php", "/login.php"),
            ("?x", "/login.php", "/"),
            ("http://example.org", "/index.php", "/"),
            ("/login/http://x", "/index.php", "/login/http:/x"),
            ("*", "/index.php", "/*"),
        ] {
            let path = path(uri.as_bytes(), script.as_bytes());
            assert_eq!(path, expected.as_bytes(), "{uri} of {script}");
        }
    }
}
