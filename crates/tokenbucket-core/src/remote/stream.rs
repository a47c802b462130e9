//! A byte stream to a server, with one absolute deadline for everything that a call does with it.
//!
//! The socket never blocks; waiting is `poll`, for what is left until the deadline. So a reply that
//! drips in does not extend it, and a signal costs nothing but a look at the clock.

use super::channel::Channel;
use super::endpoint::Endpoint;
use super::failure::Cause;
use super::resolve;
use crate::clock::{Ticks, boot_clock};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recv,
    send, socket_with, sockopt,
};
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

/// How long to wait for a place in a socket's queue, which cannot be waited for otherwise.
const NAP: Duration = Duration::from_millis(1);

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
            Endpoint::Unix { path } => Self::connect_unix(path, deadline).map_err(connecting),
            Endpoint::Tcp { host, port } => {
                let addresses = resolve::addresses(host, *port).map_err(Cause::Lookup)?;
                let mut last = Cause::Timeout;
                for address in addresses {
                    match Self::connect_to(address, deadline) {
                        Ok(stream) => return Ok(stream),
                        Err(error) => last = connecting(error),
                    }
                }
                // Perhaps it has moved.
                resolve::forget(host, *port);
                Err(last)
            }
        }
    }

    fn connect_unix(path: &Path, deadline: Ticks) -> io::Result<Self> {
        let address = SocketAddrUnix::new(path)?;
        let stream = Self::open(AddressFamily::UNIX, deadline)?;
        stream.dial(|socket| connect(socket, &address))?;
        Ok(stream)
    }

    fn connect_to(address: SocketAddr, deadline: Ticks) -> io::Result<Self> {
        let family = match address {
            SocketAddr::V4(_) => AddressFamily::INET,
            SocketAddr::V6(_) => AddressFamily::INET6,
        };
        let stream = Self::open(family, deadline)?;
        sockopt::set_tcp_nodelay(&stream.socket, true)?;
        stream.dial(|socket| connect(socket, &address))?;
        Ok(stream)
    }

    fn open(family: AddressFamily, deadline: Ticks) -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(family, SocketType::STREAM, flags, None)?;
        Ok(Self { socket, deadline })
    }

    fn dial(&self, connect: impl Fn(&OwnedFd) -> rustix::io::Result<()>) -> io::Result<()> {
        loop {
            match connect(&self.socket) {
                Ok(()) | Err(Errno::ISCONN) => return Ok(()),
                // The listener's queue is full; of a Unix socket nothing tells when it is not.
                Err(Errno::AGAIN) => {
                    self.left()?;
                    std::thread::sleep(NAP);
                }
                Err(Errno::INPROGRESS | Errno::INTR | Errno::ALREADY) => {
                    self.wait(PollFlags::OUT)?;
                    sockopt::socket_error(&self.socket)??;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The time left; `TimedOut` when there is none.
    fn left(&self) -> io::Result<Timespec> {
        let left = self.deadline.saturating_sub(boot_clock());
        if left == 0 {
            return Err(io::ErrorKind::TimedOut.into());
        }
        Timespec::try_from(Duration::from_nanos(left)).map_err(io::Error::other)
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
}

/// Says why there is no connection. `left` alone makes errors without a number of the system's.
fn connecting(error: io::Error) -> Cause {
    if error.kind() == io::ErrorKind::TimedOut && error.raw_os_error().is_none() {
        Cause::Timeout
    } else {
        Cause::Connect(error)
    }
}

impl Channel for Stream {
    fn set_deadline(&mut self, deadline: Ticks) {
        self.deadline = deadline;
    }

    fn is_quiet(&mut self) -> bool {
        let mut byte = [0];
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        loop {
            match recv(&self.socket, &mut byte, flags) {
                Err(Errno::INTR) => {}
                result => return matches!(result, Err(Errno::AGAIN)),
            }
        }
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
