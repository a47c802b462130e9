//! Redis, and what speaks as it does: one script a decision, on the server's clock.
//!
//! The `redis` crate encodes and parses; the connection is ours, for the crate's own does not hold a
//! deadline. Scripts are called by their hash; only a server that says that it does not know one is
//! sent the text, for that is the one answer after which a command may be repeated.

/// A script of one file, behind the heads that it needs.
macro_rules! script {
    ($($file:literal),+) => {
        LazyLock::new(|| Script::new(concat!($(include_str!($file)),+)))
    };
}

pub mod dsn;
pub mod json_bucket;
pub mod leaky_bucket;
mod minutes;

use super::channel::Channel;
use super::connections::Connections;
use super::secret::Secret;
use super::stream::Stream;
use super::{Ask, Cause, Replies, Reply, Server, Transport, tls};
use crate::clock::{TICKS_PER_MICROSECOND, Ticks};
use crate::step::{Denial, Outcome, Step, Verdict};
use crate::store::{Put, UNKNOWN_SPAN};
use dsn::Dsn;
use redis::{Cmd, Parser, Value, cmd};
use std::io::{self, Read, Write};
use std::sync::{Arc, LazyLock};

static TAKE: LazyLock<Script> = script!("bucket.lua", "take.lua");
static TAKE_ALL: LazyLock<Script> = script!("bucket.lua", "take_all.lua");
static PUT: LazyLock<Script> = script!("bucket.lua", "put.lua");

/// A script and the hash that servers know it by.
#[derive(Debug)]
pub struct Script {
    text: &'static str,
    hash: String,
}

impl Script {
    /// Of its text.
    #[must_use]
    pub fn new(text: &'static str) -> Self {
        let hash = redis::Script::new(text).get_hash().to_owned();
        Self { text, hash }
    }
}

static CONNECTIONS: Connections<Arc<Dsn>, Channel> = Connections::new();

/// Of a call, in bytes.
const LIKELY_LENGTH: usize = 256;

/// A Redis server.
#[derive(Debug)]
pub struct Redis {
    dsn: Arc<Dsn>,
    /// Stands before every key, `prefix` included, which it is a part of.
    root: Vec<u8>,
    prefix: Vec<u8>,
    server: Server,
}

impl Redis {
    /// The server at `dsn`; a bucket's key is `prefix` and identifier.
    #[must_use]
    pub fn new(dsn: Dsn, prefix: &[u8]) -> Self {
        let name = dsn.public_name();
        let identity = format!("redis\0{name}\0{}", dsn.user.as_deref().unwrap_or_default());
        Self {
            root: Vec::new(),
            prefix: prefix.to_vec(),
            server: Server::new(identity.as_bytes(), name),
            dsn: Arc::new(dsn),
        }
    }

    /// The same, but that `root` stands before every key, as a client's own prefix does.
    #[must_use]
    pub fn under(mut self, root: &[u8]) -> Self {
        self.prefix = [root, &self.prefix].concat();
        self.root = root.to_vec();
        self
    }

    /// What the server calls a record that is not a bucket of ours, and has no prefix of ours.
    #[must_use]
    pub fn raw_name(&self, key: &[u8]) -> Vec<u8> {
        [&self.root, key].concat()
    }

    fn secret(&self) -> Option<&Secret> {
        self.dsn.password.as_ref()
    }

    /// A connection, and what must be said first on a new one.
    fn connection(&self, deadline: Ticks) -> Result<(Channel, Vec<Cmd>), Cause> {
        while let Some(mut channel) = CONNECTIONS.take(&self.dsn) {
            // First, for under TLS what came meanwhile must be read.
            channel.set_deadline(deadline);
            if channel.is_quiet() {
                return Ok((channel, Vec::new()));
            }
        }
        let stream = Stream::connect(&self.dsn.endpoint, deadline)?;
        let channel = match &self.dsn.tls {
            Some(tls) => {
                let client = tls::client(tls.ca_file.as_deref(), &tls.server_name)?;
                Channel::Tls(Box::new(tls::handshake(client, stream)?))
            }
            None => Channel::Plain(stream),
        };
        let mut greeting = Vec::new();
        if let Some(password) = self.secret() {
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

    /// Runs a script on `keys`, which are what [`Transport::name`] made, or as they are.
    ///
    /// # Errors
    /// [`Cause::Record`] for a key that holds something else: WRONGTYPE, or a script's own TOKENBUCKET.
    pub fn run(
        &self,
        script: &Script,
        keys: &[&[u8]],
        arguments: &[Argument<'_>],
        deadline: Ticks,
    ) -> Result<Value, Cause> {
        let (mut channel, mut commands) = self.connection(deadline)?;
        if self.dsn.database != 0 && !commands.is_empty() {
            // Apart: were the database refused, what follows would act on another.
            if let Value::ServerError(error) = self.exchange(&mut channel, &commands)? {
                return Err(self.refused(&error));
            }
            commands.clear();
        }
        let invoke = |command: &str, script: &str| {
            let words = 3 + keys.len() + arguments.len();
            let mut invocation = Cmd::with_capacity(words, LIKELY_LENGTH);
            invocation.arg(command).arg(script).arg(keys.len());
            for key in keys {
                invocation.arg(*key);
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
        let mut value = self.exchange(&mut channel, &commands)?;
        if is_error(&value, "NOSCRIPT") {
            value = self.exchange(&mut channel, &[invoke("EVAL", script.text)])?;
        }
        CONNECTIONS.keep(&self.dsn, channel);
        match value {
            Value::ServerError(_) if is_error(&value, "TOKENBUCKET") => Err(Cause::Record),
            Value::ServerError(_) if is_error(&value, "WRONGTYPE") => Err(Cause::Record),
            Value::ServerError(error) => Err(self.refused(&error)),
            value => Ok(value),
        }
    }

    /// Sends commands in one write and reads all their replies; the last one's is the result, the others
    /// must be fine.
    fn exchange(&self, channel: &mut Channel, commands: &[Cmd]) -> Result<Value, Cause> {
        let mut bytes = Vec::with_capacity(2 * LIKELY_LENGTH);
        for command in commands {
            command.write_packed_command(&mut bytes);
        }
        let sent = channel.write_all(&bytes).and_then(|()| channel.flush());
        if let Err(error) = sent {
            // A server that turns connections away says why before it closes them.
            return Err(self.last_words(channel).unwrap_or_else(|| error.into()));
        }
        let mut parser = Parser::new();
        let mut replies = Replying::new(channel);
        let mut last = Value::Nil;
        for place in 0..commands.len() {
            last = replies.next(&mut parser)?;
            if let (Value::ServerError(error), true) = (&last, place + 1 < commands.len()) {
                return Err(self.refused(error));
            }
        }
        Ok(last)
    }

    fn last_words(&self, channel: &mut Channel) -> Option<Cause> {
        match Replying::new(channel).next(&mut Parser::new()) {
            Ok(Value::ServerError(error)) => Some(self.refused(&error)),
            _ => None,
        }
    }

    fn refused(&self, error: &redis::ServerError) -> Cause {
        let text = format!("{} {}", error.code(), error.details().unwrap_or_default());
        // To whom it does not know it does not even listen to more than ten words.
        let text = if text.contains("unauthenticated multibulk length") {
            "NOAUTH Authentication required."
        } else {
            text.trim()
        };
        Cause::refused(text, self.secret())
    }
}

/// What a script is given.
#[derive(Clone, Copy, Debug)]
pub enum Argument<'a> {
    /// Bytes.
    Word(&'a [u8]),
    /// A number in decimal digits.
    Number(i64),
}

/// Whole microseconds. Spans are below 2^62.
const fn micros(ticks: Ticks) -> Argument<'static> {
    Argument::Number((ticks / TICKS_PER_MICROSECOND).cast_signed())
}

/// An age in microseconds, rounded down: what was empty later holds less.
fn micros_ago(age: Option<i64>) -> Argument<'static> {
    age.map_or(Argument::Word(b""), |age| {
        Argument::Number(age.div_euclid(TICKS_PER_MICROSECOND.cast_signed()))
    })
}

/// The age of a state that was seen before its record was lost, rounded up: it must not be taken for later.
fn lost_ago(seen: Option<i64>) -> Argument<'static> {
    micros_ago(seen.map(|age| age + TICKS_PER_MICROSECOND.cast_signed()))
}

fn is_error(value: &Value, code: &str) -> bool {
    matches!(value, Value::ServerError(error) if error.code() == code)
}

/// Reads replies, and keeps what the parser would hide: why there was nothing to read.
struct Replying<'a> {
    channel: &'a mut Channel,
    error: Option<io::Error>,
}

impl<'a> Replying<'a> {
    fn new(channel: &'a mut Channel) -> Self {
        let error = None;
        Self { channel, error }
    }

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

/// A whole number that is not negative; on the wire microseconds, here ticks.
fn ticks(value: &Value) -> Result<Ticks, Cause> {
    match value {
        // Within 2^53 microseconds, or it is not ours.
        Value::Int(number @ 0..=0x001f_ffff_ffff_ffff) => {
            Ok(number.cast_unsigned().saturating_mul(TICKS_PER_MICROSECOND))
        }
        _ => Err(Cause::Answer("a number is missing")),
    }
}

fn list(value: &Value, length: usize) -> Result<&[Value], Cause> {
    match value {
        Value::Array(values) if values.len() == length => Ok(values),
        _ => Err(Cause::Answer("not as many numbers as were asked for")),
    }
}

fn outcome(step: &Step, granted: bool, now: Ticks, empty_at: Ticks) -> Outcome {
    let verdict = if granted {
        Verdict::Granted
    } else if step.cost > step.burst {
        Verdict::Denied(Denial::ExceedsCapacity)
    } else {
        Verdict::Denied(Denial::Insufficient)
    };
    Outcome {
        verdict,
        now,
        empty_at,
    }
}

impl Transport for Redis {
    fn identity(&self) -> Vec<u8> {
        [&self.server.id.to_ne_bytes(), self.prefix.as_slice()].concat()
    }

    fn name(&self, identifier: &[u8]) -> Vec<u8> {
        [&self.prefix, identifier].concat()
    }

    fn server(&self, _name: &[u8]) -> &Server {
        &self.server
    }

    fn take(&self, ask: &Ask, deadline: Ticks) -> Result<Reply, Cause> {
        let step = &ask.step;
        let arguments = [
            micros(step.cost),
            micros(step.burst),
            micros(step.tick.max(TICKS_PER_MICROSECOND)),
            micros(step.max_debt),
            Argument::Number(i64::from(step.dry)),
            micros_ago(ask.first),
            lost_ago(ask.seen),
        ];
        let value = self.run(&TAKE, &[&ask.name], &arguments, deadline)?;
        let [granted, now, empty_at, absent, healed] = list(&value, 5)? else {
            return Err(Cause::Answer("five numbers are expected"));
        };
        let yes = |value: &Value| ticks(value).map(|ticks| ticks != 0);
        Ok(Reply {
            outcome: outcome(step, yes(granted)?, ticks(now)?, ticks(empty_at)?),
            absent: yes(absent)?,
            healed: yes(healed)?,
        })
    }

    fn put(&self, name: &[u8], put: &Put, seen: Option<i64>, deadline: Ticks) -> Result<(), Cause> {
        let arguments = match *put {
            Put::Refund { cost, burst } => vec![
                Argument::Word(b"refund"),
                micros(cost),
                micros(burst),
                lost_ago(seen),
            ],
            Put::Reset { burst } => vec![Argument::Word(b"reset"), micros(burst)],
            Put::Bootstrap { age } => vec![
                Argument::Word(b"bootstrap"),
                micros_ago(Some(age)),
                micros(UNKNOWN_SPAN),
            ],
        };
        self.run(&PUT, &[name], &arguments, deadline).map(drop)
    }

    fn joins(&self, other: &Self) -> bool {
        self.dsn == other.dsn
    }

    fn take_all(&self, asks: &[Ask], deadline: Ticks) -> Result<Replies, Cause> {
        let keys: Vec<_> = asks.iter().map(|ask| ask.name.as_slice()).collect();
        let arguments = asks.iter().flat_map(|ask| {
            [
                micros(ask.step.cost),
                micros(ask.step.burst),
                lost_ago(ask.seen),
            ]
        });
        let arguments: Vec<_> = arguments.collect();
        let value = self.run(&TAKE_ALL, &keys, &arguments, deadline)?;
        let [granted, now, states @ ..] = list(&value, 2 * asks.len() + 2)? else {
            return Err(Cause::Answer("a verdict is expected"));
        };
        let (granted, now) = (ticks(granted)? != 0, ticks(now)?);
        let mut replies = Replies {
            granted,
            outcomes: Vec::with_capacity(asks.len()),
            healed: Vec::with_capacity(asks.len()),
        };
        for (ask, state) in asks.iter().zip(states.chunks_exact(2)) {
            let empty_at = ticks(&state[0])?;
            replies
                .outcomes
                .push(outcome(&ask.step, granted, now, empty_at));
            replies.healed.push(ticks(&state[1])? != 0);
        }
        Ok(replies)
    }
}
