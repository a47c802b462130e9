//! Finds circles in a graph of files.

use crate::imports::Imports;
use crate::source::ModulePath;
use std::collections::BTreeSet;
use std::fmt;

/// Files that import each other, directly or through others of these files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Circle {
    /// The modules, and those of the circle that each of them imports.
    pub files: Vec<(ModulePath, Vec<ModulePath>)>,
}

/// Returns the circles. A file is in at most one circle.
pub fn circles(imports: &Imports) -> Vec<Circle> {
    let mut circles = Vec::new();
    let mut seen = BTreeSet::new();
    for file in imports.keys() {
        if seen.contains(file) {
            continue;
        }
        let after = reached(imports, file);
        if !after.contains(file) {
            continue;
        }
        let members = after
            .into_iter()
            .filter(|it| reached(imports, it).contains(file));
        let members: BTreeSet<_> = members.collect();
        let files = members.iter().map(|it| {
            let of_circle = imports[it].intersection(&members);
            (it.clone(), of_circle.cloned().collect())
        });
        let files = files.collect();
        seen.extend(members);
        circles.push(Circle { files });
    }
    circles
}

/// Returns the files that a file imports, directly or through others.
fn reached(imports: &Imports, from: &ModulePath) -> BTreeSet<ModulePath> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<_> = imports[from].iter().collect();
    while let Some(at) = next.pop() {
        if reached.insert(at.clone()) {
            next.extend(&imports[at]);
        }
    }
    reached
}

impl fmt::Display for Circle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (file, imported) in &self.files {
            let imported: Vec<_> = imported.iter().map(name).collect();
            writeln!(f, "  {} imports {}", name(file), imported.join(", "))?;
        }
        Ok(())
    }
}

fn name(module: &ModulePath) -> String {
    if module.is_empty() {
        return "the root".to_owned();
    }
    module.join("::")
}
