//! A server that speaks RESP may answer anything.
#![no_main]

include!("server.inc.rs");

use libfuzzer_sys::fuzz_target;
use tokenbucket_core::remote::Transport;
use tokenbucket_core::remote::redis::Redis;
use tokenbucket_core::remote::redis::dsn::Dsn;

static REDIS: LazyLock<Redis> = LazyLock::new(|| {
    let dsn = format!("unix://{}?password=geheim-geheim", SOCKET.display());
    Redis::new(Dsn::parse(&dsn).expect("a DSN"), b"prefix:")
});

fuzz_target!(|answer: &[u8]| {
    // Behind the reply to AUTH, and instead of it.
    for head in [b"+OK\r\n".as_slice(), b""] {
        *ANSWER.lock().expect("no poison") = [head, answer].concat();
        let told = |cause: tokenbucket_core::remote::Cause| {
            assert!(!cause.to_string().contains("geheim-geheim"));
        };
        for ask in asks() {
            match REDIS.take(&ask, deadline()) {
                Ok(reply) => check(&ask.step, &reply.outcome),
                Err(cause) => told(cause),
            }
        }
        REDIS.take_all(&asks(), deadline()).map_err(told).ok();
        for put in &PUTS {
            REDIS
                .put(b"name", put, Some(3), deadline())
                .map_err(told)
                .ok();
        }
    }
});
