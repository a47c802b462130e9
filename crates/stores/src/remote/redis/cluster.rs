//! The protocol of Redis Cluster: slots, CLUSTER SLOTS and redirections.

use crate::remote::Cause;
use crate::remote::endpoint::{Endpoint, number};
use redis::Value;
use std::collections::HashMap;
use std::net::IpAddr;
use std::ops::RangeInclusive;

pub const SLOTS: usize = 1 << 14;

/// The remainders of all bytes in CRC-16 with the polynomial 0x1021 (XMODEM).
static REMAINDERS: [u16; 256] = remainders();

const fn remainders() -> [u16; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        // The index is below 256.
        #[allow(clippy::cast_possible_truncation)]
        let mut crc = (byte as u16) << 8;
        let mut bit = 0;
        while bit < 8 {
            crc = (crc << 1) ^ if crc & 0x8000 == 0 { 0 } else { 0x1021 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
}

pub fn slot(key: &[u8]) -> usize {
    let crc = hashed(key).iter().fold(0u16, |crc, &byte| {
        (crc << 8) ^ REMAINDERS[usize::from((crc >> 8) as u8 ^ byte)]
    });
    usize::from(crc) % SLOTS
}

/// Returns the part of a key that selects the slot: the hash tag, or the whole key. The hash tag is
/// between the first `{` and the first `}` after it. An empty hash tag does not count.
fn hashed(key: &[u8]) -> &[u8] {
    let tag = key.iter().position(|&byte| byte == b'{').and_then(|open| {
        let rest = &key[open + 1..];
        let close = rest.iter().position(|&byte| byte == b'}')?;
        Some(&rest[..close])
    });
    tag.filter(|tag| !tag.is_empty()).unwrap_or(key)
}

/// The index of a slot that no server keeps. A cluster has fewer servers.
pub const NO_SERVER: u16 = u16::MAX;
/// The index of a slot whose server has an unknown address.
pub const NO_ADDRESS: u16 = NO_SERVER - 1;

/// The servers of all slots, as one server knows them.
#[derive(Debug)]
pub struct Map {
    /// The addresses of the servers.
    pub endpoints: Vec<Endpoint>,
    /// For each slot, the index of its server, [`NO_SERVER`] or [`NO_ADDRESS`].
    pub slots: Vec<u16>,
}

impl Map {
    /// Reads the reply of CLUSTER SLOTS, which the server at `from` sent. Each range is read by
    /// itself. So a server without an address has no effect on the slots of the others. Fails if
    /// the reply is not a list, or if it names no server.
    pub fn read(reply: &Value, from: &Endpoint) -> Result<Self, Cause> {
        let list = reply.as_sequence();
        let list = list.ok_or(Cause::Answer("a list of slots is expected"))?;
        let (mut endpoints, mut slots) = (Vec::new(), vec![NO_SERVER; SLOTS]);
        // Find indexes by a hash table, because a reply may name a server in thousands of ranges.
        let mut indexes = HashMap::new();
        for (range, address) in list.iter().filter_map(range) {
            let index = address.map_or(NO_ADDRESS, |address| {
                *indexes.entry(address).or_insert_with(|| {
                    let (host, port) = address;
                    let endpoint = at(host, port, from);
                    let index = endpoint.and_then(|endpoint| {
                        endpoints.push(endpoint);
                        u16::try_from(endpoints.len() - 1).ok()
                    });
                    index
                        .filter(|&index| index < NO_ADDRESS)
                        .unwrap_or(NO_ADDRESS)
                })
            });
            slots[range].fill(index);
        }
        if endpoints.is_empty() {
            return Err(Cause::Answer("this server knows no slots"));
        }
        Ok(Self { endpoints, slots })
    }

    /// Reports whether the servers of some slots are unknown.
    pub fn has_gaps(&self) -> bool {
        self.slots.iter().any(|&index| index >= NO_ADDRESS)
    }
}

/// The host and the port of a server.
type Address<'v> = (&'v str, u16);

/// Reads the slots of a range and the address of their server, which may be unknown.
fn range(entry: &Value) -> Option<(RangeInclusive<usize>, Option<Address<'_>>)> {
    let [Value::Int(first), Value::Int(last), primary, ..] = entry.as_sequence()? else {
        return None;
    };
    let (first, last) = (usize::try_from(*first).ok()?, usize::try_from(*last).ok()?);
    let address = primary.as_sequence().and_then(address);
    (first <= last && last < SLOTS).then_some((first..=last, address))
}

/// Reads the address of a server: its host, its port, its id and a list of names and values. If the
/// server should have a host name and has none, the list contains the IP address.
fn address(server: &[Value]) -> Option<Address<'_>> {
    let [host, port, rest @ ..] = server else {
        return None;
    };
    let host = match (text(host)?, rest) {
        ("?", [_, Value::Array(list), ..]) => {
            let ip = list
                .chunks_exact(2)
                .find(|pair| text(&pair[0]) == Some("ip"));
            ip.and_then(|pair| text(&pair[1])).unwrap_or("?")
        }
        (host, _) => host,
    };
    Some((host, self::port(port)?))
}

/// Reads an address in a reply of the server at `from`. If the host is null, empty or `?`, it is
/// the host of that server.
pub fn endpoint(host: &Value, port: &Value, from: &Endpoint) -> Option<Endpoint> {
    at(text(host)?, self::port(port)?, from)
}

fn port(port: &Value) -> Option<u16> {
    match port {
        Value::Int(port) => u16::try_from(*port).ok().filter(|&port| port != 0),
        port => number(text(port)?.as_bytes()),
    }
}

/// Reads the address in a MOVED or ASK error of the server at `from`: a slot, then `host:port`.
pub fn target(details: &str, from: &Endpoint) -> Option<Endpoint> {
    let (_slot, address) = details.split_once(' ')?;
    let (host, port) = address.rsplit_once(':')?;
    at(host, number(port.as_bytes())?, from)
}

fn at(host: &str, port: u16, from: &Endpoint) -> Option<Endpoint> {
    match (host, from) {
        ("" | "?", Endpoint::Tcp { host, .. }) => Some(Endpoint::Tcp {
            host: host.clone(),
            port,
        }),
        ("" | "?", Endpoint::Unix { .. }) => None,
        _ => match host.parse::<IpAddr>() {
            Ok(IpAddr::V6(address)) => Endpoint::parse_authority(&format!("[{address}]"), port),
            _ => Endpoint::parse_authority(host, port),
        }
        .ok(),
    }
}

/// Returns a text of a reply; empty if it is null.
pub fn text(value: &Value) -> Option<&str> {
    match value {
        Value::Nil => Some(""),
        Value::BulkString(bytes) => std::str::from_utf8(bytes).ok(),
        Value::SimpleString(text) => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp(host: &str, port: u16) -> Endpoint {
        let host = host.to_owned();
        Endpoint::Tcp { host, port }
    }

    #[test]
    fn slots_are_those_of_redis() {
        // Redis calculated these numbers with CLUSTER KEYSLOT.
        for (key, expected) in [
            ("", 0),
            ("123456789", 12739),
            ("foo", 12182),
            ("{foo}bar", 12182),
            ("bar{foo}{zap}", 12182),
            ("foo{}{bar}", 8363),
            ("foo{{bar}}zap", 4015),
            ("{", 4092),
            ("}{", 12793),
        ] {
            assert_eq!(slot(key.as_bytes()), expected, "{key}");
        }
    }

    #[test]
    fn redirections_name_an_address() {
        let from = tcp("asked", 1);
        for (details, expected) in [
            ("3999 127.0.0.1:6381", Some(tcp("127.0.0.1", 6381))),
            ("3999 Node.example:6381", Some(tcp("node.example", 6381))),
            ("3999 :7000", Some(tcp("asked", 7000))),
            ("3999 ?:7000", Some(tcp("asked", 7000))),
            ("3999 ::1:7000", Some(tcp("::1", 7000))),
            ("3999 127.0.0.1:0", None),
            ("3999 a b:1", None),
            ("3999 a@b:1", None),
            ("127.0.0.1:1", None),
            ("", None),
        ] {
            assert_eq!(target(details, &from), expected, "{details}");
        }
    }

    fn bulk(text: &str) -> Value {
        Value::BulkString(text.into())
    }

    fn entry(first: i64, last: i64, server: Vec<Value>) -> Value {
        Value::Array(vec![
            Value::Int(first),
            Value::Int(last),
            Value::Array(server),
        ])
    }

    fn named(first: i64, last: i64, host: &str, port: i64) -> Value {
        entry(first, last, vec![bulk(host), Value::Int(port)])
    }

    fn read(ranges: Vec<Value>) -> Result<Map, Cause> {
        Map::read(&Value::Array(ranges), &tcp("asked", 1))
    }

    #[test]
    fn a_range_that_cannot_be_read_takes_no_other_with_it() {
        let broken = [
            named(10, 20, "", 0),
            named(10, 20, "a", 65536),
            named(10, 20, "a\n", 1),
            named(10, 16384, "a", 1),
            named(-1, 20, "a", 1),
            named(20, 10, "a", 1),
            entry(10, 20, vec![]),
            entry(10, 20, vec![Value::Int(1), Value::Int(1)]),
            Value::Array(vec![Value::Int(10), Value::Int(20), Value::Nil]),
            Value::Nil,
        ];
        for range in broken {
            let others = [named(0, 9, "a", 1), named(21, 16383, "b", 2)];
            let [first, last] = others.clone();
            let map = read(vec![first, range.clone(), last]).unwrap();
            assert_eq!(map.endpoints, [tcp("a", 1), tcp("b", 2)], "{range:?}");
            let mut expected = vec![1; SLOTS];
            expected[..10].fill(0);
            assert!(map.slots[10..=20].iter().all(|&index| index >= NO_ADDRESS));
            expected[10..=20].copy_from_slice(&map.slots[10..=20]);
            assert_eq!(map.slots, expected, "{range:?}");
        }
        let map = read(vec![named(0, 9, "a", 1), named(10, 20, "", 0)]).unwrap();
        assert!(map.has_gaps() && map.slots[10] == NO_ADDRESS && map.slots[21] == NO_SERVER);
    }

    #[test]
    fn a_host_that_is_not_named_is_the_asked_one_or_its_ip_address() {
        let ip = Value::Array(vec![bulk("shard"), bulk("x"), bulk("ip"), bulk("::1")]);
        let id = bulk("id");
        for (server, expected) in [
            (vec![bulk(""), Value::Int(7)], tcp("asked", 7)),
            (vec![Value::Nil, Value::Int(7)], tcp("asked", 7)),
            (vec![bulk("?"), Value::Int(7)], tcp("asked", 7)),
            (vec![bulk("?"), Value::Int(7), id, ip], tcp("::1", 7)),
        ] {
            let map = read(vec![entry(0, 16383, server)]).unwrap();
            assert_eq!(map.endpoints, [expected]);
        }
    }

    #[test]
    fn replies_without_a_server_are_refused() {
        for reply in [
            Value::Okay,
            Value::Array(vec![]),
            Value::Array(vec![named(0, 16383, "", 0)]),
            Value::Array(vec![Value::Nil]),
        ] {
            assert!(Map::read(&reply, &tcp("asked", 1)).is_err(), "{reply:?}");
        }
    }

    #[test]
    fn a_server_of_many_ranges_is_listed_once() {
        let ranges = (0..16384).map(|slot| named(slot, slot, "a", 1 + slot % 100));
        let map = read(ranges.collect()).unwrap();
        assert_eq!(map.endpoints.len(), 100);
        for (slot, &index) in map.slots.iter().enumerate() {
            assert_eq!(usize::from(index), slot % 100);
        }
    }
}
