//! Tests random lists of memcached servers, prefixes and identifiers.
//!
//! Checks that memcached accepts every key, and that every key is assigned to one of the servers.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stores::remote::ketama::{Distribution, Ring};
use stores::remote::key::item_key;
use stores::remote::memcached::servers::parse_servers;

fuzz_target!(|input: (Vec<Vec<u8>>, Vec<u8>, Vec<u8>)| {
    let (list, prefix, identifier) = input;
    let key = item_key(&prefix, &identifier);
    assert!((1..=250).contains(&key.len()));
    assert!(key.iter().all(|&byte| byte > b' ' && byte != 0x7f));
    let Ok(servers) = parse_servers(&list) else {
        return;
    };
    assert!(!servers.is_empty());
    for distribution in [
        Distribution::Ketama,
        Distribution::Consistent,
        Distribution::Modula,
    ] {
        let ring = Ring::new(&servers, distribution);
        assert!(ring.place(&key) < servers.len());
    }
});
