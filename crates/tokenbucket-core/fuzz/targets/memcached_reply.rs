//! A server that speaks memcached's meta protocol may answer anything.
#![no_main]

include!("server.inc.rs");

use libfuzzer_sys::fuzz_target;
use tokenbucket_core::remote::Transport;
use tokenbucket_core::remote::memcached::Memcached;
use tokenbucket_core::remote::memcached::servers::parse_servers;

static MEMCACHED: LazyLock<Memcached> = LazyLock::new(|| {
    let servers = parse_servers([format!("unix://{}", SOCKET.display())]).expect("a server");
    Memcached::new(&servers, b"prefix:")
});

fuzz_target!(|answer: &[u8]| {
    *ANSWER.lock().expect("no poison") = answer.to_vec();
    for ask in asks() {
        if let Ok(reply) = MEMCACHED.take(&ask, deadline()) {
            check(&ask.step, &reply.outcome);
        }
    }
    for put in &PUTS {
        MEMCACHED.put(b"name", put, Some(3), deadline()).ok();
    }
});
