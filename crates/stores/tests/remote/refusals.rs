//! Tests Redis servers that refuse a call with an error.

use crate::caller::{Caller, HANG, PLAIN, take};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};
use stores::remote::Cause;
use testkit::{Memcached, Proxy, Redis, eventually};

fn dsn(redis: &Redis) -> String {
    format!("redis://127.0.0.1:{}", redis.port())
}

/// Returns the error in the server's reply.
fn refusal(caller: &Caller) -> String {
    match caller.fails("id", &take(1)) {
        Cause::Refused(text) => text,
        cause => panic!("{cause:?}"),
    }
}

#[track_caller]
fn assert_refuses(caller: &Caller, code: &str) {
    let text = refusal(caller);
    assert!(text.starts_with(code), "{text}");
}

#[test]
fn a_wrong_password_or_none() {
    let redis = Redis::start(&["--requirepass", "right"]);
    redis.cli(&["ACL", "SETUSER", "ann", "on", ">hers", "~t:*", "+@all"]);
    redis.cli(&["ACL", "SETUSER", "bob", "on", ">his", "~t:*", "+get"]);
    let fixed = ["on", ">fix", "~*", "+@all", "-select"];
    redis.cli(&[&["ACL", "SETUSER", "tom"][..], &fixed].concat());
    redis.cli(&["ACL", "SETUSER", "kim", "on", ">its", "~other:*", "+@all"]);
    let at = |userinfo: &str| {
        let dsn = format!("redis://{userinfo}127.0.0.1:{}", redis.port());
        Caller::redis(&dsn, PLAIN)
    };
    assert_refuses(&at(""), "NOAUTH");
    assert_refuses(&at(":wrong@"), "WRONGPASS");
    assert_refuses(&at("ann:right@"), "WRONGPASS");
    assert_refuses(&at("eve:hers@"), "WRONGPASS");
    assert_refuses(&at("bob:his@"), "NOPERM");
    assert_refuses(&at("kim:its@"), "NOPERM");
    // No other database is used instead.
    let other = format!("redis://tom:fix@127.0.0.1:{}/1", redis.port());
    assert_refuses(&Caller::redis(&other, PLAIN), "NOPERM");
    assert_eq!(redis.cli(&["DBSIZE"]), "0");
    assert!(at(":right@").grants("id", &take(1)));
    assert!(at("ann:hers@").grants("id", &take(1)));
    assert_eq!(at("default:right@").left("id"), 3);
    // A caller with a wrong or missing password does not reuse another caller's connection.
    assert_refuses(&at(":wrong@"), "WRONGPASS");
    assert_refuses(&at(""), "NOAUTH");
}

#[test]
fn a_database_that_is_not_there() {
    let redis = Redis::start(&[]);
    let caller = Caller::redis(&format!("{}/99", dsn(&redis)), PLAIN);
    // The error is the same before and after the server has cached the script.
    assert_refuses(&caller, "ERR DB index is out of range");
    let right = Caller::redis(&format!("{}/9", dsn(&redis)), PLAIN);
    assert!(right.grants("id", &take(1)));
    assert_refuses(&caller, "ERR DB index is out of range");
    assert_eq!(redis.cli(&["DBSIZE"]), "0");
    assert!(redis.cli(&["INFO", "keyspace"]).contains("db9:keys=1"));
}

#[test]
fn another_script_that_does_not_end() {
    let redis = Redis::start(&["--busy-reply-threshold", "20"]);
    let caller = Caller::redis(&dsn(&redis), PLAIN);
    assert!(caller.grants("id", &take(1)));
    let socket = redis.socket();
    let busy = std::thread::spawn(move || {
        let mut stream = UnixStream::connect(socket).unwrap();
        stream
            .write_all(b"EVAL \"while true do end\" 0\r\n")
            .unwrap();
        // Waits until the script ends.
        stream.read_exact(&mut [0; 1]).unwrap();
    });
    assert!(eventually(|| redis.cli(&["PING"]).starts_with("BUSY")));
    assert_refuses(&caller, "BUSY");
    redis.cli(&["SCRIPT", "KILL"]);
    busy.join().unwrap();
    assert!(caller.grants("id", &take(1)));
    assert_eq!(caller.left("id"), 3);
}

#[test]
fn no_memory_left() {
    let redis = Redis::start(&["--maxmemory-policy", "noeviction"]);
    let caller = Caller::redis(&dsn(&redis), PLAIN);
    assert!(caller.grants("id", &take(4)));
    redis.cli(&["CONFIG", "SET", "maxmemory", "1"]);
    assert_refuses(&caller, "OOM");
    redis.cli(&["CONFIG", "SET", "maxmemory", "0"]);
    assert_eq!(caller.left("id"), 1);
}

/// Returns a connection that the server counts as a client, or `None` if it refuses the connection.
fn admitted(redis: &Redis) -> Option<TcpStream> {
    let mut guest = TcpStream::connect(("127.0.0.1", redis.port())).ok()?;
    guest.write_all(b"PING\r\n").ok()?;
    let mut reply = [0; 7];
    guest.read_exact(&mut reply).ok()?;
    (&reply == b"+PONG\r\n").then_some(guest)
}

#[test]
fn too_many_clients() {
    let redis = Redis::start(&["--maxclients", "1"]);
    let caller = Caller::redis(&dsn(&redis), PLAIN);
    // An earlier connection checked whether the server runs. The server may still count that
    // connection, and refuse the guest.
    let mut guest = None;
    assert!(eventually(|| {
        guest = admitted(&redis);
        guest.is_some()
    }));
    // The server sends its reason and closes the connection. If the request arrives in between, the
    // kernel may reset the connection before the reason is read.
    let reasons: Vec<_> = (0..20)
        .map(|_| caller.fails("id", &take(1)).to_string())
        .collect();
    let named = |reason: &String| reason.contains("max number of clients");
    assert!(reasons.iter().any(named), "{reasons:?}");
    drop(guest);
    assert!(eventually(|| caller.ask(b"id", &take(1)).is_ok()));
}

#[test]
fn a_server_that_is_loading() {
    // Loading a key takes 10 ms, so loading all keys takes 30 s unless the test ends the delay.
    let delays = [
        "--key-load-delay",
        "10000",
        "--loading-process-events-interval-bytes",
        "1024",
    ];
    let mut redis = Redis::start(&delays);
    let dsn = dsn(&redis);
    assert!(Caller::redis(&dsn, PLAIN).grants("id", &take(1)));
    let fill = "for i = 1, 3000 do redis.call('SET', 'key' .. i, string.rep('x', 100)) end";
    redis.cli(&["EVAL", fill, "0"]);
    assert_eq!(redis.cli(&["SAVE"]), "OK");
    let socket = redis.socket();
    std::thread::scope(|scope| {
        // Ends as soon as the server has loaded everything.
        let restart = scope.spawn(|| redis.restart());
        let start = Instant::now();
        loop {
            // Each caller is a new host, so its breaker is closed.
            let answer = Caller::redis(&dsn, PLAIN).ask(b"other", &take(1));
            let told = answer.map_or_else(|failure| failure.cause.to_string(), |_| String::new());
            if told.starts_with("it answered: LOADING") {
                break;
            }
            assert!(!restart.is_finished() && start.elapsed() < HANG, "{told}");
            std::thread::sleep(Duration::from_millis(20));
        }
        let mut stream = UnixStream::connect(socket).unwrap();
        stream
            .write_all(b"CONFIG SET key-load-delay 0\r\n")
            .unwrap();
        stream.read_exact(&mut [0; 5]).unwrap();
    });
    assert_eq!(Caller::redis(&dsn, PLAIN).left("id"), 4);
}

/// Returns a server that replies to each request with `reply`, and its port.
fn replying(reply: &'static str) -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = [0; 4096];
            while stream.read(&mut request).is_ok_and(|length| length > 0) {
                stream.write_all(reply.as_bytes()).ok();
            }
        }
    });
    port
}

#[test]
fn a_server_that_is_too_old() {
    // These are the replies of Redis 5.0.14, memcached 1.4 and memcached 1.6.9.
    let script = "-ERR Error running script (call to f_0): @user_script:27: ERR syntax error\r\n";
    let port = replying(script);
    let caller = Caller::redis(&format!("redis://127.0.0.1:{port}"), PLAIN);
    let old = caller.fails("id", &take(1)).to_string();
    assert!(old.contains("too old: Redis 6.0"), "{old}");
    for reply in ["ERROR\r\n", "OK O1\r\n"] {
        let port = replying(reply);
        let caller = Caller::memcached(&format!("127.0.0.1:{port}"), PLAIN);
        let old = caller.fails("id", &take(1)).to_string();
        assert!(old.contains("too old: memcached 1.6.10"), "{old}");
    }
}

#[test]
fn a_server_that_forgets_every_script() {
    let proxy = Proxy::tcp(replying("-NOSCRIPT No matching script.\r\n"));
    let caller = Caller::redis(&format!("redis://127.0.0.1:{}", proxy.port()), PLAIN);
    let cause = caller.fails("id", &take(1));
    assert!(matches!(cause, Cause::Refused(_)), "{cause}");
    assert_eq!(proxy.round_trips(), 3, "its hash, then its text twice");
}

#[test]
fn a_memcached_without_cas() {
    let memcached = Memcached::start_tcp(&["-C"]);
    let caller = Caller::memcached(&format!("127.0.0.1:{}", memcached.port()), PLAIN);
    for _ in 0..3 {
        let cause = caller.fails("id", &take(1)).to_string();
        assert!(cause.contains("without -C"), "{cause}");
    }
}
