//! Commands of an operator to the servers of a storage, outside its breaker and its policy.

use super::Redis;
use super::dsn::{DEFAULT_PORT, Dsn};
use super::node::{self, Node};
use crate::remote::Cause;
use crate::remote::endpoint::{Endpoint, EndpointError};
use gcra::{Ticks, boot_clock};
use redis::{Arg, Cmd, ServerError, Value};

/// The commands after which the calls of limits may use the connection. Other commands could change
/// its database, its user, its protocol or what it waits for.
const HARMLESS: [&str; 9] = [
    "DEL", "EVAL", "EVALSHA", "GET", "INFO", "PING", "PTTL", "SET", "TIME",
];

fn is_harmless(command: &Cmd) -> bool {
    let Some(Arg::Simple(name)) = command.args_iter().next() else {
        return false;
    };
    HARMLESS
        .iter()
        .any(|it| name.eq_ignore_ascii_case(it.as_bytes()))
}

/// The replies of one server.
#[derive(Debug)]
pub struct ServerReplies {
    dsn: Dsn,
    /// One reply to each command, which may be an error.
    pub replies: Result<Vec<Value>, Cause>,
}

impl ServerReplies {
    /// Returns the server's address without user and password.
    pub fn server(&self) -> String {
        self.dsn.public_name()
    }

    /// Converts an error in a reply. Its text contains no password.
    pub fn refused(&self, error: &ServerError) -> Cause {
        node::refused(&self.dsn, error)
    }
}

impl Redis {
    /// Sends commands to the server at `address`, which is a host and a port, with the login of the
    /// primary or the cluster. Without an address, sends them to each server that the DSN names,
    /// one after another: the server, the sentinels, or servers of the cluster. Waits up to
    /// `timeout` for each of them. Closes a connection whose state the commands may have changed.
    pub fn send_commands(
        &self,
        address: Option<&str>,
        commands: &[Cmd],
        timeout: Ticks,
    ) -> Result<Vec<ServerReplies>, EndpointError> {
        let (dsn, fleet) = (&self.topology.dsn, self.topology.dsn.fleet.as_ref());
        let dsns = match (address, fleet) {
            (Some(address), _) => {
                let endpoint = Endpoint::parse_authority(address, DEFAULT_PORT)?;
                let name = fleet.and_then(|fleet| fleet.server_name.as_ref());
                vec![dsn.at(endpoint, name)]
            }
            (None, Some(fleet)) => fleet.seeds.clone(),
            (None, None) => vec![dsn.clone()],
        };
        let keeps = commands.iter().all(is_harmless);
        let send = |dsn: Dsn| {
            let (node, deadline) = (Node::new(dsn.clone()), boot_clock() + timeout);
            let replies = if keeps {
                node.send(commands, deadline)
            } else {
                node.send_and_close(commands, deadline)
            };
            ServerReplies { dsn, replies }
        };
        Ok(dsns.into_iter().map(send).collect())
    }
}
