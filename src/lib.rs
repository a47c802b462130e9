//! tokenbucket: exact token-bucket rate limiting for PHP, in shared memory or in stores that hosts
//! share.
//!
//! This file holds only the module's entry point and hooks. A method of a PHP class uses a store of
//! the crates `segment` and `stores` through [`storage`], and converts the result to a PHP value.
//! All unsafe code that uses PHP's engine is in the crate [`zend`].

#![forbid(unsafe_code)]

mod classes;
mod compat;
mod concurrency;
mod counters;
mod decision;
#[rustfmt::skip]
mod declared;
mod attached;
mod exceptions;
mod guard;
mod http;
mod ini;
mod lockout;
mod log;
mod log_replay;
mod metrics;
mod phpinfo;
mod status;
mod storage;
mod token_bucket;
mod tokens;

use ext_php_rs::prelude::*;
use zend::system::{self, Ending, FAILURE, SUCCESS, Starting};

/// Describes the module to PHP.
#[php_module]
pub fn get_module(module: ModuleBuilder) -> ModuleBuilder {
    module
        .startup_function(startup)
        .shutdown_function(shutdown)
        .request_startup_function(request_startup)
        .request_shutdown_function(request_shutdown)
        .info_function(phpinfo::phpinfo)
}

/// Implements MINIT. Runs once in the master, and again when a php-fpm master executes itself on
/// USR2.
extern "C" fn startup(kind: i32, module: i32) -> i32 {
    if kind != system::PERSISTENT {
        log::startup_warning(
            "load the extension in php.ini, because dl() loads it for one request",
        );
        return FAILURE;
    }
    let starting = Starting::in_startup();
    guard::password::conceal(&starting);
    ini::register(module);
    if let Err(error) = attached::attach(&starting) {
        log::startup_warning(&format!("{error:#}"));
        return FAILURE;
    }
    guard::install(&starting);
    decision::make_strings(&starting);
    zend::class::register_functions(&declared::FUNCTIONS);
    for (class, declaration) in &declared::CLASSES {
        class.register(declaration);
    }
    SUCCESS
}

/// Implements MSHUTDOWN. Also runs in every child that exits, so it may detach the segment but not
/// destroy it.
extern "C" fn shutdown(_kind: i32, module: i32) -> i32 {
    let ending = Ending::in_shutdown();
    guard::remove(&ending);
    system::forget_settings(module);
    guard::password::forget(&ending);
    attached::detach(&ending);
    SUCCESS
}

/// Implements RINIT. Prepares the segment and the guard for a request.
extern "C" fn request_startup(_kind: i32, _module: i32) -> i32 {
    concurrency::held::release_all();
    attached::request_begins();
    guard::request_begins();
    SUCCESS
}

/// Implements RSHUTDOWN. Ends the permits of the request, also after a fatal error. Runs after the
/// output of the request was sent.
extern "C" fn request_shutdown(_kind: i32, _module: i32) -> i32 {
    concurrency::held::release_all();
    SUCCESS
}
