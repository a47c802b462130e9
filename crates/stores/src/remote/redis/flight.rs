//! Steps on buckets of one server that were sent in one pipeline, and whose replies are awaited.

use super::node::Node;
use super::script::{invocations, is_unknown, read};
use super::survey::{self, Inquiry};
use super::topology::Topology;
use super::{Redis, TAKE, arguments, taken};
use crate::remote::race::Task;
use crate::remote::stream::forget;
use crate::remote::{Cause, Flown, Reply, StepRequest, Visit};
use gcra::Timestamp;
use redis::Value;
use rustix::event::PollFd;
use std::slice;
use std::sync::Arc;

/// The steps, and the [`Inquiry`] whose commands run those without a reply.
pub struct Flight<'a> {
    topology: Arc<Topology>,
    node: Arc<Node>,
    requests: Vec<&'a StepRequest>,
    /// The indexes of the steps that the inquiry runs, and the number of inquiries before it.
    open: Vec<usize>,
    round: u32,
    question: Inquiry,
    replies: Vec<(usize, Result<Reply, Cause>)>,
    deadline: Timestamp,
    has_replies: bool,
}

impl<'a> Flight<'a> {
    /// Begins to send steps. Their buckets are on the server of the visit, as far as is known.
    pub fn begin(visit: &Visit<'_, Redis>, requests: Vec<&'a StepRequest>) -> Result<Self, Cause> {
        let (node, deadline) = (Arc::clone(&visit.route.node), visit.deadline);
        let open: Vec<_> = (0..requests.len()).collect();
        let question = question(&node, &requests, &open, 0, deadline)?;
        Ok(Self {
            topology: Arc::clone(&visit.store.topology),
            node,
            replies: Vec::with_capacity(requests.len()),
            requests,
            open,
            round: 0,
            question,
            deadline,
            has_replies: false,
        })
    }

    /// Reads the reply to a step.
    fn reply(&self, request: &StepRequest, value: Value) -> Result<Reply, Cause> {
        if let Some(route) = self.topology.elsewhere(&request.name, &self.node, &value) {
            return Err(route.into());
        }
        read(&self.node, &TAKE, value).and_then(|value| taken(&value))
    }

    fn flown(&mut self, result: Result<(), Cause>) -> Flown {
        (std::mem::take(&mut self.replies), result)
    }

    /// Continues the flight. Returns its result, or `None` if it must wait again.
    fn go_on(&mut self) -> Result<Option<()>, Cause> {
        let Some((values, result)) = self.question.advance()? else {
            return Ok(None);
        };
        self.has_replies = true;
        let mut unknown = Vec::new();
        for (index, value) in std::mem::take(&mut self.open).into_iter().zip(values) {
            if is_unknown(&value, self.round) {
                unknown.push(index);
            } else {
                let reply = self.reply(self.requests[index], value);
                self.replies.push((index, reply));
            }
        }
        result?;
        if unknown.is_empty() {
            return Ok(Some(()));
        }
        (self.open, self.round, self.has_replies) = (unknown, self.round + 1, false);
        self.question = question(
            &self.node,
            &self.requests,
            &self.open,
            self.round,
            self.deadline,
        )?;
        Ok(None)
    }
}

/// Asks a server to run these steps.
fn question(
    node: &Arc<Node>,
    requests: &[&StepRequest],
    open: &[usize],
    round: u32,
    deadline: Timestamp,
) -> Result<Inquiry, Cause> {
    let run = |index: usize| {
        let request = requests[index];
        (slice::from_ref(&request.name), arguments(request))
    };
    let runs: Vec<_> = open.iter().map(|&index| run(index)).collect();
    let commands = invocations(&TAKE, runs.iter(), round).into();
    survey::question(node, &commands, deadline).inspect_err(|_| node.suspect())
}

impl Task for Flight<'_> {
    type Output = Flown;

    fn waits_for(&self) -> Option<PollFd<'_>> {
        self.question.waits_for()
    }

    fn advance(&mut self) -> Result<Option<Flown>, Cause> {
        let result = self.go_on().transpose();
        Ok(result.map(|result| self.flown(result)))
    }

    fn deadline(&self) -> Timestamp {
        self.deadline
    }

    fn stop(&mut self) -> Result<Flown, Cause> {
        Ok(self.flown(Err(Cause::Timeout)))
    }
}

impl Drop for Flight<'_> {
    /// Notes that the server failed if it did not reply to the last inquiry by the deadline.
    fn drop(&mut self) {
        if !self.has_replies {
            self.node.suspect();
            forget(&self.node.dsn.endpoint);
        }
    }
}
