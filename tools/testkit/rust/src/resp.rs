//! The part of the Redis protocol that tests need to control a server.
//!
//! This code is separate from the extension's client, because the tests of that client must not
//! depend on the client itself.

use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Result, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

pub struct Connection(BufReader<UnixStream>);

impl Connection {
    pub fn open(socket: &Path) -> Result<Self> {
        let stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(crate::PATIENCE))?;
        Ok(Self(BufReader::new(stream)))
    }

    /// Sends a command and returns the reply as text. An array has one line for each element. Null
    /// becomes an empty text. An error becomes its message.
    pub fn command(&mut self, words: &[&str]) -> Result<String> {
        let mut request = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            write!(request, "${}\r\n{word}\r\n", word.len())?;
        }
        self.0.get_mut().write_all(&request)?;
        self.reply()
    }

    fn reply(&mut self) -> Result<String> {
        let mut line = String::new();
        self.0.read_line(&mut line)?;
        let line = line.strip_suffix("\r\n").ok_or(ErrorKind::UnexpectedEof)?;
        let (kind, rest) = line.split_at_checked(1).ok_or(ErrorKind::InvalidData)?;
        match kind {
            "+" | "-" | ":" => Ok(rest.to_owned()),
            "$" => self.bulk(length(rest)?),
            "*" => {
                let elements = (0..length(rest)?.unwrap_or(0)).map(|_| self.reply());
                Ok(elements.collect::<Result<Vec<_>>>()?.join("\n"))
            }
            _ => Err(ErrorKind::InvalidData.into()),
        }
    }

    fn bulk(&mut self, length: Option<usize>) -> Result<String> {
        let Some(length) = length else {
            return Ok(String::new());
        };
        let mut bytes = vec![0; length + 2];
        self.0.read_exact(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes[..length]).into_owned())
    }
}

/// Returns the length of a string or an array, or `None` for null, whose length is -1.
fn length(text: &str) -> Result<Option<usize>> {
    let number: i64 = text.parse().map_err(Error::other)?;
    Ok(usize::try_from(number).ok())
}
