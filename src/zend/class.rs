//! Registering classes and interfaces.

use super::declare::{Entry, Table, Type};
use super::object::{self, Object, State};
use super::symbols;
use ext_php_rs::ffi::{
    ZEND_ACC_FINAL, ZEND_ACC_NOT_SERIALIZABLE, instanceof_function_slow, std_object_handlers,
    zend_class_entry, zend_function, zend_hash_str_find_ptr_lc, zend_object, zend_object_handlers,
    zend_register_internal_class_ex, zend_register_internal_interface, zend_string,
    zend_string_init_interned,
};
use ext_php_rs::types::{ZendObject, ZendStr, Zval};
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

/// What an exception of ours extends.
#[derive(Clone, Copy, Debug)]
pub enum Parent {
    /// `Exception`
    Exception,
    /// `RuntimeException`
    RuntimeException,
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

/// What a class declares.
#[derive(Clone, Copy, Debug)]
pub struct Declaration<const METHODS: usize> {
    /// Its full name.
    pub name: &'static CStr,
    /// `ZEND_ACC_FINAL` or 0.
    pub flags: u32,
    /// Its methods, ended by [`super::declare::END`].
    pub methods: &'static Table<[Entry; METHODS]>,
    /// Its constants.
    pub constants: &'static [Constant],
    /// Its properties.
    pub properties: &'static [Property],
    /// Whether `clone` works.
    pub cloneable: bool,
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
    pub fn entry(&self) -> *mut zend_class_entry {
        // Relaxed: written while the module starts, before any other thread.
        self.entry.load(Relaxed)
    }

    pub(super) fn handlers(&self) -> *const zend_object_handlers {
        self.handlers.get().cast()
    }

    /// The class's full name.
    pub fn name(&self) -> CString {
        // SAFETY: a registered class has a name.
        let name = unsafe { &*(*self.entry()).name.cast::<ZendStr>() };
        CString::new(name.as_bytes()).unwrap_or_default()
    }

    /// Whether the object is of this class, or of one that extends or implements it.
    #[inline]
    pub fn has(&self, object: &ZendObject) -> bool {
        // SAFETY: both classes are registered.
        ptr::eq(object.ce, self.entry())
            || unsafe { instanceof_function_slow(object.ce, self.entry()) }
    }

    /// Registers a class whose objects carry a `T`.
    pub fn register<T: State, const N: usize>(
        &self,
        declaration: &Declaration<N>,
        interfaces: &[&Self],
    ) {
        let entry = self.register_class(declaration, ptr::null_mut(), interfaces);
        // SAFETY: the class was just registered, on the only thread; the handlers are filled whole.
        unsafe {
            (*entry).__bindgen_anon_2.create_object = Some(std::mem::transmute::<
                unsafe extern "C" fn(*mut zend_class_entry) -> *mut zend_object,
                extern "C" fn(*mut zend_class_entry) -> *mut zend_object,
            >(object::create::<T>));
            (*entry).ce_flags |= ZEND_ACC_NOT_SERIALIZABLE;
            let handlers = self.handlers.get().cast::<zend_object_handlers>();
            ptr::copy_nonoverlapping(&raw const std_object_handlers, handlers, 1);
            // A state is small.
            #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)]
            {
                (*handlers).offset = Object::<T>::OFFSET as i32;
            }
            (*handlers).free_obj = Some(object::free::<T>);
            (*handlers).clone_obj = declaration.cloneable.then_some(object::clone::<T>);
        }
    }

    /// Registers a class that extends one of ours; its objects carry what those of `parent` do.
    pub fn register_extending<const N: usize>(&self, declaration: &Declaration<N>, parent: &Self) {
        self.register_class(declaration, parent.entry(), &[]);
    }

    /// Registers an exception.
    pub fn register_exception<const N: usize>(
        &self,
        declaration: &Declaration<N>,
        parent: Parent,
        interfaces: &[&Self],
    ) {
        let parent = match parent {
            Parent::Exception => ptr::from_ref(ext_php_rs::zend::ce::exception()).cast_mut(),
            // SAFETY: set when the engine started.
            Parent::RuntimeException => unsafe { symbols::spl_ce_RuntimeException },
        };
        self.register_class(declaration, parent, interfaces);
    }

    /// Registers an enum without values.
    pub fn register_enum(&self, name: &'static CStr, cases: &[&'static CStr]) {
        // SAFETY: called while the module starts; the engine copies the names. IS_UNDEF (0) is the type of
        // an enum without values.
        unsafe {
            let entry = symbols::zend_register_internal_enum(name.as_ptr(), 0, ptr::null());
            // As those that are written in PHP are.
            (*entry).ce_flags |= ZEND_ACC_FINAL;
            self.entry.store(entry, Relaxed);
            for case in cases {
                symbols::zend_enum_add_case_cstr(entry, case.as_ptr(), ptr::null_mut());
            }
        }
    }

    /// Keeps argument `number` of a method out of stack traces.
    pub fn hide_argument(&self, method: &str, number: u32) {
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

    fn register_class<const N: usize>(
        &self,
        declaration: &Declaration<N>,
        parent: *mut zend_class_entry,
        interfaces: &[&Self],
    ) -> *mut zend_class_entry {
        let mut template = template(declaration.name, declaration.methods);
        // SAFETY: the template is what INIT_CLASS_ENTRY makes; the engine copies it.
        let entry = unsafe { zend_register_internal_class_ex(&raw mut template, parent) };
        self.entry.store(entry, Relaxed);
        // SAFETY: the class was just registered; the interfaces were before.
        unsafe {
            (*entry).ce_flags |= declaration.flags;
            for interface in interfaces {
                symbols::zend_class_implements(entry, 1, interface.entry());
            }
        }
        for constant in declaration.constants {
            declare_constant(entry, *constant);
        }
        for property in declaration.properties {
            declare_property(entry, *property);
        }
        entry
    }

    /// Registers an interface, which extends `Throwable` if `throwable`.
    pub fn register_interface<const N: usize>(
        &self,
        name: &'static CStr,
        methods: &'static Table<[Entry; N]>,
        throwable: bool,
    ) {
        let mut template = template(name, methods);
        // SAFETY: as in `register_class`.
        unsafe {
            let entry = zend_register_internal_interface(&raw mut template);
            self.entry.store(entry, Relaxed);
            if throwable {
                symbols::zend_class_implements(entry, 1, ext_php_rs::ffi::zend_ce_throwable);
            }
        }
    }
}

fn template<const N: usize>(
    name: &'static CStr,
    methods: &'static Table<[Entry; N]>,
) -> zend_class_entry {
    // SAFETY: INIT_CLASS_ENTRY zeroes the template, then sets name and methods.
    let mut template: zend_class_entry = unsafe { MaybeUninit::zeroed().assume_init() };
    template.name = interned(name);
    template.info.internal.builtin_functions = methods.0.as_ptr();
    template
}

/// The name of an enum's case.
pub fn case_name(case: &Zval) -> &[u8] {
    super::value::object(case).map_or(b"", |object| {
        // SAFETY: an object of an enum has its name in its first slot, for as long as it lives.
        let name = unsafe { &*(&raw const object.properties_table).cast::<Zval>() };
        super::value::bytes(name)
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
            (name, access, Type::NONE, super::Number::Int(int).to_zval())
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
