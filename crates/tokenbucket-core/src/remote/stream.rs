//! A byte stream to a server, with one absolute deadline for everything that a call does with it.
//!
//! The socket never blocks; waiting is `poll`, for what is left until the deadline. So a reply that
//! drips in does not extend it, and a signal costs nothing but a look at the clock.

use super::endpoint::Endpoint;
use super::failure::Cause;
use super::resolve;
use crate::clock::{TICKS_PER_SECOND, Ticks, boot_clock};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recv,
    send, socket_with, sockopt,
};
use std::io::{self, Read, Write};
use std::net::SocketAddr;

/// How long to wait for a place in a socket's queue, which cannot be waited for otherwise.
const NAP: Ticks = TICKS_PER_SECOND / 1000;

/// A connected socket.
#[derive(Debug)]
pub struct Stream {
    socket: OwnedFd,
    /// When what is going on now must be over.
    deadline: Ticks,
}

impl Stream {
    /// Connects before `deadline`, to the first of a name's addresses that can be had.
    ///
    /// The look-up of a name does not know deadlines; addresses are remembered.
    ///
    /// # Errors
    /// [`Cause::Lookup`], [`Cause::Connect`] or [`Cause::Timeout`].
    pub fn connect(endpoint: &Endpoint, deadline: Ticks) -> Result<Self, Cause> {
        match endpoint {
            Endpoint::Unix { path } => {
                let address = SocketAddrUnix::new(path).map_err(|error| failed(error.into()))?;
                let stream = Self::open(AddressFamily::UNIX, deadline)?;
                stream.dial(|socket| connect(socket, &address))?;
                Ok(stream)
            }
            Endpoint::Tcp { host, port } => {
                let addresses = resolve::addresses(host, *port).map_err(Cause::Lookup)?;
                let mut last = Cause::Timeout;
                for address in addresses {
                    match Self::connect_to(address, deadline) {
                        Ok(stream) => return Ok(stream),
                        Err(cause) => last = cause,
                    }
                }
                // Perhaps it has moved.
                resolve::forget(host, *port);
                Err(last)
            }
        }
    }

    fn connect_to(address: SocketAddr, deadline: Ticks) -> Result<Self, Cause> {
        let family = match address {
            SocketAddr::V4(_) => AddressFamily::INET,
            SocketAddr::V6(_) => AddressFamily::INET6,
        };
        let stream = Self::open(family, deadline)?;
        sockopt::set_tcp_nodelay(&stream.socket, true).map_err(|error| failed(error.into()))?;
        stream.dial(|socket| connect(socket, &address))?;
        Ok(stream)
    }

    fn open(family: AddressFamily, deadline: Ticks) -> Result<Self, Cause> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(family, SocketType::STREAM, flags, None)
            .map_err(|error| failed(error.into()))?;
        Ok(Self { socket, deadline })
    }

    fn dial(&self, connect: impl Fn(&OwnedFd) -> rustix::io::Result<()>) -> Result<(), Cause> {
        loop {
            match connect(&self.socket) {
                Ok(()) | Err(Errno::ISCONN) => return Ok(()),
                // The listener's queue is full; of a Unix socket nothing tells when it is not.
                Err(Errno::AGAIN) => self.nap()?,
                Err(Errno::INPROGRESS | Errno::INTR | Errno::ALREADY) => {
                    self.wait(PollFlags::OUT).map_err(connecting)?;
                    sockopt::socket_error(&self.socket)
                        .and_then(|result| result)
                        .map_err(|error| failed(error.into()))?;
                }
                Err(error) => return Err(failed(error.into())),
            }
        }
    }

    /// Gives what follows until `deadline`.
    pub fn set_deadline(&mut self, deadline: Ticks) {
        self.deadline = deadline;
    }

    /// Whether nothing came since the last reply: no byte that nobody asked for, and no end.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        let mut byte = [0];
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        loop {
            match recv(&self.socket, &mut byte, flags) {
                Err(Errno::INTR) => {}
                result => return matches!(result, Err(Errno::AGAIN)),
            }
        }
    }

    /// The time left; `TimedOut` when there is none.
    fn left(&self) -> io::Result<Timespec> {
        let left = self.deadline.saturating_sub(boot_clock());
        if left == 0 {
            return Err(io::ErrorKind::TimedOut.into());
        }
        // Both are below 2^62.
        Ok(Timespec {
            tv_sec: (left / TICKS_PER_SECOND).cast_signed(),
            tv_nsec: (left % TICKS_PER_SECOND).cast_signed(),
        })
    }

    /// Waits until the socket is ready for `events`.
    fn wait(&self, events: PollFlags) -> io::Result<()> {
        loop {
            let mut sockets = [PollFd::new(&self.socket, events)];
            match poll(&mut sockets, Some(&self.left()?)) {
                // Time is up, or a signal came: the clock decides.
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn nap(&self) -> Result<(), Cause> {
        self.left().map_err(connecting)?;
        let nap = Timespec {
            tv_sec: 0,
            tv_nsec: NAP.cast_signed(),
        };
        match poll(&mut [], Some(&nap)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(failed(error.into())),
        }
    }
}

fn failed(error: io::Error) -> Cause {
    Cause::Connect(error)
}

fn connecting(error: io::Error) -> Cause {
    if error.kind() == io::ErrorKind::TimedOut {
        Cause::Timeout
    } else {
        Cause::Connect(error)
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            // A reply is never there yet when it is first looked for.
            self.wait(PollFlags::IN)?;
            match recv(&self.socket, &mut *buffer, RecvFlags::DONTWAIT) {
                Ok((0, _)) => {
                    return Err(io::Error::new(
                        io::ErrorKind::UnexpectedEof,
                        "it was closed by the server",
                    ));
                }
                Ok((count, _)) => return Ok(count),
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match send(
                &self.socket,
                bytes,
                SendFlags::NOSIGNAL | SendFlags::DONTWAIT,
            ) {
                Ok(count) => return Ok(count),
                Err(Errno::AGAIN) => self.wait(PollFlags::OUT)?,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
