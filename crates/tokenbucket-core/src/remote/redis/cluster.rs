//! The protocol of Redis Cluster: slots, CLUSTER SLOTS and redirections.

use crate::remote::Cause;
use crate::remote::endpoint::{Endpoint, number};
use redis::Value;
use std::net::IpAddr;
use std::ops::RangeInclusive;

/// The number of slots.
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

/// Returns the slot of a key.
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

/// Slots, and the server that keeps them.
pub struct Range {
    pub slots: RangeInclusive<usize>,
    pub endpoint: Endpoint,
}

/// Reads the reply of CLUSTER SLOTS, which the server at `from` sent.
///
/// # Errors
/// Fails if the reply is malformed.
pub fn ranges(reply: &Value, from: &Endpoint) -> Result<Vec<Range>, Cause> {
    let range = |entry: &Value| {
        let [Value::Int(first), Value::Int(last), primary, ..] = entry.as_sequence()? else {
            return None;
        };
        let [host, port, ..] = primary.as_sequence()? else {
            return None;
        };
        let (first, last) = (usize::try_from(*first).ok()?, usize::try_from(*last).ok()?);
        let endpoint = endpoint(host, port, from)?;
        (first <= last && last < SLOTS).then_some(Range {
            slots: first..=last,
            endpoint,
        })
    };
    let entries = reply.as_sequence();
    let ranges = entries.and_then(|entries| entries.iter().map(range).collect());
    ranges.ok_or(Cause::Answer("a list of slots is expected"))
}

/// Reads an address in a reply of the server at `from`. If the host is null, empty or `?`, it is
/// the host of that server.
pub fn endpoint(host: &Value, port: &Value, from: &Endpoint) -> Option<Endpoint> {
    let host = text(host)?;
    let port = match port {
        Value::Int(port) => u16::try_from(*port).ok().filter(|&port| port != 0)?,
        port => number(text(port)?.as_bytes())?,
    };
    at(host, port, from)
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

fn text(value: &Value) -> Option<&str> {
    match value {
        Value::Nil => Some(""),
        Value::BulkString(bytes) => std::str::from_utf8(bytes).ok(),
        Value::SimpleString(text) => Some(text),
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
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

    #[test]
    fn malformed_lists_of_slots_are_refused() {
        let from = tcp("asked", 1);
        let entry = |first, last, host: &str, port| {
            let host = Value::BulkString(host.into());
            let primary = Value::Array(vec![host, Value::Int(port)]);
            Value::Array(vec![Value::Array(vec![
                Value::Int(first),
                Value::Int(last),
                primary,
            ])])
        };
        let ranges = |reply: &Value| ranges(reply, &from);
        let read = ranges(&entry(0, 16383, "", 7)).unwrap();
        assert_eq!(read[0].endpoint, tcp("asked", 7));
        assert_eq!(read[0].slots, 0..=16383);
        for reply in [
            entry(0, 16384, "a", 1),
            entry(-1, 1, "a", 1),
            entry(2, 1, "a", 1),
            entry(0, 1, "a", 0),
            entry(0, 1, "a", 65536),
            entry(0, 1, "a\n", 1),
            Value::Array(vec![Value::Nil]),
            Value::Okay,
        ] {
            assert!(ranges(&reply).is_err(), "{reply:?}");
        }
    }
}
