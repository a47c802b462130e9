//! Reads the modules of a crate: their names, imports and paths.

use anyhow::{Context, Result};
use proc_macro2::{TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use syn::visit::{self, Visit};

/// The path of a module from the root of its crate, which is the empty path.
pub type ModulePath = Vec<String>;

/// The modules of a crate.
pub type Modules = BTreeMap<ModulePath, Module>;

/// An import that a `use` declares.
pub struct Use {
    /// The path, without the star of a glob.
    pub path: Vec<String>,
    /// The name in this module, or `None` for a glob.
    pub name: Option<String>,
    /// True if other modules can use the name.
    pub is_public: bool,
}

/// A module, which is a file or a block in a file.
pub struct Module {
    /// The module that is the file.
    pub file: ModulePath,
    pub uses: Vec<Use>,
    /// The paths in code. A path may have one segment.
    pub paths: BTreeSet<Vec<String>>,
    /// The names of the items that the module declares, except modules.
    pub items: BTreeSet<String>,
}

/// Reads the files in the folder of a crate's root file, except those of tests.
pub fn read(folder: &Path) -> Result<Modules> {
    let mut modules = Modules::new();
    let mut files = Vec::new();
    find_files(folder, &mut files)?;
    for file in files {
        let at = || file.display().to_string();
        let text = fs::read_to_string(&file).with_context(at)?;
        let parsed = syn::parse_file(&text).with_context(at)?;
        let path = module_path(file.strip_prefix(folder)?);
        let mut reader = Reader {
            modules: &mut modules,
            file: path.clone(),
            at: path,
        };
        reader.module(&parsed.items);
    }
    Ok(modules)
}

fn find_files(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.file_stem().is_some_and(|stem| stem == "tests") {
            continue;
        }
        if path.is_dir() {
            find_files(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

/// Returns the module of a file, whose path is relative to the folder of the crate's root file.
pub fn module_path(file: &Path) -> ModulePath {
    let file = file.with_extension("");
    let names = file.iter().map(|name| name.to_string_lossy().into_owned());
    let mut path: ModulePath = names.collect();
    let is_root = path.len() == 1 && ["lib", "main"].contains(&path[0].as_str());
    if is_root || path.last().is_some_and(|name| name == "mod") {
        path.pop();
    }
    path
}

struct Reader<'a> {
    modules: &'a mut Modules,
    file: ModulePath,
    /// The module whose items are being read.
    at: ModulePath,
}

impl Reader<'_> {
    fn module(&mut self, items: &[syn::Item]) {
        let module = Module {
            file: self.file.clone(),
            uses: Vec::new(),
            paths: BTreeSet::new(),
            items: items.iter().filter_map(name_of).collect(),
        };
        self.modules.insert(self.at.clone(), module);
        for item in items {
            self.visit_item(item);
        }
    }

    /// Adds the imports of a tree of a `use` below the path `from`.
    fn add_uses(&mut self, tree: &syn::UseTree, mut from: Vec<String>, is_public: bool) {
        let name = match tree {
            syn::UseTree::Path(tree) => {
                from.push(tree.ident.to_string());
                return self.add_uses(&tree.tree, from, is_public);
            }
            syn::UseTree::Group(group) => {
                for tree in &group.items {
                    self.add_uses(tree, from.clone(), is_public);
                }
                return;
            }
            syn::UseTree::Glob(_) => None,
            syn::UseTree::Name(name) => {
                from.push(name.ident.to_string());
                from.last().cloned()
            }
            syn::UseTree::Rename(rename) => {
                from.push(rename.ident.to_string());
                Some(rename.rename.to_string())
            }
        };
        let mut name = name;
        // `use a::{self}` declares the name `a`.
        if from.len() > 1 && from.last().is_some_and(|last| last == "self") {
            from.pop();
            name = name.map(|name| {
                if name == "self" {
                    from[from.len() - 1].clone()
                } else {
                    name
                }
            });
        }
        self.here().uses.push(Use {
            path: from,
            name,
            is_public,
        });
    }

    fn add_path(&mut self, path: Vec<String>) {
        self.here().paths.insert(path);
    }

    /// Adds the paths in tokens. A single word may be a variable, unless it starts like a type.
    fn add_tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(name) => {
                    if colons != 2 {
                        self.end_path(&mut path);
                    }
                    path.push(name.to_string());
                    colons = 0;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' && !path.is_empty() => {
                    colons += 1;
                }
                other => {
                    self.end_path(&mut path);
                    colons = 0;
                    if let TokenTree::Group(group) = other {
                        self.add_tokens(group.stream());
                    }
                }
            }
        }
        self.end_path(&mut path);
    }

    fn end_path(&mut self, path: &mut Vec<String>) {
        let path = std::mem::take(path);
        if path.len() > 1 || path.iter().any(|name| name.starts_with(char::is_uppercase)) {
            self.add_path(path);
        }
    }

    fn here(&mut self) -> &mut Module {
        self.modules
            .entry(self.at.clone())
            .or_insert_with(|| Module {
                file: self.file.clone(),
                uses: Vec::new(),
                paths: BTreeSet::new(),
                items: BTreeSet::new(),
            })
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if !is_test(item) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if let Some((_, items)) = &module.content {
            self.at.push(module.ident.to_string());
            self.module(items);
            self.at.pop();
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let is_public = !matches!(item.vis, syn::Visibility::Inherited);
        if item.leading_colon.is_none() {
            self.add_uses(&item.tree, Vec::new(), is_public);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            let names = path
                .segments
                .iter()
                .map(|segment| segment.ident.to_string());
            self.add_path(names.collect());
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.visit_path(&call.path);
        self.add_tokens(call.tokens.clone());
    }

    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}

    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}
}

/// Returns the name of an item that paths can lead to. A module has its own entry.
fn name_of(item: &syn::Item) -> Option<String> {
    let name = match item {
        syn::Item::Const(item) => &item.ident,
        syn::Item::Enum(item) => &item.ident,
        syn::Item::Fn(item) => &item.sig.ident,
        syn::Item::Static(item) => &item.ident,
        syn::Item::Struct(item) => &item.ident,
        syn::Item::Trait(item) => &item.ident,
        syn::Item::Type(item) => &item.ident,
        syn::Item::Union(item) => &item.ident,
        syn::Item::Macro(item) => item.ident.as_ref()?,
        _ => return None,
    };
    Some(name.to_string())
}

/// Reports whether an item is compiled for tests only.
fn is_test(item: &syn::Item) -> bool {
    let attributes = match item {
        syn::Item::Const(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        _ => return false,
    };
    attributes.iter().any(|attribute| {
        let condition = attribute.parse_args::<syn::Path>();
        attribute.path().is_ident("cfg") && condition.is_ok_and(|path| path.is_ident("test"))
    })
}
