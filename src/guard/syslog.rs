//! Records for the system's log, which tools that ban clients read.
//!
//! PHP's own log is no source for them: it also contains text that clients and applications choose,
//! with line breaks, and an application may redirect it.

use std::os::unix::net::UnixDatagram;

/// The socket of the system's log.
const SOCKET: &str = "/dev/log";
/// The facility "authpriv" (10) and the level "notice" (5).
const PRIORITY: u8 = 10 * 8 + 5;

/// Writes a record with the identifier `tokenbucket`. Never waits for the reader. Fails if nothing
/// reads the log, or if its queue is full. Then the record is lost.
pub fn write(message: &str) -> std::io::Result<()> {
    let socket = UnixDatagram::unbound()?;
    socket.set_nonblocking(true)?;
    let record = format!("<{PRIORITY}>tokenbucket: {message}");
    socket.send_to(record.as_bytes(), SOCKET).map(drop)
}
