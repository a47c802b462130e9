//! Runs the client against a memcached server whose replies are random bytes.
#![no_main]

include!("server.inc.rs");

use compat::Wait;
use compat::minutes::{Counters, Life};
use compat::throttle::{self, Throttle};
use libfuzzer_sys::fuzz_target;
use stores::remote::Transport;
use stores::remote::memcached::Memcached;
use stores::remote::memcached::servers::parse_servers;

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
    // The deadline is short, because the call waits if the reply means that another client holds
    // the lock.
    let soon = boot_clock() + TICKS_PER_SECOND / 500;
    let limits = Throttle::new(5.0, 300_000).expect("a limit");
    let granted = throttle::take(&MEMCACHED, b"record", &limits, soon).map(Wait::admits);
    // A grant is possible only if the reply contains a miss or a bucket, and a successful write.
    let holds = |text: &[u8]| answer.windows(text.len()).any(|part| part == text);
    let is_bucket = holds(b"EN") || holds(b"NF") || holds(b"a:2:{s:6:\"tokens\";");
    assert!(!granted.unwrap_or(false) || (is_bucket && holds(b"HD")));
    let counters = [b"c0".to_vec(), b"c1".to_vec()];
    for life in [None, Some(Life::new(5, 120))] {
        MEMCACHED.count(&counters, life, deadline()).ok();
    }
});
