//! tokenbucket: exact token-bucket rate limiting for PHP, in shared memory or in stores that hosts share.
//!
//! The module's entry and hooks, nothing else. A call goes from a class's method through the match of
//! [`storage`] to a store of the core crate, and comes back as a value of PHP.

// The entry point that the macro makes is the only public item, and cannot be documented.
#![allow(missing_docs)]

mod classes;
mod compat;
mod decision;
#[rustfmt::skip]
mod declared;
mod exceptions;
mod info;
mod ini;
mod segment;
mod storage;
mod token_bucket;
mod zend;

use ext_php_rs::prelude::*;
use zend::system::{self, Ending, Hooks, Starting};

/// Describes the module to PHP.
#[php_module]
pub fn get_module(module: ModuleBuilder) -> ModuleBuilder {
    module
        .startup_function(system::startup::<Extension>)
        .shutdown_function(system::shutdown::<Extension>)
        .request_startup_function(request_startup)
        .info_function(info::phpinfo)
}

struct Extension;

impl Hooks for Extension {
    /// Runs once in the master, and anew when it executes itself (php-fpm on USR2).
    fn start(starting: &Starting, module: i32) -> bool {
        ini::register(module);
        if let Err(error) = segment::attach(starting) {
            zend::throw::startup_warning(&format!("{error:#}"));
            return false;
        }
        zend::class::register_functions(&declared::FUNCTIONS);
        for (class, declaration) in &declared::CLASSES {
            class.register(declaration);
        }
        true
    }

    /// Runs in every exiting child too, so it may detach but not destroy.
    fn end(ending: &Ending, module: i32) {
        ini::unregister(module);
        segment::detach(ending);
    }
}

/// RINIT.
extern "C" fn request_startup(_kind: i32, _module: i32) -> i32 {
    segment::request_begins();
    0
}
