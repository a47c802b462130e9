//! One Redis server, and the exchange of commands and replies with it.

use super::dsn::Dsn;
use crate::clock::Timestamp;
use crate::remote::channel::Channel;
use crate::remote::connections::Connections;
use crate::remote::endpoint::Endpoint;
use crate::remote::stream::Stream;
use crate::remote::{Cause, Server, resolve, tls};
use redis::{Cmd, Parser, ServerError, Value, cmd};
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

static CONNECTIONS: Connections<Arc<Dsn>, Box<dyn Channel>> = Connections::new();

/// The errors of a server that is not a primary with data, for example after a failover.
const CANNOT_DECIDE: [&str; 5] = ["READONLY", "MASTERDOWN", "MOVED", "CLUSTERDOWN", "LOADING"];

/// The usual length of a call, in bytes.
pub const LIKELY_LENGTH: usize = 256;

/// A server, and how to log in to it.
#[derive(Debug)]
pub struct Node {
    /// The address of this one server.
    pub dsn: Arc<Dsn>,
    /// The server, as breakers and messages show it.
    pub server: Arc<Server>,
    /// True from a failure of the server until it replies. Another server may have its records.
    is_suspect: AtomicBool,
}

impl Node {
    /// Creates the server without connecting.
    #[must_use]
    pub fn new(dsn: Dsn) -> Self {
        Self {
            server: Arc::new(server(&dsn)),
            dsn: Arc::new(dsn),
            is_suspect: AtomicBool::new(false),
        }
    }

    /// Returns true from a failure of the server until it replies.
    #[must_use]
    pub fn is_suspect(&self) -> bool {
        self.is_suspect.load(Relaxed)
    }

    /// Connects, or takes an idle connection, and calls `exchange`. Keeps the connection for later
    /// calls unless `exchange` fails, or its result shows that the server cannot decide. A server
    /// of a cluster may reply MOVED and be healthy, so `is_member` keeps the connection.
    ///
    /// # Errors
    /// Returns the error of `exchange`, or an error of connecting.
    pub fn with(
        &self,
        is_member: bool,
        deadline: Timestamp,
        exchange: impl FnOnce(&mut Line<'_>) -> Result<Value, Cause>,
    ) -> Result<Value, Cause> {
        let exchanged = self.connection(deadline).and_then(|mut line| {
            let value = exchange(&mut line)?;
            Ok((value, line))
        });
        let is_usable = |value: &Value| {
            let code = code(value);
            !CANNOT_DECIDE.contains(&code) || (is_member && code == "MOVED")
        };
        let is_suspect = !matches!(&exchanged, Ok((value, _)) if is_usable(value));
        if self.is_suspect() != is_suspect {
            self.is_suspect.store(is_suspect, Relaxed);
        }
        let (value, line) = exchanged?;
        if !is_suspect {
            CONNECTIONS.keep(&self.dsn, line.channel);
        } else if let Endpoint::Tcp { host, port } = &self.dsn.endpoint {
            // The server may have been replaced by another one at its address.
            resolve::forget(host, *port);
        }
        Ok(value)
    }

    /// Sends one command and returns its reply.
    ///
    /// # Errors
    /// Fails if the server does not reply before `deadline`, or replies with an error.
    pub fn ask(&self, command: Cmd, deadline: Timestamp) -> Result<Value, Cause> {
        let ask = |line: &mut Line<'_>| line.exchange(&[command]);
        match self.with(true, deadline, ask)? {
            Value::ServerError(error) => Err(self.refused(&error)),
            value => Ok(value),
        }
    }

    /// Converts an error of the server.
    #[must_use]
    pub fn refused(&self, error: &ServerError) -> Cause {
        let text = format!("{} {}", error.code(), error.details().unwrap_or_default());
        // Before authentication, Redis rejects a command of more than ten words with this error.
        let text = if text.contains("unauthenticated multibulk length") {
            "NOAUTH Authentication required."
        } else {
            text.trim()
        };
        Cause::refused(text, self.dsn.password.as_ref())
    }

    fn connection(&self, deadline: Timestamp) -> Result<Line<'_>, Cause> {
        while let Some(mut channel) = CONNECTIONS.take(&self.dsn) {
            // Set the deadline first, because the check reads from the socket under TLS.
            channel.set_deadline(deadline);
            if channel.is_quiet() {
                return Ok(Line::new(self, channel, Vec::new()));
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
        Ok(Line::new(self, channel, greeting(&self.dsn)))
    }
}

/// Returns the server at `dsn`, as breakers and messages show it.
pub fn server(dsn: &Dsn) -> Server {
    let name = dsn.public_name();
    let identity = format!("redis\0{name}\0{}", dsn.user.as_deref().unwrap_or_default());
    Server::new(identity.as_bytes(), name)
}

/// Returns the commands that a new connection begins with.
fn greeting(dsn: &Dsn) -> Vec<Cmd> {
    let mut greeting = Vec::new();
    if let Some(password) = &dsn.password {
        let mut auth = cmd("AUTH");
        if let Some(user) = &dsn.user {
            auth.arg(user);
        }
        auth.arg(password.expose());
        greeting.push(auth);
    }
    if dsn.database != 0 {
        let mut select = cmd("SELECT");
        select.arg(dsn.database);
        greeting.push(select);
    }
    greeting
}

/// Returns the code of an error, or an empty text for any other reply.
pub fn code(value: &Value) -> &str {
    match value {
        Value::ServerError(error) => error.code(),
        _ => "",
    }
}

/// A connection during one call.
pub struct Line<'n> {
    node: &'n Node,
    channel: Box<dyn Channel>,
    /// The commands that must be sent first, because the connection is new.
    greeting: Vec<Cmd>,
}

impl<'n> Line<'n> {
    const fn new(node: &'n Node, channel: Box<dyn Channel>, greeting: Vec<Cmd>) -> Self {
        Self {
            node,
            channel,
            greeting,
        }
    }

    /// Sends commands in one write and reads all their replies. Returns the last reply, which may
    /// be an error.
    ///
    /// # Errors
    /// Fails if the server does not reply, or if an earlier reply is an error.
    pub fn exchange(&mut self, commands: &[Cmd]) -> Result<Value, Cause> {
        let mut greeting = std::mem::take(&mut self.greeting);
        if self.node.dsn.database != 0 && !greeting.is_empty() {
            // Send these commands separately, because the script must not run on another database
            // if the server refuses the database of the DSN.
            if let Value::ServerError(error) = self.send(&greeting)? {
                return Err(self.node.refused(&error));
            }
            greeting.clear();
        }
        if greeting.is_empty() {
            return self.send(commands);
        }
        greeting.extend_from_slice(commands);
        self.send(&greeting)
    }

    fn send(&mut self, commands: &[Cmd]) -> Result<Value, Cause> {
        let mut bytes = Vec::with_capacity(2 * LIKELY_LENGTH);
        for command in commands {
            command.write_packed_command(&mut bytes);
        }
        let channel = &mut *self.channel;
        let sent = channel.write_all(&bytes).and_then(|()| channel.flush());
        if let Err(error) = sent {
            // A server that rejects connections sends the reason before it closes the connection.
            return Err(self.last_words().unwrap_or_else(|| error.into()));
        }
        let mut parser = Parser::new();
        let error = None;
        let mut replies = Replying { channel, error };
        let mut last = Value::Nil;
        for place in 0..commands.len() {
            last = replies.next(&mut parser)?;
            if let (Value::ServerError(error), true) = (&last, place + 1 < commands.len()) {
                return Err(self.node.refused(error));
            }
        }
        Ok(last)
    }

    fn last_words(&mut self) -> Option<Cause> {
        let (channel, error) = (&mut *self.channel, None);
        match (Replying { channel, error }).next(&mut Parser::new()) {
            Ok(Value::ServerError(error)) => Some(self.node.refused(&error)),
            _ => None,
        }
    }
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
