//! An address that accepts no connection, so that connecting blocks until it times out.

use crate::folder::Folder;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, listen, socket_with,
};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::time::Duration;

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
        let mut queued = Vec::new();
        while let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_millis(200)) {
            queued.push(stream.into());
        }
        Self {
            listener,
            _queued: queued,
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
