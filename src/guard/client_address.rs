//! `TokenBucket\client_address()`: the client of a request by the rules of the guard.

use super::counted::Variables;
use super::rules;
use crate::{attached, ini};
use guard::{Client, Networks};
use zend::{Call, Thrown, Zval, request, value};

/// Implements `client_address(?array $server = null): ?string`.
pub fn client_address(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let store = attached::store();
    let trusted = store.and_then(|store| rules::networks(store, &ini::GUARD_TRUSTED_PROXIES));
    let none = Networks::default();
    let trusted = trusted.as_deref().unwrap_or(&none);
    let client = match call.array_or_null(1)? {
        Some(server) => Client::of(&Variables::listed(server), trusted),
        None => request::read(|request| Client::of(&Variables::Passed(request), trusted)),
    };
    *result = match client {
        Client::Known(_) => {
            let mut address = Vec::new();
            client.append_to(&mut address);
            value::of_bytes(&address)
        }
        Client::Local | Client::Malformed => Zval::null(),
    };
    Ok(())
}
