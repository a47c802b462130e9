//! Finds the file that each path leads to.

use crate::source::{ModulePath, Modules};
use std::collections::{BTreeMap, BTreeSet};

/// The files that each file imports.
pub type Imports = BTreeMap<ModulePath, BTreeSet<ModulePath>>;

/// The most steps of one path. Modules may import all names of each other.
const STEPS: usize = 30;

/// Returns the imports between the files of a crate.
pub fn between_files(modules: &Modules) -> Imports {
    let mut imports = Imports::new();
    for (path, module) in modules {
        let of_file = imports.entry(module.file.clone()).or_default();
        let resolver = Resolver(modules);
        let uses = module.uses.iter().filter(|it| !it.is_public);
        let of_uses = uses.map(|it| resolver.resolve(path, &it.path, STEPS));
        let of_code = module.paths.iter().map(|it| match &it[..] {
            // A name alone is an item or a variable, and not a module.
            [name] => resolver.item(path, name, STEPS),
            it => resolver.resolve(path, it, STEPS),
        });
        for target in of_uses.chain(of_code).flatten() {
            let target = &modules[target.module()].file;
            if *target != module.file {
                of_file.insert(target.clone());
            }
        }
    }
    imports
}

/// The target of a path.
enum Target {
    Module(ModulePath),
    /// An item of a module.
    Item(ModulePath),
}

impl Target {
    fn module(&self) -> &ModulePath {
        let (Self::Module(path) | Self::Item(path)) = self;
        path
    }
}

struct Resolver<'a>(&'a Modules);

impl Resolver<'_> {
    /// Returns the target of a path in the module `from`, or `None` if it leads to another crate or
    /// to a variable.
    fn resolve(&self, from: &ModulePath, path: &[String], steps: usize) -> Option<Target> {
        let steps = steps.checked_sub(1)?;
        let (mut at, mut rest) = (from.clone(), path);
        let mut is_relative = false;
        while let [first, others @ ..] = rest {
            match first.as_str() {
                "crate" => at.clear(),
                "self" => {}
                "super" => drop(at.pop()),
                _ => break,
            }
            (rest, is_relative) = (others, true);
        }
        let mut target = Target::Module(at);
        for (index, name) in rest.iter().enumerate() {
            let Target::Module(module) = &target else {
                break;
            };
            target = match self.member(module, name, steps) {
                Some(found) => found,
                // Another crate, or a variable.
                None if index == 0 && !is_relative => return None,
                // For example an item that a macro declares.
                None => Target::Item(module.clone()),
            };
        }
        Some(target)
    }

    /// Returns a module, an item or an import of a module.
    fn member(&self, module: &ModulePath, name: &str, steps: usize) -> Option<Target> {
        let child = [&module[..], &[name.to_owned()]].concat();
        if self.0.contains_key(&child) {
            return Some(Target::Module(child));
        }
        self.item(module, name, steps)
    }

    /// Returns an item or an import of a module.
    fn item(&self, path: &ModulePath, name: &str, steps: usize) -> Option<Target> {
        let module = self.0.get(path)?;
        if module.items.contains(name) {
            return Some(Target::Item(path.clone()));
        }
        let named = module
            .uses
            .iter()
            .find(|it| it.name.as_deref() == Some(name));
        if let Some(named) = named {
            return self.resolve(path, &named.path, steps);
        }
        let steps = steps.checked_sub(1)?;
        let globs = module.uses.iter().filter(|it| it.name.is_none());
        globs.into_iter().find_map(|glob| {
            let of = self.resolve(path, &glob.path, steps)?;
            if of.module() == path {
                return None;
            }
            self.member(of.module(), name, steps)
        })
    }
}
