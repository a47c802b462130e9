//! Tests how errors of a server are read. Some make a process look up the server's addresses again.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::clock::{TICKS_PER_SECOND, boot_clock};
use crate::remote::resolve;
use std::io::{Read, Write};
use std::net::TcpListener;

/// Reports whether the addresses of a server are still cached after it replied with `error`.
fn keeps_addresses_after(error: &str) -> bool {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    resolve::learn("primary.invalid", address.port(), &[address]);
    let reply = format!("-{error} x\r\n");
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        assert!(stream.read(&mut [0; 1000]).unwrap() > 0);
        stream.write_all(reply.as_bytes()).unwrap();
    });
    let dsn = format!("redis://primary.invalid:{}", address.port());
    let redis = Redis::new(Dsn::parse(&dsn).unwrap(), b"");
    let deadline = boot_clock() + 5 * TICKS_PER_SECOND;
    let none: [&[u8]; 0] = [];
    assert!(redis.run(&TAKE, &none, &[], deadline).is_err());
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
