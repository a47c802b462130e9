//! Checks what would fail silently in other tests: the counts and faults of the proxy, and what is
//! left of a server.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use testkit::{Blackhole, Mode, Proxy, Redis, eventually};

/// The time that a test waits for bytes that must not arrive.
const SOON: Duration = Duration::from_millis(200);
/// The time after which a missing reply fails a test.
const HANG: Duration = Duration::from_secs(60);

fn connect(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(HANG)).unwrap();
    stream
}

/// Sends one PING and returns the bytes of the reply, at most as many as one PONG has.
fn ping(stream: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    stream.write_all(b"PING\r\n")?;
    let mut reply = vec![0; 7];
    let mut length = 0;
    while length < reply.len() {
        match stream.read(&mut reply[length..])? {
            0 => break,
            more => length += more,
        }
    }
    reply.truncate(length);
    Ok(reply)
}

/// Reports whether no byte arrives soon.
fn is_silent(stream: &mut TcpStream) -> bool {
    stream.set_read_timeout(Some(SOON)).unwrap();
    let result = stream.read(&mut [0; 1]);
    stream.set_read_timeout(Some(HANG)).unwrap();
    matches!(result, Err(error) if error.kind() == ErrorKind::WouldBlock)
}

#[test]
fn nothing_is_left_of_a_server() {
    let redis = Redis::start(&[]);
    let (pid, socket) = (redis.pid(), redis.socket());
    drop(redis);
    assert!(!Path::new(&format!("/proc/{pid}")).exists());
    assert!(!socket.parent().unwrap().exists());
}

#[test]
fn nothing_is_left_of_a_server_whose_test_was_killed() {
    // The test runs itself in another process, which aborts without dropping the server.
    const INNER: &str = "TOKENBUCKET_DIES";
    if std::env::var_os(INNER).is_some() {
        let redis = Redis::start(&[]);
        println!("<{} {}>", redis.pid(), redis.socket().display());
        std::process::abort();
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args([
            "--nocapture",
            "--exact",
            "nothing_is_left_of_a_server_whose_test_was_killed",
        ])
        .env(INNER, "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = text.split(['<', '>']).nth(1).unwrap();
    let (pid, socket) = said.split_once(' ').unwrap();
    let process = format!("/proc/{pid}/status");
    // The process may stay a zombie, because its new parent need not reap it.
    let gone = || std::fs::read_to_string(&process).map_or(true, |text| text.contains("zombie"));
    assert!(eventually(gone));
    assert!(eventually(|| {
        !Path::new(socket).parent().unwrap().exists()
    }));
}

#[test]
fn a_round_trip_is_a_change_of_direction() {
    let redis = Redis::start(&[]);
    let proxy = Proxy::tcp(redis.port());
    let mut stream = connect(proxy.port());
    for _ in 0..10 {
        ping(&mut stream).unwrap();
    }
    assert_eq!((proxy.round_trips(), proxy.requests()), (10, 10));
    // A pipeline is one round trip.
    stream.write_all(b"PING\r\nPING\r\n").unwrap();
    stream.read_exact(&mut [0; 14]).unwrap();
    assert_eq!(proxy.round_trips(), 11);
    assert_eq!((proxy.connections(), proxy.reply_bytes()), (1, 12 * 7));
}

#[test]
fn the_wire_fails_as_told() {
    let redis = Redis::start(&[]);
    let proxy = Proxy::tcp(redis.port());

    let mut stream = connect(proxy.port());
    proxy.set(Mode::Drip(Duration::from_millis(20)));
    let start = Instant::now();
    assert_eq!(ping(&mut stream).unwrap(), b"+PONG\r\n");
    assert!(start.elapsed() >= Duration::from_millis(6 * 20));

    proxy.set(Mode::HalfReply);
    assert_eq!(ping(&mut connect(proxy.port())).unwrap(), b"+PO");

    proxy.set(Mode::SwallowReplies);
    let mut stream = connect(proxy.port());
    let replied = proxy.reply_bytes();
    stream.write_all(b"INCR hits\r\n").unwrap();
    assert!(eventually(|| proxy.reply_bytes() > replied));
    assert!(is_silent(&mut stream));
    assert_eq!(redis.cli(&["GET", "hits"]), "1");

    proxy.set(Mode::SwallowRequests);
    let mut stream = connect(proxy.port());
    let requests = proxy.requests();
    stream.write_all(b"INCR hits\r\n").unwrap();
    assert!(eventually(|| proxy.requests() > requests));
    assert!(is_silent(&mut stream));
    assert_eq!(redis.cli(&["GET", "hits"]), "1");

    proxy.set(Mode::Pass);
    let mut stream = connect(proxy.port());
    ping(&mut stream).unwrap();
    proxy.cut();
    assert_eq!(stream.read(&mut [0; 1]).unwrap(), 0);
    ping(&mut connect(proxy.port())).unwrap();
}

#[test]
fn connecting_to_a_black_hole_takes_forever() {
    let hole = Blackhole::tcp();
    let failed = TcpStream::connect_timeout(&hole.address(), SOON);
    assert_eq!(failed.unwrap_err().kind(), ErrorKind::TimedOut);
    let hole = Blackhole::unix();
    let socket = hole.socket();
    let connecting = std::thread::spawn(move || UnixStream::connect(socket).is_err());
    std::thread::sleep(SOON);
    assert!(!connecting.is_finished());
    drop(hole);
    assert!(connecting.join().unwrap());
}
