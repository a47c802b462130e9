//! Tests permits while their server is down or hangs, and after it has lost its data.

use crate::caller::{HASTY, HOUR, PLAIN, under};
use crate::permits::{Limiter, pass, set};
use segment::permits::Refusal;
use segment::slots::counters::Event;
use stores::remote::{Cause, Failure, OnFailure};
use testkit::{Mode, Proxy, Redis, Upstream, eventually};

#[test]
fn the_policy_decides_while_the_server_is_down() {
    let mut redis = Redis::start(&[]);
    let policies = [OnFailure::Local, OnFailure::Allow, OnFailure::Deny];
    let limiters = policies.map(|policy| Limiter::at(redis.port(), under(policy)));
    let throwing = Limiter::at(redis.port(), PLAIN);
    let mut before = limiters.each_ref().map(|it| it.acquire("id", 8).unwrap());
    let mut thrown = throwing.acquire("id", 8).unwrap();
    redis.kill();
    let [local, allow, deny] = &limiters;
    // The host grants permits of its own, as if there were no others of this name.
    let mut here: Vec<_> = (0..2).filter_map(|_| local.acquire("id", 2)).collect();
    assert_eq!(here.len(), 2);
    assert!(local.acquire("id", 2).is_none());
    assert_eq!(local.held("id"), 2);
    assert!(here.iter_mut().all(|permit| local.renew(permit)));
    local.release(here.remove(0));
    assert!(local.acquire("id", 2).is_some());
    let mut allowed: Vec<_> = (0..3).filter_map(|_| allow.acquire("id", 1)).collect();
    assert!(allowed.len() == 3 && allow.held("id") == 0);
    assert!(allowed.iter_mut().all(|permit| allow.renew(permit)));
    for permit in allowed {
        allow.release(permit);
    }
    let denied = deny.ask("id", 1, HOUR).unwrap();
    assert!(denied.fallback && matches!(denied.value, Err(Refusal::Unavailable)));
    assert_eq!(deny.held("id"), 1024);
    assert!(matches!(
        throwing.fails("id", 1),
        Cause::Connect(_) | Cause::Waiting
    ));
    assert!(throwing.try_renew(&mut thrown).is_err());
    assert!(throwing.try_release(thrown).is_err());
    // As far as each host knows, its lease on the server has not ended yet, so the renewal
    // succeeds.
    let renewed = limiters.iter().zip(&mut before);
    for (limiter, permit) in renewed {
        assert!(limiter.renew(permit));
    }
    for (limiter, permit) in limiters.iter().zip(before) {
        let answer = limiter.try_release(permit).unwrap();
        assert!(answer.fallback);
    }
    redis.restart();
    let recovers = || {
        let answer = local.ask("id", 1, HOUR).unwrap();
        !answer.fallback && answer.value.is_ok()
    };
    assert!(eventually(recovers));
    // A permit of this host is given back to this host.
    local.release(here.remove(0));
    assert_eq!(local.held("id"), 1);
}

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
    let proxy = Proxy::tcp(Upstream::Tcp(redis.port()));
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
