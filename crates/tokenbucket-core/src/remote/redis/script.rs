//! Scripts, and the calls that run them on the servers of a place.
//!
//! A script is called by its hash. Its text is sent only after the reply that the hash is unknown.
//! A command is repeated only after a reply that refuses it. That reply may name another server.

use super::Redis;
use super::node::{LIKELY_LENGTH, Line, Node, code};
use crate::clock::{TICKS_PER_MICROSECOND, TICKS_PER_SECOND, Ticks, Timestamp, boot_clock};
use crate::remote::Cause;
use redis::{Cmd, Value, cmd};
use std::sync::Arc;
use std::time::Duration;

/// The most times that a refused command is repeated.
const MOST_REPEATS: u32 = 2;
/// The longest pause before a command is repeated on the same server.
const LONGEST_PAUSE: Ticks = TICKS_PER_SECOND / 50;

/// The head of scripts on records: defines `call`, `number`, `read` and `keep`.
pub const RECORD: &str = include_str!("record.lua");
/// The head of scripts that need the server's time: defines `now`. It must follow [`RECORD`].
pub const CLOCK: &str = include_str!("clock.lua");

/// A Lua script, and the hash that identifies it on servers.
#[derive(Debug)]
pub struct Script {
    text: String,
    hash: String,
}

impl Script {
    /// Joins `parts` into one script: the heads that it needs, then its own text.
    #[must_use]
    pub fn new(parts: &[&str]) -> Self {
        let text = parts.concat();
        let hash = redis::Script::new(&text).get_hash().to_owned();
        Self { text, hash }
    }
}

/// An argument of a script.
#[derive(Clone, Copy, Debug)]
pub enum Argument<'a> {
    /// Bytes.
    Word(&'a [u8]),
    /// A number in decimal digits.
    Number(i64),
}

impl Argument<'_> {
    /// Converts a length of time, below 2^62 ticks, to a number of whole microseconds.
    #[must_use]
    pub const fn micros(ticks: Ticks) -> Self {
        Self::Number((ticks / TICKS_PER_MICROSECOND).cast_signed())
    }
}

/// A script with its keys and arguments.
struct Invocation<'a, K> {
    script: &'a Script,
    keys: &'a [K],
    arguments: &'a [Argument<'a>],
}

impl<K: AsRef<[u8]>> Invocation<'_, K> {
    /// Sends the invocation, and sends it again with the text of the script if the server does not
    /// have it. `asking` goes before each command that a server gets because of ASK.
    fn send(&self, line: &mut Line<'_>, asking: bool) -> Result<Value, Cause> {
        let mut commands = Vec::with_capacity(2);
        if asking {
            commands.push(cmd("ASKING"));
        }
        commands.push(self.command("EVALSHA", &self.script.hash));
        let value = line.exchange(&commands)?;
        if code(&value) != "NOSCRIPT" {
            return Ok(value);
        }
        commands.pop();
        commands.push(self.command("EVAL", &self.script.text));
        line.exchange(&commands)
    }

    fn command(&self, command: &str, script: &str) -> Cmd {
        let words = 3 + self.keys.len() + self.arguments.len();
        let mut invocation = Cmd::with_capacity(words, LIKELY_LENGTH);
        invocation.arg(command).arg(script).arg(self.keys.len());
        for key in self.keys {
            invocation.arg(key.as_ref());
        }
        for argument in self.arguments {
            match argument {
                Argument::Word(word) => invocation.arg(*word),
                Argument::Number(number) => invocation.arg(*number),
            };
        }
        invocation
    }
}

impl Redis {
    /// Runs a script before `deadline` and returns its reply. Takes one round trip, unless the
    /// connection is new, the server does not have the script yet, or a cluster has moved the key.
    ///
    /// `keys` are sent unchanged. [`super::Transport::name`] returns the key of a bucket.
    /// [`Redis::raw_name`] returns the key of any other record. In a cluster, all keys must have
    /// the same slot.
    ///
    /// # Errors
    /// Returns [`Cause::Record`] if a key holds data that is not a record. The server's error is
    /// then WRONGTYPE, or the script's error begins with TOKENBUCKET. Returns any other [`Cause`]
    /// if the server failed or did not reply in time.
    pub fn run<K: AsRef<[u8]>>(
        &self,
        script: &Script,
        keys: &[K],
        arguments: &[Argument<'_>],
        deadline: Timestamp,
    ) -> Result<Value, Cause> {
        let invocation = Invocation {
            script,
            keys,
            arguments,
        };
        let key = keys.first().map_or(&b""[..], AsRef::as_ref);
        let home = self.place.node(key);
        let home = home.ok_or(Cause::Answer("the servers are not known yet"))?;
        let (mut node, mut asking) = (Arc::clone(&home), false);
        let mut repeats = 0;
        loop {
            let send = |line: &mut Line<'_>| invocation.send(line, asking);
            let located = |cause| elsewhere(&home, &node, cause);
            let value = node.with(self.place.dsn.is_cluster(), deadline, send);
            let value = value.map_err(located)?;
            let hop = self.hop(key, &node, &value, deadline);
            let Some(next) = hop.filter(|_| repeats < MOST_REPEATS) else {
                if repeats > 0 && !asking && !matches!(value, Value::ServerError(_)) {
                    self.place.refresh(&node, deadline);
                }
                return read(&node, value).map_err(located);
            };
            (node, asking) = next;
            repeats += 1;
        }
    }

    /// Returns the server on which a refused command must be repeated, and true if that server
    /// needs ASKING. Returns `None` if the command must not be repeated.
    fn hop(
        &self,
        key: &[u8],
        node: &Arc<Node>,
        value: &Value,
        deadline: Timestamp,
    ) -> Option<(Arc<Node>, bool)> {
        let Value::ServerError(error) = value else {
            return None;
        };
        match error.code() {
            "TRYAGAIN" | "CLUSTERDOWN" if self.place.dsn.is_cluster() => {
                pause(deadline).then(|| {
                    (
                        self.place.node(key).unwrap_or_else(|| Arc::clone(node)),
                        false,
                    )
                })
            }
            code => self.place.redirect(key, node, code, error.details()?),
        }
    }
}

/// Waits for a part of the time until `deadline`. Returns false if no time is left.
fn pause(deadline: Timestamp) -> bool {
    let left = deadline.saturating_since(boot_clock());
    std::thread::sleep(Duration::from_nanos((left / 4).min(LONGEST_PAUSE)));
    left > 0
}

/// Adds the server to a failure if another server was chosen for the key first.
fn elsewhere(home: &Node, node: &Node, cause: Cause) -> Cause {
    if home.dsn == node.dsn {
        return cause;
    }
    Cause::Elsewhere {
        server: Arc::clone(&node.server),
        cause: Box::new(cause),
    }
}

/// Converts an error of a script or a server.
fn read(node: &Node, value: Value) -> Result<Value, Cause> {
    match value {
        Value::ServerError(error) if matches!(error.code(), "TOKENBUCKET" | "WRONGTYPE") => {
            Err(Cause::Record)
        }
        Value::ServerError(error) => Err(node.refused(&error)),
        value => Ok(value),
    }
}
