//! Tests that passwords are never shown.

use crate::caller::{Caller, HASTY, PLAIN, PREFIX, take};
use stores::remote::redis::dsn::Dsn;
use stores::remote::{Remote, Settings, redis};
use testkit::Redis;

/// Returns everything that a failure can show.
fn shown(dsn: &str, settings: Settings) -> String {
    let caller = Caller::redis(dsn, settings);
    let failure = caller.ask(b"id", &take(1)).unwrap_err();
    let transport = redis::Redis::new(Dsn::parse(dsn).unwrap(), PREFIX.as_bytes());
    let remote = Remote::new(transport, settings, caller.host);
    let states = caller.host.breakers().states();
    format!("{failure} {failure:?} {remote:?} {states:?}")
}

/// Asserts that the text contains no useful part of the secret.
#[track_caller]
fn assert_hidden(secret: &str, text: &str) {
    for part in secret.as_bytes().windows(6) {
        let part = std::str::from_utf8(part).unwrap();
        assert!(!text.contains(part), "{part} is in {text}");
    }
}

#[test]
fn a_password_is_not_in_what_a_failure_says() {
    let redis = Redis::start(&["--requirepass", "another"]);
    let port = redis.port();
    let mut gone = Redis::start(&[]);
    gone.kill();
    for at in [port, gone.port()] {
        assert_hidden(
            "hunter2-planted",
            &shown(&format!("redis://:hunter2-planted@127.0.0.1:{at}"), PLAIN),
        );
        // A server without TLS does not reply to the handshake.
        let tls = format!("rediss://ann:hunter2-planted@127.0.0.1:{at}");
        assert_hidden("hunter2-planted", &shown(&tls, HASTY));
    }
    let socket = redis.socket();
    let unix = format!("unix://{}?password=hunter2-planted", socket.display());
    assert_hidden("hunter2-planted", &shown(&unix, PLAIN));
}

#[test]
fn a_server_that_repeats_what_it_was_told_is_cut_short() {
    // For a server without AUTH, the password is an argument of an unknown command.
    let redis = Redis::start(&["--rename-command", "AUTH", ""]);
    let long: Vec<_> = (0..50)
        .map(|number| format!("{number:04}planted"))
        .collect();
    let long = long.concat();
    for secret in ["hunter2-planted", &long] {
        let told = redis.cli(&["AUTH", secret]);
        assert!(told.contains(&secret[..12]), "the control: {told}");
        let dsn = format!("redis://:{secret}@127.0.0.1:{}", redis.port());
        let text = shown(&dsn, PLAIN);
        assert!(text.contains("unknown command"), "{text}");
        assert_hidden(secret, &text);
    }
}
