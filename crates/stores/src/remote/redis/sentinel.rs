//! The protocol of Redis Sentinel: the question for the primary, and the reply.
//!
//! Each sentinel has its own view. A sentinel that lost contact with the others may still name a
//! primary that they have replaced. The flags in its reply may show this. The configuration epoch
//! in its reply shows it, because the epoch grows with each failover.

use super::cluster::{endpoint, text};
use crate::remote::Cause;
use crate::remote::endpoint::Endpoint;
use redis::{Cmd, Value, cmd};

/// A sentinel's view of the primary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentinelReport {
    /// The address of the primary.
    pub endpoint: Endpoint,
    /// The configuration epoch; 0 if the reply does not contain it.
    pub epoch: u64,
    /// True if the sentinel cannot reach the primary.
    pub is_down: bool,
}

/// Returns the commands that ask for the primary. The user may lack the permission for the second
/// command, whose reply is then an error.
pub fn question(primary: &str) -> Vec<Cmd> {
    let command = |name| {
        let mut command = cmd("SENTINEL");
        command.arg(name).arg(primary);
        command
    };
    ["get-master-addr-by-name", "MASTER"].map(command).to_vec()
}

impl SentinelReport {
    /// Reads the replies to [`question`], which the sentinel at `from` sent. Fails if the sentinel
    /// does not know the primary, or a reply is malformed.
    pub fn read(replies: &[Value], from: &Endpoint) -> Result<Self, Cause> {
        let [address, state] = replies else {
            return Err(Cause::Answer("two replies are expected"));
        };
        let [host, port] = address.as_sequence().unwrap_or_default() else {
            return Err(Cause::Answer("this sentinel does not know the primary"));
        };
        let endpoint = endpoint(host, port, from);
        let endpoint = endpoint.ok_or(Cause::Answer("an address is expected"))?;
        let flags = field(state, "flags").unwrap_or_default();
        let is_down = |flag| matches!(flag, "s_down" | "o_down" | "disconnected");
        Ok(Self {
            endpoint,
            epoch: field(state, "config-epoch")
                .and_then(|epoch| epoch.parse().ok())
                .unwrap_or(0),
            is_down: flags.split(',').any(is_down),
        })
    }
}

/// Returns a field of a reply that lists names and values.
fn field<'v>(state: &'v Value, name: &str) -> Option<&'v str> {
    let mut pairs = state.as_sequence()?.chunks_exact(2);
    let pair = pairs.find(|pair| text(&pair[0]) == Some(name))?;
    text(&pair[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(words: &[&str]) -> Value {
        let words = words.iter().map(|word| Value::BulkString((*word).into()));
        Value::Array(words.collect())
    }

    fn read(state: Value) -> SentinelReport {
        let from = Endpoint::parse_authority("sentinel:1", 1).unwrap();
        SentinelReport::read(&[list(&["primary", "6379"]), state], &from).unwrap()
    }

    #[test]
    fn the_flags_and_the_epoch_are_read() {
        for (flags, is_down) in [
            ("master", false),
            ("s_down,master", true),
            ("o_down,s_down,master,disconnected", true),
            ("master,failover_in_progress", false),
        ] {
            let state = list(&["name", "flags", "flags", flags, "config-epoch", "7"]);
            let report = read(state);
            assert_eq!((report.epoch, report.is_down), (7, is_down), "{flags}");
        }
    }

    #[test]
    fn a_sentinel_that_does_not_tell_its_state_is_believed() {
        for state in [Value::Nil, Value::Okay, list(&["flags"]), list(&["a", "b"])] {
            let report = read(state);
            assert_eq!((report.epoch, report.is_down), (0, false));
        }
    }
}
