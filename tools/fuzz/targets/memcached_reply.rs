//! Runs the client against a memcached server whose replies are random bytes.
#![no_main]

include!("server.inc.rs");

use compat::Wait;
use compat::minutes::{Life, MinuteCounters};
use compat::throttle::{self, Throttle};
use libfuzzer_sys::fuzz_target;
use stores::remote::memcached::Memcached;
use stores::remote::memcached::servers::parse_servers;

static MEMCACHED: LazyLock<Memcached> = LazyLock::new(|| {
    let servers = parse_servers([format!("unix://{}", SOCKET.display())]).expect("a server");
    Memcached::new(&servers, b"prefix:")
});

fuzz_target!(|answer: &[u8]| {
    *ANSWER.lock().expect("no poison") = answer.to_vec();
    let visit = |ticks| visit(&*MEMCACHED, ticks);
    for request in requests() {
        if let Ok(reply) = Memcached::take(&visit(TICKS_PER_SECOND), &request) {
            check(&request.step, &reply.outcome);
        }
    }
    for put in &PUTS {
        Memcached::put(&visit(TICKS_PER_SECOND), b"name", put, Some(3)).ok();
    }
    // The deadline is short, because the call waits if the reply means that another client holds
    // the lock.
    let short = visit(TICKS_PER_SECOND / 500);
    let limits = Throttle::new(5.0, 300_000).expect("a limit");
    let granted = throttle::take(&short, b"record", &limits).map(Wait::admits);
    // A grant is possible only if the reply contains a miss or a bucket, and a successful write.
    let holds = |text: &[u8]| answer.windows(text.len()).any(|part| part == text);
    let is_bucket = holds(b"EN") || holds(b"NF") || holds(b"a:2:{s:6:\"tokens\";");
    assert!(!granted.unwrap_or(false) || (is_bucket && holds(b"HD")));
    let counters = [b"c0".to_vec(), b"c1".to_vec()];
    for life in [None, Some(Life::new(5, 120))] {
        Memcached::count(&visit(TICKS_PER_SECOND), &counters, life).ok();
    }
});
