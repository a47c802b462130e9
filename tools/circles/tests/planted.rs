//! Plants circles in the files of a crate, and checks that they are found. A crate without them
//! must have none.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

/// Returns the circles of a crate with these files, each as the list of its modules.
fn circles(files: &[(&str, &str)], exempt: &[&str]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let file = folder.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    let exempt: Vec<_> = exempt.iter().map(|it| folder.path().join(it)).collect();
    let exempt: Vec<&Path> = exempt.iter().map(AsRef::as_ref).collect();
    let found = circles::Crate::read(folder.path())
        .unwrap()
        .circles(&exempt);
    let names = |circle: &circles::Circle| {
        let names: Vec<_> = circle
            .files
            .iter()
            .map(|(file, _)| file.join("::"))
            .collect();
        names.join(" ")
    };
    found.iter().map(names).collect()
}

/// Returns the circles of a crate whose file `a` has this text. `b` imports `a`, and `a::child`
/// imports `b`.
fn with_a(text: &str) -> Vec<String> {
    circles(
        &[
            (
                "lib.rs",
                "mod a; mod b; pub use b::Passed; pub use b::passed;",
            ),
            ("a.rs", text),
            ("a/child.rs", "use crate::b::Passed; pub fn f() {}"),
            (
                "b.rs",
                "use crate::a::A; pub struct Passed; pub fn passed() {}",
            ),
        ],
        &[],
    )
}

#[test]
fn finds_a_path_wherever_it_is() {
    assert_eq!(with_a("pub struct A;"), [""; 0]);
    for text in [
        "use crate::b::Passed;",
        "use super::b;",
        "fn f() { crate::b::passed() }",
        // A string may contain the start of a comment, and a comment the start of a string.
        r#"fn f() { let _ = "redis://host"; crate::b::passed() }"#,
        r##"fn f() { let _ = r#"//"#; /* " */ crate::b::passed() }"##,
        "fn f(_: &[crate::b::Passed]) {}",
        "fn f() { println!(\"{:?}\", vec![super::b::Passed]) }",
        "macro_rules! m { () => { $crate::b::passed() } }",
        "fn f() { use crate::b; b::passed() }",
        // Code behind a module of tests.
        "#[cfg(test)] mod tests { fn t() {} } use crate::b::Passed;",
        "mod inner { use super::super::b::Passed; }",
        "mod inner { pub use crate::b; } fn f() { inner::b::passed() }",
    ] {
        assert_eq!(with_a(text), ["a b"], "{text}");
    }
}

#[test]
fn finds_a_name_that_another_module_passes_on() {
    for text in [
        "use crate::Passed;",
        "use crate::passed as other; fn f() { other() }",
        "use crate::*; fn f(_: Passed) {}",
        "use crate::*; fn f() { b::passed() }",
        "use super::*; fn f() { let _ = vec![Passed]; }",
    ] {
        assert_eq!(with_a(text), ["a b"], "{text}");
    }
}

#[test]
fn finds_a_path_to_a_child() {
    for text in [
        "fn f() { child::f() }",
        "use self::child::f;",
        "use child::*; fn g() { f() }",
    ] {
        assert_eq!(with_a(text), ["a a::child b"], "{text}");
    }
}

#[test]
fn ignores_tests_strings_comments_and_variables() {
    for text in [
        "#[cfg(test)] mod tests { use crate::b::Passed; }",
        "#[cfg(test)] use crate::b::Passed;",
        "// crate::b::passed()",
        r#"fn f() -> &'static str { "crate::b::passed()" }"#,
        "pub use crate::b::Passed;",
        "fn f(b: u8) { let child = b; println!(\"{}\", child) }",
        "use other::b::Passed; fn f() { ::b::passed() }",
    ] {
        assert_eq!(with_a(text), [""; 0], "{text}");
    }
}

#[test]
fn finds_a_circle_through_a_folder() {
    let files = [
        ("lib.rs", "mod a;"),
        (
            "a/mod.rs",
            "mod one; mod other; pub struct A; fn f() { one::f() }",
        ),
        ("a/one.rs", "use super::A; use super::other; pub fn f() {}"),
        ("a/other.rs", "use super::A;"),
    ];
    assert_eq!(circles(&files, &[]), ["a a::one a::other"]);
    // The folder is exempt, but two of its files are not.
    assert_eq!(circles(&files, &["a"]), [""; 0]);
    let mut files = files;
    files[3].1 = "use super::one;";
    assert_eq!(circles(&files, &["a"]), ["a::one a::other"]);
}
