//! Tests random settings of the guard with random requests.
//!
//! Checks that the position in an error is inside the text of the setting, and that a limit equals
//! its canonical form, which counts the same requests. Also checks that a client cannot change its
//! address by the header that it sends to a trusted proxy.
#![no_main]

use guard::{Client, GuardedRequest, Networks, Rule, Target};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use std::ffi::CStr;
use std::net::{IpAddr, Ipv4Addr};

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    limits: &'a str,
    networks: &'a str,
    uri: &'a [u8],
    script_name: &'a [u8],
    script: &'a [u8],
    forwarded: &'a [u8],
    cookies: &'a [u8],
    agent: &'a [u8],
    address: u32,
}

struct Variables<'a>(&'a Input<'a>, &'a [u8], &'a [u8]);

impl GuardedRequest for Variables<'_> {
    fn variable(&self, name: &CStr) -> Option<&[u8]> {
        match name.to_bytes() {
            b"REMOTE_ADDR" => Some(self.1),
            b"HTTP_X_FORWARDED_FOR" => Some(self.2),
            b"REQUEST_URI" => Some(self.0.uri),
            b"SCRIPT_NAME" => Some(self.0.script_name),
            b"HTTP_COOKIE" => Some(self.0.cookies),
            b"HTTP_USER_AGENT" => Some(self.0.agent),
            _ => None,
        }
    }

    fn script(&self) -> &[u8] {
        self.0.script
    }
}

fuzz_target!(|input: Input<'_>| {
    let networks = Networks::parse(input.networks).unwrap_or_else(|error| {
        assert!(input.networks.is_char_boundary(error.at));
        Networks::default()
    });
    let address = Ipv4Addr::from_bits(input.address);
    let text = address.to_string();
    let request = Variables(&input, text.as_bytes(), input.forwarded);
    let client = Client::of(&request, &networks);
    if !networks.contains(address.into()) {
        assert_eq!(client, Client::Known(address.into()));
        let proxy = Networks::parse("::1").expect("an address");
        let forwarded = [input.forwarded, b",", text.as_bytes()].concat();
        let found = Client::of(&Variables(&input, b"::1", &forwarded), &proxy);
        assert_eq!(found, Client::Known(IpAddr::V4(address)));
    }
    match Rule::parse(input.limits) {
        Ok(limits) => {
            for limit in &limits {
                limit.identifier(&request, client);
                let again = Rule::parse(limit.name()).expect("a canonical form");
                assert_eq!(again, std::slice::from_ref(limit));
                let target = Target::of(&request);
                assert_eq!(again[0].counts(&target), limit.counts(&target));
                assert_eq!(again[0].left_by(&target), limit.left_by(&target));
            }
        }
        Err(error) => assert!(input.limits.is_char_boundary(error.at)),
    }
});
