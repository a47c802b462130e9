//! Registering classes and interfaces.

use super::declare::{END, Entries, Type};
use super::obj::Obj;
use super::symbols;
use super::value::{self, Number, Val};
use ext_php_rs::ffi::{
    MODULE_PERSISTENT, ZEND_ACC_ENUM, ext_php_rs_compiler_globals, instanceof_function_slow,
    zend_class_entry, zend_function, zend_hash_str_find_ptr_lc, zend_object_handlers,
    zend_register_internal_class_ex, zend_register_internal_interface, zend_string,
    zend_string_init_interned,
};
use ext_php_rs::types::{ZendStr, Zval};
use std::cell::UnsafeCell;
use std::ffi::{CStr, CString};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// A class or interface of this extension, once it is registered.
#[derive(Debug)]
pub struct Class {
    entry: AtomicPtr<zend_class_entry>,
    handlers: UnsafeCell<MaybeUninit<zend_object_handlers>>,
}

// SAFETY: the handlers are written while the module starts, on one thread, and only read afterwards.
unsafe impl Sync for Class {}

/// A class constant.
#[derive(Clone, Copy, Debug)]
pub enum Constant {
    /// An `int`.
    Int(&'static CStr, i64),
    /// A `float`.
    Float(&'static CStr, f64),
}

/// What a declaration declares.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A class that extends no other.
    Class,
    /// A class that extends the one of this name.
    Extends(&'static CStr),
    /// An interface.
    Interface,
    /// An enum with these cases, which have no values.
    Enum(&'static [&'static CStr]),
}

/// A property, in the order of its slot.
#[derive(Clone, Copy, Debug)]
pub enum Property {
    /// Without a type; null at first.
    Untyped(&'static CStr, u32),
    /// Without a type; a number at first.
    UntypedInt(&'static CStr, u32, i64),
    /// Read-only, with a type; without a value at first.
    ReadOnly(&'static CStr, u32, Type),
}

/// What a class or interface declares.
#[derive(Clone, Copy, Debug)]
pub struct Declaration {
    /// Its full name.
    pub name: &'static CStr,
    /// Whether it is a class.
    pub kind: Kind,
    /// `FINAL` and the like.
    pub flags: u32,
    /// The interfaces that it names itself.
    pub interfaces: &'static [&'static CStr],
    /// [`Class::carry`] of the state that its objects have.
    pub state: Option<fn(&Class)>,
    /// Its constants.
    pub constants: &'static [Constant],
    /// Its properties.
    pub properties: &'static [Property],
    /// Its methods.
    pub methods: Entries,
    /// Arguments that stack traces do not show: a method and a number, from 1.
    pub hidden: &'static [(&'static str, u32)],
}

impl Declaration {
    /// Of a class without anything.
    pub const EMPTY: Self = Self {
        name: c"",
        kind: Kind::Class,
        flags: 0,
        interfaces: &[],
        state: None,
        constants: &[],
        properties: &[],
        methods: Entries(&[END]),
        hidden: &[],
    };
}

impl Class {
    /// Not registered yet.
    pub const fn new() -> Self {
        Self {
            entry: AtomicPtr::new(ptr::null_mut()),
            handlers: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// The engine's class.
    #[inline]
    pub(super) fn entry(&self) -> *mut zend_class_entry {
        // Relaxed: written while the module starts, before any other thread.
        self.entry.load(Relaxed)
    }

    pub(super) fn handlers(&self) -> *const zend_object_handlers {
        self.handlers.get().cast()
    }

    /// The class's full name; empty before it is registered.
    pub fn name(&self) -> CString {
        // SAFETY: null, or a registered class, which has a name.
        let name = unsafe {
            let entry = self.entry().as_ref();
            entry.map(|entry| &*entry.name.cast::<ZendStr>())
        };
        name.and_then(|name| CString::new(name.as_bytes()).ok())
            .unwrap_or_default()
    }

    /// Whether the object is of this very class.
    #[inline]
    pub fn is_of(&self, object: Obj<'_>) -> bool {
        ptr::eq(object.class(), self.entry())
    }

    /// Whether the object is of this class, or of one that extends or implements it.
    #[inline]
    pub fn has(&self, object: Obj<'_>) -> bool {
        // SAFETY: both classes are registered.
        self.is_of(object)
            || !self.entry().is_null()
                && unsafe { instanceof_function_slow(object.class(), self.entry()) }
    }

    /// Registers the class. Those that it extends or implements must have been before.
    pub fn register(&self, declared: &Declaration) {
        let entry = self.create(declared);
        // SAFETY: the class was just registered; the interfaces were before.
        unsafe {
            (*entry).ce_flags |= declared.flags;
            for interface in declared.interfaces {
                symbols::zend_class_implements(entry, 1, named(interface));
            }
        }
        for constant in declared.constants {
            declare_constant(entry, *constant);
        }
        for property in declared.properties {
            declare_property(entry, *property);
        }
        if let Some(carry) = declared.state {
            carry(self);
        }
        for &(method, number) in declared.hidden {
            self.hide_argument(method, number);
        }
    }

    fn create(&self, declared: &Declaration) -> *mut zend_class_entry {
        // SAFETY: INIT_CLASS_ENTRY zeroes the template, then sets name and methods; the engine copies
        // it, and the names. IS_UNDEF (0) is the type of an enum without values.
        let entry = unsafe {
            let mut template: zend_class_entry = MaybeUninit::zeroed().assume_init();
            template.name = interned(declared.name);
            template.info.internal.builtin_functions = declared.methods.0.as_ptr();
            match declared.kind {
                Kind::Class => zend_register_internal_class_ex(&raw mut template, ptr::null_mut()),
                Kind::Extends(parent) => {
                    zend_register_internal_class_ex(&raw mut template, named(parent))
                }
                Kind::Interface => zend_register_internal_interface(&raw mut template),
                Kind::Enum(cases) => {
                    let name = declared.name.as_ptr();
                    let entry = symbols::zend_register_internal_enum(name, 0, ptr::null());
                    for case in cases {
                        symbols::zend_enum_add_case_cstr(entry, case.as_ptr(), ptr::null_mut());
                    }
                    entry
                }
            }
        };
        self.entry.store(entry, Relaxed);
        entry
    }

    /// Keeps argument `number` of a method out of stack traces.
    fn hide_argument(&self, method: &str, number: u32) {
        // SAFETY: the class was just registered, and has the method.
        unsafe {
            let table = &raw mut (*self.entry()).function_table;
            let function: *mut zend_function =
                zend_hash_str_find_ptr_lc(table, method.as_ptr().cast(), method.len()).cast();
            symbols::zend_add_attribute(
                &raw mut (*function).common.attributes,
                interned(c"SensitiveParameter"),
                0,
                symbols::ZEND_ATTRIBUTE_PERSISTENT,
                // 0 is the function itself.
                number,
                0,
            );
        }
    }
}

/// Registers functions, while the module starts.
pub fn register_functions(functions: &Entries) {
    // SAFETY: a list with its end; null stands for no class, and for the engine's own table.
    unsafe {
        let (class, table) = (ptr::null_mut(), ptr::null_mut());
        let kind = MODULE_PERSISTENT.cast_signed();
        symbols::zend_register_functions(class, functions.0.as_ptr(), table, kind);
    }
}

/// The engine's class of this name, which is registered.
fn named(name: &CStr) -> *mut zend_class_entry {
    // SAFETY: while a module starts there is one table of classes.
    unsafe {
        let table = (*ext_php_rs_compiler_globals()).class_table;
        zend_hash_str_find_ptr_lc(table, name.as_ptr(), name.count_bytes()).cast()
    }
}

/// The name of an enum's case; empty for another value.
pub fn case_name(case: &Zval) -> Zval {
    // SAFETY: a live object has a class.
    let is_case = |object: &Obj<'_>| unsafe { (*object.class()).ce_flags & ZEND_ACC_ENUM != 0 };
    let object = value::object(case).filter(is_case);
    object.map_or_else(Zval::null, |object| {
        // SAFETY: an object of an enum has its name in its first slot, for as long as it lives.
        unsafe { Val::new((&raw mut (*object.as_ptr()).properties_table).cast()).copy() }
    })
}

/// A string that nobody counts: it lives as long as the engine, or, made in a request, as long as that.
pub fn interned(text: &CStr) -> *mut zend_string {
    // SAFETY: the engine set this function when it started; modules start afterwards.
    unsafe {
        let intern = zend_string_init_interned;
        intern.map_or(ptr::null_mut(), |intern| {
            intern(text.as_ptr(), text.count_bytes(), true)
        })
    }
}

fn declare_constant(entry: *mut zend_class_entry, constant: Constant) {
    // SAFETY: a class that was just registered; the name is copied.
    unsafe {
        match constant {
            Constant::Int(name, value) => symbols::zend_declare_class_constant_long(
                entry,
                name.as_ptr(),
                name.count_bytes(),
                value,
            ),
            Constant::Float(name, value) => symbols::zend_declare_class_constant_double(
                entry,
                name.as_ptr(),
                name.count_bytes(),
                value,
            ),
        }
    }
}

fn declare_property(entry: *mut zend_class_entry, property: Property) {
    let (name, access, kind, mut default) = match property {
        Property::Untyped(name, access) => (name, access, Type::NONE, Zval::null()),
        Property::UntypedInt(name, access, int) => {
            (name, access, Type::NONE, Number::Int(int).to_zval())
        }
        Property::ReadOnly(name, access, kind) => {
            // SAFETY: all zero is "undefined".
            let undefined = unsafe { MaybeUninit::zeroed().assume_init() };
            (name, access | symbols::ZEND_ACC_READONLY, kind, undefined)
        }
    };
    // SAFETY: a class that was just registered; the default holds nothing to release.
    unsafe {
        symbols::zend_declare_typed_property(
            entry,
            interned(name),
            &raw mut default,
            access.cast_signed(),
            ptr::null_mut(),
            kind.raw(),
        );
    }
}
