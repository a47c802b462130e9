//! Requests and replies of memcached's meta protocol on one connection.
//!
//! The `memcache` crate encodes commands and parses the heads of replies. This module reads and
//! writes the stream. Every command on a connection has a number. A reply repeats the number of its
//! command, except the reply for a missing item. So a reply is not mistaken for the reply to
//! another command.

use crate::remote::channel::Channel;
use crate::remote::failure::Cause;
use crate::remote::record;
use crate::remote::stream::Stream;
use gcra::Timestamp;
use memcache::exp::{Error, MetaResponse, ReturnCode};
pub use memcache::exp::{MetaCommand, MetaOp};
use rustix::event::{PollFd, PollFlags};
use std::collections::HashMap;
use std::fmt::Display;
use std::io::{self, BufRead, BufReader, Read, Write};

/// The most items that a connection remembers. At the limit, all remembered items are dropped.
const MOST_REMEMBERED: usize = 4096;
/// The usual length of a request, in bytes.
const LIKELY_LENGTH: usize = 256;
/// The longest line that is accepted, in bytes. The lines of our commands' replies are far shorter.
const LONGEST_LINE: u64 = 64 << 10;
/// The bytes of a value that are kept. The values that we write are far shorter, so a longer value
/// is invalid, and its first bytes suffice to see this.
const LONGEST_VALUE: usize = (64 << 10) - 2;

/// A connection, with the items that were last read or written on it.
#[derive(Debug)]
pub struct Connection {
    stream: BufReader<Stream>,
    number: u64,
    /// The commands that [`Connection::send`] sends. It is empty between calls, because a
    /// connection is dropped after an error.
    request: Vec<u8>,
    /// The head of the last reply.
    line: Vec<u8>,
    /// The items by key; `None` if an item is unknown. Version ids are valid only on this
    /// connection, because another connection may lead to another server.
    remembered: HashMap<Vec<u8>, Option<Item>>,
}

/// An item, as it was last read or written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    pub value: Vec<u8>,
    /// The id of this version.
    pub cas: u64,
    /// The seconds until the item expires; -1 if it never does.
    pub left: i64,
    pub flags: u32,
}

/// The reply to one of several commands.
#[derive(Clone, Debug)]
pub struct MetaReply {
    response: MetaResponse,
    /// The item's value, if it was requested and the item exists.
    pub value: Option<Vec<u8>>,
}

impl MetaReply {
    /// Returns the number in a flag of the reply: `c` for the version, `t` for the time to live.
    pub fn number(&self, letter: u8) -> Option<i64> {
        flag(&self.response, letter)
    }

    /// Reports whether the command succeeded.
    pub fn is_done(&self) -> bool {
        matches!(self.response.rc(), ReturnCode::Hd | ReturnCode::Va)
    }

    /// Reports whether the item does not exist.
    pub fn is_missing(&self) -> bool {
        matches!(self.response.rc(), ReturnCode::En | ReturnCode::Nf)
    }
}

impl Connection {
    /// Wraps a new stream.
    pub(super) fn new(stream: Stream) -> Self {
        Self {
            stream: BufReader::new(stream),
            number: 0,
            request: Vec::with_capacity(LIKELY_LENGTH),
            line: Vec::with_capacity(LIKELY_LENGTH),
            remembered: HashMap::new(),
        }
    }

    /// Sets the deadline of all requests that follow.
    pub(super) fn set_deadline(&mut self, deadline: Timestamp) {
        self.stream.get_mut().set_deadline(deadline);
    }

    /// Returns the socket, to wait for events of several sockets at once.
    pub(super) fn ready(&self, events: PollFlags) -> PollFd<'_> {
        self.stream.get_ref().ready(events)
    }

    /// Reports whether nothing has arrived since the last reply.
    pub(super) fn is_quiet(&mut self) -> bool {
        self.stream.buffer().is_empty() && self.stream.get_mut().is_quiet()
    }

    /// Returns and forgets an item, as it was last read or written on this connection. The item may
    /// have changed since then.
    pub(super) fn recall(&mut self, key: &[u8]) -> Option<Item> {
        self.remembered.get_mut(key)?.take()
    }

    /// Reads an item. Returns `None` if the item does not exist. Fails if the server does not
    /// reply, or the reply is malformed.
    pub fn read(&mut self, key: &[u8]) -> Result<Option<Item>, Cause> {
        let number = self.encode_read(key)?;
        self.send()?;
        self.receive_read(key, number)
    }

    /// Writes `value` with the time to live `life`, which [`super::life`] returns, and no client
    /// flags. Reads the item in the same round trip. If `version` is given, the write only replaces
    /// that version of the item. Otherwise it only creates an item. Returns true if the write
    /// succeeded. If it did not, also returns the item. Fails like [`Connection::read`]. It is then
    /// unknown whether the value was written.
    pub fn write(
        &mut self,
        key: &[u8],
        value: &[u8],
        life: i64,
        version: Option<u64>,
    ) -> Result<(bool, Option<Item>), Cause> {
        let number = self.encode_write(key, value, (life, 0), version)?;
        self.send()?;
        self.receive_write(key, number)
    }

    /// Adds the command that reads an item to the request. Returns its number. Fails if the key
    /// cannot be sent.
    pub(super) fn encode_read(&mut self, key: &[u8]) -> Result<u64, Cause> {
        // Use one token for all flags, because each token is an allocation.
        self.encode(MetaCommand::new(MetaOp::Get, key), "v c t f ")
    }

    /// Adds the commands of [`Connection::write`] to the request, with client flags. Returns the
    /// number of the first. Fails if the key cannot be sent.
    pub(super) fn encode_write(
        &mut self,
        key: &[u8],
        value: &[u8],
        (life, flags): (i64, u32),
        version: Option<u64>,
    ) -> Result<u64, Cause> {
        let writing = MetaCommand::new(MetaOp::Set, key).value(value);
        let number = match version {
            None => self.encode(writing, format_args!("ME T{life} F{flags} ")),
            Some(cas) => self.encode(writing, format_args!("C{cas} T{life} F{flags} ")),
        }?;
        self.encode_read(key)?;
        Ok(number)
    }

    /// Sends the request, which may consist of many commands. Fails if the connection broke or the
    /// deadline passed.
    pub(super) fn send(&mut self) -> Result<(), Cause> {
        self.stream.get_mut().write_all(&self.request)?;
        self.request.clear();
        Ok(())
    }

    /// Receives the item that command `number` reads.
    pub(super) fn receive_read(&mut self, key: &[u8], number: u64) -> Result<Option<Item>, Cause> {
        let item = self.item(number)?;
        self.remember(key, item.clone());
        Ok(item)
    }

    /// Receives the result of [`Connection::write`], whose first command is `number`.
    pub(super) fn receive_write(
        &mut self,
        key: &[u8],
        number: u64,
    ) -> Result<(bool, Option<Item>), Cause> {
        match self.reply(number)?.response.rc() {
            ReturnCode::Hd => {
                let item = self.item(number + 1)?;
                self.remember(key, item);
                Ok((true, None))
            }
            ReturnCode::Ns | ReturnCode::Ex | ReturnCode::Nf => {
                Ok((false, self.receive_read(key, number + 1)?))
            }
            _ => Err(Cause::Answer("not to a write")),
        }
    }

    /// Sends commands in one write and reads all their replies. Fails with [`Cause::Record`] if an
    /// item that should be a number has another value.
    pub fn exchange<I>(&mut self, commands: I) -> Result<Vec<MetaReply>, Cause>
    where
        I: IntoIterator<Item = MetaCommand>,
    {
        let numbers = commands
            .into_iter()
            .map(|command| self.encode(command, ""))
            .collect::<Result<Vec<_>, _>>()?;
        self.send()?;
        numbers
            .into_iter()
            .map(|number| self.reply(number))
            .collect()
    }

    fn remember(&mut self, key: &[u8], item: Option<Item>) {
        // A longer value is not a bucket's record, so it is not cached.
        let item = item.filter(|item| item.value.len() <= record::LONGEST);
        if let Some(known) = self.remembered.get_mut(key) {
            *known = item;
        } else if item.is_some() {
            if self.remembered.len() >= MOST_REMEMBERED {
                self.remembered.clear();
            }
            self.remembered.insert(key.to_vec(), item);
        }
    }

    /// Adds a command with more flags and its number to the request. Returns the number. A space
    /// must follow each of `flags`.
    fn encode(&mut self, command: MetaCommand, flags: impl Display) -> Result<u64, Cause> {
        self.number += 1;
        command
            .flag(format!("{flags}O{}", self.number))
            .encode_into(&mut self.request)
            .map_err(|_| Cause::Answer("the key cannot be sent"))?;
        Ok(self.number)
    }

    fn item(&mut self, number: u64) -> Result<Option<Item>, Cause> {
        let MetaReply { response, value } = self.reply(number)?;
        match (response.rc(), value) {
            (ReturnCode::En, _) => Ok(None),
            // A memcached that was started with -C numbers all versions 0.
            (ReturnCode::Va, _) if flag(&response, b'c') == Some(0) => Err(Cause::Unsupported(
                "memcached must run without -C, because buckets need its CAS ids",
            )),
            (ReturnCode::Va, Some(value)) => Ok(Some(Item {
                value,
                cas: flag(&response, b'c').ok_or(Cause::Answer("a version is missing"))?,
                left: flag(&response, b't').ok_or(Cause::Answer("a time to live is missing"))?,
                flags: flag(&response, b'f').ok_or(Cause::Answer("client flags are missing"))?,
            })),
            _ => Err(Cause::Answer("not to a read")),
        }
    }

    /// Reads the next reply. Fails if it is not the reply to command `number`.
    fn reply(&mut self, number: u64) -> Result<MetaReply, Cause> {
        self.read_line()?;
        let line = self.line.as_slice();
        // Before memcached 1.6.10, the reply to a successful command was OK instead of HD. Before
        // 1.6, the commands were unknown.
        if line == b"ERROR" || line.starts_with(b"OK") {
            return Err(Cause::Unsupported(
                "too old: memcached 1.6.10 or later is needed",
            ));
        }
        let response = MetaResponse::parse_header(line).map_err(|error| match error {
            Error::Rejected(text) if text.contains("non-numeric") => Cause::Record,
            Error::Rejected(text) | Error::Server(text) => Cause::refused(&text, None),
            _ => Cause::Answer("no reply of the meta protocol"),
        })?;
        let length = || {
            let token = line.split(|&byte| byte == b' ').nth(1)?;
            std::str::from_utf8(token).ok()?.parse().ok()
        };
        let value = if response.rc() == ReturnCode::Va {
            let length: usize = length().ok_or(Cause::Answer("a length is missing"))?;
            let mut value = vec![0; length.min(LONGEST_VALUE)];
            self.stream.read_exact(&mut value)?;
            // The rest of a long value and a line end follow.
            self.skip(length - value.len() + 2)?;
            Some(value)
        } else {
            None
        };
        // The reply for a missing item has no flags.
        let is_mine = response.rc() == ReturnCode::En || flag(&response, b'O') == Some(number);
        if !is_mine {
            return Err(Cause::Answer("to another request"));
        }
        Ok(MetaReply { response, value })
    }

    /// Reads and ignores `count` bytes.
    fn skip(&mut self, count: usize) -> Result<(), Cause> {
        let mut rest = Read::take(&mut self.stream, count as u64);
        if io::copy(&mut rest, &mut io::sink())? == count as u64 {
            Ok(())
        } else {
            Err(Cause::from(io::Error::from(io::ErrorKind::UnexpectedEof)))
        }
    }

    /// Reads a line without its line end.
    fn read_line(&mut self) -> Result<(), Cause> {
        self.line.clear();
        let mut limited = Read::take(&mut self.stream, LONGEST_LINE);
        limited.read_until(b'\n', &mut self.line)?;
        if self.line.pop() != Some(b'\n') {
            return Err(Cause::Answer("too long"));
        }
        self.line.pop_if(|last| *last == b'\r');
        Ok(())
    }
}

fn flag<T: std::str::FromStr>(response: &MetaResponse, letter: u8) -> Option<T> {
    let mut flags = response.flags();
    let token = flags.find(|token| token.first() == Some(&letter))?;
    std::str::from_utf8(&token[1..]).ok()?.parse().ok()
}
