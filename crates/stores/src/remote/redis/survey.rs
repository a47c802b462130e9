//! The connections on which several servers are asked at once.
//!
//! A question connects, performs the handshake of TLS, sends its commands and reads the replies. It
//! waits for the server only by its socket, so that one thread can ask several servers.

use super::node::{Node, RequestLine};
use crate::remote::channel::Channel;
use crate::remote::race::{self, Task};
use crate::remote::stream::{Stream, addresses, forget};
use crate::remote::{Cause, tls};
use gcra::{Timestamp, boot_clock};
use redis::{Cmd, Value};
use rustix::event::{PollFd, PollFlags};
use rustls::{ClientConnection, StreamOwned};
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

/// A question to one server at one of its addresses.
pub struct Inquiry {
    node: Arc<Node>,
    commands: Rc<[Cmd]>,
    deadline: Timestamp,
    state: State,
}

enum State {
    /// The connection is being established.
    Connecting(Stream),
    /// The reply to a message of the TLS handshake is missing.
    Shaking(Box<ClientConnection>, Stream),
    /// This number of commands of the login was sent. The others must wait for the replies.
    Greeting(RequestLine, usize),
    /// The commands were sent, after this number of other commands.
    Sent(RequestLine, usize),
    /// The question has ended.
    Over,
}

/// Returns the questions to a server: one on an idle connection, or one to each address. Each
/// begins when it is taken from the iterator.
pub fn questions<'a>(
    node: &'a Arc<Node>,
    commands: &'a Rc<[Cmd]>,
    deadline: Timestamp,
) -> impl Iterator<Item = (&'a Arc<Node>, Result<Inquiry, Cause>)> {
    let line = node.idle_line(deadline);
    let found = if line.is_some() {
        Ok(Vec::new())
    } else {
        addresses(&node.dsn.endpoint, deadline)
    };
    let (addresses, failed) = match found {
        Ok(addresses) => (addresses, None),
        Err(cause) => (Vec::new(), Some(Err(cause))),
    };
    let asked = line
        .into_iter()
        .map(move |line| Inquiry::on(node, line, commands, deadline));
    let connecting = addresses
        .into_iter()
        .map(move |address| Inquiry::at(node, address, commands, deadline));
    asked
        .chain(failed)
        .chain(connecting)
        .map(move |begun| (node, begun))
}

/// Begins a question to a server in the way that waits least. If the server has several addresses
/// and there is no idle connection, first waits until one of them accepts the connection, for at
/// most half of the time until `deadline`.
pub fn question(
    node: &Arc<Node>,
    commands: &Rc<[Cmd]>,
    deadline: Timestamp,
) -> Result<Inquiry, Cause> {
    if let Some(line) = node.idle_line(deadline) {
        return Inquiry::on(node, line, commands, deadline);
    }
    if let [address] = addresses(&node.dsn.endpoint, boot_clock().midpoint(deadline))?[..] {
        return Inquiry::at(node, address, commands, deadline);
    }
    let mut stream = Stream::connect(&node.dsn.endpoint, boot_clock().midpoint(deadline))?;
    stream.set_deadline(deadline);
    let mut question = Inquiry::new(node, commands, deadline);
    question.state = question.connected(stream)?;
    Ok(question)
}

/// Sends the commands on a connection. A server that does not read them gets half of the time until
/// `deadline`, because the others wait meanwhile.
fn sent(mut line: RequestLine, commands: &[Cmd], deadline: Timestamp) -> Result<State, Cause> {
    line.set_deadline(race::share(deadline));
    let logs_in_first = line.logs_in_first();
    let greeted = line.write(if logs_in_first { &[] } else { commands })?;
    line.set_deadline(deadline);
    Ok(if logs_in_first {
        State::Greeting(line, greeted)
    } else {
        State::Sent(line, greeted)
    })
}

impl Inquiry {
    fn new(node: &Arc<Node>, commands: &Rc<[Cmd]>, deadline: Timestamp) -> Self {
        Self {
            node: Arc::clone(node),
            commands: Rc::clone(commands),
            deadline,
            state: State::Over,
        }
    }

    /// Sends the commands on a connection.
    fn on(
        node: &Arc<Node>,
        line: RequestLine,
        commands: &Rc<[Cmd]>,
        deadline: Timestamp,
    ) -> Result<Self, Cause> {
        let state = sent(line, commands, deadline)?;
        Ok(Self {
            state,
            ..Self::new(node, commands, deadline)
        })
    }

    /// Begins to connect to an address of the server.
    fn at(
        node: &Arc<Node>,
        address: SocketAddr,
        commands: &Rc<[Cmd]>,
        deadline: Timestamp,
    ) -> Result<Self, Cause> {
        let stream =
            Stream::begin(address, deadline).inspect_err(|_| forget(&node.dsn.endpoint))?;
        Ok(Self {
            state: State::Connecting(stream),
            ..Self::new(node, commands, deadline)
        })
    }

    /// Begins the handshake or sends the first commands on a new connection.
    fn connected(&self, stream: Stream) -> Result<State, Cause> {
        match self.node.tls()? {
            Some(session) => self.shake(Box::new(session), stream),
            None => self.sent(Box::new(stream)),
        }
    }

    /// Sends the first commands on a new connection.
    fn sent(&self, channel: Box<dyn Channel>) -> Result<State, Cause> {
        sent(self.node.new_line(channel), &self.commands, self.deadline)
    }

    /// Continues the handshake as far as possible without waiting.
    fn shake(
        &self,
        mut session: Box<ClientConnection>,
        mut stream: Stream,
    ) -> Result<State, Cause> {
        tls::flush(&mut session, &mut stream)?;
        if session.is_handshaking() {
            return Ok(State::Shaking(session, stream));
        }
        let channel = StreamOwned::new(*session, stream);
        self.sent(Box::new(channel))
    }

    /// Reads the replies, of which at least a part has arrived.
    fn replies(&self, mut line: RequestLine, greeted: usize) -> (Vec<Value>, Result<(), Cause>) {
        line.set_deadline(race::share(self.deadline));
        let mut replies = Vec::with_capacity(self.commands.len());
        let read = line.read(greeted, self.commands.len(), |_, value| replies.push(value));
        let result = self.node.conclude(true, read.map(|()| ((), line)));
        (replies, result)
    }
}

impl Task for Inquiry {
    /// The replies, and the failure of the server that did not send the others.
    type Output = (Vec<Value>, Result<(), Cause>);

    fn waits_for(&self) -> Option<PollFd<'_>> {
        let (socket, events) = match &self.state {
            State::Connecting(stream) => (stream.socket(), PollFlags::OUT),
            State::Shaking(_, stream) => (stream.socket(), PollFlags::IN),
            State::Greeting(line, _) | State::Sent(line, _) => (line.socket(), PollFlags::IN),
            State::Over => return None,
        };
        Some(PollFd::from_borrowed_fd(socket, events))
    }

    fn advance(&mut self) -> Result<Option<Self::Output>, Cause> {
        self.state = match std::mem::replace(&mut self.state, State::Over) {
            State::Connecting(stream) => {
                stream
                    .established()
                    .inspect_err(|_| forget(&self.node.dsn.endpoint))?;
                self.connected(stream)?
            }
            State::Shaking(mut session, mut stream) => {
                tls::receive(&mut session, &mut stream)?;
                self.shake(session, stream)?
            }
            State::Greeting(mut line, greeted) => {
                line.set_deadline(race::share(self.deadline));
                line.read(greeted, 0, |_, _| ())?;
                sent(line, &self.commands, self.deadline)?
            }
            State::Sent(line, greeted) => return Ok(Some(self.replies(line, greeted))),
            State::Over => State::Over,
        };
        Ok(None)
    }
}
