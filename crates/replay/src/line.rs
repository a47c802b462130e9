//! The lines of a log: fields, and the texts between them.

use super::failure::Failure;
use super::instant::{KNOWN, SECOND, duration, instant};
use guard::GuardedRequest;
use memchr::{memchr, memmem};
use std::borrow::Cow;
use std::ffi::CStr;
use std::ops::Range;

/// The form of a log's lines.
///
/// A field has the name of the variable that it is in CGI, such as `REMOTE_ADDR` or
/// `HTTP_USER_AGENT`. Other names are `REQUEST` (the method, the URI and the protocol),
/// `COOKIE_name`, `START` and `END` (an instant), `SECONDS`, `MILLISECONDS` and `MICROSECONDS` (the
/// duration). Fields with other names are skipped. `REMOTE_USER` may have the text that ends it,
/// because clients choose it, and web servers do not escape all of it.
#[derive(Debug)]
pub struct Format {
    /// The text before each field, and that after the last one.
    texts: Vec<memmem::Finder<'static>>,
    names: Vec<Vec<u8>>,
    has_cookie_names: bool,
}

impl Format {
    /// Returns the format of these parts: a text, a name, a text and so on, and a text at the end.
    /// Returns `None` if there is no text between two fields, so that their border is unknown.
    pub fn new(parts: &[&[u8]]) -> Option<Self> {
        let texts: Vec<&[u8]> = parts.iter().step_by(2).copied().collect();
        let names: Vec<_> = parts
            .iter()
            .skip(1)
            .step_by(2)
            .map(|it| it.to_vec())
            .collect();
        let inner = texts.get(1..names.len()).unwrap_or_default();
        let is_valid = parts.len() % 2 == 1 && inner.iter().all(|it| !it.is_empty());
        // The whole header also has the cookies that are logged by their names.
        let has_cookie_names = names.iter().any(|it| it.starts_with(b"COOKIE_"))
            && !names.iter().any(|it| it == b"HTTP_COOKIE");
        is_valid.then(|| Self {
            texts: texts
                .into_iter()
                .map(|it| memmem::Finder::new(it).into_owned())
                .collect(),
            names,
            has_cookie_names,
        })
    }

    /// Reports whether lines have the variable.
    pub fn has(&self, name: &str) -> bool {
        let has = |name: &[u8]| self.names.iter().any(|it| it == name);
        has(name.as_bytes())
            || match name {
                "REQUEST_METHOD" | "REQUEST_URI" => has(b"REQUEST"),
                "DURATION" => [b"SECONDS".as_slice(), b"MILLISECONDS", b"MICROSECONDS"]
                    .into_iter()
                    .any(has),
                _ => name.starts_with("COOKIE_") && has(b"HTTP_COOKIE"),
            }
    }

    /// Returns the request of a line.
    pub fn read<'l>(&'l self, line: &'l [u8]) -> Result<Line<'l>, Failure> {
        let mut user = 0;
        let first = self.read_with(line, &mut user);
        if first.is_ok() {
            return first;
        }
        // Servers allow no longer header field.
        let is_next = |user: &usize| (1..=8192).contains(user);
        let next = || is_next(&user).then(|| self.read_with(line, &mut user));
        let found = std::iter::from_fn(next).find(Result::is_ok);
        found.unwrap_or(first)
    }

    /// Returns the request of a line whose user has at least `user` bytes. Then sets `user` to one
    /// byte more than the user that was found, for the next try, or to 0 if none was found.
    fn read_with<'l>(&'l self, line: &'l [u8], user: &mut usize) -> Result<Line<'l>, Failure> {
        let mut fields = Vec::with_capacity(self.names.len() + 3);
        let least = std::mem::take(user);
        let first = self.texts[0].needle();
        let mut at = if line.starts_with(first) {
            first.len()
        } else {
            return Err(Failure::Format);
        };
        for (index, name) in self.names.iter().enumerate() {
            let is_last = index + 1 == self.names.len();
            let is_user = name == b"REMOTE_USER";
            let skipped = if is_user { least } else { 0 };
            let rest = line.get(at + skipped..).ok_or(Failure::Format)?;
            let length = self.length(rest, index + 1, is_last);
            let end = at + skipped + length.ok_or(Failure::Format)?;
            if is_user {
                *user = end - at + 1;
            }
            if !name.is_empty() {
                fields.push((name.as_slice(), unescaped(&line[at..end])));
            }
            at = end + self.texts[index + 1].needle().len();
        }
        Line::new(fields, self.has_cookie_names)
    }

    /// Returns the length of a field, which the text `index` ends.
    fn length(&self, rest: &[u8], index: usize, is_last: bool) -> Option<usize> {
        let text = &self.texts[index];
        if is_last {
            return rest
                .ends_with(text.needle())
                .then(|| rest.len() - text.needle().len());
        }
        // A quote after an odd number of backslashes belongs to the field.
        let is_escaped = |at: &usize| {
            rest[..*at]
                .iter()
                .rev()
                .take_while(|it| **it == b'\\')
                .count()
                % 2
                == 1
        };
        text.find_iter(rest).find(|at| !is_escaped(at))
    }
}

/// A request of a log, as the rules of the crate [`guard`] read it.
#[derive(Debug)]
pub struct Line<'l> {
    /// The fields. Those that follow from others are at the end. The last one with a name counts.
    fields: Vec<(&'l [u8], Cow<'l, [u8]>)>,
    /// The instant at which the request began, and the last one at which the guard may have seen
    /// it.
    pub start: u64,
    pub latest: u64,
    /// The resolution of the instants.
    pub resolution: u64,
}

impl<'l> Line<'l> {
    fn new(
        fields: Vec<(&'l [u8], Cow<'l, [u8]>)>,
        has_cookie_names: bool,
    ) -> Result<Self, Failure> {
        let mut line = Line {
            fields,
            start: 0,
            latest: 0,
            resolution: 0,
        };
        line.set_time()?;
        if line.field(b"REMOTE_ADDR").is_none() {
            return Err(Failure::Client);
        }
        line.split_request()?;
        if line.field(b"REQUEST_URI").is_none() {
            return Err(Failure::Request);
        }
        if has_cookie_names {
            line.join_cookies();
        }
        Ok(line)
    }

    fn set_time(&mut self) -> Result<(), Failure> {
        let (mut took, mut stated, mut is_end) = (0, None, true);
        for (name, value) in &self.fields {
            match *name {
                b"START" | b"END" => {
                    is_end = *name == b"END";
                    stated = Some(instant(value)?);
                }
                b"SECONDS" => took = duration(value, SECOND)?,
                b"MILLISECONDS" => took = duration(value, 1_000_000)?,
                b"MICROSECONDS" => took = duration(value, 1_000)?,
                _ => {}
            }
        }
        let (stated, resolution) = stated.ok_or(Failure::Time)?;
        self.start = if is_end {
            stated.saturating_sub(took)
        } else {
            stated
        };
        self.latest = self.start.saturating_add(took);
        self.resolution = resolution;
        let is_known = KNOWN.contains(&self.start) && KNOWN.contains(&self.latest);
        is_known.then_some(()).ok_or(Failure::Time)
    }

    /// Adds the method and the URI of the field `REQUEST`.
    fn split_request(&mut self) -> Result<(), Failure> {
        let Some((_, text)) = self.fields.iter().find(|it| it.0 == b"REQUEST") else {
            return Ok(());
        };
        let method = memchr(b' ', text).ok_or(Failure::Request)?;
        // HTTP/0.9 has no protocol.
        let protocol = text.iter().rposition(|&byte| byte == b' ');
        let uri = method + 1..protocol.filter(|&at| at > method).unwrap_or(text.len());
        let is_method = method > 0 && text[..method].iter().all(u8::is_ascii_graphic);
        if !is_method || uri.is_empty() {
            return Err(Failure::Request);
        }
        let part = |range: Range<usize>| match text {
            Cow::Borrowed(text) => Cow::Borrowed(&text[range]),
            Cow::Owned(text) => Cow::Owned(text[range].to_vec()),
        };
        let method = (b"REQUEST_METHOD".as_slice(), part(0..method));
        let uri = (b"REQUEST_URI".as_slice(), part(uri));
        self.fields.extend([method, uri]);
        Ok(())
    }

    /// Adds the cookies of the fields `COOKIE_name` as a header field.
    fn join_cookies(&mut self) {
        let names = self.fields.iter().filter(|(_, value)| is_present(value));
        let names = names.filter_map(|(name, _)| name.strip_prefix(b"COOKIE_"));
        let cookies: Vec<_> = names.flat_map(|name| [name, b"=;"]).collect();
        let cookies = cookies.concat().into();
        self.fields.push((b"HTTP_COOKIE", cookies));
    }

    /// Returns a field. The log has "-" for a missing one.
    fn field(&self, name: &[u8]) -> Option<&[u8]> {
        let field = self.fields.iter().rev().find(|it| it.0 == name);
        field.map(|it| &*it.1).filter(|it| is_present(it))
    }

    /// Reports whether the web server passed the request to PHP, or `None` if the log does not say
    /// so.
    pub fn is_passed(&self) -> Option<bool> {
        let is_logged = self.fields.iter().any(|it| it.0 == b"UPSTREAM");
        is_logged.then(|| self.field(b"UPSTREAM").is_some())
    }
}

fn is_present(value: &[u8]) -> bool {
    !matches!(value, b"" | b"-")
}

impl GuardedRequest for Line<'_> {
    fn variable(&self, name: &CStr) -> Option<&[u8]> {
        match name.to_bytes() {
            // Without the script, a path is known by the URI alone.
            b"SCRIPT_NAME" => self.field(b"SCRIPT_NAME").or_else(|| {
                let uri = self.variable(c"REQUEST_URI")?;
                uri.split(|byte| matches!(byte, b'?' | b'#')).next()
            }),
            name => self.field(name),
        }
    }

    fn script(&self) -> &[u8] {
        let file = self.field(b"SCRIPT_FILENAME");
        file.or_else(|| self.field(b"SCRIPT_NAME"))
            .unwrap_or_default()
    }
}

/// Decodes the escapes that nginx and Apache write: `\xHH`, `\n`, `\t`, `\r` and `\"`.
fn unescaped(text: &[u8]) -> Cow<'_, [u8]> {
    let Some(first) = memchr(b'\\', text) else {
        return text.into();
    };
    let code = |digits: &[u8]| u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok();
    let (mut plain, mut rest) = (text[..first].to_vec(), &text[first..]);
    while let [byte, after @ ..] = rest {
        let (decoded, length) = match (byte, after) {
            (b'\\', [b'x', digits @ ..]) => {
                let decoded = digits.get(..2).and_then(code);
                decoded.map_or((b'x', 2), |decoded| (decoded, 4))
            }
            (b'\\', [b'n', ..]) => (b'\n', 2),
            (b'\\', [b't', ..]) => (b'\t', 2),
            (b'\\', [b'r', ..]) => (b'\r', 2),
            (b'\\', [escaped, ..]) => (*escaped, 2),
            _ => (*byte, 1),
        };
        plain.push(decoded);
        rest = &rest[length..];
    }
    plain.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMBINED: [&[u8]; 17] = [
        b"",
        b"REMOTE_ADDR",
        b" ",
        b"",
        b" ",
        b"REMOTE_USER",
        b" [",
        b"END",
        b"] \"",
        b"REQUEST",
        b"\" ",
        b"",
        b" ",
        b"",
        b" \"",
        b"HTTP_USER_AGENT",
        b"\"",
    ];

    fn line(text: &str) -> Result<Vec<Option<String>>, Failure> {
        let format = Format::new(&COMBINED).unwrap();
        let line = format.read(text.as_bytes())?;
        let names = [
            c"REQUEST_METHOD",
            c"REQUEST_URI",
            c"SCRIPT_NAME",
            c"HTTP_USER_AGENT",
            c"HTTP_COOKIE",
        ];
        let text = |name| {
            line.variable(name)
                .map(|it| String::from_utf8_lossy(it).into_owned())
        };
        Ok(names.into_iter().map(text).collect())
    }

    #[test]
    fn a_line_has_the_variables_of_its_request() {
        let begin = "192.0.2.1 - a b [29/Nov/2026:07:26:33 +0000]";
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            line(&format!(
                "{begin} \"GET /a?b HTTP/1.1\" 200 5 \"x \\\" 1\\x22 \\xc3\\xa9\\\\\""
            ))
            .unwrap(),
            [
                some("GET"),
                some("/a?b"),
                some("/a"),
                some("x \" 1\" \u{e9}\\"),
                None
            ]
        );
        assert_eq!(
            line(&format!("{begin} \"GET /a\" 200 5 \"-\"")).unwrap()[3],
            None
        );
        for (text, failure) in [
            ("", Failure::Format),
            ("x", Failure::Format),
            (&format!("{begin} \"GET / HTTP/1.1\" 200"), Failure::Format),
            (
                &format!("{begin} \"\\x16\\x03\\x01\" 400 0 \"-\""),
                Failure::Request,
            ),
            (&format!("{begin} \"-\" 400 0 \"-\""), Failure::Request),
            (
                "- - - [29/Nov/2026:07:26:33 +0000] \"GET / HTTP/1.1\" 200 5 \"-\"",
                Failure::Client,
            ),
            (
                "192.0.2.1 - - [29/Nov/2026:07:26:33] \"GET / HTTP/1.1\" 200 5 \"-\"",
                Failure::Zone,
            ),
        ] {
            assert_eq!(line(text), Err(failure), "{text}");
        }
    }

    #[test]
    fn a_user_may_have_the_text_that_ends_it() {
        let end = "[29/Nov/2026:07:26:33 +0000] \"GET /a HTTP/1.1\" 200 5 \"-\"";
        for user in ["x", "x [y", "a [29/Nov/2020:07:26:33 +0000] b", " [ ["] {
            let uri = line(&format!("192.0.2.1 - {user} {end}"))
                .unwrap()
                .remove(1);
            assert_eq!(uri.as_deref(), Some("/a"), "{user}");
        }
        let zone = "192.0.2.1 - x [29/Nov/2026:07:26:33] \"GET / HTTP/1.1\" 200 5 \"-\"";
        assert_eq!(line(zone), Err(Failure::Zone));
        let parts = [
            "",
            "REMOTE_ADDR",
            " ",
            "REMOTE_USER",
            " ",
            "END",
            " ",
            "SECONDS",
            " \"",
            "REQUEST",
            "\"",
        ];
        let format = Format::new(&parts.map(str::as_bytes)).unwrap();
        let text = b"192.0.2.1 x 4000000100.000 0.1 1795937193.100 0.010 \"GET /a HTTP/1.1\"";
        assert_eq!(format.read(text).unwrap().start, 1_795_937_193_090_000_000);
    }

    /// Returns a format with a space between two fields.
    fn spaced(names: &str) -> Format {
        let names = names.split(' ').flat_map(|it| [" ", it]);
        let mut parts: Vec<_> = names.chain([""]).map(str::as_bytes).collect();
        parts[0] = b"";
        Format::new(&parts).unwrap()
    }

    #[test]
    fn the_whole_cookie_header_has_the_cookies_that_are_logged_by_name() {
        let format = spaced("END REMOTE_ADDR REQUEST_URI HTTP_COOKIE COOKIE_a");
        let line = format.read(b"1795937193 192.0.2.1 /a b=1;a=2 2").unwrap();
        assert_eq!(line.variable(c"HTTP_COOKIE"), Some(b"b=1;a=2".as_slice()));
    }

    #[test]
    fn a_start_before_the_known_instants_is_refused() {
        let format = spaced("END SECONDS REMOTE_ADDR REQUEST_URI");
        let read = |text: &[u8]| format.read(text).map(|it| it.start / SECOND);
        assert_eq!(read(b"1153000000 10 192.0.2.1 /a"), Ok(1_152_999_990));
        assert_eq!(read(b"1153000000 86400 192.0.2.1 /a"), Err(Failure::Time));
    }

    #[test]
    fn fields_need_a_text_between_them() {
        assert!(Format::new(&[b"", b"A", b"", b"B", b""]).is_none());
        assert!(Format::new(&[b"", b"A"]).is_none());
        assert!(Format::new(&[b"x", b"A", b""]).is_some());
    }
}
