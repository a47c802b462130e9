//! Registration of classes and interfaces.

use super::declare::{END, Entries, Type};
use super::obj::{find_class, find_method};
use super::value::Val;
use super::{Number, Obj, symbols, value};
use ext_php_rs::ffi::{
    IS_UNDEF, MODULE_PERSISTENT, ZEND_ACC_ENUM, zend_class_entry, zend_object_handlers,
    zend_register_internal_class_ex, zend_register_internal_interface, zend_string,
    zend_string_init_interned,
};
use ext_php_rs::types::Zval;
use std::cell::UnsafeCell;
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// A class, interface or enum of the extension. Its objects can be made after it is registered.
#[derive(Debug)]
pub struct Class {
    name: &'static CStr,
    entry: AtomicPtr<zend_class_entry>,
    handlers: UnsafeCell<MaybeUninit<zend_object_handlers>>,
}

// SAFETY: the handlers are written while the module starts, on one thread, and only read
// afterwards.
unsafe impl Sync for Class {}

#[derive(Clone, Copy, Debug)]
pub enum ClassKind {
    /// A class without a parent.
    Class,
    /// A class that extends the class of this name.
    Extends(&'static str),
    Interface,
    /// An enum with these cases, which have no values.
    Enum(&'static [&'static CStr]),
}

/// A property. Properties are listed in the order of their slots.
#[derive(Clone, Copy, Debug)]
pub enum Property {
    /// A property without a type. It is initially null.
    Untyped(&'static CStr, u32),
    /// A property without a type. It is initially a number.
    UntypedInt(&'static CStr, u32, i64),
    /// A read-only property with a type. It has no initial value.
    ReadOnly(&'static CStr, u32, Type),
}

/// The declaration of a class or interface.
#[derive(Clone, Copy, Debug)]
pub struct Declaration {
    /// The kind: class, interface or enum.
    pub kind: ClassKind,
    /// The class flags, such as `FINAL`.
    pub flags: u32,
    /// The interfaces that the class implements directly.
    pub interfaces: &'static [&'static str],
    /// [`Class::carry`] for the state of its objects, if they have one.
    pub state: Option<fn(&Class)>,
    pub constants: &'static [(&'static CStr, Number)],
    pub properties: &'static [Property],
    pub methods: Entries,
    /// The arguments that are hidden in stack traces. Each element is a method and the number of
    /// its argument, from 1.
    pub hidden: &'static [(&'static str, u32)],
}

impl Declaration {
    /// The declaration of a class without members.
    pub const EMPTY: Self = Self {
        kind: ClassKind::Class,
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
    /// Returns a class of this full name that is not registered yet.
    pub const fn new(name: &'static CStr) -> Self {
        Self {
            name,
            entry: AtomicPtr::new(ptr::null_mut()),
            handlers: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// Returns the engine's class entry.
    #[inline]
    pub(super) fn entry(&self) -> *mut zend_class_entry {
        // Relaxed, because the entry is written while the module starts, before any other thread
        // exists.
        self.entry.load(Relaxed)
    }

    pub(super) fn handlers(&self) -> *const zend_object_handlers {
        self.handlers.get().cast()
    }

    pub fn name(&self) -> &'static str {
        self.name.to_str().unwrap_or_default()
    }

    /// Returns true if the object is of exactly this class.
    #[inline]
    pub fn is_of(&self, object: Obj<'_>) -> bool {
        ptr::eq(object.class(), self.entry())
    }

    /// Returns true if the object is an instance of this class or interface, or of a subclass.
    #[inline]
    pub fn has(&self, object: Obj<'_>) -> bool {
        // SAFETY: the entry is null or registered.
        unsafe { object.is_of(self.entry()) }
    }

    /// Registers the class. Its parent and its interfaces must be registered already.
    pub fn register(&self, declared: &Declaration) {
        let entry = self.create(declared);
        // SAFETY: the class was just registered, and its interfaces were registered before.
        unsafe {
            (*entry).ce_flags |= declared.flags;
            for interface in declared.interfaces {
                symbols::zend_class_implements(entry, 1, find_class(interface));
            }
        }
        for &(name, number) in declared.constants {
            let mut value = number.to_zval();
            // SAFETY: the class was just registered. The name and the value are copied.
            unsafe {
                let (name, length) = (name.as_ptr(), name.count_bytes());
                symbols::zend_declare_class_constant(entry, name, length, &raw mut value);
            }
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
        // SAFETY: the template is zeroed, then gets its name and methods, as in INIT_CLASS_ENTRY.
        // The engine copies the template and the names. IS_UNDEF (0) is the type of an enum without
        // values.
        let entry = unsafe {
            let mut template: zend_class_entry = MaybeUninit::zeroed().assume_init();
            template.name = interned(self.name);
            template.info.internal.builtin_functions = declared.methods.0.as_ptr();
            let template = &raw mut template;
            match declared.kind {
                ClassKind::Class => zend_register_internal_class_ex(template, ptr::null_mut()),
                ClassKind::Extends(parent) => {
                    zend_register_internal_class_ex(template, find_class(parent))
                }
                ClassKind::Interface => zend_register_internal_interface(template),
                ClassKind::Enum(cases) => {
                    let name = self.name.as_ptr();
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

    /// Hides argument `number` of a method in stack traces.
    fn hide_argument(&self, method: &str, number: u32) {
        // SAFETY: the class was just registered and declares the method.
        unsafe {
            let function = find_method(self.entry(), method);
            let attributes = &raw mut (*function).common.attributes;
            let (name, flags) = (
                interned(c"SensitiveParameter"),
                symbols::ZEND_ATTRIBUTE_PERSISTENT,
            );
            // The last parameter is the number of the argument with the attribute, from 1. 0 would
            // mean the function itself.
            symbols::zend_add_attribute(attributes, name, 0, flags, number, 0);
        }
    }
}

/// Registers functions while the module starts.
pub fn register_functions(functions: &Entries) {
    // SAFETY: the list ends with `END`. The null pointers mean no class, and the engine's own
    // function table.
    unsafe {
        let (class, table) = (ptr::null_mut(), ptr::null_mut());
        let kind = MODULE_PERSISTENT.cast_signed();
        symbols::zend_register_functions(class, functions.0.as_ptr(), table, kind);
    }
}

/// Returns the name of an enum case, or null for any other value.
pub fn case_name(case: &Zval) -> Zval {
    // SAFETY: a live object has a class.
    let is_case = |object: &Obj<'_>| unsafe { (*object.class()).ce_flags & ZEND_ACC_ENUM != 0 };
    let object = value::object(case).filter(is_case);
    object.map_or_else(Zval::null, |object| {
        // SAFETY: the first property slot of an enum's object holds the case's name as long as the
        // object lives.
        unsafe { Val::new((&raw mut (*object.as_ptr()).properties_table).cast()).copy() }
    })
}

/// Returns an interned string, which needs no reference count. If it is made in a request, it lives
/// until the end of that request. Otherwise it lives as long as the engine.
pub(super) fn interned(text: &CStr) -> *mut zend_string {
    // SAFETY: the engine sets this function pointer before it starts modules.
    unsafe {
        let intern = zend_string_init_interned;
        intern.map_or(ptr::null_mut(), |intern| {
            intern(text.as_ptr(), text.count_bytes(), true)
        })
    }
}

fn declare_property(entry: *mut zend_class_entry, property: Property) {
    let mut default = Zval::null();
    let mut declared_type = Type::NONE;
    let (name, access) = match property {
        Property::Untyped(name, access) => (name, access),
        Property::UntypedInt(name, access, int) => {
            default = Number::Int(int).to_zval();
            (name, access)
        }
        Property::ReadOnly(name, access, kind) => {
            default.u1.type_info = IS_UNDEF;
            declared_type = kind;
            (name, access | symbols::ZEND_ACC_READONLY)
        }
    };
    let (access, no_comment) = (access.cast_signed(), ptr::null_mut());
    let (name, kind) = (interned(name), declared_type.of_property(interned));
    // SAFETY: the class was just registered. The default value holds nothing to release.
    unsafe {
        let default = &raw mut default;
        symbols::zend_declare_typed_property(entry, name, default, access, no_comment, kind);
    }
}
