//! Functions and constants of the engine that ext-php-rs does not declare.
//!
//! `build.rs` generates the declarations from PHP's headers, so that the signatures match the
//! engine's.
#![allow(
    dead_code,
    non_camel_case_types,
    non_upper_case_globals,
    clippy::all,
    clippy::pedantic
)]

use ext_php_rs::ffi::*;

include!(concat!(env!("OUT_DIR"), "/engine.rs"));
