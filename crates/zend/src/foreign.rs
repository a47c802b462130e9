//! Classes of other extensions. They may be missing when the extension starts, so each class is
//! looked up by name when it is needed.

use super::obj::find_class;
use super::{Obj, symbols};

/// Returns true if the object is of the class named `class` or of a subclass. Ignores the case of
/// letters and does not autoload classes.
pub fn is_of(object: Obj<'_>, class: &str) -> bool {
    // SAFETY: `find_class` returns null or a live class.
    unsafe { object.is_of(find_class(class)) }
}

/// Returns true if the class of this name exists and was declared by an extension, not by PHP code.
pub fn is_internal(class: &str) -> bool {
    // SAFETY: `find_class` returns null or a live class.
    // The type is a C char, which is unsigned on AArch64.
    unsafe { find_class(class).as_ref() }.is_some_and(|entry| {
        i64::from(entry.type_.to_ne_bytes()[0]) == i64::from(symbols::ZEND_INTERNAL_CLASS)
    })
}
