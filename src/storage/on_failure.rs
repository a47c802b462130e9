//! `TokenBucket\OnFailure`: what happens when a store fails.

use crate::classes;
use crate::zend::{Call, Thrown, class, value};
use tokenbucket_core::remote::OnFailure;

const CASES: [(&std::ffi::CStr, OnFailure); 4] = [
    (c"Local", OnFailure::Local),
    (c"Allow", OnFailure::Allow),
    (c"Deny", OnFailure::Deny),
    (c"Throw", OnFailure::Throw),
];

/// Argument `number`.
///
/// # Errors
/// `TypeError`.
pub fn argument(call: &Call<'_>, number: u32) -> Result<OnFailure, Thrown> {
    let case = call.object_of(number, &classes::ON_FAILURE)?;
    let name = class::case_name(&case);
    let found = CASES
        .iter()
        .find(|(case, _)| case.to_bytes() == value::bytes(&name));
    // An object of the enum is one of its cases.
    found.map(|&(_, policy)| policy).ok_or(Thrown)
}
