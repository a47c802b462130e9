//! Objects of PHP that carry a Rust state.
//!
//! The state lies before the engine's part of the object, as in C extensions. Invariant: every
//! object of a class registered with state `T` has a valid `T` from its creation. The state is
//! valid even if no constructor ever runs.

use super::value::Val;
use super::{Class, Kept, Obj, Thrown, bailout, symbols, value};
use ext_php_rs::alloc::emalloc;
use ext_php_rs::ffi::{
    HashTable, IS_OBJECT_EX, ZEND_ACC_USE_GUARDS, object_properties_init, std_object_handlers,
    zend_class_entry, zend_object, zend_object_std_dtor, zend_object_std_init,
    zend_objects_clone_members,
};
use ext_php_rs::types::Zval;
use std::alloc::Layout;
use std::cell::UnsafeCell;
use std::ffi::c_int;
use std::mem::offset_of;
use std::ops::Deref;
use std::ptr;

/// The Rust state of a class's objects. The default is the state before the constructor runs.
pub trait State: Default + 'static {
    /// The number of properties that the code accesses by slot.
    const SLOTS: usize = 0;
    /// True if states own memory of the process, which only Rust code releases.
    const OWNS_MEMORY: bool = false;
    /// The class whose objects have this state.
    const CLASS: &'static Class;
    /// Returns the state of a clone, or `None` if objects cannot be cloned.
    fn cloned(&self) -> Option<Self> {
        None
    }
    /// Passes each PHP value that the state holds to `report`, so that the cycle collector finds
    /// the value. The collector finds property slots by itself.
    fn report(&self, report: impl FnMut(&Zval)) {
        let _ = report;
    }
}

#[repr(C)]
#[derive(Debug)]
pub struct Object<T> {
    state: T,
    /// The engine's part. It is in a cell, because the engine changes it while Rust code holds
    /// references.
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
    /// Checks the alignment at compile time, because the engine aligns its memory to 8 bytes only.
    const ALIGNED: () = assert!(align_of::<Self>() <= 8);

    /// The offset of the engine's part, in bytes.
    pub(super) const OFFSET: usize = offset_of!(Self, zend);

    /// Returns the whole object that contains this engine's part.
    ///
    /// # Safety
    /// The object's class was registered with the state `T`, and the object outlives the reference.
    #[inline]
    unsafe fn of_zend<'a>(object: *mut zend_object) -> &'a Self {
        // SAFETY: by contract the object has the state `T` and outlives the reference.
        unsafe { &*Self::whole(object) }
    }

    /// Returns a pointer to the whole object that contains this engine's part.
    ///
    /// # Safety
    /// The object's class was registered with the state `T`.
    #[inline]
    unsafe fn whole(object: *mut zend_object) -> *mut Self {
        // SAFETY: by contract the object has the state `T`, so the engine's part lies at this
        // offset.
        unsafe { object.byte_sub(Self::OFFSET).cast() }
    }

    /// Returns the object if it is of the state's class or of a subclass.
    #[inline]
    pub fn of(object: Obj<'_>) -> Option<&Self> {
        // SAFETY: a live object has handlers. Only the state's class and its subclasses use these
        // handlers. `create::<T>` makes the objects of all these classes.
        let is_one = unsafe { ptr::eq((*object.as_ptr()).handlers, T::CLASS.handlers()) };
        // SAFETY: the handlers were checked, so the object has the state `T`.
        is_one.then(|| unsafe { Self::of_zend(object.as_ptr()) })
    }

    /// Returns the object if it is of exactly the state's class.
    #[inline]
    pub fn of_exact(object: Obj<'_>) -> Option<&Self> {
        // SAFETY: the class was checked, so the object has the state `T`.
        T::CLASS
            .is_of(object)
            .then(|| unsafe { Self::of_zend(object.as_ptr()) })
    }

    /// Returns the engine's part.
    #[inline]
    pub fn zend(&self) -> Obj<'_> {
        // The engine's memory comes from C, so its provenance is exposed. A pointer made from this
        // reference would not cover the property slots behind the object.
        let object = ptr::with_exposed_provenance_mut(self.zend.get().addr());
        // SAFETY: the engine's part lives as long as the object, and the pointer is never null.
        unsafe { Obj::new(object).unwrap_unchecked() }
    }

    /// Returns a value that holds a reference to this object.
    pub fn to_zval(&self) -> Zval {
        value::of_object(self.zend())
    }

    /// Returns true if the object is of the state's class itself, not of a subclass.
    pub fn is_exact(&self) -> bool {
        T::CLASS.is_of(self.zend())
    }

    /// Returns the property slot number `index`, in the order of declaration. The property slot may
    /// be undefined, or hold a PHP reference. Panics if `index` is not below the state's `SLOTS`.
    #[inline]
    pub fn slot(&self, index: usize) -> Val<'_> {
        assert!(index < T::SLOTS, "a property of another class");
        // SAFETY: the class declares at least `SLOTS` properties, as `carry` has checked.
        // Subclasses append their own properties. The slot is live as long as the object.
        unsafe {
            let table = &raw mut (*self.zend().as_ptr()).properties_table;
            Val::new(table.cast::<Zval>().add(index))
        }
    }

    /// Copies the value of property number `index`. Returns null if the property was unset.
    pub fn copy_property(&self, index: usize) -> Zval {
        self.slot(index).copy()
    }

    /// Returns property slot number `index` of a subclass that is declared by the extension.
    /// Returns `None` if the object's class has fewer properties.
    fn declared_slot(&self, index: usize) -> Option<Val<'_>> {
        let object = self.zend();
        // SAFETY: every object has a class, and slots for all properties that it declares. The slot
        // is live as long as the object.
        unsafe {
            let declared = (*object.class()).default_properties_count.cast_unsigned() as usize;
            let table = (&raw mut (*object.as_ptr()).properties_table).cast::<Zval>();
            (index < declared).then(|| Val::new(table.add(index)))
        }
    }

    /// Copies the value of property number `index`, which a subclass declares. Returns null if the
    /// object's class has no such property.
    pub fn copy_declared(&self, index: usize) -> Zval {
        self.declared_slot(index).map_or_else(Zval::null, Val::copy)
    }

    /// Sets property number `index`, which a subclass declares. Does nothing if the object's class
    /// has no such property.
    pub fn set_declared(&self, index: usize, value: Zval) {
        if let Some(slot) = self.declared_slot(index) {
            slot.replace(value);
        }
    }

    /// Sets property number `index` without checking its type, visibility or read-only flag.
    pub fn set_property(&self, index: usize, value: Zval) {
        self.slot(index).replace(value);
    }
}

/// A Rust reference to a part of a PHP object, with a counted reference that keeps the object
/// alive.
#[derive(Debug)]
pub struct Held<T: ?Sized> {
    part: ptr::NonNull<T>,
    object: Kept,
}

impl<T: ?Sized> Held<T> {
    /// Finds a part in the object that `value` holds. Fails with `value` if it is not an object, or
    /// if `find` returns `None`.
    pub fn of(value: Zval, find: fn(Obj<'_>) -> Option<&T>) -> Result<Self, Zval> {
        let part = value::object(&value).and_then(find).map(ptr::NonNull::from);
        match part {
            Some(part) => Ok(Self {
                part,
                object: value.into(),
            }),
            None => Err(value),
        }
    }

    pub fn object(&self) -> Zval {
        self.object.shallow_clone()
    }
}

impl<T: ?Sized> Deref for Held<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: `find` works for any lifetime of the object, so the part lives as long as the
        // object. The counted reference keeps the object alive. Objects do not move.
        unsafe { self.part.as_ref() }
    }
}

impl Class {
    /// Installs the handlers that give each object of the class a state `T`. Panics if the class
    /// declares fewer properties than the state's `SLOTS`.
    pub fn carry<T: State>(&self) {
        let handlers = self.handlers().cast_mut();
        // SAFETY: the class was just registered, on the only thread. The copy initialises all
        // handlers.
        unsafe {
            let declared = usize::try_from((*self.entry()).default_properties_count);
            assert!(declared.is_ok_and(|declared| T::SLOTS <= declared));
            (*self.entry()).__bindgen_anon_2.create_object = Some(std::mem::transmute::<
                unsafe extern "C" fn(*mut zend_class_entry) -> *mut zend_object,
                extern "C" fn(*mut zend_class_entry) -> *mut zend_object,
            >(create::<T>));
            ptr::copy_nonoverlapping(&raw const std_object_handlers, handlers, 1);
            // The offset fits because a state is small.
            #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)]
            {
                (*handlers).offset = Object::<T>::OFFSET as _;
            }
            (*handlers).free_obj = Some(free::<T>);
            (*handlers).get_gc = Some(references::<T>);
            // If a new state cannot be cloned, no state of its type can.
            let can_be_cloned = T::default().cloned().is_some();
            (*handlers).clone_obj = can_be_cloned.then_some(clone::<T>);
        }
    }
}

/// Returns a new object of the state's class with this state. `construct` sets its properties. The
/// caller must own no memory of the process, unless the state does; see [`State::OWNS_MEMORY`].
/// Fails if the engine cannot create the object, or with the exception of `construct`.
pub fn instantiate<T: State>(
    state: T,
    construct: impl FnOnce(&Object<T>) -> Result<(), Thrown>,
) -> Result<Zval, Thrown> {
    let mut value = Zval::new();
    let place = &raw mut value;
    // SAFETY: objects are made only by methods, which run after all classes were registered.
    let create = || unsafe { symbols::object_init_ex(place, T::CLASS.entry()) };
    let status = if T::OWNS_MEMORY {
        bailout::door(create)
    } else {
        create()
    };
    if status != 0 {
        return Err(Thrown);
    }
    // SAFETY: the value holds the object that was just made. No other code has a reference to the
    // object or to its state, which is replaced here.
    construct(unsafe {
        let whole = Object::<T>::whole(value.value.obj);
        (*whole).state = state;
        &*whole
    })?;
    Ok(value)
}

/// Returns a new object of the state's class with this state and the values of all its properties.
/// This is faster than [`instantiate`], because it copies no default values. Panics if the class
/// declares other properties than the state's `SLOTS`.
#[inline]
pub fn instantiate_with<T: State, const SLOTS: usize>(state: T, values: [Zval; SLOTS]) -> Zval {
    const { assert!(SLOTS == T::SLOTS && !T::OWNS_MEMORY) };
    let class = T::CLASS.entry();
    let mut value = Zval::new();
    // SAFETY: objects are made only by methods, which run after all classes were registered. The
    // table of properties has room for all properties that the class declares, and `values` are as
    // many. The value holds the only reference to the new object.
    unsafe {
        assert_eq!(
            (*class).default_properties_count.cast_unsigned() as usize,
            SLOTS
        );
        let object = allocate(class, state);
        let table = &raw mut (*object).properties_table;
        table.cast::<[Zval; SLOTS]>().write(values);
        value.value.obj = object;
    }
    value.u1.type_info = IS_OBJECT_EX;
    value
}

/// Does the same as [`instantiate_with`] for a caller that owns memory of the process.
pub fn instantiate_beside_memory<T: State, const SLOTS: usize>(
    state: T,
    values: [Zval; SLOTS],
) -> Zval {
    bailout::door(|| instantiate_with(state, values))
}

/// Implements the engine's `create_object`.
///
/// # Safety
/// Only the engine may call this, with a class whose objects have a `T`.
pub(super) unsafe extern "C" fn create<T: State>(class: *mut zend_class_entry) -> *mut zend_object {
    const { Object::<T>::ALIGNED };
    let object = allocate(class, T::default());
    // SAFETY: the object was just allocated for the properties of its class.
    unsafe { object_properties_init(object, class) };
    object
}

/// Returns an object whose properties are not initialised. The engine's `zend_object_alloc` does
/// the same, but also fills the state with zeros.
fn allocate<T: State>(class: *mut zend_class_entry, state: T) -> *mut zend_object {
    // SAFETY: the class is registered. The memory has room for the state, the engine's part and the
    // class's properties, as in the engine's `zend_object_properties_size`: the engine's part
    // contains the first slot, and a class with guards has one more slot.
    unsafe {
        let has_guards = (*class).ce_flags & ZEND_ACC_USE_GUARDS != 0;
        let declared = (*class).default_properties_count.cast_unsigned() as usize;
        let slots = declared + usize::from(has_guards);
        let size = size_of::<Object<T>>() - size_of::<Zval>() + slots * size_of::<Zval>();
        let layout = Layout::from_size_align_unchecked(size, align_of::<Object<T>>());
        let object = emalloc(layout).cast::<Object<T>>();
        (&raw mut (*object).state).write(state);
        let zend = UnsafeCell::raw_get(&raw const (*object).zend);
        zend_object_std_init(zend, class);
        (*zend).handlers = T::CLASS.handlers();
        zend
    }
}

/// Implements the engine's `free_obj`.
///
/// # Safety
/// Only the engine may call this, once, with an object that `allocate` made.
pub(super) unsafe extern "C" fn free<T: State>(object: *mut zend_object) {
    // SAFETY: called once, at the end of an object that `allocate` made. The engine frees the
    // memory.
    let release = || unsafe { zend_object_std_dtor(object) };
    // SAFETY: as above. The state is dropped only after `release`, which may run destructors of
    // properties and of values in a WeakMap. Their PHP code can still reach the object.
    let drop = || unsafe { ptr::drop_in_place(&raw mut (*Object::<T>::whole(object)).state) };
    if T::OWNS_MEMORY {
        bailout::finally(release, drop);
    } else {
        release();
        drop();
    }
}

/// Implements the engine's `get_gc`. Lists the values in the property slots and the values of the
/// state.
///
/// # Safety
/// Only the engine calls this, with an object that `allocate` made and places for the results.
pub(super) unsafe extern "C" fn references<T: State>(
    object: *mut zend_object,
    values: *mut *mut Zval,
    count: *mut c_int,
) -> *mut HashTable {
    // SAFETY: the engine's function lists `count` values of the properties, or none if it returns
    // their table. All values are copied into the engine's buffer, which grows before it is full
    // and holds no counted references. No PHP code runs here.
    unsafe {
        let table = symbols::zend_std_get_gc(object, values, count);
        let buffer = symbols::zend_get_gc_buffer_create();
        let add = |value: *const Zval| {
            if (*buffer).cur == (*buffer).end {
                symbols::zend_get_gc_buffer_grow(buffer);
            }
            ptr::copy_nonoverlapping(value, (*buffer).cur, 1);
            (*buffer).cur = (*buffer).cur.add(1);
        };
        for index in 0..usize::try_from(*count).unwrap_or(0) {
            add((*values).add(index));
        }
        Object::<T>::of_zend(object).report(|value| add(value));
        *values = (*buffer).start;
        // An object has fewer values than 2^31.
        #[allow(clippy::cast_possible_truncation)]
        {
            *count = (*buffer).cur.offset_from((*buffer).start) as c_int;
        }
        table
    }
}

/// Implements the engine's `clone_obj`.
///
/// # Safety
/// Only the engine may call this, with an object that `allocate` made.
pub(super) unsafe extern "C" fn clone<T: State>(old: *mut zend_object) -> *mut zend_object {
    // SAFETY: `allocate` made the object.
    let state = unsafe { Object::<T>::of_zend(old) }.cloned();
    // SAFETY: a live object has a class.
    let class = unsafe { (*old).ce };
    // Only states that can be cloned have this handler, so the default is never used here.
    let new = allocate(class, state.unwrap_or_else(T::default));
    // SAFETY: both objects have the same class. The engine replaces the properties of the new one.
    unsafe {
        object_properties_init(new, class);
        zend_objects_clone_members(new, old);
    }
    new
}
