//! What a protocol talks through: a stream, in the clear or under TLS.

use super::stream::Stream;
use super::tls::TlsStream;
use crate::clock::Ticks;
use std::io::{self, Read, Write};

/// A connection's bytes.
#[derive(Debug)]
pub enum Channel {
    /// In the clear.
    Plain(Stream),
    /// Under TLS.
    Tls(Box<TlsStream<Stream>>),
}

impl Channel {
    /// Gives what follows until `deadline`.
    pub fn set_deadline(&mut self, deadline: Ticks) {
        match self {
            Self::Plain(stream) => stream.set_deadline(deadline),
            Self::Tls(session) => session.sock.set_deadline(deadline),
        }
    }

    /// Whether nothing came since the last reply. Under TLS a server may have sent new tickets, which
    /// are no reply.
    pub fn is_quiet(&mut self) -> bool {
        match self {
            Self::Plain(stream) => stream.is_quiet(),
            Self::Tls(session) => {
                while !session.sock.is_quiet() {
                    // Without waiting, for there is something to read.
                    let read = session.conn.read_tls(&mut session.sock);
                    if !read.is_ok_and(|count| count > 0) {
                        return false;
                    }
                    let processed = session.conn.process_new_packets();
                    if !processed.is_ok_and(|state| state.plaintext_bytes_to_read() == 0) {
                        return false;
                    }
                }
                true
            }
        }
    }
}

impl Read for Channel {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read(buffer),
            Self::Tls(session) => session.read(buffer),
        }
    }
}

impl Write for Channel {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.write(bytes),
            Self::Tls(session) => session.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(stream) => stream.flush(),
            Self::Tls(session) => session.flush(),
        }
    }
}
