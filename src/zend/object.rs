//! Objects of PHP that carry a Rust state.
//!
//! The state stands before the engine's part, as C extensions have it. Invariant: every object of a
//! class registered with state `T` has a valid `T` from its birth, even if no constructor ever runs.

use super::class::Class;
use super::obj::Obj;
use super::symbols;
use super::throw::Thrown;
use super::value::{self, Val};
use ext_php_rs::ffi::{
    ext_php_rs_zend_object_alloc, object_properties_init, std_object_handlers, zend_class_entry,
    zend_object, zend_object_std_dtor, zend_object_std_init, zend_objects_clone_members,
};
use ext_php_rs::types::Zval;
use std::cell::UnsafeCell;
use std::mem::offset_of;
use std::ops::Deref;
use std::ptr;

/// What a class keeps in Rust.
pub trait State: Sized + 'static {
    /// The number of properties that the code names by their slots.
    const SLOTS: usize = 0;
    /// The class whose objects have this state.
    fn class() -> &'static Class;
    /// The state of an object that no constructor has run on.
    fn born() -> Self;
    /// The state of a clone; `None` if there is no cloning.
    fn cloned(&self) -> Option<Self> {
        None
    }
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
    unsafe fn of_zend<'a>(object: *mut zend_object) -> &'a Self {
        // SAFETY: by contract the state is there.
        unsafe { &*Self::whole(object) }
    }

    /// Where the object begins whose engine's part this is.
    ///
    /// # Safety
    /// The object's class was registered with the state `T`.
    #[inline]
    unsafe fn whole(object: *mut zend_object) -> *mut Self {
        // SAFETY: by contract the state is there, at this distance.
        unsafe { object.byte_sub(Self::OFFSET).cast() }
    }

    /// Returns the object, if it is of this class or of one that extends it.
    #[inline]
    pub fn of(object: Obj<'_>) -> Option<&Self> {
        // SAFETY: a live object has handlers. Those of the class are its own and its subclasses',
        // whose objects `create::<T>` makes, too.
        let is_one = unsafe { ptr::eq((*object.as_ptr()).handlers, T::class().handlers()) };
        // SAFETY: checked.
        is_one.then(|| unsafe { Self::of_zend(object.as_ptr()) })
    }

    /// Returns the object, if it is of this very class.
    #[inline]
    pub fn of_exact(object: Obj<'_>) -> Option<&Self> {
        // SAFETY: the class is checked.
        T::class()
            .is_of(object)
            .then(|| unsafe { Self::of_zend(object.as_ptr()) })
    }

    /// Returns the engine's part.
    #[inline]
    pub fn zend(&self) -> Obj<'_> {
        // The engine's memory came from C, so that its provenance is exposed. A pointer made of this
        // reference would end before the property slots.
        let object = ptr::with_exposed_provenance_mut(self.zend.get().addr());
        // SAFETY: lives as long as the object; never null.
        unsafe { Obj::new(object).unwrap_unchecked() }
    }

    /// Returns a value that holds this object, too.
    pub fn to_zval(&self) -> Zval {
        value::of_object(self.zend())
    }

    /// Whether it is of the class itself, not of one that extends it.
    pub fn is_exact(&self) -> bool {
        T::class().is_of(self.zend())
    }

    /// Returns the slot of the class's property number `index`, in the order of declaration. It may
    /// be undefined, or hold a reference.
    ///
    /// # Panics
    /// If the state does not name so many slots.
    #[inline]
    pub fn slot(&self, index: usize) -> Val<'_> {
        assert!(index < T::SLOTS, "a property of another class");
        // SAFETY: the class declares at least `SLOTS`, as `carry` has checked; subclasses add theirs
        // behind them. The slot is live as long as the object.
        unsafe {
            let table = &raw mut (*self.zend().as_ptr()).properties_table;
            Val::new(table.cast::<Zval>().add(index))
        }
    }

    /// Copies the value of property number `index`, null if it was unset.
    pub fn copy_property(&self, index: usize) -> Zval {
        self.slot(index).copy()
    }

    /// Sets property number `index`, whatever its declaration says.
    pub fn set_property(&self, index: usize, value: Zval) {
        self.slot(index).replace(value);
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
    pub fn of(value: &Zval, find: fn(Obj<'_>) -> Option<&T>) -> Option<Self> {
        let part = find(value::object(value)?)?;
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

impl Class {
    /// Lets each object of the class carry a `T`.
    ///
    /// # Panics
    /// If the class declares fewer properties than the state names.
    pub fn carry<T: State>(&self) {
        let handlers = self.handlers().cast_mut();
        // SAFETY: the class was just registered, on the only thread; the handlers are filled whole.
        unsafe {
            let declared = usize::try_from((*self.entry()).default_properties_count);
            assert!(declared.is_ok_and(|declared| T::SLOTS <= declared));
            (*self.entry()).__bindgen_anon_2.create_object = Some(std::mem::transmute::<
                unsafe extern "C" fn(*mut zend_class_entry) -> *mut zend_object,
                extern "C" fn(*mut zend_class_entry) -> *mut zend_object,
            >(create::<T>));
            ptr::copy_nonoverlapping(&raw const std_object_handlers, handlers, 1);
            // A state is small.
            #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)]
            {
                (*handlers).offset = Object::<T>::OFFSET as i32;
            }
            (*handlers).free_obj = Some(free::<T>);
            // States that cannot be cloned never can.
            let can_be_cloned = T::born().cloned().is_some();
            (*handlers).clone_obj = can_be_cloned.then_some(clone::<T>);
        }
    }
}

/// A new object of the class itself, with this state, that `construct` has set the properties of.
///
/// # Errors
/// When there is no memory for it, or what `construct` threw.
pub fn instantiate<T: State>(
    state: T,
    construct: impl FnOnce(&Object<T>) -> Result<(), Thrown>,
) -> Result<Zval, Thrown> {
    let mut value = Zval::new();
    // SAFETY: methods, which alone make objects, run only after all classes were registered.
    let status = unsafe { symbols::object_init_ex(&raw mut value, T::class().entry()) };
    if status != 0 {
        return Err(Thrown);
    }
    // SAFETY: the value holds the object that was just made of the class; nobody else has a reference to
    // it or to its state, which is replaced.
    construct(unsafe {
        let whole = Object::<T>::whole(value.value.obj);
        (*whole).state = state;
        &*whole
    })?;
    Ok(value)
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
        let whole = Object::<T>::whole(object);
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
