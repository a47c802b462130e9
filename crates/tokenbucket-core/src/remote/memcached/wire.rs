//! Requests and replies of memcached's meta protocol on one connection.
//!
//! The `memcache` crate encodes commands and parses heads of replies; the stream is ours. Every command
//! of a process has a number, which its reply must repeat: a reply can never be taken for another's.

use crate::clock::Ticks;
use crate::remote::failure::Cause;
use crate::remote::stream::Stream;
use memcache::exp::{Error, MetaResponse, ReturnCode};
pub use memcache::exp::{MetaCommand, MetaOp};
use std::collections::HashMap;
use std::io::{Read, Write};

/// How many items a connection remembers; beyond, it forgets them all.
const MOST_REMEMBERED: usize = 4096;
/// The digits of an instant.
const LONGEST_STATE: usize = 16;
/// Of a request, in bytes.
const LIKELY_LENGTH: usize = 256;
/// A reply of ours is far shorter.
const LONGEST_REPLY: usize = 64 << 10;

/// A connection, and what it knows of items.
#[derive(Debug)]
pub struct Connection {
    stream: Stream,
    /// What was read and not yet looked at.
    unread: Vec<u8>,
    number: u64,
    /// Ids of versions mean nothing on another connection: the server may be another.
    remembered: HashMap<Vec<u8>, Item>,
}

/// An item as it was read or written last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// What it holds.
    pub value: Vec<u8>,
    /// The id of this version.
    pub cas: u64,
    /// Seconds until it expires; -1 for never.
    pub left: i64,
}

/// The reply to one command of several.
#[derive(Clone, Debug)]
pub struct Found {
    response: MetaResponse,
    /// The item's value, where it was asked for and is there.
    pub value: Option<Vec<u8>>,
}

impl Found {
    /// Returns the number of a flag of the reply: `c` for the version, `t` for the time to live.
    #[must_use]
    pub fn number(&self, letter: u8) -> Option<i64> {
        flag(&self.response, letter)
    }

    /// Returns whether the command succeeded.
    #[must_use]
    pub fn is_done(&self) -> bool {
        matches!(self.response.rc(), ReturnCode::Hd | ReturnCode::Va)
    }

    /// Returns whether there is no such item.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        matches!(self.response.rc(), ReturnCode::En | ReturnCode::Nf)
    }
}

/// When a write is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unless {
    /// There is an item already.
    Exists,
    /// It is not this version any more.
    Changed(u64),
}

impl Connection {
    /// Over a fresh stream.
    pub(super) fn new(stream: Stream) -> Self {
        Self {
            stream,
            unread: Vec::new(),
            number: 0,
            remembered: HashMap::new(),
        }
    }

    /// Gives what follows until `deadline`.
    pub(super) fn set_deadline(&mut self, deadline: Ticks) {
        self.stream.set_deadline(deadline);
    }

    /// Whether nothing came since the last reply.
    pub(super) fn is_quiet(&self) -> bool {
        self.unread.is_empty() && self.stream.is_quiet()
    }

    /// What was last seen of an item on this connection. It may have changed since.
    #[must_use]
    pub fn remembered(&self, key: &[u8]) -> Option<&Item> {
        self.remembered.get(key)
    }

    /// Reads an item.
    ///
    /// # Errors
    /// When the server did not answer, or not as it should.
    pub fn read(&mut self, key: &[u8]) -> Result<Option<Item>, Cause> {
        let mut request = Vec::with_capacity(LIKELY_LENGTH);
        let number = self.encode(reading(key), &mut request)?;
        self.send(&request)?;
        let item = self.item(number)?;
        self.remember(key, item.clone());
        Ok(item)
    }

    /// Writes `value`, to live for `life` as [`super::life`] makes it, and reads the item as it is
    /// then, in one round trip. Returns whether it wrote, and the item.
    ///
    /// # Errors
    /// As [`Connection::read`]; whether the server has written is unknown then.
    pub fn write(
        &mut self,
        key: &[u8],
        value: &[u8],
        life: i64,
        unless: Unless,
    ) -> Result<(bool, Option<Item>), Cause> {
        let condition = match unless {
            Unless::Exists => format!("ME T{life}"),
            Unless::Changed(cas) => format!("C{cas} T{life}"),
        };
        let writing = MetaCommand::new(MetaOp::Set, key)
            .flag(condition)
            .value(value);
        let mut request = Vec::with_capacity(LIKELY_LENGTH);
        let numbers = (
            self.encode(writing, &mut request)?,
            self.encode(reading(key), &mut request)?,
        );
        self.send(&request)?;
        let written = match self.reply(numbers.0)?.response.rc() {
            ReturnCode::Hd => true,
            ReturnCode::Ns | ReturnCode::Ex | ReturnCode::Nf => false,
            _ => return Err(Cause::Answer("not to a write")),
        };
        let item = self.item(numbers.1)?;
        self.remember(key, item.clone());
        Ok((written, item))
    }

    /// Sends commands in one write and reads all their replies.
    ///
    /// # Errors
    /// As [`Connection::read`]; [`Cause::Record`] for an item that is no number and was to be one.
    pub fn exchange<I>(&mut self, commands: I) -> Result<Vec<Found>, Cause>
    where
        I: IntoIterator<Item = MetaCommand>,
    {
        let mut request = Vec::new();
        let numbers = commands
            .into_iter()
            .map(|command| self.encode(command, &mut request))
            .collect::<Result<Vec<_>, _>>()?;
        self.send(&request)?;
        numbers
            .into_iter()
            .map(|number| self.reply(number))
            .collect()
    }

    fn remember(&mut self, key: &[u8], item: Option<Item>) {
        // What is longer than a state is none of ours.
        let Some(item) = item.filter(|item| item.value.len() <= LONGEST_STATE) else {
            self.remembered.remove(key);
            return;
        };
        if let Some(known) = self.remembered.get_mut(key) {
            *known = item;
            return;
        }
        if self.remembered.len() >= MOST_REMEMBERED {
            self.remembered.clear();
        }
        self.remembered.insert(key.to_vec(), item);
    }

    fn encode(&mut self, command: MetaCommand, request: &mut Vec<u8>) -> Result<u64, Cause> {
        self.number += 1;
        command
            .flag(format!("O{}", self.number))
            .encode_into(request)
            .map_err(|_| Cause::Answer("the key cannot be sent"))?;
        Ok(self.number)
    }

    fn send(&mut self, request: &[u8]) -> Result<(), Cause> {
        Ok(self.stream.write_all(request)?)
    }

    fn item(&mut self, number: u64) -> Result<Option<Item>, Cause> {
        let Found { response, value } = self.reply(number)?;
        match (response.rc(), value) {
            (ReturnCode::En, _) => Ok(None),
            (ReturnCode::Va, Some(value)) => Ok(Some(Item {
                value,
                cas: flag(&response, b'c').ok_or(Cause::Answer("a version is missing"))?,
                left: flag(&response, b't').ok_or(Cause::Answer("a time to live is missing"))?,
            })),
            _ => Err(Cause::Answer("not to a read")),
        }
    }

    /// Reads the next reply, which must be to command `number`.
    fn reply(&mut self, number: u64) -> Result<Found, Cause> {
        let line = self.line()?;
        let response = MetaResponse::parse_header(&line).map_err(|error| match error {
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
            let mut value = self.bytes(length.saturating_add(2))?;
            value.truncate(length);
            Some(value)
        } else {
            None
        };
        // Misses come without any flag.
        let is_mine = response.rc() == ReturnCode::En || flag(&response, b'O') == Some(number);
        if !is_mine {
            return Err(Cause::Answer("to another request"));
        }
        Ok(Found { response, value })
    }

    fn line(&mut self) -> Result<Vec<u8>, Cause> {
        loop {
            if let Some(end) = self.unread.iter().position(|&byte| byte == b'\n') {
                let mut line: Vec<u8> = self.unread.drain(..=end).collect();
                line.truncate(end);
                if line.ends_with(b"\r") {
                    line.pop();
                }
                return Ok(line);
            }
            self.fill()?;
        }
    }

    fn bytes(&mut self, length: usize) -> Result<Vec<u8>, Cause> {
        if length > LONGEST_REPLY {
            return Err(Cause::Record);
        }
        while self.unread.len() < length {
            self.fill()?;
        }
        Ok(self.unread.drain(..length).collect())
    }

    fn fill(&mut self) -> Result<(), Cause> {
        if self.unread.len() > LONGEST_REPLY {
            return Err(Cause::Answer("too long"));
        }
        let mut chunk = [0; 2048];
        let count = self.stream.read(&mut chunk)?;
        self.unread.extend_from_slice(&chunk[..count]);
        Ok(())
    }
}

/// Value, version and time to live.
fn reading(key: &[u8]) -> MetaCommand {
    // One token instead of three: each is an allocation.
    MetaCommand::new(MetaOp::Get, key).flag("v c t")
}

fn flag<T: std::str::FromStr>(response: &MetaResponse, letter: u8) -> Option<T> {
    let mut flags = response.flags();
    let token = flags.find(|token| token.first() == Some(&letter))?;
    std::str::from_utf8(&token[1..]).ok()?.parse().ok()
}
