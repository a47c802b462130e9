//! Scripts, and the client that runs them on connections of this process.
//!
//! A script is called by its hash. Its text is sent only after the reply that the hash is unknown.
//! A command may be repeated after that reply only.

use super::Redis;
use super::dsn::Dsn;
use crate::clock::{TICKS_PER_MICROSECOND, Ticks, Timestamp};
use crate::remote::channel::Channel;
use crate::remote::connections::Connections;
use crate::remote::stream::Stream;
use crate::remote::{Cause, tls};
use redis::{Cmd, Parser, Value, cmd};
use std::io::{self, Read};
use std::sync::Arc;

static CONNECTIONS: Connections<Arc<Dsn>, Box<dyn Channel>> = Connections::new();

/// The usual length of a call, in bytes.
const LIKELY_LENGTH: usize = 256;

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
        let line = match number {
            Some(number) => self.text.lines().nth(number.checked_sub(1)?),
            None => self.text.lines().find(|line| line.contains("pcall('")),
        };
        let (_, command) = line?.split_once("call('")?;
        Some(command.split('\'').next()?.to_ascii_lowercase())
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

impl Redis {
    /// Returns a connection. If it is new, also returns the commands that must be sent first.
    fn connection(&self, deadline: Timestamp) -> Result<(Box<dyn Channel>, Vec<Cmd>), Cause> {
        while let Some(mut channel) = CONNECTIONS.take(&self.dsn) {
            // Set the deadline first, because the check reads from the socket under TLS.
            channel.set_deadline(deadline);
            if channel.is_quiet() {
                return Ok((channel, Vec::new()));
            }
        }
        let stream = Stream::connect(&self.dsn.endpoint, deadline)?;
        let channel: Box<dyn Channel> = match &self.dsn.tls {
            Some(tls) => {
                let ca_file = tls.ca_file.as_deref();
                let client = tls::client(ca_file, tls.identity.as_ref(), &tls.server_name)?;
                Box::new(tls::handshake(client, stream)?)
            }
            None => Box::new(stream),
        };
        let mut greeting = Vec::new();
        if let Some(password) = &self.dsn.password {
            let mut auth = cmd("AUTH");
            if let Some(user) = &self.dsn.user {
                auth.arg(user);
            }
            auth.arg(password.expose());
            greeting.push(auth);
        }
        if self.dsn.database != 0 {
            let mut select = cmd("SELECT");
            select.arg(self.dsn.database);
            greeting.push(select);
        }
        Ok((channel, greeting))
    }

    /// Runs a script before `deadline` and returns its reply. Takes one round trip, unless the
    /// connection is new or the server does not have the script yet.
    ///
    /// `keys` are sent unchanged. [`super::Transport::name`] returns the key of a bucket.
    /// [`Redis::raw_name`] returns the key of any other record.
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
        let mut value = Err(Cause::Answer("no reply of Redis"));
        self.run_each(script, &[(keys, arguments)], deadline, |_, reply| {
            value = reply;
        })?;
        value
    }

    /// Runs a script once for the keys and arguments of each call, in one pipeline. Passes each
    /// reply to `done`, with the index of its call. See [`Redis::run`].
    ///
    /// # Errors
    /// Fails if the server failed. It is unknown whether the calls without a reply were executed.
    pub fn run_each<'s, K: AsRef<[u8]>, A: AsRef<[Argument<'s>]>>(
        &self,
        script: &Script,
        calls: &[(&[K], A)],
        deadline: Timestamp,
        mut done: impl FnMut(usize, Result<Value, Cause>),
    ) -> Result<(), Cause> {
        let (mut channel, mut greeting) = self.connection(deadline)?;
        if self.dsn.database != 0 && !greeting.is_empty() {
            // Send these commands separately, because the script must not run on another database
            // if the server refuses the database of the DSN.
            self.exchange(&mut *channel, &mut greeting, &[], |_, _| ())?;
        }
        // The calls that were not executed yet, because the server did not have the script. One
        // EVAL teaches the script to the server. Another client may make it forget the script.
        let mut open: Vec<_> = (0..calls.len()).collect();
        for round in 0.. {
            let command = |(place, &index): (usize, &usize)| {
                let sends_text = (round == 1 && place == 0) || round > 1;
                invocation(script, sends_text, calls[index].0, calls[index].1.as_ref())
            };
            let commands: Vec<_> = open.iter().enumerate().map(command).collect();
            let mut unknown = Vec::new();
            self.exchange(&mut *channel, &mut greeting, &commands, |place, value| {
                if is_error(&value, "NOSCRIPT") {
                    unknown.push(open[place]);
                } else {
                    done(open[place], self.checked(script, value));
                }
            })?;
            if unknown.is_empty() {
                break;
            }
            open = unknown;
        }
        CONNECTIONS.keep(&self.dsn, channel);
        Ok(())
    }

    fn checked(&self, script: &Script, value: Value) -> Result<Value, Cause> {
        match value {
            Value::ServerError(_) if is_error(&value, "TOKENBUCKET") => Err(Cause::Record),
            Value::ServerError(_) if is_error(&value, "WRONGTYPE") => Err(Cause::Record),
            Value::ServerError(error) => Err(match script.denied_command(&error) {
                Some(command) => Cause::refused(
                    &format!("NOPERM this user has no permissions to run the '{command}' command"),
                    None,
                ),
                None => self.refused(&error),
            }),
            value => Ok(value),
        }
    }

    /// Sends the commands of `greeting`, which it empties, and `commands` in one write. Reads all
    /// replies. Passes the reply of each command to `each`, with the command's place. Fails if a
    /// reply to the greeting is an error.
    fn exchange(
        &self,
        channel: &mut dyn Channel,
        greeting: &mut Vec<Cmd>,
        commands: &[Cmd],
        mut each: impl FnMut(usize, Value),
    ) -> Result<(), Cause> {
        let mut bytes = Vec::with_capacity(2 * LIKELY_LENGTH);
        for command in greeting.iter().chain(commands) {
            command.write_packed_command(&mut bytes);
        }
        let sent = channel.write_all(&bytes).and_then(|()| channel.flush());
        if let Err(error) = sent {
            // A server that rejects connections sends the reason before it closes the connection.
            return Err(self.last_words(channel).unwrap_or_else(|| error.into()));
        }
        let mut parser = Parser::new();
        let error = None;
        let mut replies = Replying { channel, error };
        for _ in greeting.drain(..) {
            if let Value::ServerError(error) = replies.next(&mut parser)? {
                return Err(self.refused(&error));
            }
        }
        for place in 0..commands.len() {
            each(place, replies.next(&mut parser)?);
        }
        Ok(())
    }

    fn last_words(&self, channel: &mut dyn Channel) -> Option<Cause> {
        let error = None;
        match (Replying { channel, error }).next(&mut Parser::new()) {
            Ok(Value::ServerError(error)) => Some(self.refused(&error)),
            _ => None,
        }
    }

    fn refused(&self, error: &redis::ServerError) -> Cause {
        let text = format!("{} {}", error.code(), error.details().unwrap_or_default());
        // Before authentication, Redis rejects a command of more than ten words with this error.
        let text = if text.contains("unauthenticated multibulk length") {
            "NOAUTH Authentication required."
        } else {
            text.trim()
        };
        // Redis 5 does not know KEEPTTL, and sets no error code of its own for that.
        if text.contains("user_script") && text.contains("syntax error") {
            return Cause::Unsupported("too old: Redis 6.0 or later is needed");
        }
        Cause::refused(text, self.dsn.password.as_ref())
    }
}

/// Returns the command that runs a script, by its text or by its hash.
fn invocation<K: AsRef<[u8]>>(
    script: &Script,
    sends_text: bool,
    keys: &[K],
    arguments: &[Argument<'_>],
) -> Cmd {
    let mut command = Cmd::with_capacity(3 + keys.len() + arguments.len(), LIKELY_LENGTH);
    if sends_text {
        command.arg("EVAL").arg(&script.text);
    } else {
        command.arg("EVALSHA").arg(&script.hash);
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

fn is_error(value: &Value, code: &str) -> bool {
    matches!(value, Value::ServerError(error) if error.code() == code)
}

/// Reads replies, and keeps the I/O error, which the parser would hide.
struct Replying<'a> {
    channel: &'a mut dyn Channel,
    error: Option<io::Error>,
}

impl Replying<'_> {
    fn next(&mut self, parser: &mut Parser) -> Result<Value, Cause> {
        parser.parse_value(&mut *self).map_err(|_| {
            let error = self.error.take().map(Cause::from);
            error.unwrap_or(Cause::Answer("no reply of Redis"))
        })
    }
}

impl Read for Replying<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.channel.read(buffer).map_err(|error| {
            let kind = error.kind();
            self.error = Some(error);
            kind.into()
        })
    }
}
