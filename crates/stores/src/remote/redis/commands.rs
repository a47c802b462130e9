//! Commands of an operator to the servers of a storage, outside its breaker and its policy.

use super::Redis;
use super::dsn::{DEFAULT_PORT, Dsn};
use super::node::{self, Node};
use crate::remote::Cause;
use crate::remote::endpoint::{Endpoint, EndpointError};
use gcra::{Ticks, boot_clock};
use redis::{Cmd, ServerError, Value};

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
    /// `timeout` for each of them.
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
        let send = |dsn: Dsn| ServerReplies {
            replies: Node::new(dsn.clone()).send(commands, boot_clock() + timeout),
            dsn,
        };
        Ok(dsns.into_iter().map(send).collect())
    }
}
