//! The byte channel of a protocol: a stream, with or without TLS.

use super::tls::TlsStream;
use gcra::Timestamp;
use rustix::fd::BorrowedFd;
use std::io::{Read, Write};

/// A connection that a protocol reads from and writes to.
pub trait Channel: Read + Write + Send {
    /// Sets the deadline of all reads and writes that follow, an instant of the boot clock.
    fn set_deadline(&mut self, deadline: Timestamp);

    /// Reports whether nothing has arrived since the last reply: no unexpected byte and no end of
    /// the stream.
    fn is_quiet(&mut self) -> bool;

    /// Returns the socket, to wait for several connections at once.
    fn socket(&self) -> BorrowedFd<'_>;
}

impl<S: Channel> Channel for TlsStream<S> {
    fn set_deadline(&mut self, deadline: Timestamp) {
        self.sock.set_deadline(deadline);
    }

    /// Processes the session tickets that the server may have sent, because they are not part of a
    /// reply.
    fn is_quiet(&mut self) -> bool {
        while !self.sock.is_quiet() {
            // This read does not wait, because the socket has something to read.
            let read = self.conn.read_tls(&mut self.sock);
            if !read.is_ok_and(|count| count > 0) {
                return false;
            }
            let processed = self.conn.process_new_packets();
            if !processed.is_ok_and(|state| state.plaintext_bytes_to_read() == 0) {
                return false;
            }
        }
        true
    }

    fn socket(&self) -> BorrowedFd<'_> {
        self.sock.socket()
    }
}
