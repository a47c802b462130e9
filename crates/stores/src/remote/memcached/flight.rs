//! Steps on items of one server that were sent in one pipeline, and whose replies are awaited.

use super::update::{ItemChange, ItemState, ItemUpdate, receive, send};
use super::wire::Connection;
use super::{CONNECTIONS, ItemServer, decide_each, gives_up, idle, patience};
use crate::remote::channel::Channel as _;
use crate::remote::race::{Task, share};
use crate::remote::stream::{Stream, addresses, forget};
use crate::remote::{Cause, Flown, Reply, StepRequest};
use gcra::{Timestamp, boot_clock};
use rustix::event::{PollFd, PollFlags};
use std::collections::HashMap;
use std::sync::Arc;

type Decide<'a> = Box<dyn Fn(ItemState, Timestamp, u32) -> ItemUpdate<Vec<Reply>> + 'a>;

/// The changes of the items. Steps on one item run in order, and one write stores the result of all
/// of them.
pub struct ItemFlight<'a> {
    node: Arc<ItemServer>,
    requests: Vec<&'a StepRequest>,
    /// The indexes of the steps on each item, in order.
    groups: Vec<Vec<usize>>,
    changes: Vec<ItemChange<'a, Vec<Reply>, Decide<'a>>>,
    patience: Timestamp,
    deadline: Timestamp,
    state: State,
}

enum State {
    /// The connection is being established.
    Connecting(Stream),
    /// The commands were sent.
    Sent(Connection),
    Over,
}

impl<'a> ItemFlight<'a> {
    /// Begins to send steps to a server. If it has several addresses and there is no idle
    /// connection, first waits until one of them accepts the connection, for at most half of the
    /// time until `deadline`.
    pub fn begin(
        node: Arc<ItemServer>,
        requests: &[&'a StepRequest],
        deadline: Timestamp,
    ) -> Result<Self, Cause> {
        let endpoint = &Arc::clone(&node).endpoint;
        let mut flight = Self {
            node,
            requests: requests.to_vec(),
            groups: by_item(requests),
            changes: Vec::new(),
            patience: patience(deadline),
            deadline,
            state: State::Over,
        };
        if let Some(connection) = idle(endpoint, deadline) {
            flight.send(connection)?;
            return Ok(flight);
        }
        if let [address] = addresses(endpoint, boot_clock().midpoint(deadline))?[..] {
            let stream = Stream::begin(address, deadline).inspect_err(|_| forget(endpoint))?;
            flight.state = State::Connecting(stream);
        } else {
            let mut stream = Stream::connect(endpoint, boot_clock().midpoint(deadline))?;
            stream.set_deadline(deadline);
            flight.send(Connection::new(stream))?;
        }
        Ok(flight)
    }

    /// Sends the first commands of all items.
    fn send(&mut self, mut connection: Connection) -> Result<(), Cause> {
        let (patience, requests) = (self.patience, &self.requests);
        let change = |mine: &Vec<usize>| {
            let steps: Vec<_> = mine.iter().map(|&index| requests[index]).collect();
            let request = steps[0];
            let decide: Decide<'a> = Box::new(move |record, now, lost| {
                decide_each(record, &steps, now, gives_up(lost, patience))
            });
            let known = connection.recall(&request.name);
            ItemChange::new(&request.name, known, false, request.seen, decide)
        };
        self.changes = self.groups.iter().map(change).collect();
        // The others wait while the server does not read.
        connection.set_deadline(share(self.deadline));
        send(&mut connection, &mut self.changes)?;
        connection.set_deadline(self.deadline);
        self.state = State::Sent(connection);
        Ok(())
    }

    /// Reads replies, of which at least a part has arrived, and sends the next commands. Returns
    /// the connection if their replies must be awaited, too. Otherwise returns the result.
    fn receive(&mut self, mut connection: Connection) -> Result<Connection, Result<(), Cause>> {
        connection.set_deadline(share(self.deadline));
        receive(&mut connection, &mut self.changes, self.patience).map_err(Err)?;
        // Nothing is sent after the deadline.
        connection.set_deadline(self.deadline);
        if !send(&mut connection, &mut self.changes).map_err(Err)? {
            return Ok(connection);
        }
        CONNECTIONS.with(|idle| idle.keep(&self.node.endpoint, connection));
        Err(Ok(()))
    }

    /// Returns the replies to the steps on the items that were decided.
    fn replies(&mut self) -> Vec<(usize, Result<Reply, Cause>)> {
        let mut all = Vec::with_capacity(self.requests.len());
        let changes = std::mem::take(&mut self.changes).into_iter();
        for (change, group) in changes.zip(&self.groups) {
            if change.is_done() {
                let mut replies = change.result().into_iter().flatten();
                let reply = |&index| (index, replies.next().ok_or(Cause::Record));
                all.extend(group.iter().map(reply));
            }
        }
        all
    }
}

impl Task for ItemFlight<'_> {
    type Output = Flown;

    fn waits_for(&self) -> Option<PollFd<'_>> {
        match &self.state {
            State::Connecting(stream) => Some(stream.ready(PollFlags::OUT)),
            State::Sent(connection) => Some(connection.ready(PollFlags::IN)),
            State::Over => None,
        }
    }

    fn advance(&mut self) -> Result<Option<Flown>, Cause> {
        match std::mem::replace(&mut self.state, State::Over) {
            State::Connecting(stream) => {
                stream
                    .established()
                    .inspect_err(|_| forget(&self.node.endpoint))?;
                self.send(Connection::new(stream))?;
                Ok(None)
            }
            State::Sent(connection) => match self.receive(connection) {
                Ok(connection) => {
                    self.state = State::Sent(connection);
                    Ok(None)
                }
                Err(result) => Ok(Some((self.replies(), result))),
            },
            State::Over => Ok(None),
        }
    }

    fn deadline(&self) -> Timestamp {
        self.deadline
    }

    fn stop(&mut self) -> Result<Flown, Cause> {
        Ok((self.replies(), Err(Cause::Timeout)))
    }
}

impl Drop for ItemFlight<'_> {
    /// Calls [`forget`] if the server did not accept the connection by the deadline.
    fn drop(&mut self) {
        if let State::Connecting(_) = self.state {
            forget(&self.node.endpoint);
        }
    }
}

/// Groups the indexes of steps by their items, in order.
fn by_item(requests: &[&StepRequest]) -> Vec<Vec<usize>> {
    let mut places = HashMap::new();
    let mut groups = Vec::with_capacity(requests.len());
    for (index, request) in requests.iter().enumerate() {
        let place = *places.entry(&request.name).or_insert(groups.len());
        if place == groups.len() {
            groups.push(Vec::new());
        }
        groups[place].push(index);
    }
    groups
}
