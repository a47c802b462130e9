//! Messages of the extension that are not exceptions: lines in PHP's log, and warnings while PHP
//! starts. Each begins with the extension's name.

use stores::printable;
use zend::system;

/// Writes a line to PHP's log. The message is printable.
pub fn write(message: &str) {
    system::log(&named(message));
}

/// Raises a warning while PHP starts, before any script runs. The message may contain any
/// characters.
pub fn startup_warning(message: &str) {
    system::startup_warning(&printable(named(message)));
}

fn named(message: &str) -> String {
    format!("tokenbucket: {message}")
}
