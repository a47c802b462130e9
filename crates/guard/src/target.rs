//! The target of a request: its method, and the paths by which an application may know its page.

use super::GuardedRequest;
use super::path::{Path, decoded, folder, is_normal, parsed, part, resolved, until, with_parents};
use gcra::Few;
use std::cell::OnceCell;

/// The target of a request. Its paths are computed when a condition asks for them.
pub struct Target<'r, R> {
    request: &'r R,
    paths: OnceCell<Paths<'r>>,
}

type Paths<'r> = Few<Path<'r>, 8>;

impl<'r, R: GuardedRequest> Target<'r, R> {
    pub const fn of(request: &'r R) -> Self {
        Self {
            request,
            paths: OnceCell::new(),
        }
    }

    pub const fn request(&self) -> &'r R {
        self.request
    }

    /// Returns the method as the client sent it.
    pub fn method(&self) -> &'r [u8] {
        self.request.variable(c"REQUEST_METHOD").unwrap_or_default()
    }

    /// Returns every path by which a server or an application may have found the page:
    ///
    /// - the path of the URI, and `SCRIPT_NAME`, which differ if the server rewrites the URI
    /// - the path that PHP's `parse_url()` finds in the URI
    /// - both without the part below the script that runs, as `/login.php` of `/login.php/1`
    /// - the path of the URI after the script, as `/export` of `/index.php/export`, also below the
    ///   folder of the script, and `PATH_INFO`
    /// - the folder of `index.php`
    /// - the script that runs, below `DOCUMENT_ROOT`
    ///
    /// Routers differ in the meaning of "..". So paths from the client are included with and
    /// without its effect: for a router that resolves nothing, `/export/../x` is below `/export`.
    pub fn paths(&self) -> &[Path<'r>] {
        self.paths.get_or_init(|| paths(self.request))
    }
}

fn paths<R: GuardedRequest>(request: &R) -> Paths<'_> {
    let variable = |name| request.variable(name).unwrap_or_default();
    let file = request.script();
    // An empty path is not that of the home page.
    let name = variable(c"SCRIPT_NAME");
    let script = if name.is_empty() {
        Path::default()
    } else {
        resolved(name.into())
    };
    let path = decoded(variable(c"REQUEST_URI"));
    let mut paths = Paths::new();
    let below_root = below_root(request, file, variable(c"DOCUMENT_ROOT"));
    paths.extend(below_root.filter(|path| *path != script));
    if let Some(parsed) = parsed(variable(c"REQUEST_URI")) {
        add_found(&mut paths, (parsed, &script), file, b"");
    }
    if path == script && !script.is_empty() && file.ends_with(&script) {
        // Most requests for a script are like this.
        add_below(&mut paths, &script, script.len());
    } else {
        add_found(&mut paths, (path, &script), file, variable(c"PATH_INFO"));
    }
    if !script.is_empty() {
        paths.push(script);
    }
    paths
}

/// Adds the paths of a request whose URI has another path than its script.
fn add_found<'r>(
    paths: &mut Paths<'r>,
    (path, script): (Path<'r>, &Path<'r>),
    file: &[u8],
    info: &'r [u8],
) {
    let of_file = part(script, 0..until(file, script));
    for path in spellings(path) {
        let end = until(file, &path);
        add_below(paths, &path, end);
        if !of_file.is_empty() && of_file.len() != end && path.starts_with(&of_file) {
            add_below(paths, &path, of_file.len());
        }
        paths.push(path);
    }
    // Some servers pass an empty one for each page.
    if !info.is_empty() {
        paths.extend(spellings(info.into()));
    }
    if !of_file.is_empty() {
        paths.push(of_file);
    }
}

/// Returns the path after each ".." was resolved. If this changed the path, also returns the path
/// as it was.
fn spellings(path: Path<'_>) -> impl Iterator<Item = Path<'_>> {
    let other = (!is_normal(&path)).then(|| with_parents(path.clone()));
    let short = resolved(path);
    let other = other.filter(|long| *long != short);
    [short].into_iter().chain(other)
}

/// Adds the paths that `path` means if its first `end` bytes are the script.
fn add_below<'r>(paths: &mut Paths<'r>, path: &Path<'r>, end: usize) {
    let (script, rest) = path.split_at(end);
    if rest.starts_with(b"/") {
        paths.extend([part(path, 0..end), part(path, end..path.len())]);
        let folder = folder(script);
        if folder != b"/" {
            paths.push([folder, rest].concat().into());
        }
    } else if rest.is_empty() && script.ends_with(b"/index.php") {
        paths.push(folder(script).to_vec().into());
    }
}

/// Returns the path of a file below the root of a site. Either may be spelled with symbolic links.
/// In a pool with `chroot`, the file has no part of the root that is outside the pool.
fn below_root<'r>(request: &impl GuardedRequest, file: &'r [u8], root: &[u8]) -> Option<Path<'r>> {
    if file.is_empty() || root.is_empty() {
        return None;
    }
    if let Some(path) = below(file, root) {
        // Nearly all servers spell both paths alike.
        return Some(resolved(path.into()));
    }
    let (file, root) = (resolved(file.into()), resolved(root.into()));
    if let Some(path) = below(&file, &root) {
        return Some(part(&file, file.len() - path.len()..file.len()));
    }
    let real = |path: &[u8]| request.real_path(path);
    if let (Some(file), Some(root)) = (real(&file), real(&root))
        && let Some(path) = below(&file, &root)
    {
        return Some(path.to_vec().into());
    }
    let inside = root.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    let mut inside = inside.skip(1).map(|(at, _)| &root[at..]);
    let path = inside.find_map(|root| below(&file, root));
    Some(path.unwrap_or(&file).to_vec().into())
}

/// Returns the part of a path after one of the folders above it.
fn below<'p>(path: &'p [u8], folder: &[u8]) -> Option<&'p [u8]> {
    let folder = folder.strip_suffix(b"/").unwrap_or(folder);
    let path = path.strip_prefix(folder)?;
    path.starts_with(b"/").then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::borrow::Cow;
    use std::ffi::CStr;

    /// The variables of a request by name, and its file.
    struct Variables<'a>(Vec<(&'static CStr, &'a str)>, &'a str);

    impl GuardedRequest for Variables<'_> {
        fn variable(&self, name: &CStr) -> Option<&[u8]> {
            let variable = self.0.iter().find(|variable| variable.0 == name);
            variable.map(|variable| variable.1.as_bytes())
        }

        fn script(&self) -> &[u8] {
            self.1.as_bytes()
        }

        fn real_path(&self, path: &[u8]) -> Option<Vec<u8>> {
            if path.starts_with(b"/pools") {
                return None;
            }
            let below = path.strip_prefix(b"/releases/42");
            Some(below.map_or(path.to_vec(), |below| [b"/srv", below].concat()))
        }
    }

    fn paths(uri: &str, script: &str, info: &str, file: &str) -> Vec<String> {
        paths_below("/srv/", uri, script, info, file)
    }

    fn paths_below(root: &str, uri: &str, script: &str, info: &str, file: &str) -> Vec<String> {
        let variables = vec![
            (c"REQUEST_URI", uri),
            (c"SCRIPT_NAME", script),
            (c"DOCUMENT_ROOT", root),
            (c"PATH_INFO", info),
        ];
        let request = Variables(variables, file);
        let target = Target::of(&request);
        let paths = target.paths().iter().map(|it| String::from_utf8_lossy(it));
        let mut paths: Vec<_> = paths.map(Cow::into_owned).collect();
        paths.sort();
        paths.dedup();
        paths
    }

    #[test]
    fn a_page_has_every_path_by_which_it_can_be_found() {
        for (uri, script, info, file, expected) in [
            ("/a", "/index.php", "", "/srv/index.php", "/a /index.php"),
            // The server rewrites the URI.
            (
                "/s1/login.php?x",
                "/login.php",
                "",
                "/srv/login.php",
                "/login.php /s1/login.php",
            ),
            // A front controller is called by its name.
            (
                "/index.php/a/b",
                "/index.php",
                "/a/b",
                "/srv/index.php",
                "/a/b /index.php /index.php/a/b",
            ),
            (
                "//index.php//%61/./b?c",
                "/index.php",
                "",
                "/srv/index.php",
                "/a/b /index.php /index.php/a/b",
            ),
            (
                "/shop/index.php/a",
                "/shop/index.php",
                "",
                "/srv/shop/index.php",
                "/a /shop/a /shop/index.php /shop/index.php/a",
            ),
            (
                "/shop/index.php",
                "/shop/index.php",
                "",
                "/srv/shop/index.php",
                "/shop /shop/index.php",
            ),
            // The name has no suffix.
            (
                "/index/a",
                "/index.php",
                "/a",
                "/srv/index.php",
                "/a /index.php /index/a",
            ),
            // SCRIPT_NAME does not end where the script does.
            (
                "/login.php/1.php",
                "/login.php/1.php",
                "",
                "/srv/login.php",
                "/1.php /login.php /login.php/1.php",
            ),
            // php-fpm cuts the name of the file at a question mark.
            (
                "/login.php%3F1.php",
                "/login.php?1.php",
                "",
                "/srv/login.php",
                "/login.php /login.php?1.php",
            ),
            // SCRIPT_NAME is the path of the URI.
            (
                "/a",
                "/a",
                "",
                "/srv/public/index.php",
                "/a /public/index.php",
            ),
            ("/a", "/a", "", "/srvx/index.php", "/a /srvx/index.php"),
            // Some routers do not resolve "..".
            (
                "/a/../b",
                "/index.php",
                "",
                "/srv/index.php",
                "/a/../b /b /index.php",
            ),
            (
                "/index.php/a/%2e./b",
                "/index.php",
                "/b",
                "/srv/index.php",
                "/a/../b /b /index.php /index.php/a/../b /index.php/b",
            ),
            (
                "HTTP://x/index.php/a",
                "/index.php",
                "",
                "",
                "/a /index.php /index.php/a",
            ),
            ("", "/a.php", "", "", "/ /a.php"),
            // A server of HTTP in PHP passes no script.
            ("/a", "", "", "", "/a"),
            ("/a", "", "", "/srv/index.php", "/a /index.php"),
            ("", "", "", "", "/"),
        ] {
            assert_eq!(paths(uri, script, info, file).join(" "), expected, "{uri}");
        }
    }

    #[test]
    fn a_page_has_the_path_that_parse_url_finds() {
        for (uri, expected) in [
            ("//x/a", "/a /index.php /x/a"),
            ("http:/a?b", "/a /http:/a /index.php"),
        ] {
            let paths = paths(uri, "/index.php", "", "/srv/index.php");
            assert_eq!(paths.join(" "), expected, "{uri}");
        }
    }

    #[test]
    fn the_script_is_found_however_the_root_is_spelled() {
        for (root, file) in [
            ("/srv", "//srv/s/login.php"),
            ("//srv//", "/srv/s/login.php"),
            ("/", "/s/login.php"),
            ("//", "/s/login.php"),
            ("/releases/42", "/srv/s/login.php"),
            ("/srv", "/releases/42/s/login.php"),
            // A pool whose chroot is /pools/1.
            ("/pools/1/www", "/www/s/login.php"),
            ("/pools/1", "/s/login.php"),
        ] {
            let paths = paths_below(root, "/1/login.php", "/1/login.php", "", file);
            assert!(
                paths.contains(&"/s/login.php".into()),
                "{root} {file}: {paths:?}"
            );
        }
    }
}
