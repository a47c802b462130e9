//! Property hooks of PHP 8.4: code that a subclass runs when a property is read or written.

use super::value::Val;
use super::{Class, Obj, Thrown, bailout, symbols, throw};
use ext_php_rs::ffi::zend_read_property;
use ext_php_rs::types::Zval;

/// Returns true if the object's class has a hook on the property.
#[cfg(php84)]
pub fn has_hook(object: Obj<'_>, property: &str) -> bool {
    use ext_php_rs::ffi::{zend_hash_str_find_ptr_lc, zend_property_info};
    // SAFETY: a live object has a class, whose table of properties holds infos. The name is in
    // lower case, so that the look-up by lower case finds it.
    unsafe {
        let class = object.class();
        if (*class).num_hooked_props == 0 {
            return false;
        }
        let (table, name) = (&raw const (*class).properties_info, property.as_ptr());
        let info = zend_hash_str_find_ptr_lc(table, name.cast(), property.len());
        let info = info.cast::<zend_property_info>().as_ref();
        info.is_some_and(|info| !info.hooks.is_null())
    }
}

/// Returns false, because this PHP has no property hooks.
#[cfg(not(php84))]
pub const fn has_hook(_object: Obj<'_>, _property: &str) -> bool {
    false
}

/// Reads a property in the scope of `class`. Runs the hook, if there is one.
pub fn read(object: Obj<'_>, property: &str, class: &Class) -> Result<Zval, Thrown> {
    let mut buffer = Zval::new();
    let (this, scope, place) = (object.as_ptr(), class.entry(), &raw mut buffer);
    let (start, length) = (property.as_ptr().cast(), property.len());
    // SAFETY: the caller keeps the object alive. The result is in `buffer` or in the object, and is
    // copied before PHP code can run again.
    let value = unsafe {
        let read = || zend_read_property(scope, this, start, length, false, place);
        Val::new(bailout::door(read)).copy()
    };
    throw::unless_pending(value)
}

/// Writes a property in the scope of `class`. Runs the hook, if there is one. Fails with the
/// exception of the hook, or throws `Error` for a property without a `set` hook.
pub fn write(
    object: Obj<'_>,
    property: &str,
    class: &Class,
    mut value: Zval,
) -> Result<(), Thrown> {
    let (this, scope, place) = (object.as_ptr(), class.entry(), &raw mut value);
    let (start, length) = (property.as_ptr().cast(), property.len());
    // SAFETY: the caller keeps the object alive. The engine copies the value.
    bailout::door(|| unsafe {
        symbols::zend_update_property(scope, this, start, length, place);
    });
    throw::unless_pending(())
}
