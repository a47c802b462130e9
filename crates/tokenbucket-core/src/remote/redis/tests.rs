//! Tests which errors of a server make a process look up the server's addresses again.
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
