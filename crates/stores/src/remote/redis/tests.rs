//! Tests how errors of a server are read. Some of these errors make a process look up the server's
//! addresses again.

use super::*;
use crate::remote::permits::ServerPermit;
use crate::remote::{OnFailure, Remote, Settings, resolve};
use gcra::{Step, TICKS_PER_SECOND, boot_clock};
use segment::Host;
use segment::memory::Segment;
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::thread::JoinHandle;

/// Starts a server that accepts one connection and sends `reply` to each of `requests` requests.
fn start_server(requests: usize, reply: String) -> (SocketAddr, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serve = move || {
        let (mut stream, _) = listener.accept().unwrap();
        for _ in 0..requests {
            assert!(stream.read(&mut [0; 1000]).unwrap() > 0);
            stream.write_all(reply.as_bytes()).unwrap();
        }
    };
    (address, std::thread::spawn(serve))
}

/// Reports whether the addresses of a server are still cached after it replied with `error`.
fn keeps_addresses_after(error: &str) -> bool {
    let (address, server) = start_server(1, format!("-{error} x\r\n"));
    resolve::learn("primary.invalid", address.port(), &[address]);
    let dsn = format!("redis://primary.invalid:{}", address.port());
    let redis = Redis::new(Dsn::parse(&dsn).unwrap(), b"");
    let deadline = boot_clock() + 5 * TICKS_PER_SECOND;
    let none: [&[u8]; 0] = [];
    let visit = Visit::to(&redis, b"", deadline).unwrap();
    assert!(visit.run(&TAKE, &none, &[]).is_err());
    server.join().unwrap();
    !resolve::is_due("primary.invalid", address.port())
}

#[test]
fn addresses_of_a_server_that_cannot_decide_are_forgotten() {
    for error in ["READONLY", "MASTERDOWN", "MOVED", "CLUSTERDOWN", "LOADING"] {
        assert!(!keeps_addresses_after(error), "{error}");
    }
    for error in ["ERR", "NOPERM", "OOM", "BUSY"] {
        assert!(keeps_addresses_after(error), "{error}");
    }
}

#[test]
fn a_reply_with_more_ahead_than_was_asked_for_is_an_error() {
    for (extra, is_allowed) in [(7, true), (8, false)] {
        let reply = format!("*4\r\n:1\r\n:{LEAST_TIME}\r\n:0\r\n:{extra}\r\n");
        let (address, server) = start_server(1, reply);
        let redis = Redis::new(Dsn::parse(&format!("redis://{address}")).unwrap(), b"");
        let visit = Visit::to(&redis, b"", boot_clock() + 5 * TICKS_PER_SECOND).unwrap();
        let (extra, life) = (7 * TICKS_PER_MICROSECOND, TICKS_PER_SECOND);
        let request = StepRequest {
            wanted: Wanted::Slice {
                estimate: 0,
                extra,
                life,
            },
            ..StepRequest::new(Vec::new(), Step::new(1_000_000, 10_000_000))
        };
        assert_eq!(Redis::take(&visit, &request).is_ok(), is_allowed);
        server.join().unwrap();
    }
}

#[test]
fn the_error_of_a_command_in_a_script_has_its_own_code() {
    let node = node::Node::new(Dsn::parse("redis://h").unwrap());
    let says = |text: &str| {
        let value = redis::parse_redis_value(format!("-{text}\r\n").as_bytes()).unwrap();
        let code = node::code(&value).to_owned();
        let Value::ServerError(error) = value else {
            panic!("{text}");
        };
        (code, node.refused(&error).to_string())
    };
    // The replies of Redis 7.0 and 6.0.
    let readonly = "READONLY You can't write against a read only replica.";
    let wrapped = "ERR Error running script (call to f_1): @user_script:60: @user_script: 60: -";
    let expected = ("READONLY".to_owned(), format!("it answered: {readonly}"));
    assert_eq!(says(readonly), expected);
    assert_eq!(says(&format!("{wrapped}{readonly}")), expected);
    assert_eq!(says("ERR other: -READONLY text").0, "ERR");
    // The reply of Redis 8.0.
    let denied = "User x has no permissions to run the 'get' command";
    let expected = ("NOPERM".to_owned(), format!("it answered: NOPERM {denied}"));
    assert_eq!(
        says(&format!("ERR ACL failure in script: {denied}")),
        expected
    );
}

/// Returns the number that selects the breaker of a DSN.
fn login(dsn: &str) -> u64 {
    Topology::of(Dsn::parse(dsn).unwrap()).whole.login
}

/// Addresses that together have every option.
const ADDRESSES: [&str; 5] = [
    "rediss://u:p@h:1/1?cafile=/a&certfile=/a&keyfile=/a&servername=a&one_server=1",
    "unix:///s?db=1&user=a&password=a&one_server=1",
    "rediss+sentinel://u:p@h:1,i:1/m/1\
     ?cafile=/a&servername=a&sentinel_user=a&sentinel_password=a",
    "rediss+cluster://u:p@h:1,i:1?cafile=/a&servername=a&hash_tags=1",
    "redis+ring://h,i?weights=1,1",
];

#[test]
fn addresses_that_differ_in_any_option_have_different_breakers() {
    let mut varied = BTreeSet::new();
    for address in ADDRESSES {
        let (target, query) = address.split_once('?').unwrap();
        let options: Vec<_> = query.split('&').collect();
        for (index, option) in options.iter().enumerate() {
            let (name, value) = option.split_once('=').unwrap();
            let other = match value {
                "1" => format!("{name}=0"),
                "1,1" => format!("{name}=2,1"),
                _ => format!("{name}={value}b"),
            };
            let mut others = options.clone();
            others[index] = &other;
            let changed = format!("{target}?{}", others.join("&"));
            assert_ne!(login(&changed), login(address), "{changed}");
            varied.insert(name);
        }
    }
    // This option is no part of the address.
    varied.insert("take_ahead");
    assert_eq!(varied, BTreeSet::from(dsn::KNOWN), "no option is left out");
    for (address, changed) in [
        ("redis://u:p@h:1/1", "redis://v:p@h:1/1"),
        ("redis://u:p@h:1/1", "redis://u:q@h:1/1"),
        ("redis://u:p@h:1/1", "redis://u:p@i:1/1"),
        ("redis://u:p@h:1/1", "redis://u:p@h:2/1"),
        ("redis://u:p@h:1/1", "redis://u:p@h:1/2"),
        ("redis://u:p@h:1/1", "rediss://u:p@h:1/1"),
        ("redis+sentinel://h/m", "redis+sentinel://h/n"),
        ("redis+sentinel://h/m", "redis+sentinel://h,i/m"),
        ("redis+cluster://h", "redis+sentinel://h/m"),
    ] {
        assert_ne!(login(address), login(changed), "{changed}");
    }
}

#[test]
fn addresses_that_mean_the_same_share_a_breaker() {
    for address in ADDRESSES {
        let (target, query) = address.split_once('?').unwrap();
        let options: Vec<_> = query.split('&').rev().collect();
        let reversed = format!("{target}?{}", options.join("&"));
        assert_eq!(login(&reversed), login(address));
    }
    for (address, same) in [
        ("redis://H", "redis://h:6379/0"),
        ("rediss://h", "rediss://h/?servername=h"),
        ("unix:///s", "redis+unix:///s?db=0"),
        ("redis://:%70@h", "redis://:p@h"),
        ("redis+sentinel://h/m", "redis+sentinel://h:26379/m/0"),
        ("redis+cluster://h", "redis+cluster://h/0?hash_tags=0"),
    ] {
        assert_eq!(login(address), login(same), "{same}");
    }
}

#[test]
fn servers_of_a_fleet_have_the_breakers_of_their_own_logins() {
    let member = |dsn: &str| {
        let dsn = Dsn::parse(dsn).unwrap();
        let fleet = dsn.fleet.as_ref().unwrap();
        let found = dsn.at(dsn.endpoint.clone(), fleet.server_name.as_ref());
        let seed = fleet.seeds[0].clone();
        [found, seed].map(|dsn| node::Node::new(dsn).server.login)
    };
    let at = |options: &str| member(&format!("rediss+sentinel://:p@h:1,i:1/m?{options}"));
    let [server, sentinel] = at("servername=a&sentinel_password=a");
    assert_ne!(server, sentinel);
    assert_ne!(at("servername=b&sentinel_password=a"), [server, sentinel]);
    // A wrong password of the sentinels is no fault of the primary.
    let [same, other] = at("servername=a&sentinel_password=b");
    assert!(same == server && other != sentinel);
}

/// The test owns the server, because on a real one a lease that is short enough to wait for may end
/// before its renewal.
#[test]
fn a_renewed_lease_lasts_longer_on_this_host_too() {
    let (address, server) = start_server(2, "*4\r\n:1\r\n:1\r\n:0\r\n:0\r\n".to_owned());
    let dsn = format!("redis://{address}");
    let lines = segment::host::lines(1 << 20);
    let settings = segment::host::HostSettings {
        lines,
        diagnostics: false,
        evict: false,
    };
    let host = Host::new(settings, Segment::private).unwrap();
    let settings = Settings {
        timeout: 20 * TICKS_PER_SECOND,
        on_failure: OnFailure::Throw,
        denial_cache_max_age: None,
        take_ahead: 0,
    };
    let remote = Remote::new(Redis::new(Dsn::parse(&dsn).unwrap(), b""), settings, &host);
    let acquired = remote.acquire(remote.hasher().key(b"id"), 1, TICKS_PER_SECOND);
    let mut permit = acquired.unwrap().value.unwrap().permit;
    let lasts_until = |permit: &ServerPermit| match permit {
        ServerPermit::Lease(lease) => lease.lasts_until,
        other => panic!("{other:?}"),
    };
    let before = lasts_until(&permit);
    assert!(remote.renew(&mut permit).unwrap().value);
    assert!(lasts_until(&permit) > before);
    server.join().unwrap();
}
