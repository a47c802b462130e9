//! A byte stream to a server, with one absolute deadline for all operations of a call.
//!
//! The socket never blocks. Waiting uses `poll` with the time that is left until the deadline. So a
//! reply that arrives in small pieces does not extend the deadline. After a signal, the wait
//! continues with the time that is left.

use super::channel::Channel;
use super::endpoint::Endpoint;
use super::failure::{Cause, closed};
use super::race::{self, Race, Task};
use super::resolve;
use super::time_left::untimed;
use gcra::{Timestamp, boot_clock};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recv,
    send, socket_with, sockopt,
};
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

/// The pause before the next attempt when the queue of a Unix socket is full. No event reports a
/// free place in the queue.
const NAP: Duration = Duration::from_millis(1);

/// The time between two keepalive probes. A connection is idle for at most
/// [`super::connections::LONGEST_IDLE`].
const PROBES: Duration = Duration::from_secs(10);

/// Returns the addresses of a server; none for a Unix socket.
pub fn addresses(endpoint: &Endpoint, deadline: Timestamp) -> Result<Vec<SocketAddr>, Cause> {
    match endpoint {
        Endpoint::Tcp { host, port } => {
            untimed(|| resolve::addresses(host, *port, deadline)).map_err(Cause::Lookup)
        }
        Endpoint::Unix { .. } => Ok(Vec::new()),
    }
}

/// Reports whether a call that connects to the server must look up its host first.
pub fn looks_up(endpoint: &Endpoint) -> bool {
    matches!(endpoint, Endpoint::Tcp { host, port } if resolve::is_due(host, *port))
}

/// Makes the next call look the server's host up again, because its address may have changed.
pub fn forget(endpoint: &Endpoint) {
    if let Endpoint::Tcp { host, port } = endpoint {
        resolve::forget(host, *port);
    }
}

/// A connected socket.
#[derive(Debug)]
pub struct Stream {
    socket: OwnedFd,
    /// The instant at which the current call must be over.
    deadline: Timestamp,
}

impl Stream {
    /// Connects before `deadline`, to the address of the name that accepts the connection first.
    /// Each address has a head start, after which the next address is tried as well.
    ///
    /// The deadline does not cover a DNS lookup of this call, but addresses are cached. Fails with
    /// [`Cause::Lookup`], or the [`Cause::Connect`] or [`Cause::Timeout`] of the first address that
    /// failed.
    pub fn connect(endpoint: &Endpoint, deadline: Timestamp) -> Result<Self, Cause> {
        let (host, port) = match endpoint {
            Endpoint::Unix { path } => {
                return Self::connect_unix(path, deadline).map_err(connecting);
            }
            Endpoint::Tcp { host, port } => (host, *port),
        };
        let addresses = untimed(|| resolve::addresses(host, port, deadline));
        let addresses = addresses.map_err(Cause::Lookup)?;
        let begin = |&address| (address, Self::begin(address, deadline).map(Connecting::new));
        let head_start = race::head_start(addresses.len(), deadline);
        let race = Race::new(addresses.iter().map(begin), head_start, deadline);
        let mut first = None;
        for (address, connected) in race {
            match connected {
                Ok(stream) => {
                    resolve::prefer(host, port, address);
                    return Ok(stream);
                }
                Err(cause) => {
                    first.get_or_insert(cause);
                }
            }
        }
        // Look the host up again for the next call, because its address may have changed.
        resolve::forget(host, port);
        Err(first.unwrap_or(Cause::Timeout))
    }

    /// Begins to connect to an address and does not wait. The connection is established once the
    /// socket is writable and [`Stream::established`] succeeds. Fails with [`Cause::Connect`].
    pub fn begin(address: SocketAddr, deadline: Timestamp) -> Result<Self, Cause> {
        let family = match address {
            SocketAddr::V4(_) => AddressFamily::INET,
            SocketAddr::V6(_) => AddressFamily::INET6,
        };
        let begin = || {
            let stream = Self::open(family, deadline)?;
            sockopt::set_tcp_nodelay(&stream.socket, true)?;
            keep_alive(&stream.socket)?;
            match connect(&stream.socket, &address) {
                Ok(()) | Err(Errno::INPROGRESS | Errno::INTR) => Ok(stream),
                Err(error) => Err(error.into()),
            }
        };
        begin().map_err(connecting)
    }

    /// Reports whether the connection that [`Stream::begin`] began is established. Fails with
    /// [`Cause::Connect`] if it was refused.
    pub fn established(&self) -> Result<(), Cause> {
        let result = sockopt::socket_error(&self.socket);
        result
            .and_then(|it| it)
            .map_err(|error| connecting(error.into()))
    }

    fn connect_unix(path: &Path, deadline: Timestamp) -> io::Result<Self> {
        let address = SocketAddrUnix::new(path)?;
        let stream = Self::open(AddressFamily::UNIX, deadline)?;
        stream.dial(|socket| connect(socket, &address))?;
        Ok(stream)
    }

    fn open(family: AddressFamily, deadline: Timestamp) -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(family, SocketType::STREAM, flags, None)?;
        Ok(Self { socket, deadline })
    }

    fn dial(&self, connect: impl Fn(&OwnedFd) -> rustix::io::Result<()>) -> io::Result<()> {
        loop {
            match connect(&self.socket) {
                Ok(()) | Err(Errno::ISCONN) => return Ok(()),
                // The listener's queue is full. For a Unix socket, no event reports when it has
                // room again.
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

    /// Returns the time left until the deadline. Fails with `TimedOut` if the deadline has passed.
    fn left(&self) -> io::Result<Timespec> {
        let left = self.deadline.saturating_since(boot_clock());
        if left == 0 {
            return Err(io::ErrorKind::TimedOut.into());
        }
        Timespec::try_from(Duration::from_nanos(left)).map_err(io::Error::other)
    }

    /// Waits until the socket is ready for `events`. Fails with `TimedOut` at the deadline.
    fn wait(&self, events: PollFlags) -> io::Result<()> {
        loop {
            let mut sockets = [PollFd::new(&self.socket, events)];
            match poll(&mut sockets, Some(&self.left()?)) {
                // The time is up, or a signal arrived. The loop checks the clock.
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Stream {
    /// Returns the socket, to wait for events of several sockets at once.
    pub fn ready(&self, events: PollFlags) -> PollFd<'_> {
        PollFd::new(&self.socket, events)
    }
}

/// A connection that is being established.
struct Connecting(Option<Stream>);

impl Connecting {
    const fn new(stream: Stream) -> Self {
        Self(Some(stream))
    }
}

impl Task for Connecting {
    type Output = Stream;

    fn waits_for(&self) -> Option<PollFd<'_>> {
        let stream = self.0.as_ref()?;
        Some(PollFd::new(&stream.socket, PollFlags::OUT))
    }

    fn advance(&mut self) -> Result<Option<Stream>, Cause> {
        self.0.as_ref().map_or(Ok(()), Stream::established)?;
        Ok(self.0.take())
    }
}

/// Makes the kernel send probes while the connection is idle. So a NAT or a load balancer does not
/// forget the connection, and the kernel notices if it has.
fn keep_alive(socket: &OwnedFd) -> rustix::io::Result<()> {
    sockopt::set_socket_keepalive(socket, true)?;
    sockopt::set_tcp_keepidle(socket, PROBES)?;
    sockopt::set_tcp_keepintvl(socket, PROBES)?;
    sockopt::set_tcp_keepcnt(socket, 2)
}

/// Converts an error of connecting. An error of `TimedOut` without a system error number comes from
/// `left`, so the deadline has passed.
fn connecting(error: io::Error) -> Cause {
    if error.kind() == io::ErrorKind::TimedOut && error.raw_os_error().is_none() {
        Cause::Timeout
    } else {
        Cause::Connect(error)
    }
}

impl Channel for Stream {
    fn set_deadline(&mut self, deadline: Timestamp) {
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

    fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            // Wait first, because the reply has usually not arrived yet at the first read.
            self.wait(PollFlags::IN)?;
            match recv(&self.socket, &mut *buffer, RecvFlags::DONTWAIT) {
                Ok((0, _)) => return Err(closed()),
                Ok((count, _)) => return Ok(count),
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Nothing is sent after the deadline, because the reply would not be read.
        self.left()?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use gcra::clock::{TICKS_PER_SECOND, Ticks};
    use std::net::TcpListener;

    fn connected(name: &str, addresses: &[SocketAddr]) -> Result<Stream, Cause> {
        let (host, port) = (name.to_owned(), 1);
        resolve::learn(name, port, addresses);
        let endpoint = Endpoint::Tcp { host, port };
        Stream::connect(&endpoint, boot_clock() + 10 * TICKS_PER_SECOND)
    }

    #[test]
    fn dead_addresses_leave_time_to_the_others() {
        let dead: Vec<_> = (0..3).map(|_| testkit::Blackhole::tcp()).collect();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let live = listener.local_addr().unwrap();
        let mut addresses: Vec<_> = dead.iter().map(testkit::Blackhole::address).collect();
        addresses.push(live);
        assert!(connected("four.invalid", &addresses).is_ok());
        let known = resolve::addresses("four.invalid", 1, boot_clock()).unwrap();
        assert_eq!(known[0], live, "it is tried first from now on");
    }

    #[test]
    fn the_first_failure_is_the_cause() {
        let [refusing, broadcast] = ["127.0.0.1:1", "255.255.255.255:1"];
        let [refusing, broadcast] = [refusing, broadcast].map(|it| it.parse().unwrap());
        for (addresses, refused) in [
            ([refusing, broadcast], true),
            ([broadcast, refusing], false),
        ] {
            match connected("none.invalid", &addresses) {
                Err(Cause::Connect(error)) => {
                    assert_eq!(error.kind() == io::ErrorKind::ConnectionRefused, refused);
                }
                other => panic!("{other:?}"),
            }
        }
    }

    /// All waits of a call together end at its deadline, because no wait is longer than the time
    /// that is left.
    #[test]
    fn a_wait_is_no_longer_than_the_time_left() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let deadline = boot_clock() + 60 * TICKS_PER_SECOND;
        let address = listener.local_addr().unwrap();
        let mut stream = Stream::begin(address, deadline).unwrap();
        let before = boot_clock();
        let left = Duration::try_from(stream.left().unwrap()).unwrap();
        let left = Ticks::try_from(left.as_nanos()).unwrap();
        assert!((deadline - boot_clock()..=deadline - before).contains(&left));
        stream.set_deadline(before);
        let error = stream.read(&mut [0]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
