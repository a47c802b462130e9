//! One Redis server, and the exchange of commands and replies with it.

use super::dsn::Dsn;
use crate::remote::channel::Channel;
use crate::remote::connections::Connections;
use crate::remote::endpoint::Endpoint;
use crate::remote::failure::closed;
use crate::remote::stream::{Stream, forget, looks_up};
use crate::remote::{Cause, Server, tls};
use gcra::Timestamp;
use redis::{Cmd, Parser, ServerError, Value, cmd};
use rustix::fd::BorrowedFd;
use rustls::ClientConnection;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

thread_local! {
    static CONNECTIONS: Connections<Arc<Dsn>, Box<dyn Channel>> = const { Connections::new() };
}

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
    pub fn new(dsn: Dsn) -> Self {
        Self {
            server: Arc::new(server(&dsn)),
            dsn: Arc::new(dsn),
            is_suspect: AtomicBool::new(false),
        }
    }

    /// Notes a failure of the server.
    pub fn suspect(&self) {
        self.is_suspect.store(true, Relaxed);
    }

    /// Returns true from a failure of the server until it replies.
    pub fn is_suspect(&self) -> bool {
        self.is_suspect.load(Relaxed)
    }

    /// Reports whether the next call uses a connection that is established.
    pub fn is_connected(&self, deadline: Timestamp) -> bool {
        let Some(channel) = self.idle(deadline) else {
            return false;
        };
        CONNECTIONS.with(|idle| idle.keep(&self.dsn, channel));
        true
    }

    /// Connects, or takes an idle connection, and calls `exchange`. Keeps the connection for later
    /// calls unless `exchange` fails, or a reply shows that the server cannot decide. A server of a
    /// cluster may reply MOVED and be healthy, so `is_member` keeps the connection.
    pub fn with<R>(
        &self,
        is_member: bool,
        deadline: Timestamp,
        exchange: impl FnOnce(&mut RequestLine) -> Result<R, Cause>,
    ) -> Result<R, Cause> {
        let exchanged = self.connection(deadline).and_then(|mut line| {
            let answer = exchange(&mut line)?;
            Ok((answer, line))
        });
        self.conclude(is_member, exchanged)
    }

    /// Keeps the connection of an exchange, and notes whether the server works; see [`Node::with`].
    pub fn conclude<R>(
        &self,
        is_member: bool,
        exchanged: Result<(R, RequestLine), Cause>,
    ) -> Result<R, Cause> {
        let is_usable =
            |line: &RequestLine| line.refusal.is_none_or(|code| is_member && code == "MOVED");
        let is_suspect = !matches!(&exchanged, Ok((_, line)) if is_usable(line));
        if self.is_suspect() != is_suspect {
            self.is_suspect.store(is_suspect, Relaxed);
        }
        let (answer, line) = exchanged?;
        if is_suspect {
            // The server may have been replaced by another one at its address.
            forget(&self.dsn.endpoint);
        } else {
            CONNECTIONS.with(|idle| idle.keep(&self.dsn, line.channel));
        }
        Ok(answer)
    }

    /// Sends commands and returns their replies, which may be errors. Fails if the server does not
    /// reply before `deadline`.
    pub fn send(&self, commands: &[Cmd], deadline: Timestamp) -> Result<Vec<Value>, Cause> {
        self.with(true, deadline, |line| {
            let mut replies = Vec::with_capacity(commands.len());
            line.exchange(commands, |_, value| replies.push(value))?;
            Ok(replies)
        })
    }

    /// Does the same, and then closes the connection.
    pub fn send_and_close(
        &self,
        commands: &[Cmd],
        deadline: Timestamp,
    ) -> Result<Vec<Value>, Cause> {
        let mut replies = Vec::with_capacity(commands.len());
        let mut line = self.connection(deadline)?;
        line.exchange(commands, |_, value| replies.push(value))?;
        Ok(replies)
    }

    pub fn refused(&self, error: &ServerError) -> Cause {
        refused(&self.dsn, error)
    }

    /// Reports whether a call must look up the host of the server first.
    pub fn looks_up(&self) -> bool {
        let is_connected = CONNECTIONS.with(|idle| idle.has(&self.dsn));
        !is_connected && looks_up(&self.dsn.endpoint)
    }

    /// Takes an idle connection that is still open.
    fn idle(&self, deadline: Timestamp) -> Option<Box<dyn Channel>> {
        while let Some(mut channel) = CONNECTIONS.with(|idle| idle.take(&self.dsn)) {
            // Set the deadline first, because the check reads from the socket under TLS.
            channel.set_deadline(deadline);
            if channel.is_quiet() {
                return Some(channel);
            }
        }
        None
    }

    /// Takes an idle connection for a call.
    pub fn idle_line(&self, deadline: Timestamp) -> Option<RequestLine> {
        let channel = self.idle(deadline)?;
        Some(RequestLine::new(Arc::clone(&self.dsn), channel, Vec::new()))
    }

    /// Returns the line of a new connection, which begins with the login.
    pub fn new_line(&self, channel: Box<dyn Channel>) -> RequestLine {
        RequestLine::new(Arc::clone(&self.dsn), channel, greeting(&self.dsn))
    }

    /// Creates the TLS session of a new connection; `None` without TLS. Fails with
    /// [`Cause::TlsFile`] if a file of the settings cannot be used.
    pub fn tls(&self) -> Result<Option<ClientConnection>, Cause> {
        let session = self.dsn.tls.as_ref().map(|tls| {
            let ca_file = tls.ca_file.as_deref();
            tls::client(ca_file, tls.identity.as_ref(), &tls.server_name)
        });
        Ok(session.transpose()?)
    }

    /// Connects, or takes an idle connection.
    pub fn connection(&self, deadline: Timestamp) -> Result<RequestLine, Cause> {
        if let Some(line) = self.idle_line(deadline) {
            return Ok(line);
        }
        // The files of the TLS settings are read first, because nothing is sent without them.
        let session = self.tls()?;
        let stream = Stream::connect(&self.dsn.endpoint, deadline)?;
        let channel: Box<dyn Channel> = match session {
            Some(session) => Box::new(tls::handshake(session, stream)?),
            None => Box::new(stream),
        };
        Ok(self.new_line(channel))
    }
}

/// Returns the server at `dsn`, as breakers and messages show it.
pub fn server(dsn: &Dsn) -> Server {
    let name = dsn.public_name();
    let identity = format!("redis\0{name}\0{}", dsn.user.as_deref().unwrap_or_default());
    // A connection uses nothing but its DSN. If a wrong option makes all calls of one caller fail,
    // only callers with the same option share its breaker.
    let server = Server::new(identity.as_bytes(), name).with_access(dsn);
    match dsn.endpoint {
        Endpoint::Unix { .. } => server.at_path(),
        Endpoint::Tcp { .. } => server,
    }
}

/// Converts the error in a reply of the server at `dsn`.
pub fn refused(dsn: &Dsn, error: &ServerError) -> Cause {
    let (code, details) = parts(error);
    let text = format!("{code} {details}");
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
    Cause::refused(text, dsn.password.as_ref())
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
        Value::ServerError(error) => parts(error).0,
        _ => "",
    }
}

/// Returns the code of an error and its text. Before Redis 7, the error of a command that a script
/// calls is a part of the script's own error. In Redis 8, a script's error about a missing
/// permission has no code of its own.
fn parts(error: &ServerError) -> (&str, &str) {
    let text = error.details().unwrap_or_default();
    if let Some(text) = text.strip_prefix("ACL failure in script: ") {
        return ("NOPERM", text);
    }
    let called = text.starts_with("Error running script");
    let called = called.then(|| text.split_once(": -")).flatten();
    let called = called.and_then(|(_, error)| error.split_once(' '));
    called.unwrap_or((error.code(), text))
}

/// A connection during one call.
pub struct RequestLine {
    dsn: Arc<Dsn>,
    channel: Box<dyn Channel>,
    /// The commands that must be sent first, because the connection is new.
    greeting: Vec<Cmd>,
    /// The last error in a reply that shows that the server cannot decide.
    refusal: Option<&'static str>,
}

impl RequestLine {
    const fn new(dsn: Arc<Dsn>, channel: Box<dyn Channel>, greeting: Vec<Cmd>) -> Self {
        Self {
            dsn,
            channel,
            greeting,
            refusal: None,
        }
    }

    /// Sends this command before those of the next exchange. Its reply must not be an error.
    pub fn precede(&mut self, command: Cmd) {
        self.greeting.push(command);
    }

    /// Sends commands in one write and reads all replies. Passes the reply of each command, which
    /// may be an error, to `each` with the command's place. Fails if the server does not reply, or
    /// if it refuses a command that must precede them.
    pub fn exchange(
        &mut self,
        commands: &[Cmd],
        each: impl FnMut(usize, Value),
    ) -> Result<(), Cause> {
        if self.logs_in_first() {
            self.send(&[], |_, _| ())?;
        }
        self.send(commands, each)
    }

    /// Returns true if the login must be sent alone, because the script must not run on another
    /// database if the server refuses the database of the DSN.
    pub fn logs_in_first(&self) -> bool {
        self.dsn.database != 0 && !self.greeting.is_empty()
    }

    fn send(&mut self, commands: &[Cmd], each: impl FnMut(usize, Value)) -> Result<(), Cause> {
        let greeted = self.write(commands)?;
        self.read(greeted, commands.len(), each)
    }

    /// Sends commands, and does not wait for the replies. Returns the number of commands that were
    /// sent before them. Fails if the server does not accept the commands.
    pub fn write(&mut self, commands: &[Cmd]) -> Result<usize, Cause> {
        let greeting = std::mem::take(&mut self.greeting);
        let mut bytes = Vec::with_capacity(2 * LIKELY_LENGTH);
        for command in greeting.iter().chain(commands) {
            command.write_packed_command(&mut bytes);
        }
        let channel = &mut *self.channel;
        let sent = channel.write_all(&bytes).and_then(|()| channel.flush());
        if let Err(error) = sent {
            // A server that rejects connections sends the reason before it closes the connection.
            return Err(self.last_words().unwrap_or_else(|| error.into()));
        }
        Ok(greeting.len())
    }

    /// Reads the replies to `greeted` commands, which must not be errors, and to `count` commands
    /// that followed them; see [`RequestLine::exchange`].
    pub fn read(
        &mut self,
        greeted: usize,
        count: usize,
        mut each: impl FnMut(usize, Value),
    ) -> Result<(), Cause> {
        let mut parser = Parser::new();
        let channel = &mut *self.channel;
        let error = None;
        let mut replies = Replying { channel, error };
        for _ in 0..greeted {
            if let Value::ServerError(error) = replies.next(&mut parser)? {
                return Err(refused(&self.dsn, &error));
            }
        }
        for place in 0..count {
            let value = replies.next(&mut parser)?;
            let code = code(&value);
            let refusal = CANNOT_DECIDE.into_iter().find(|&refusal| refusal == code);
            self.refusal = refusal.or(self.refusal);
            each(place, value);
        }
        Ok(())
    }

    /// Sets the deadline of all reads and writes that follow.
    pub fn set_deadline(&mut self, deadline: Timestamp) {
        self.channel.set_deadline(deadline);
    }

    /// Returns the socket, to wait for a reply.
    pub fn socket(&self) -> BorrowedFd<'_> {
        self.channel.socket()
    }

    fn last_words(&mut self) -> Option<Cause> {
        let (channel, error) = (&mut *self.channel, None);
        match (Replying { channel, error }).next(&mut Parser::new()) {
            Ok(Value::ServerError(error)) => Some(refused(&self.dsn, &error)),
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
        let read = self.channel.read(buffer).and_then(|count| match count {
            // TLS returns 0 if the server has closed the connection in the regular way.
            0 => Err(closed()),
            count => Ok(count),
        });
        read.map_err(|error| {
            let kind = error.kind();
            self.error = Some(error);
            kind.into()
        })
    }
}
