//! A thin safe layer over the engine's own interface: classes, arguments, values, calls.
//!
//! The class macros of ext-php-rs are not used here, because the classes must behave as in a C
//! extension. Arguments must be converted as PHP's own functions convert theirs. Objects must be
//! valid from their creation. The cycle collector must be able to find property slots.
//!
//! An extension that uses this crate needs no unsafe code. The public items are safe on PHP's
//! thread under one rule that the types do not express. Do not hold a Rust reference to an array
//! element while PHP code runs, because PHP code may change the element. Objects ([`Obj`]) and
//! places that PHP code can write to ([`value::Val`]) are pointers, not references.
//!
//! Imports inside this crate go one way: from `call` and `closure` down to `obj` and `symbols`.
//!
//! Two invariants hold. No panic unwinds into PHP, because [`call::run`] catches panics. No PHP
//! code is called while a borrow or a lock is held, because it may call the same object again. A
//! fatal error in PHP code unwinds the Rust frames, as a panic does ([`bailout`]).
#![allow(unsafe_code)]

pub mod arithmetic;
mod array;
mod bailout;
pub mod call;
pub mod class;
pub mod closure;
mod conversions;
pub mod declare;
pub mod foreign;
pub mod gate;
pub mod hooks;
mod interned;
pub mod invoke;
mod kept;
mod obj;
pub mod object;
pub mod password;
pub mod pdo;
pub mod request;
pub mod sleep;
mod startup_warnings;
mod symbols;
pub mod system;
pub mod throw;
pub mod value;

pub use array::Array;
pub use call::Call;
pub use class::Class;
pub use ext_php_rs::types::Zval;
pub use interned::Interned;
pub use kept::Kept;
pub use obj::Obj;
pub use object::{Held, Object, State};
pub use sleep::Slept;
pub use throw::Thrown;
pub use value::{Identity, Number};
