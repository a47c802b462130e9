//! An address that accepts no connection, so that connecting blocks until it times out.

use crate::eventually;
use crate::folder::Folder;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, listen, socket_with,
};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

/// A listener that accepts no connection and whose queue of connections is full.
pub struct Blackhole<L> {
    listener: L,
    // These fields keep the queue full and the folder of the socket in existence.
    _queued: Vec<OwnedFd>,
    _folder: Option<Folder>,
}

impl Blackhole<TcpListener> {
    /// Listens on a free port of 127.0.0.1 and fills the queue.
    pub fn tcp() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        listen(&listener, 0).unwrap();
        let address = listener.local_addr().unwrap();
        // The queue has one place. The kernel drops further connections as soon as it is taken.
        let queued = TcpStream::connect(address).unwrap();
        assert!(eventually(|| is_queued(address.port())));
        Self {
            listener,
            _queued: vec![queued.into()],
            _folder: None,
        }
    }

    /// Returns the address that accepts no connection.
    pub fn address(&self) -> SocketAddr {
        self.listener.local_addr().unwrap()
    }

    /// Returns the port that accepts no connection.
    pub fn port(&self) -> u16 {
        self.address().port()
    }
}

impl Blackhole<UnixListener> {
    /// Listens on a Unix socket and fills the queue.
    pub fn unix() -> Self {
        let folder = Folder::new();
        let path = folder.file("blackhole.sock");
        let listener = UnixListener::bind(&path).unwrap();
        listen(&listener, 0).unwrap();
        let address = SocketAddrUnix::new(&path).unwrap();
        let mut queued = Vec::new();
        loop {
            let (family, kind) = (AddressFamily::UNIX, SocketType::STREAM);
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            let socket = socket_with(family, kind, flags, None).unwrap();
            if connect(&socket, &address).is_err() {
                break;
            }
            queued.push(socket);
        }
        Self {
            listener,
            _queued: queued,
            _folder: Some(folder),
        }
    }

    /// Returns the path of the socket that accepts no connection.
    pub fn socket(&self) -> PathBuf {
        let address = self.listener.local_addr().unwrap();
        address.as_pathname().unwrap().to_owned()
    }
}

/// Reports whether a connection waits in the queue of a listening port.
fn is_queued(port: u16) -> bool {
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let port = format!(":{port:04X}");
    table.lines().any(|line| {
        let fields: Vec<_> = line.split_whitespace().collect();
        // The state 0A is LISTEN. The second number of the queues counts waiting connections.
        fields[1].ends_with(&port) && fields[3] == "0A" && fields[4].ends_with(":00000001")
    })
}
