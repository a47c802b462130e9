//! Classes of other extensions. They may be missing when this extension starts, so they are looked
//! up by name when they are needed.

use super::obj::{Obj, find_class};
use super::symbols;

/// Returns true if the object is of the class named `class` or of one that extends it. The case of
/// letters is ignored. No class is autoloaded.
pub fn is_of(object: Obj<'_>, class: &str) -> bool {
    // SAFETY: null or a class.
    unsafe { object.is_of(find_class(class)) }
}

/// Returns true if an extension, and not PHP code, has declared the class of this name.
pub fn is_internal(class: &str) -> bool {
    // SAFETY: null or a class.
    unsafe { find_class(class).as_ref() }
        .is_some_and(|entry| u32::from(entry.type_.cast_unsigned()) == symbols::ZEND_INTERNAL_CLASS)
}
