//! Steps on buckets of one server that were sent in one pipeline, and whose replies are awaited.

use super::node::{Node, code};
use super::script::{invocation, read};
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

/// The steps, and the [`Inquiry`] whose commands run them.
pub struct Flight<'a> {
    topology: Arc<Topology>,
    node: Arc<Node>,
    requests: Vec<&'a StepRequest>,
    question: Inquiry,
    deadline: Timestamp,
    has_replies: bool,
}

impl<'a> Flight<'a> {
    /// Begins to send steps. Their buckets are on the server of the visit, as far as is known.
    pub fn begin(visit: &Visit<'_, Redis>, requests: Vec<&'a StepRequest>) -> Result<Self, Cause> {
        let (node, deadline) = (Arc::clone(&visit.route.node), visit.deadline);
        let command = |request: &&StepRequest| {
            invocation(&TAKE, false, &[&request.name], &arguments(request))
        };
        let commands = requests.iter().map(command).collect();
        let question = survey::question(&node, &commands, deadline);
        let question = question.inspect_err(|_| node.suspect())?;
        Ok(Self {
            topology: Arc::clone(&visit.store.topology),
            node,
            requests,
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

    /// Sends again the steps that the server did not run because it did not have the script.
    fn repeat(&self, unknown: &[usize], flown: &mut Flown) {
        let runs = unknown.iter().map(|&index| {
            let request = self.requests[index];
            (slice::from_ref(&request.name), arguments(request))
        });
        let runs: Vec<_> = runs.collect();
        let (replies, result) = flown;
        *result = self.node.run_each(
            self.topology.dsn.is_cluster(),
            &TAKE,
            &runs,
            1,
            self.deadline,
            |place, value| {
                let index = unknown[place];
                replies.push((index, self.reply(self.requests[index], value)));
            },
        );
    }
}

impl Task for Flight<'_> {
    type Output = Flown;

    fn waits_for(&self) -> Option<PollFd<'_>> {
        self.question.waits_for()
    }

    fn advance(&mut self) -> Result<Option<Flown>, Cause> {
        let Some((values, result)) = self.question.advance()? else {
            return Ok(None);
        };
        self.has_replies = true;
        let (mut flown, mut unknown) = ((Vec::new(), result), Vec::new());
        for (index, value) in values.into_iter().enumerate() {
            if code(&value) == "NOSCRIPT" {
                unknown.push(index);
            } else {
                flown
                    .0
                    .push((index, self.reply(self.requests[index], value)));
            }
        }
        if !unknown.is_empty() && flown.1.is_ok() {
            self.repeat(&unknown, &mut flown);
        }
        Ok(Some(flown))
    }
}

impl Drop for Flight<'_> {
    /// Notes that the server failed if it did not send any reply by the deadline.
    fn drop(&mut self) {
        if !self.has_replies {
            self.node.suspect();
            forget(&self.node.dsn.endpoint);
        }
    }
}
