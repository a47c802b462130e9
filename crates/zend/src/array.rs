//! PHP arrays that Rust code builds.

use super::{Thrown, bailout};
use ext_php_rs::boxed::ZBox;
use ext_php_rs::convert::IntoZval;
use ext_php_rs::types::{ZendHashTable, Zval};

/// An array that is being built. Each operation unwinds if the memory limit is reached.
#[derive(Debug)]
pub struct Array(ZBox<ZendHashTable>);

impl Default for Array {
    fn default() -> Self {
        Self::new()
    }
}

impl Array {
    /// Returns an array without elements.
    pub fn new() -> Self {
        Self(bailout::door(ZendHashTable::new))
    }

    /// Sets the element `name`. The value must own no memory of the process, which only Rust code
    /// could release. Fails if the engine cannot create the value.
    pub fn insert(&mut self, name: &str, value: impl IntoZval) -> Result<(), Thrown> {
        bailout::door(|| self.0.insert(name, value)).map_err(|_| Thrown)
    }

    /// Appends a nested array. Fails if the array has too many elements.
    pub fn push(&mut self, element: Self) -> Result<(), Thrown> {
        bailout::door(|| self.0.push(element.0)).map_err(|_| Thrown)
    }

    pub fn into_zval(self) -> Zval {
        let mut value = Zval::new();
        value.set_hashtable(self.0);
        value
    }
}
