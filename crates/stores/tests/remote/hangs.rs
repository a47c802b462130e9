//! Tests servers that hang in the middle of a call, beside a server that works. The steps on the
//! server that works are decided by it.

use crate::caller::{CAPACITY, HASTY, host, refund, take, under};
use gcra::batch::Ticket;
use gcra::{TICKS_PER_SECOND, boot_clock};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::thread::spawn;
use std::time::Duration;
use stores::remote::memcached::{Memcached, servers::parse_servers};
use stores::remote::redis::{Redis, dsn::Dsn};
use stores::remote::{Answer, OnFailure, Pipelined, Remote, Settings, TimeLeft};
use testkit::{Mode, Proxy};

/// Returns the port of a server that answers the first request of a client with `text`, and no
/// other.
fn server(text: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        assert!(client.read(&mut vec![0; 1 << 16]).unwrap() > 0);
        client.write_all(text.as_bytes()).unwrap();
        // The client closes the connection at its deadline.
        while matches!(client.read(&mut vec![0; 1 << 16]), Ok(1..)) {}
    });
    port
}

/// Asserts that the policy decides the step on the server that hangs only. The other server replies
/// after it.
fn assert_works_beside<T: Pipelined>(hangs: u16, works: u16, store: impl Fn(u16) -> T) {
    let proxy = Proxy::tcp(works);
    proxy.set(Mode::Delay(Duration::from_millis(50)));
    let settings = Settings {
        timeout: TICKS_PER_SECOND,
        ..under(OnFailure::Deny)
    };
    let stores = [hangs, proxy.port()].map(|port| Remote::new(store(port), settings, host()));
    let ticket = |(index, store)| {
        let store: &Remote<'_, T> = store;
        let (key, step) = (store.hasher().key(b"id"), take(1));
        (store, Ticket { index, key, step })
    };
    let steps: Vec<_> = stores.iter().enumerate().map(ticket).collect();
    let mut fallbacks = [None; 2];
    let decided = |index: usize, answer: Answer<_>| {
        fallbacks[index] = Some(answer.fallback);
    };
    Remote::take_each(&steps, None, decided).unwrap();
    assert_eq!(fallbacks, [Some(true), Some(false)]);
}

#[test]
fn a_redis_that_hangs_leaves_the_others_their_time() {
    let works = testkit::Redis::start(&[]);
    for text in ["*4\r\n", "-NOSCRIPT No matching script.\r\n"] {
        assert_works_beside(server(text), works.port(), redis);
    }
}

#[test]
fn a_memcached_that_hangs_leaves_the_others_their_time() {
    let works = testkit::Memcached::start_tcp(&[]);
    // A part of a reply, and a lost race, after which the item is read again.
    for text in ["VA 30 ", "EX O1\r\nVA 1 O2 c1 t-1 f0\r\n1\r\n"] {
        assert_works_beside(server(text), works.port(), |port| {
            Memcached::new(
                &parse_servers([format!("127.0.0.1:{port}")]).unwrap(),
                b"t:",
            )
        });
    }
}

/// A pipeline that is longer than what a socket keeps for a server that reads nothing.
#[test]
fn a_server_that_does_not_read_leaves_the_others_their_time() {
    let works = testkit::Memcached::start_tcp(&[]);
    let path = std::env::temp_dir().join(format!("tokenbucket-{}.sock", std::process::id()));
    let _hangs = UnixListener::bind(&path).unwrap();
    let settings = Settings {
        timeout: TICKS_PER_SECOND,
        ..under(OnFailure::Deny)
    };
    let store = |server: String| {
        let servers = parse_servers([server]).unwrap();
        Remote::new(Memcached::new(&servers, b"t:"), settings, host())
    };
    let hangs = store(format!("unix://{}", path.display()));
    let works = store(format!("127.0.0.1:{}", works.port()));
    let names: Vec<_> = (0..501).map(|number| format!("{number:0>200}")).collect();
    let ticket = |(index, name)| {
        let name: &String = name;
        let store = if index == 500 { &works } else { &hangs };
        let (key, step) = (store.hasher().key(name.as_bytes()), take(1));
        (store, Ticket { index, key, step })
    };
    let steps: Vec<_> = names.iter().enumerate().map(ticket).collect();
    let mut fallbacks = vec![None; steps.len()];
    let decided = |index: usize, answer: Answer<_>| fallbacks[index] = Some(answer.fallback);
    Remote::take_each(&steps, None, decided).unwrap();
    std::fs::remove_file(path).unwrap();
    assert_eq!(fallbacks[0], Some(true));
    assert_eq!(fallbacks[500], Some(false));
}

fn redis(port: u16) -> Redis {
    Redis::new(
        Dsn::parse(&format!("redis://127.0.0.1:{port}")).unwrap(),
        b"t:",
    )
}

/// More steps than a pipeline has, on servers with another timeout, the first of which hangs.
#[test]
fn a_server_that_works_has_time_for_all_its_pipelines() {
    let works = testkit::Redis::start(&[]);
    let settings = |timeout| Settings {
        timeout,
        ..under(OnFailure::Deny)
    };
    let hangs = Remote::new(redis(server("")), settings(TICKS_PER_SECOND), host());
    let works = Remote::new(redis(works.port()), settings(TICKS_PER_SECOND / 2), host());
    let names: Vec<_> = (0..1200).map(|number: u32| number.to_string()).collect();
    let ticket = |(index, name)| {
        let name: &String = name;
        let store = if index == 0 { &hangs } else { &works };
        let (key, step) = (store.hasher().key(name.as_bytes()), take(1));
        (store, Ticket { index, key, step })
    };
    let steps: Vec<_> = names.iter().enumerate().map(ticket).collect();
    let mut fallbacks = vec![None; steps.len()];
    let start = boot_clock();
    let decided = |index: usize, answer: Answer<_>| fallbacks[index] = Some(answer.fallback);
    Remote::take_each(&steps, None, decided).unwrap();
    assert!(boot_clock() - start < 2 * TICKS_PER_SECOND, "one timeout");
    assert_eq!(fallbacks.remove(0), Some(true));
    let wrong = fallbacks.iter().filter(|&&it| it != Some(false));
    assert_eq!(wrong.count(), 0);
}

#[test]
fn a_server_that_hangs_leaves_give_backs_their_time() {
    let works = testkit::Redis::start(&[]);
    let settings = Settings {
        on_failure: OnFailure::Deny,
        ..HASTY
    };
    let stores = [server(""), works.port()].map(|port| Remote::new(redis(port), settings, host()));
    let [_, works] = &stores;
    let key = works.hasher().key(b"id");
    works.take(key, &take(1), None).unwrap();
    let buckets: Vec<_> = stores.iter().map(|store| (store, key)).collect();
    let mut failed = Vec::new();
    let puts = [refund(1), refund(1)];
    let fails = |index, _| failed.push(index);
    Remote::give_back_each(&buckets, &puts, TimeLeft::ALL, fails).unwrap();
    assert_eq!(failed, [0]);
    assert!(
        works
            .take(key, &take(CAPACITY), None)
            .unwrap()
            .value
            .granted()
    );
}
