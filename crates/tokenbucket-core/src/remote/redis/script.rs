//! Scripts, and the client that runs them on connections of this process.
//!
//! A script is called by its hash. Its text is sent only after the reply that the hash is unknown.
//! A command may be repeated after that reply only.

use super::Redis;
use super::dsn::Dsn;
use crate::clock::{TICKS_PER_MICROSECOND, Ticks, Timestamp};
use crate::remote::channel::Channel;
use crate::remote::connections::Connections;
use crate::remote::endpoint::Endpoint;
use crate::remote::stream::Stream;
use crate::remote::{Cause, resolve, tls};
use redis::{Cmd, Parser, Value, cmd};
use std::io::{self, Read};
use std::sync::Arc;

static CONNECTIONS: Connections<Arc<Dsn>, Box<dyn Channel>> = Connections::new();

/// The errors of a server that is not a primary with data, for example after a failover.
const CANNOT_DECIDE: [&str; 5] = ["READONLY", "MASTERDOWN", "MOVED", "CLUSTERDOWN", "LOADING"];

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
                let client = tls::client(tls.ca_file.as_deref(), &tls.server_name)?;
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
        let (mut channel, mut commands) = self.connection(deadline)?;
        if self.dsn.database != 0 && !commands.is_empty() {
            // Send these commands separately, because the script must not run on another database
            // if the server refuses the database of the DSN.
            if let Value::ServerError(error) = self.exchange(&mut *channel, &commands)? {
                return Err(self.refused(&error));
            }
            commands.clear();
        }
        let invoke = |command: &str, script: &str| {
            let words = 3 + keys.len() + arguments.len();
            let mut invocation = Cmd::with_capacity(words, LIKELY_LENGTH);
            invocation.arg(command).arg(script).arg(keys.len());
            for key in keys {
                invocation.arg(key.as_ref());
            }
            for argument in arguments {
                match argument {
                    Argument::Word(word) => invocation.arg(*word),
                    Argument::Number(number) => invocation.arg(*number),
                };
            }
            invocation
        };
        commands.push(invoke("EVALSHA", &script.hash));
        let mut value = self.exchange(&mut *channel, &commands)?;
        if is_error(&value, "NOSCRIPT") {
            value = self.exchange(&mut *channel, &[invoke("EVAL", &script.text)])?;
        }
        // A server that cannot decide now may have been replaced by another one at its address. The
        // connection is dropped, so that the next call connects again.
        if !CANNOT_DECIDE.iter().any(|code| is_error(&value, code)) {
            CONNECTIONS.keep(&self.dsn, channel);
        }
        match value {
            Value::ServerError(_) if is_error(&value, "TOKENBUCKET") => Err(Cause::Record),
            Value::ServerError(_) if is_error(&value, "WRONGTYPE") => Err(Cause::Record),
            Value::ServerError(error) => Err(self.refused(&error)),
            value => Ok(value),
        }
    }

    /// Sends commands in one write and reads all their replies. Returns the last reply, which may
    /// be an error. Fails if an earlier reply is an error.
    fn exchange(&self, channel: &mut dyn Channel, commands: &[Cmd]) -> Result<Value, Cause> {
        let mut bytes = Vec::with_capacity(2 * LIKELY_LENGTH);
        for command in commands {
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
        let mut last = Value::Nil;
        for place in 0..commands.len() {
            last = replies.next(&mut parser)?;
            if let (Value::ServerError(error), true) = (&last, place + 1 < commands.len()) {
                return Err(self.refused(error));
            }
        }
        Ok(last)
    }

    fn last_words(&self, channel: &mut dyn Channel) -> Option<Cause> {
        let error = None;
        match (Replying { channel, error }).next(&mut Parser::new()) {
            Ok(Value::ServerError(error)) => Some(self.refused(&error)),
            _ => None,
        }
    }

    /// Converts an error of the server. Forgets the server's addresses if another server may be
    /// there now.
    fn refused(&self, error: &redis::ServerError) -> Cause {
        if let Endpoint::Tcp { host, port } = &self.dsn.endpoint
            && CANNOT_DECIDE.contains(&error.code())
        {
            resolve::forget(host, *port);
        }
        let text = format!("{} {}", error.code(), error.details().unwrap_or_default());
        // Before authentication, Redis rejects a command of more than ten words with this error.
        let text = if text.contains("unauthenticated multibulk length") {
            "NOAUTH Authentication required."
        } else {
            text.trim()
        };
        Cause::refused(text, self.dsn.password.as_ref())
    }
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
