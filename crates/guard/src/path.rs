//! The paths of a request, in a form that a client cannot vary without changing the target.

use percent_encoding::percent_decode;
use std::borrow::Cow;
use std::ops::Range;

/// Bytes of a request, copied only if they had to be changed.
pub type Path<'r> = Cow<'r, [u8]>;

/// Returns the path that a limit counts.
///
/// `uri` is the request's target as the client sent it. The query is cut off, escapes are decoded
/// once, and empty and dot segments are removed, as web servers do. If the result is a path below
/// the script that runs, or the script's folder, the path is that of the script: a script runs for
/// any path below it (`/login.php/anything`), and the index of a folder runs for the folder. Some
/// servers, such as Apache with `MultiViews`, also find the script for its name without suffixes
/// (`/news` for `/news.en.php`). `info` is the part of the path after the script (`PATH_INFO`).
///
/// `script` is the script's path by `SCRIPT_NAME`, which may be wrong: nginx passes
/// `/login.php/1.php` if its configuration does not split the path. Then PHP looks for a file at
/// the paths above it, here `/login.php`. So `file`, the file that PHP runs, decides where the
/// script's path ends. Without a URI, the path is that of the script, too.
pub fn path<'r>(uri: &'r [u8], script: &'r [u8], info: &[u8], file: &[u8]) -> Path<'r> {
    let until = |path: Path<'r>| part(&path, 0..until(file, &path));
    let script = until(resolved(script.into()));
    if uri.is_empty() {
        return script;
    }
    let is_of_script = |path: &[u8]| {
        let is_below = matches!(path.strip_prefix(&*script), Some([] | [b'/', ..]));
        let above_info = path.strip_suffix(&*resolved(info.into()));
        let is_named = is_without_suffixes(path, &script)
            || above_info.is_some_and(|path| is_without_suffixes(path, &script));
        (is_below || is_named || path == folder(&script)) && script.len() > 1
    };
    let path = until(resolved(decoded(uri)));
    let other = parsed(uri).map(|it| until(resolved(it)));
    if is_of_script(&path) || other.as_ref().is_some_and(|it| is_of_script(it)) {
        script
    } else {
        other.unwrap_or(path)
    }
}

/// Returns the decoded path of a request's target.
pub fn decoded(uri: &[u8]) -> Path<'_> {
    percent_decode(target(uri)).into()
}

/// Returns the decoded path that PHP's `parse_url()` finds in a URI, if web servers read the URI in
/// another way: `/login` of `//host/login`, of `http:/login` and of `http:80/login`.
pub fn parsed(uri: &[u8]) -> Option<Path<'_>> {
    if uri.starts_with(b"/") && !uri.starts_with(b"//") {
        return None;
    }
    let uri = without_query(uri);
    let slash = |text: &[u8]| text.iter().position(|&byte| byte == b'/');
    let path = if let [b'/', b'/', rest @ ..] = uri {
        &rest[slash(rest)?..]
    } else {
        let colon = uri.iter().position(|&byte| byte == b':')?;
        match &uri[colon + 1..] {
            [b'/', b'/', ..] => return None,
            rest @ [b'0'..=b'9', ..] => &rest[slash(rest)?..],
            rest => rest,
        }
    };
    Some(percent_decode(path).into())
}

pub fn decoded_text(path: &str) -> Path<'_> {
    percent_decode(path.as_bytes()).into()
}

/// Returns the length of a path up to the end of the first segment that is the name of `file`. If
/// there is no such segment, returns the whole length. A decoded question mark ends the name,
/// because php-fpm ignores the part that follows it in the name of a file from Apache.
pub fn until(file: &[u8], path: &[u8]) -> usize {
    let name = file.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    let is_end = |rest: &[u8]| matches!(rest, [] | [b'?', ..]);
    let mut end = 0;
    // Skip the empty text before the slash with which a path begins.
    for segment in path.split(|&byte| byte == b'/').skip(1) {
        if !name.is_empty() && segment.strip_prefix(name).is_some_and(is_end) {
            return end + 1 + name.len();
        }
        end += 1 + segment.len();
    }
    end
}

pub fn part<'r>(path: &Path<'r>, range: Range<usize>) -> Path<'r> {
    match path {
        Cow::Borrowed(bytes) => Cow::Borrowed(&bytes[range]),
        Cow::Owned(bytes) => Cow::Owned(bytes[range].to_vec()),
    }
}

/// Reports whether a path is that of the script without one or more of its suffixes, as `/news` and
/// `/news.en` are of `/news.en.php`.
fn is_without_suffixes(path: &[u8], script: &[u8]) -> bool {
    let suffixes = script.strip_prefix(path);
    suffixes.is_some_and(|rest| rest.starts_with(b".") && !rest.contains(&b'/'))
}

pub fn folder(path: &[u8]) -> &[u8] {
    match path.iter().rposition(|&byte| byte == b'/') {
        Some(0) | None => b"/",
        Some(at) => &path[..at],
    }
}

/// Returns the path of a URI without its query. HTTP also allows a whole URL as the target.
fn target(uri: &[u8]) -> &[u8] {
    let uri = without_query(uri);
    if uri.starts_with(b"/") {
        return uri;
    }
    let authority = uri.windows(3).position(|bytes| bytes == b"://");
    authority.map_or(uri, |at| {
        let rest = &uri[at + 3..];
        let path = rest.iter().position(|&byte| byte == b'/');
        path.map_or(b"/", |path| &rest[path..])
    })
}

fn without_query(uri: &[u8]) -> &[u8] {
    let end = uri.iter().position(|byte| matches!(byte, b'?' | b'#'));
    &uri[..end.unwrap_or(uri.len())]
}

/// Removes empty segments, "." and "..". The result begins with a slash and ends without one.
pub fn resolved(path: Path<'_>) -> Path<'_> {
    normal(path, true)
}

/// Removes empty segments and ".", but not "..".
pub fn with_parents(path: Path<'_>) -> Path<'_> {
    normal(path, false)
}

fn normal(path: Path<'_>, resolves: bool) -> Path<'_> {
    if is_normal(&path) {
        return path;
    }
    let mut segments: Vec<&[u8]> = Vec::new();
    for segment in path.split(|&byte| byte == b'/') {
        match segment {
            b"" | b"." => {}
            b".." if resolves => {
                segments.pop();
            }
            _ => segments.push(segment),
        }
    }
    [b"/", segments.join(&b'/').as_slice()].concat().into()
}

/// Reports whether a path has neither empty segments nor segments that begin with a dot. Nearly all
/// paths are like this.
pub fn is_normal(path: &[u8]) -> bool {
    let is_odd = |pair: &[u8]| matches!(pair, b"//" | b"/.");
    path.starts_with(b"/") && !path.ends_with(b"/") && !path.windows(2).any(is_odd)
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
            let path = path(uri.as_bytes(), b"/index.php", b"", b"/srv/index.php");
            assert_eq!(&*path, b"/login", "{uri}");
        }
    }

    #[test]
    fn a_client_cannot_vary_what_parse_url_ignores() {
        for (uri, expected) in [
            ("//x/login?y", "/login"),
            ("//user@x:80/login", "/login"),
            ("//x//a/..//login", "/login"),
            ("//x", "/x"),
            ("///login", "/login"),
            ("http:/login", "/login"),
            ("x:login", "/login"),
            ("http:80/login", "/login"),
            ("/x:80/login", "/x:80/login"),
            ("//x/index.php/login", "/index.php"),
            ("//index.php/login", "/index.php"),
        ] {
            let path = path(uri.as_bytes(), b"/index.php", b"", b"/srv/index.php");
            assert_eq!(&*path, expected.as_bytes(), "{uri}");
        }
    }

    #[test]
    fn escapes_are_decoded_only_once() {
        for (uri, expected) in [
            ("/%256cogin", "/%6cogin"),
            ("/%zz%", "/%zz%"),
            ("/%00", "/\0"),
        ] {
            assert_eq!(path(uri.as_bytes(), b"", b"", b""), expected.as_bytes());
        }
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
            ("?x", "/login.php", "/login.php"),
            ("http://example.org", "/index.php", "/index.php"),
            ("/admin/", "/admin/index.php", "/admin/index.php"),
            ("/a", "/a/b/index.php", "/a"),
            ("/login/http://x", "/index.php", "/login/http:/x"),
            ("*", "/index.php", "/*"),
        ] {
            let path = path(uri.as_bytes(), script.as_bytes(), b"", b"");
            assert_eq!(path, expected.as_bytes(), "{uri} of {script}");
        }
    }

    #[test]
    fn a_name_without_suffixes_is_the_script_if_the_server_says_so() {
        for (uri, info, script, expected) in [
            ("/login", "", "/login.php", "/login.php"),
            ("/login/1", "/1", "/login.php", "/login.php"),
            ("/login//a/./b.php", "/a/b.php", "/login.php", "/login.php"),
            ("/login/1", "", "/login.php", "/login/1"),
            ("/login/1", "/login/1", "/login.php", "/login/1"),
            ("/login.html", "", "/login.php", "/login.html"),
            ("/log", "", "/login.php", "/log"),
            ("/news", "", "/news.en.php", "/news.en.php"),
            ("/news/1", "/1", "/news.en.php", "/news.en.php"),
            ("/news.en/1", "/1", "/news.en.php", "/news.en.php"),
            ("/news.de/1", "/1", "/news.en.php", "/news.de/1"),
            ("/news/1", "/1", "/news.php.en", "/news.php.en"),
            ("/news", "/news", "/index.en.php", "/news"),
            ("/a/1", "/1", "/a/b.php", "/a/1"),
            ("/a", "", "/a.b/c.php", "/a"),
        ] {
            let [uri_bytes, info_bytes] = [uri, info].map(str::as_bytes);
            let path = path(uri_bytes, script.as_bytes(), info_bytes, script.as_bytes());
            assert_eq!(path, expected.as_bytes(), "{uri} and {info} of {script}");
        }
    }

    #[test]
    fn the_file_that_runs_ends_the_path_of_the_script() {
        for (uri, expected) in [
            ("/login.php", "/login.php"),
            ("/login.php/1.php", "/login.php"),
            ("//login.php//2.php/login.php", "/login.php"),
            ("/login.ph%70/3.php", "/login.php"),
            ("/alias/login.php/4.php", "/alias/login.php"),
            ("/login.phpx/5.php", "/login.phpx/5.php"),
            ("/login2/6.php", "/login2/6.php"),
            ("", "/login.php"),
            ("/", "/login.php"),
            ("/login.php%3F1.php", "/login.php"),
            ("/login.php%3F/1.php", "/login.php"),
            ("/login.phpx%3F1.php", "/login.phpx?1.php"),
        ] {
            let script = if uri.len() > 1 {
                decoded(uri.as_bytes())
            } else {
                b"/login.php/x.php".into()
            };
            let path = path(uri.as_bytes(), &script, b"", b"/srv/www/login.php");
            assert_eq!(path, expected.as_bytes(), "{uri}");
        }
    }
}
