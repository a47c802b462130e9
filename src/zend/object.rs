//! Objects of PHP that carry a Rust state.
//!
//! The state stands before the engine's part, as C extensions have it. Invariant: every object of a
//! class registered with state `T` has a valid `T` from its birth, even if no constructor ever runs.

use super::class::Class;
use ext_php_rs::ffi::{
    IS_UNDEF, ext_php_rs_zend_object_alloc, object_properties_init, zend_class_entry, zend_object,
    zend_object_std_dtor, zend_object_std_init, zend_objects_clone_members, zval_ptr_dtor,
};
use ext_php_rs::types::{ZendObject, Zval};
use std::cell::UnsafeCell;
use std::mem::offset_of;
use std::ops::Deref;
use std::ptr;

/// What a class keeps in Rust.
pub trait State: Sized + 'static {
    /// The class whose objects have this state.
    fn class() -> &'static Class;
    /// The state of an object that no constructor has run on.
    fn born() -> Self;
    /// The state of a clone; `None` if there is no cloning.
    fn cloned(&self) -> Option<Self>;
}

/// An object with its state.
#[repr(C)]
#[derive(Debug)]
pub struct Object<T> {
    state: T,
    /// The engine changes it behind our back.
    zend: UnsafeCell<zend_object>,
}

impl<T> Deref for Object<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.state
    }
}

impl<T: State> Object<T> {
    /// The engine's memory is aligned to 8 bytes only.
    const ALIGNED: () = assert!(align_of::<Self>() <= 8);

    /// How far the engine's part is from the beginning.
    pub(super) const OFFSET: usize = offset_of!(Self, zend);

    /// The object around its engine's part.
    ///
    /// # Safety
    /// The object's class was registered with the state `T`, and the object outlives the reference.
    #[inline]
    pub unsafe fn of_zend<'a>(object: *mut zend_object) -> &'a Self {
        // SAFETY: by contract the state is there, at this distance.
        unsafe { &*object.cast::<u8>().sub(Self::OFFSET).cast::<Self>() }
    }

    /// The object, if it is of this class or of one that extends it.
    pub fn of(object: &ZendObject) -> Option<&Self> {
        // SAFETY: the class is checked; subclasses inherit the function that makes objects.
        T::class()
            .has(object)
            .then(|| unsafe { Self::of_zend(ptr::from_ref(object).cast_mut()) })
    }

    /// The object, if it is of this very class.
    #[inline]
    pub fn of_exact(object: &ZendObject) -> Option<&Self> {
        // SAFETY: the class is checked.
        ptr::eq(object.ce, T::class().entry())
            .then(|| unsafe { Self::of_zend(ptr::from_ref(object).cast_mut()) })
    }

    /// The engine's part.
    #[inline]
    pub fn zend(&self) -> &ZendObject {
        // SAFETY: live as long as the object; only the engine, on this thread, changes it.
        unsafe { &*self.zend.get() }
    }

    /// A value that holds this object, too.
    pub fn to_zval(&self) -> Zval {
        // SAFETY: live as long as the reference to it.
        unsafe { super::value::of_object(self.zend.get()) }
    }

    /// Whether it is of the class itself, not of one that extends it.
    pub fn is_exact(&self) -> bool {
        ptr::eq(self.zend().ce, T::class().entry())
    }

    /// The slot of the class's property number `index`, in the order of declaration.
    #[inline]
    fn slot(&self, index: usize) -> *mut Zval {
        // SAFETY: the class declares at least that many; subclasses add theirs behind them.
        unsafe {
            let table = &raw mut (*self.zend.get()).properties_table;
            table.cast::<Zval>().add(index)
        }
    }

    /// What the slot of property number `index` holds: undefined if it was unset, perhaps a reference.
    #[inline]
    pub fn slot_value(&self, index: usize) -> &Zval {
        // SAFETY: the slot is live as long as the object is.
        unsafe { &*self.slot(index) }
    }

    /// The value of property number `index`, behind any reference.
    #[inline]
    pub fn property(&self, index: usize) -> &Zval {
        super::value::dereference(self.slot_value(index))
    }

    /// A copy of the value of property number `index`, null if it was unset: it survives whatever PHP
    /// code does to the object.
    pub fn copy_property(&self, index: usize) -> Zval {
        let value = self.property(index);
        if super::value::kind(value) == IS_UNDEF {
            Zval::null()
        } else {
            value.shallow_clone()
        }
    }

    /// Sets property number `index`, whatever its declaration says.
    pub fn set_property(&self, index: usize, value: Zval) {
        let slot = self.slot(index);
        // SAFETY: the slot is live. The old value is released only when the new one stands, for its
        // destructor may look at the object; it is forgotten here because the slot owns it no more.
        unsafe {
            let mut old = ptr::replace(slot, value);
            zval_ptr_dtor(&raw mut old);
            std::mem::forget(old);
        }
    }
}

/// A reference to something inside an object of PHP, together with a count that keeps the object
/// alive.
#[derive(Debug)]
pub struct Held<T: ?Sized> {
    part: ptr::NonNull<T>,
    _object: Zval,
}

impl<T: ?Sized> Held<T> {
    /// Finds the part in the object that `value` is; `None` if it is no object, or has none.
    pub fn of(value: &Zval, find: fn(&ZendObject) -> Option<&T>) -> Option<Self> {
        let part = find(super::value::object(value)?)?;
        Some(Self {
            part: part.into(),
            _object: value.shallow_clone(),
        })
    }
}

impl<T: ?Sized> Deref for Held<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: `find` made it from a reference to the object for any lifetime, so it lives as
        // long as the object, which the count keeps alive. Objects do not move.
        unsafe { self.part.as_ref() }
    }
}

/// A new object of the class itself, with this state.
pub fn instantiate<T: State>(state: T) -> Option<Zval> {
    let mut value = Zval::new();
    // SAFETY: a registered class that can be instantiated.
    let status = unsafe { super::symbols::object_init_ex(&raw mut value, T::class().entry()) };
    if status != 0 {
        return None;
    }
    // SAFETY: the value holds the object that was just made of the class; nobody else has a reference to
    // it or to its state, which is replaced.
    unsafe {
        let whole = value
            .value
            .obj
            .cast::<u8>()
            .sub(Object::<T>::OFFSET)
            .cast::<Object<T>>();
        (*whole).state = state;
    }
    Some(value)
}

/// The engine's `create_object`.
///
/// # Safety
/// Called by the engine, with a class whose objects have a `T`.
pub(super) unsafe extern "C" fn create<T: State>(class: *mut zend_class_entry) -> *mut zend_object {
    const { Object::<T>::ALIGNED };
    allocate(class, T::born())
}

fn allocate<T: State>(class: *mut zend_class_entry, state: T) -> *mut zend_object {
    // SAFETY: the memory has room for the state, the engine's part and the class's properties; each
    // part is initialised before anybody sees it.
    unsafe {
        let object =
            ext_php_rs_zend_object_alloc(size_of::<Object<T>>(), class).cast::<Object<T>>();
        (&raw mut (*object).state).write(state);
        let zend = UnsafeCell::raw_get(&raw const (*object).zend);
        zend_object_std_init(zend, class);
        object_properties_init(zend, class);
        (*zend).handlers = T::class().handlers();
        zend
    }
}

/// The engine's `free_obj`.
///
/// # Safety
/// Called by the engine, once, with an object that `allocate` made.
pub(super) unsafe extern "C" fn free<T: State>(object: *mut zend_object) {
    // SAFETY: called once, at the end of an object that `allocate` made; the engine frees the memory.
    unsafe {
        let whole = object
            .cast::<u8>()
            .sub(Object::<T>::OFFSET)
            .cast::<Object<T>>();
        // First, for it may run PHP code that still reaches the object (values of a WeakMap).
        zend_object_std_dtor(object);
        ptr::drop_in_place(&raw mut (*whole).state);
    }
}

/// The engine's `clone_obj`.
///
/// # Safety
/// Called by the engine, with an object that `allocate` made.
pub(super) unsafe extern "C" fn clone<T: State>(old: *mut zend_object) -> *mut zend_object {
    // SAFETY: an object that `allocate` made.
    let state = unsafe { Object::<T>::of_zend(old) }.cloned();
    // SAFETY: as above; a class without cloning has no clone handler, so there is a state.
    let new = allocate(unsafe { (*old).ce }, state.unwrap_or_else(T::born));
    // SAFETY: both are objects of one class.
    unsafe { zend_objects_clone_members(new, old) };
    new
}
