//! What a protocol talks through: a stream, in the clear or under TLS.

use super::stream::Stream;
use super::tls::TlsStream;
use crate::clock::Ticks;
use std::io::{Read, Write};

/// A connection's bytes.
pub trait Channel: Read + Write + Send {
    /// Gives what follows until `deadline`.
    fn set_deadline(&mut self, deadline: Ticks);

    /// Returns whether nothing came since the last reply: no byte that nobody asked for, and no end.
    fn is_quiet(&mut self) -> bool;
}

impl Channel for TlsStream<Stream> {
    fn set_deadline(&mut self, deadline: Ticks) {
        self.sock.set_deadline(deadline);
    }

    /// Reads the new tickets that the server may have sent, which are no reply.
    fn is_quiet(&mut self) -> bool {
        while !self.sock.is_quiet() {
            // Without waiting, for there is something to read.
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
}
