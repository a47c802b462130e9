//! A thin safe layer over the engine's own interface: classes, arguments, values, calls.
//!
//! The binding's class macros are not used, for what users call hot, subclass or catch must behave as
//! in a C extension: arguments that coerce, objects that are valid from birth, property slots that
//! the cycle collector sees. This is the binding's only unsafe code; what leaves it is safe to use on
//! the thread that PHP runs on, under one rule that types do not express: a reference to an element of an
//! array is not held over PHP code, which may change the element through a PHP reference.
//! Objects ([`Obj`]) and places that PHP code can write to ([`value::Val`]) are pointers, not references.
//! The imports in here go one way: from `call` and `closure` down to `obj` and `symbols`.
//!
//! Invariant: no panic unwinds into PHP ([`call::run`] catches it), and no call into PHP happens while
//! a borrow or a lock is held, for a fatal error jumps over these frames without unwinding them.
#![allow(unsafe_code)]

pub mod arithmetic;
pub mod call;
pub mod class;
pub mod closure;
pub mod declare;
pub mod foreign;
pub mod invoke;
mod obj;
pub mod object;
pub mod pdo;
mod symbols;
pub mod system;
pub mod throw;
pub mod value;

pub use call::Call;
pub use class::Class;
pub use ext_php_rs::types::Zval;
pub use obj::Obj;
pub use object::{Held, Object, State};
pub use throw::Thrown;
pub use value::{Identity, Number};
