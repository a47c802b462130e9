//! Scripts, and the calls that run them on the servers of a topology.
//!
//! A script is called by its hash. Its text is sent only after the reply that the hash is unknown.
//! A command is repeated only after a reply that refuses it. If that reply names another server,
//! the caller decides whether that server may be called.

use super::node::{LIKELY_LENGTH, Node, RequestLine, code};
use super::{Redis, Route};
use crate::remote::{Cause, Visit};
use gcra::{TICKS_PER_MICROSECOND, TICKS_PER_SECOND, Ticks, Timestamp, boot_clock};
use once_cell::race::OnceBox;
use redis::{Cmd, Value, cmd};
use std::time::Duration;

/// The most times that a refused command is repeated.
const MOST_REPEATS: u32 = 2;
/// The round that sends the text of the script with each command. If a server replies even then
/// that it does not know the script, the command is not repeated.
const LAST_ROUND: u32 = 2;
/// The longest pause before a command is repeated on the same server.
const LONGEST_PAUSE: Ticks = TICKS_PER_SECOND / 50;

/// The head of scripts on records: defines `call`, `number`, `read` and `keep`.
pub const RECORD: &str = include_str!("record.lua");
/// The head of scripts that need the server's time: defines `now`. They must have a key.
pub const CLOCK: &str = include_str!("clock.lua");

#[derive(Debug)]
pub struct Script {
    parts: &'static [&'static str],
    /// Threads do not wait for each other to join the parts, because a forked child does not have
    /// the thread that it would wait for.
    joined: OnceBox<Joined>,
}

/// The text of a script, and the hash that identifies it on servers.
#[derive(Debug)]
struct Joined {
    text: String,
    hash: String,
}

impl Script {
    /// Creates a script from the heads that it needs and its own text.
    pub const fn new(parts: &'static [&'static str]) -> Self {
        let joined = OnceBox::new();
        Self { parts, joined }
    }

    fn joined(&self) -> &Joined {
        self.joined.get_or_init(|| {
            let text = self.parts.concat();
            let hash = redis::Script::new(&text).get_hash().to_owned();
            Box::new(Joined { text, hash })
        })
    }

    /// Returns the command that the ACL of the user does not allow, if `error` is about that. Redis
    /// before 7.2 names the line of the script instead of the command. It names no line for the
    /// command that the script calls with `pcall`.
    fn denied_command(&self, error: &redis::ServerError) -> Option<String> {
        let error = error.details()?;
        if !error.contains("user executing the script can't run this command") {
            return None;
        }
        let number = error.split("user_script:").nth(1).map(str::trim_start);
        let number = number.and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next());
        let number = number.and_then(|digits| digits.parse::<usize>().ok());
        let text = &self.joined().text;
        let line = match number {
            Some(number) => text.lines().nth(number.checked_sub(1)?),
            // A refused TIME has an error of its own.
            None => text
                .lines()
                .find(|line| line.contains("pcall('") && !line.contains("TIME'")),
        };
        let (_, command) = line?.split_once("call('")?;
        Some(command.split('\'').next()?.to_ascii_lowercase())
    }
}

#[derive(Clone, Copy, Debug)]
pub enum Argument<'a> {
    Word(&'a [u8]),
    /// A number in decimal digits.
    Number(i64),
}

impl Argument<'_> {
    /// Converts a length of time, below 2^62 ticks, to a number of whole microseconds.
    pub const fn micros(ticks: Ticks) -> Self {
        Self::Number((ticks / TICKS_PER_MICROSECOND).cast_signed())
    }
}

/// The keys and the arguments of one run of a script.
pub type Run<'k, K, A> = (&'k [K], A);

impl Visit<'_, Redis> {
    /// Runs a script and returns its reply. Takes one round trip, unless the connection is new, the
    /// server does not have the script yet, or a cluster has moved the key.
    ///
    /// `keys` are sent unchanged. [`Transport::name`] returns the key of a bucket.
    /// [`Redis::raw_name`] returns the key of any other record. In a cluster, all keys must have
    /// the same slot. Fails with [`Cause::Redirected`] if a cluster has moved the key. The script
    /// was not run then. Fails with [`Cause::Record`] if a key holds data that is not a record. The
    /// server's error is then WRONGTYPE, or the script's error begins with TOKENBUCKET. Fails with
    /// any other [`Cause`] if the server failed or did not reply in time.
    pub fn run<K: AsRef<[u8]>>(
        &self,
        script: &Script,
        keys: &[K],
        arguments: &[Argument<'_>],
    ) -> Result<Value, Cause> {
        self.run_and_look(script, &[(keys, arguments)], |_, _| ())
    }

    /// Runs a script as [`Visit::run`] does for the first run, and in the same round trip for the
    /// other runs. Passes each other reply, which may be an error, to `seen` with the index of its
    /// run.
    pub fn run_and_look<K: AsRef<[u8]>>(
        &self,
        script: &Script,
        runs: &[Run<'_, K, &[Argument<'_>]>],
        mut seen: impl FnMut(usize, Value),
    ) -> Result<Value, Cause> {
        let key = runs.first().and_then(|run| run.0.first());
        let key = key.map_or(&b""[..], AsRef::as_ref);
        let Route { node, asks } = &self.route;
        let topology = &self.store.topology;
        for repeats in 0.. {
            let send = |line: &mut RequestLine| {
                let mut first = Value::Nil;
                invoke(line, script, runs, 0, *asks, |index, value| match index {
                    0 => first = value,
                    _ => seen(index, value),
                })?;
                Ok(first)
            };
            let value = node.with(topology.dsn.is_cluster(), self.deadline, send)?;
            let waits =
                topology.dsn.is_cluster() && matches!(code(&value), "TRYAGAIN" | "CLUSTERDOWN");
            let is_last = match topology.elsewhere(key, node, &value) {
                _ if waits && !pause(self.deadline) => true,
                Some(next) if next.asks || next.node.dsn != node.dsn => return Err(next.into()),
                next => next.is_none() || repeats >= MOST_REPEATS,
            };
            if is_last {
                return read(node, script, value);
            }
        }
        Err(Cause::Timeout)
    }

    /// Converts an error in a reply of [`Visit::run_and_look`].
    pub fn read(&self, script: &Script, value: Value) -> Result<Value, Cause> {
        read(&self.route.node, script, value)
    }
}

impl Node {
    /// Runs a script once for the keys and arguments of each run, in one pipeline. `is_member` is
    /// explained at [`Node::with`]. `first_round` is 1 if the server is known not to have the
    /// script. Passes each reply, which may be an error, to `done` with the index of its run. Fails
    /// if the server failed. It is unknown whether the runs without a reply were executed.
    pub(super) fn run_each<'s, K: AsRef<[u8]>, A: AsRef<[Argument<'s>]>>(
        &self,
        is_member: bool,
        script: &Script,
        runs: &[Run<'_, K, A>],
        first_round: u32,
        deadline: Timestamp,
        done: impl FnMut(usize, Value),
    ) -> Result<(), Cause> {
        self.with(is_member, deadline, |line| {
            invoke(line, script, runs, first_round, false, done)
        })
    }
}

/// Waits for a part of the time until `deadline`. Returns false if no time is left.
fn pause(deadline: Timestamp) -> bool {
    let left = deadline.saturating_since(boot_clock());
    std::thread::sleep(Duration::from_nanos((left / 4).min(LONGEST_PAUSE)));
    left > 0
}

/// Runs a script once for each run, and passes each reply to `done`. Sends the text of the script
/// if the server does not have it, which is known if `first_round` is 1. `asking` goes before a
/// command that a server gets because of ASK.
fn invoke<'s, K: AsRef<[u8]>, A: AsRef<[Argument<'s>]>>(
    line: &mut RequestLine,
    script: &Script,
    runs: &[Run<'_, K, A>],
    first_round: u32,
    asking: bool,
    mut done: impl FnMut(usize, Value),
) -> Result<(), Cause> {
    // The runs that were not executed yet, because the server did not have the script. One EVAL
    // gives the script to the server. Another client may make the server forget it again.
    let mut open: Vec<_> = (0..runs.len()).collect();
    for round in first_round.. {
        let commands = invocations(script, open.iter().map(|&index| &runs[index]), round);
        if asking {
            line.precede(cmd("ASKING"));
        }
        let mut unknown = Vec::new();
        line.exchange(&commands, |place, value| {
            if is_unknown(&value, round) {
                unknown.push(open[place]);
            } else {
                done(open[place], value);
            }
        })?;
        if unknown.is_empty() {
            break;
        }
        open = unknown;
    }
    Ok(())
}

/// Returns the commands that run a script. Round 0 sends its hash, round 1 its text once, and the
/// last round its text with each command.
pub(super) fn invocations<'r, 's: 'r, K: AsRef<[u8]> + 'r, A: AsRef<[Argument<'s>]> + 'r>(
    script: &Script,
    runs: impl Iterator<Item = &'r Run<'r, K, A>>,
    round: u32,
) -> Vec<Cmd> {
    let command = |(place, (keys, arguments)): (usize, &Run<'_, K, A>)| {
        let sends_text = (round == 1 && place == 0) || round > 1;
        invocation(script, sends_text, keys, arguments.as_ref())
    };
    runs.enumerate().map(command).collect()
}

/// Reports whether a reply of a round shows that the script was not run, because the server does
/// not have it, and must be sent again.
pub(super) fn is_unknown(reply: &Value, round: u32) -> bool {
    code(reply) == "NOSCRIPT" && round < LAST_ROUND
}

/// Returns the command that runs a script, by its text or by its hash.
pub fn invocation<K: AsRef<[u8]>>(
    script: &Script,
    sends_text: bool,
    keys: &[K],
    arguments: &[Argument<'_>],
) -> Cmd {
    let mut command = Cmd::with_capacity(3 + keys.len() + arguments.len(), LIKELY_LENGTH);
    let Joined { text, hash } = script.joined();
    if sends_text {
        command.arg("EVAL").arg(text);
    } else {
        command.arg("EVALSHA").arg(hash);
    }
    command.arg(keys.len());
    for key in keys {
        command.arg(key.as_ref());
    }
    for argument in arguments {
        match argument {
            Argument::Word(word) => command.arg(*word),
            Argument::Number(number) => command.arg(*number),
        };
    }
    command
}

/// Converts an error of a script or a server.
pub fn read(node: &Node, script: &Script, value: Value) -> Result<Value, Cause> {
    match value {
        Value::ServerError(error) if matches!(error.code(), "TOKENBUCKET" | "WRONGTYPE") => {
            Err(Cause::Record)
        }
        Value::ServerError(error) => Err(match script.denied_command(&error) {
            Some(command) => Cause::refused(
                &format!("NOPERM this user has no permissions to run the '{command}' command"),
                None,
            ),
            None => node.refused(&error),
        }),
        value => Ok(value),
    }
}
