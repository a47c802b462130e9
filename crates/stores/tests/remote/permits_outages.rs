//! Tests permits while their server is down or hangs, and after it has lost its data.

use crate::caller::{HASTY, HOUR, PLAIN, under};
use crate::permits::{Limiter, pass, set};
use segment::slots::counters::Event;
use stores::remote::{Cause, Failure, OnFailure};
use testkit::{Mode, Proxy, Redis, eventually};

#[test]
fn a_lease_that_has_ended_is_not_renewed_while_the_server_is_down() {
    let mut redis = Redis::start(&[]);
    let limiters = [OnFailure::Local, OnFailure::Deny, OnFailure::Allow]
        .map(|policy| Limiter::at(redis.port(), under(policy)));
    let mut permits = limiters
        .each_ref()
        .map(|it| it.acquire_for("id", 8, 1000).unwrap());
    redis.kill();
    for (limiter, permit) in limiters.iter().zip(&mut permits).take(2) {
        assert!(eventually(|| !limiter.renew(permit)));
    }
    assert!(limiters[2].renew(&mut permits[2]), "allowed");
}

#[test]
fn a_server_that_loses_its_data_loses_the_permits() {
    let mut redis = Redis::start(&[]);
    let limiter = Limiter::at(redis.port(), PLAIN);
    let mut permit = limiter.acquire("id", 1).unwrap();
    redis.restart();
    assert!(!limiter.renew(&mut permit));
    assert!(limiter.acquire("id", 1).is_some());
}

#[test]
fn a_server_that_hangs_fails_within_the_timeout() {
    let redis = Redis::start(&[]);
    let proxy = Proxy::tcp(redis.port());
    let limiter = Limiter::at(proxy.port(), HASTY);
    assert!(eventually(|| limiter.ask("id", 9, HOUR).is_ok()));
    let opened = limiter.count(Event::Opened);
    proxy.set(Mode::SwallowRequests);
    for _ in 0..3 {
        assert!(matches!(limiter.fails("id", 9), Cause::Timeout));
    }
    assert_eq!(limiter.count(Event::Opened) - opened, 1);
}

/// The commands of the script, as the documentation lists them.
const COMMANDS: [&str; 9] = [
    "pexpire",
    "pttl",
    "time",
    "zadd",
    "zcard",
    "zrangebyscore",
    "zrem",
    "zremrangebyscore",
    "zscore",
];

/// Uses all commands of the script.
fn uses_all(redis: &Redis, limiter: &Limiter) -> Result<(), Failure> {
    limiter.ask("id", 2, HOUR)?;
    pass(redis, "id", HOUR.cast_signed());
    let answer = limiter.ask("id", 2, HOUR)?;
    let mut permit = answer.value.expect("granted").permit;
    limiter.try_renew(&mut permit)?;
    limiter.try_release(permit)?;
    Ok(())
}

#[test]
fn a_permission_that_is_missing_is_named() {
    let redis = Redis::start(&[]);
    let limiter = |missing: &str| {
        let commands = COMMANDS.iter().filter(|command| **command != missing);
        let commands: Vec<_> = commands.map(|command| format!("+{command}")).collect();
        let words = [
            "ACL", "SETUSER", "ann", "reset", "on", ">hers", "~t:*", "+eval", "+evalsha",
        ];
        let words = words.into_iter().chain(commands.iter().map(String::as_str));
        assert_eq!(redis.cli(&words.collect::<Vec<_>>()), "OK");
        redis.cli(&["DEL", &set("id")]);
        Limiter::new(
            &format!("redis://ann:hers@127.0.0.1:{}", redis.port()),
            PLAIN,
        )
    };
    uses_all(&redis, &limiter("")).unwrap();
    for command in COMMANDS {
        let failure = uses_all(&redis, &limiter(command)).unwrap_err().to_string();
        let is_named = failure.contains("NOPERM") && failure.contains(&format!("'{command}'"));
        assert!(is_named, "{command}: {failure}");
    }
}
