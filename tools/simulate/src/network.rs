//! Sockets, and the messages on their way.
//!
//! A connection keeps the order of its bytes, as TCP does. So a lost message makes the connection
//! silent from then on, in one direction or in both.

use crate::plan::{LATEST, Part};
use crate::system::FIRST_SOCKET;
use crate::world::{Event, MICRO, MILLI, World, here};
use libc::{c_int, pollfd};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Opening,
    Open,
    Refused,
    /// The server has gone away.
    Reset,
}

#[derive(Default)]
pub struct Connection {
    /// Counts the sockets that have had this place; messages to earlier ones are void.
    generation: u32,
    /// The client has closed it. What it has sent is still executed.
    pub is_closed: bool,
    pub worker: usize,
    pub server: usize,
    state: State,
    /// No reply arrives any more.
    is_silent: bool,
    inbox: Vec<u8>,
    read: usize,
    /// The bytes that the server has received and not executed.
    pub received: Vec<u8>,
    /// The server executes the next command although the slot is on its way to it.
    pub asking: bool,
    /// The instants at which the last message to the server and to the client arrives.
    arrives: [u64; 2],
}

impl Connection {
    /// Reports whether nothing of it is on its way.
    fn is_over(&self, now: u64) -> bool {
        self.is_closed && self.arrives[0] < now
    }
}

/// A message on a connection of this generation.
pub struct Message(u32, u32, Content);

enum Content {
    Connect,
    Connected(bool),
    Request(Vec<u8>),
    Reply(Vec<u8>),
    Reset,
}

impl World {
    fn latency(&mut self) -> u64 {
        let base = self.plan.latency;
        match self.chance.below(self.plan.late) {
            0 if self.plan.has(Part::Late) => 20 * MILLI + self.chance.below(LATEST - 20 * MILLI),
            1..4 if self.plan.has(Part::Late) => MILLI + self.chance.below(10 * MILLI),
            _ => base + self.chance.below(4 * base),
        }
    }

    /// Reports whether a rare fault happens to a message.
    fn happens(&mut self, fault: Part) -> bool {
        self.plan.has(fault) && self.chance.one_in(3000)
    }

    /// Notes that a message of the worker of a connection was lost or late.
    fn harm(&mut self, place: usize) {
        let it = &self.connections[place];
        self.workers[it.worker].harmed |= 1 << it.server;
    }

    /// Sends a message on a connection, after all earlier ones in this direction.
    fn post(&mut self, place: usize, is_reply: bool, content: Content) {
        let latency = self.latency();
        if latency > MILLI && latency > 5 * self.plan.latency {
            self.harm(place);
        }
        let it = &mut self.connections[place];
        let arrives = &mut it.arrives[usize::from(is_reply)];
        *arrives = (self.now + latency).max(*arrives);
        let (at, message) = (*arrives, Message(place as u32, it.generation, content));
        self.at(at, Event::Message(message));
    }

    /// Delivers a message to its server or client.
    pub fn delivers(&mut self, message: Message) {
        let Message(socket, generation, content) = message;
        let place = socket as usize;
        let it = &mut self.connections[place];
        let is_request = matches!(content, Content::Connect | Content::Request(_));
        if it.generation != generation || (it.is_closed && !is_request) {
            return;
        }
        let (worker, server) = (it.worker, it.server);
        if is_request && self.servers[server].stopped_until > self.now {
            // The server is stopped. It executes what has arrived when it goes on.
            let at = self.servers[server].stopped_until;
            it.arrives[0] = at;
            self.harm(place);
            return self.at(at, Event::Message(Message(socket, generation, content)));
        }
        match content {
            Content::Connect => {
                let accepts = !self.servers[server].refuses;
                return self.post(place, true, Content::Connected(accepts));
            }
            Content::Request(_) if self.servers[server].refuses => {
                return self.post(place, true, Content::Reset);
            }
            Content::Request(bytes) => {
                if it.received.is_empty() {
                    it.received = bytes;
                } else {
                    it.received.extend_from_slice(&bytes);
                }
                let reply = self.serve(server, place);
                if !reply.is_empty() {
                    self.reply(place, reply);
                }
                return;
            }
            Content::Connected(true) => it.state = State::Open,
            Content::Connected(false) => it.state = State::Refused,
            Content::Reset => it.state = State::Reset,
            Content::Reply(bytes) => {
                if it.read == it.inbox.len() {
                    (it.read, it.inbox) = (0, bytes);
                } else {
                    it.inbox.extend_from_slice(&bytes);
                }
            }
        }
        self.wake(worker, socket);
    }

    /// Sends a reply, or a part of it.
    fn reply(&mut self, place: usize, mut reply: Vec<u8>) {
        let is_lost = self.happens(Part::LostReply);
        let is_half = self.happens(Part::HalfReply);
        let is_reset = self.happens(Part::Reset);
        let was_silent = self.connections[place].is_silent;
        if was_silent || is_lost || is_half || is_reset {
            self.harm(place);
        }
        self.connections[place].is_silent |= is_lost || is_half;
        if was_silent || is_lost {
            return;
        }
        if is_half {
            reply.truncate(reply.len() / 2);
        }
        let content = if is_reset {
            Content::Reset
        } else {
            Content::Reply(reply)
        };
        self.now += 5 * MICRO;
        self.post(place, true, content);
    }

    /// Resets all connections to a server that ended.
    pub fn reset_all(&mut self, server: usize) {
        for place in 0..self.connections.len() {
            let it = &mut self.connections[place];
            it.received.clear();
            if !it.is_closed && it.server == server {
                self.post(place, true, Content::Reset);
            }
        }
    }
}

fn place(socket: c_int) -> usize {
    (socket - FIRST_SOCKET) as usize
}

/// The functions of the C library on the sockets of the worker that runs.
impl World {
    pub fn socket(&mut self) -> c_int {
        let free = self.connections.iter().position(|it| it.is_over(self.now));
        let place = free.unwrap_or(self.connections.len());
        if free.is_none() {
            self.connections.push(Connection::default());
        }
        let generation = self.connections[place].generation + 1;
        let worker = self.index();
        self.connections[place] = Connection {
            generation,
            worker,
            ..Connection::default()
        };
        FIRST_SOCKET + place as c_int
    }

    /// Begins to connect to the server with this address: 10.0.0.1, 10.0.0.2 and so on.
    pub fn connect(&mut self, socket: c_int, address: u32) {
        let place = place(socket);
        self.connections[place].server = (address & 0xff) as usize - 1;
        if self.plan.has(Part::LostRequest) && self.chance.one_in(300) {
            self.harm(place);
        } else {
            self.post(place, false, Content::Connect);
        }
    }

    pub fn socket_error(&mut self, socket: c_int) -> c_int {
        match self.connections[place(socket)].state {
            State::Refused => libc::ECONNREFUSED,
            State::Reset => libc::ECONNRESET,
            State::Opening | State::Open => 0,
        }
    }

    pub fn send(&mut self, socket: c_int, bytes: &[u8]) -> Result<usize, c_int> {
        let place = place(socket);
        if self.connections[place].state == State::Reset {
            return Err(libc::EPIPE);
        }
        self.history.messages += 1;
        self.connections[place].is_silent |= self.happens(Part::LostRequest);
        if self.connections[place].is_silent {
            self.harm(place);
        } else {
            self.post(place, false, Content::Request(bytes.to_vec()));
        }
        Ok(bytes.len())
    }

    pub fn receive(&mut self, socket: c_int, into: &mut [u8], peeks: bool) -> Result<usize, c_int> {
        let it = &mut self.connections[place(socket)];
        let found = &it.inbox[it.read..];
        if !found.is_empty() {
            let count = found.len().min(into.len());
            into[..count].copy_from_slice(&found[..count]);
            it.read += if peeks { 0 } else { count };
            return Ok(count);
        }
        match it.state {
            State::Reset | State::Refused => Err(libc::ECONNRESET),
            State::Opening | State::Open => Err(libc::EAGAIN),
        }
    }

    /// Waits until one of these sockets is ready. Returns the number of those that are.
    pub fn poll(sockets: &mut [pollfd], time: u64) -> usize {
        let world = here();
        let count = world.ready(sockets);
        if count > 0 || time == 0 {
            return count;
        }
        let watched = &mut world.current().watched;
        watched.clear();
        watched.extend(sockets.iter().map(|it| place(it.fd) as u32));
        let until = world.now.saturating_add(time);
        Self::wait(until);
        here().current().watched.clear();
        here().ready(sockets)
    }

    fn ready(&mut self, sockets: &mut [pollfd]) -> usize {
        for socket in &mut *sockets {
            let it = &self.connections[place(socket.fd)];
            let input = if it.read < it.inbox.len() {
                libc::POLLIN
            } else {
                0
            };
            let errors = libc::POLLERR | libc::POLLHUP;
            let events = match it.state {
                State::Opening => 0,
                State::Open => input | libc::POLLOUT,
                State::Refused | State::Reset => libc::POLLIN | libc::POLLOUT | errors,
            };
            socket.revents = events & (socket.events | errors);
        }
        sockets.iter().filter(|it| it.revents != 0).count()
    }

    pub fn close(&mut self, socket: c_int) {
        self.connections[place(socket)].is_closed = true;
    }
}
