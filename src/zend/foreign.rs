//! Classes of other extensions, which may not be there when this one starts: found by name, as they are needed.

use super::obj::{Obj, find_class};
use super::symbols;

/// Whether the object is of the class that is called `class`, in any case of letters, or of one that
/// extends it. Loads nothing.
pub fn is_of(object: Obj<'_>, class: &str) -> bool {
    // SAFETY: null or a class.
    unsafe { object.is_of(find_class(class)) }
}

/// Whether an extension has declared the class that is called so, and not PHP code.
pub fn is_internal(class: &str) -> bool {
    // SAFETY: null or a class.
    unsafe { find_class(class).as_ref() }
        .is_some_and(|entry| u32::from(entry.type_.cast_unsigned()) == symbols::ZEND_INTERNAL_CLASS)
}
