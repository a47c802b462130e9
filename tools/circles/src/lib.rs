//! Finds files of a crate that import each other in a circle.
//!
//! A file imports another one if a path in it leads to a module or an item of that file. It does
//! not matter whether the path is in a `use`, in code, or in a call of a macro. A path through
//! `pub use` leads to the file that declares the item. A `pub use` itself imports nothing. Code
//! under `#[cfg(test)]` is not read.
//!
//! Names that a macro creates, and methods of types, lead nowhere. So a circle may exist that is
//! not found, but none is found that does not exist.

mod graph;
mod imports;
mod source;

pub use graph::Circle;

use anyhow::Result;
use std::path::{Path, PathBuf};

/// The imports between the files of a crate.
pub struct Crate {
    folder: PathBuf,
    imports: imports::Imports,
}

impl Crate {
    /// Reads the crate whose root file is in `folder`. Fails if a file cannot be read or parsed.
    pub fn read(folder: &Path) -> Result<Self> {
        let modules = source::read(folder)?;
        Ok(Self {
            folder: folder.to_owned(),
            imports: imports::between_files(&modules),
        })
    }

    /// Returns the circles. The files of the folders in `exempt` may import from their `mod.rs`,
    /// although it imports them. Folders of other crates are ignored.
    pub fn circles(&self, exempt: &[&Path]) -> Vec<Circle> {
        let mut imports = self.imports.clone();
        let exempt = exempt.iter();
        for exempt in exempt.filter_map(|it| it.strip_prefix(&self.folder).ok()) {
            let exempt = source::module_path(&exempt.join("mod.rs"));
            for (file, of_file) in &mut imports {
                if file.starts_with(&exempt) {
                    of_file.remove(&exempt);
                }
            }
        }
        graph::circles(&imports)
    }
}
