//! Tests keys whose value is not a bucket. The call fails and does not change the value. The store
//! does not count as failed.

use crate::caller::{CAPACITY, Caller, HOUR, PLAIN, RESET, refund, take};
use gcra::Put;
use segment::slots::counters::Event;
use stores::remote::Cause;
use testkit::{Memcached, Redis};

const STRANGE: [&str; 12] = [
    "hello",
    "",
    "12x",
    "x12",
    " 12",
    "-1",
    "1.5",
    "1e3",
    "0x10",
    "4503599627370497",
    "9999999999999999",
    "99999999999999999999",
];

fn assert_left_alone(caller: &Caller, identifier: &str) {
    for step in [take(1), take(1).dry()] {
        let cause = caller.fails(identifier, &step);
        assert!(matches!(cause, Cause::Record), "{identifier}: {cause}");
    }
    let age = HOUR.cast_signed();
    let span = CAPACITY * HOUR;
    let (bootstrap, raise) = (
        Put::Bootstrap {
            age,
            span: gcra::store::UNKNOWN_SPAN,
        },
        Put::Raise { age, span },
    );
    for put in [RESET, refund(1), bootstrap, raise] {
        let cause = caller.change(identifier, &put).unwrap_err().cause;
        assert!(matches!(cause, Cause::Record), "{identifier}: {cause}");
    }
}

#[test]
fn a_foreign_redis_key_is_left_alone() {
    let redis = Redis::start(&[]);
    let caller = Caller::redis(&format!("unix://{}", redis.socket().display()), PLAIN);
    for text in STRANGE {
        redis.cli(&["SET", "t:id", text]);
        assert_left_alone(&caller, "id");
        assert_eq!(redis.cli(&["GET", "t:id"]), text);
        assert_eq!(redis.cli(&["PTTL", "t:id"]), "-1");
    }
    redis.cli(&["RPUSH", "t:list", "1"]);
    assert_left_alone(&caller, "list");
    assert_eq!(redis.cli(&["LRANGE", "t:list", "0", "-1"]), "1");
    assert_eq!(caller.count(Event::Failed), 0);
    assert!(caller.grants("other", &take(1)), "no fault of the store's");
    // Control: the greatest valid state is accepted.
    redis.cli(&["SET", "t:id", "4503599627370496"]);
    assert!(!caller.grants("id", &take(1)));
}

#[test]
fn a_foreign_memcached_item_is_left_alone() {
    let memcached = Memcached::start_tcp(&[]);
    let caller = Caller::memcached(&format!("127.0.0.1:{}", memcached.port()), PLAIN);
    let large = "1".repeat(200_000);
    for text in STRANGE.into_iter().chain([large.as_str()]) {
        let set = format!("set t:id 0 0 {}\r\n{text}", text.len());
        memcached.command(&set, "STORED");
        assert_left_alone(&caller, "id");
        assert_eq!(memcached.command("get t:id", "END")[1], text);
    }
    assert_eq!(caller.count(Event::Failed), 0);
    assert!(caller.grants("other", &take(1)), "no fault of the store's");
    // The connection caches the item. The client must still detect that the item has changed.
    memcached.command("set t:other 0 0 5\r\nhello", "STORED");
    assert!(matches!(caller.fails("other", &take(1)), Cause::Record));
    assert_eq!(memcached.command("get t:other", "END")[1], "hello");
}
