//! A proxy between a client and a server. It counts traffic and injects faults on demand.
//!
//! The proxy parses no protocol, so the result of one read from the server counts as one reply. The
//! replies of these stores are short, so one read returns a whole reply, or all replies of a
//! pipeline.

use rustix::net;
use std::io::{Read, Result, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::Duration;

/// The way in which the proxy treats bytes. A change applies from the next read on, also in open
/// connections.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mode {
    /// All bytes pass.
    Pass,
    /// Replies arrive byte by byte, with this pause after each byte.
    Drip(Duration),
    /// Each reply arrives after this pause, as from a server that is far away.
    Delay(Duration),
    /// The first half of a reply arrives, then the connection ends.
    HalfReply,
    /// The server acts, but its replies are dropped and the connection stays open.
    SwallowReplies,
    /// Connections are accepted, and nothing reaches the server.
    SwallowRequests,
    /// Requests wait for [`Proxy::deliver`], even if the mode changes or the client goes away.
    HoldRequests,
}

/// A proxy that listens on a port of 127.0.0.1. It ends, with all its connections, when it is
/// dropped.
pub struct Proxy {
    wire: Arc<Wire>,
    listener: TcpListener,
    accepting: Option<JoinHandle<()>>,
}

/// The state that all connections share.
struct Wire {
    /// The port of the server on 127.0.0.1.
    upstream: AtomicU16,
    mode: Mutex<Mode>,
    counts: Counts,
    open: Mutex<Vec<Arc<TcpStream>>>,
    is_delivering: AtomicBool,
}

#[derive(Default)]
struct Counts {
    connections: AtomicU64,
    round_trips: AtomicU64,
    requests: AtomicU64,
    reply_bytes: AtomicU64,
}

impl Proxy {
    /// Starts a proxy of the server at this port of 127.0.0.1.
    pub fn tcp(upstream: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let wire = Arc::new(Wire {
            upstream: AtomicU16::new(upstream),
            mode: Mutex::new(Mode::Pass),
            counts: Counts::default(),
            open: Mutex::default(),
            is_delivering: AtomicBool::default(),
        });
        let (shared, accepting) = (Arc::clone(&wire), listener.try_clone().unwrap());
        let accepting = spawn(move || {
            while let Ok((client, _)) = accepting.accept() {
                shared.connect(client);
            }
        });
        Self {
            wire,
            listener,
            accepting: Some(accepting),
        }
    }

    pub fn port(&self) -> u16 {
        self.listener.local_addr().unwrap().port()
    }

    /// Sets the mode. It applies to bytes from the next read on.
    pub fn set(&self, mode: Mode) {
        *self.wire.mode.lock().unwrap() = mode;
    }

    /// Sends the requests that wait in [`Mode::HoldRequests`] to the server, and all further
    /// requests.
    pub fn deliver(&self) {
        self.wire.is_delivering.store(true, SeqCst);
    }

    /// Sends new connections to another server. Open connections stay.
    pub fn lead(&self, upstream: u16) {
        self.wire.upstream.store(upstream, SeqCst);
    }

    /// Ends all open connections. New connections are still accepted.
    pub fn cut(&self) {
        self.wire.cut();
    }

    /// Returns the number of round trips. A round trip begins when a client sends data first in its
    /// connection, or after a reply.
    pub fn round_trips(&self) -> u64 {
        self.wire.counts.round_trips.load(SeqCst)
    }

    pub fn connections(&self) -> u64 {
        self.wire.counts.connections.load(SeqCst)
    }

    /// Returns the number of reads of client data, which is at most the number of writes of the
    /// clients.
    pub fn requests(&self) -> u64 {
        self.wire.counts.requests.load(SeqCst)
    }

    /// Returns the number of bytes that the server sent, delivered or not.
    pub fn reply_bytes(&self) -> u64 {
        self.wire.counts.reply_bytes.load(SeqCst)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // This ends the wait in accept().
        net::shutdown(&self.listener, net::Shutdown::Both).ok();
        if let Some(accepting) = self.accepting.take() {
            accepting.join().ok();
        }
        self.deliver();
        self.wire.cut();
    }
}

impl Wire {
    fn connect(self: &Arc<Self>, client: TcpStream) {
        self.counts.connections.fetch_add(1, SeqCst);
        // If the server is down, the client's connection ends.
        let Ok(server) = TcpStream::connect(("127.0.0.1", self.upstream.load(SeqCst))) else {
            return;
        };
        let both = [client, server].map(|stream| {
            // With this option, each byte of `Mode::Drip` is sent at once and alone.
            stream.set_nodelay(true).ok();
            Arc::new(stream)
        });
        self.open.lock().unwrap().extend(both.clone());
        let answered = Arc::new(AtomicBool::new(true));
        for requests in [true, false] {
            let (wire, answered) = (Arc::clone(self), Arc::clone(&answered));
            let [client, server] = both.clone();
            spawn(move || {
                let ended = if requests {
                    wire.carry_requests(&client, &server, &answered)
                } else {
                    wire.carry_replies(&server, &client, &answered)
                };
                // If one side ends, with or without an error, the other side ends too.
                drop(ended);
                wire.end(&client);
                wire.end(&server);
            });
        }
    }

    fn carry_requests(
        &self,
        client: &TcpStream,
        mut server: &TcpStream,
        answered: &AtomicBool,
    ) -> Result<()> {
        let mut buffer = vec![0; 1 << 16];
        loop {
            let bytes = read(client, &mut buffer)?;
            // The request is counted before the server can reply, and so before the next request.
            if answered.swap(false, SeqCst) {
                self.counts.round_trips.fetch_add(1, SeqCst);
            }
            self.counts.requests.fetch_add(1, SeqCst);
            let mode = self.mode();
            while mode == Mode::HoldRequests && !self.is_delivering.load(SeqCst) {
                sleep(Duration::from_millis(1));
            }
            if mode != Mode::SwallowRequests {
                server.write_all(bytes)?;
            }
        }
    }

    fn carry_replies(
        &self,
        server: &TcpStream,
        mut client: &TcpStream,
        answered: &AtomicBool,
    ) -> Result<()> {
        let mut buffer = vec![0; 1 << 16];
        loop {
            let bytes = read(server, &mut buffer)?;
            let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
            self.counts.reply_bytes.fetch_add(length, SeqCst);
            let mode = self.mode();
            if mode != Mode::SwallowReplies {
                answered.store(true, SeqCst);
            }
            match mode {
                Mode::Pass | Mode::SwallowRequests | Mode::HoldRequests => {
                    client.write_all(bytes)?;
                }
                Mode::Drip(pause) => {
                    for byte in bytes {
                        client.write_all(&[*byte])?;
                        sleep(pause);
                    }
                }
                Mode::Delay(pause) => {
                    sleep(pause);
                    client.write_all(bytes)?;
                }
                Mode::HalfReply => return client.write_all(&bytes[..bytes.len() / 2]),
                Mode::SwallowReplies => (),
            }
        }
    }

    fn mode(&self) -> Mode {
        *self.mode.lock().unwrap()
    }

    fn end(&self, side: &Arc<TcpStream>) {
        side.shutdown(Shutdown::Both).ok();
        let mut open = self.open.lock().unwrap();
        open.retain(|other| !Arc::ptr_eq(side, other));
    }

    fn cut(&self) {
        for side in self.open.lock().unwrap().drain(..) {
            side.shutdown(Shutdown::Both).ok();
        }
    }
}

/// Returns the bytes of one read. The end of the stream is an error.
fn read<'a>(mut from: &TcpStream, buffer: &'a mut [u8]) -> Result<&'a [u8]> {
    match from.read(buffer)? {
        0 => Err(std::io::ErrorKind::UnexpectedEof.into()),
        length => Ok(&buffer[..length]),
    }
}
