//! Passes facts of the build on: arguments of the linker, which only the package of a cdylib can
//! set, and the versions that `phpinfo()` shows.

use std::env::{self, VarError};
use std::process::Command;

fn main() -> Result<(), VarError> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=TOKENBUCKET_COMMIT");
    match env::var("CARGO_CFG_TARGET_OS")?.as_str() {
        // PHP defines the Zend symbols when it loads the module.
        "macos" => println!("cargo::rustc-cdylib-link-arg=-Wl,-undefined,dynamic_lookup"),
        // Debuggers find the separate symbols by this id.
        _ => println!("cargo::rustc-cdylib-link-arg=-Wl,--build-id"),
    }
    // The crate zend has read the release from PHP's headers.
    let release = env::var("DEP_PHP_RELEASE")?;
    let rustc = Command::new(env::var("RUSTC")?).arg("--version").output();
    let rustc = rustc.ok().and_then(|it| String::from_utf8(it.stdout).ok());
    let rustc = rustc.as_deref().map_or("rustc", str::trim);
    let commit = env::var("TOKENBUCKET_COMMIT").unwrap_or_default();
    let commit = match commit.as_str() {
        "" => String::new(),
        commit => format!("commit {commit}, "),
    };
    println!("cargo::rustc-env=TOKENBUCKET_BUILD={commit}{rustc}, for PHP {release}");
    Ok(())
}
