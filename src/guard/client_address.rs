//! `TokenBucket\client_address()`: the client of a request by the rules of the guard.

use super::asked::Variables;
use super::rules;
use crate::{attached, ini};
use ext_php_rs::types::ZendHashTable;
use guard::{Client, Networks};
use std::ffi::CStr;

use zend::{Call, Thrown, Zval, request, value};

/// The variables of a request in an array like `$_SERVER`.
struct Server<'a>(&'a ZendHashTable);

impl guard::GuardedRequest for Server<'_> {
    fn variable(&self, name: &CStr) -> Option<&[u8]> {
        let value = value::dereference(self.0.get(name.to_str().ok()?)?);
        Some(value.zend_str()?.as_bytes())
    }

    fn script(&self) -> &[u8] {
        b""
    }
}

/// Implements `client_address(?array $server = null): ?string`.
pub fn client_address(call: &mut Call<'_>, result: &mut Zval) -> Result<(), Thrown> {
    let store = attached::store();
    let trusted = store.and_then(|store| rules::networks(store, &ini::GUARD_TRUSTED_PROXIES));
    let none = Networks::default();
    let trusted = trusted.as_deref().unwrap_or(&none);
    let client = match call.array_or_null(1)? {
        Some(server) => Client::of(&Server(server), trusted),
        None => request::read(|request| Client::of(&Variables(request), trusted)),
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
