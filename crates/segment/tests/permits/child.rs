//! Child processes that run a closure.

use crate::forked::{exit, fork};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use std::io::{PipeReader, PipeWriter, Read, Write};

/// A child process, which is killed when dropped.
pub struct Child {
    pid: Option<Pid>,
    from: PipeReader,
    to: PipeWriter,
}

/// The child's ends of the two pipes.
pub struct Parent {
    from: PipeReader,
    to: PipeWriter,
}

impl Parent {
    /// Waits until the parent continues. Ends the child if the parent is gone.
    pub fn wait(&mut self) {
        let read = self.from.read_exact(&mut [0]);
        if read.is_err() {
            exit(1);
        }
    }

    /// Lets [`Child::wait`] return.
    pub fn reached(&mut self) {
        self.to.write_all(&[0]).unwrap();
    }
}

impl Child {
    pub fn start(work: impl FnOnce(&mut Parent)) -> Self {
        let (from_child, to_parent) = std::io::pipe().unwrap();
        let (from_parent, to_child) = std::io::pipe().unwrap();
        let mut parent = Parent {
            from: from_parent,
            to: to_parent,
        };
        let pid = fork(|| work(&mut parent));
        Self {
            pid: Some(pid),
            from: from_child,
            to: to_child,
        }
    }

    /// Waits until the child calls [`Parent::reached`].
    pub fn wait(&mut self) {
        self.from.read_exact(&mut [0]).expect("the child is alive");
    }

    /// Lets the child's [`Parent::wait`] return.
    pub fn go_on(&mut self) {
        self.to.write_all(&[0]).unwrap();
    }

    /// Sends SIGKILL and waits for the end of the child.
    pub fn kill(mut self) {
        self.end();
    }

    /// Waits for the end of the child, which must not panic.
    pub fn join(mut self) {
        let pid = self.pid.take().unwrap();
        let (_, status) = waitpid(Some(pid), WaitOptions::empty()).unwrap().unwrap();
        assert_eq!(status.exit_status(), Some(0), "the child failed");
    }

    fn end(&mut self) {
        if let Some(pid) = self.pid.take() {
            kill_process(pid, Signal::KILL).ok();
            waitpid(Some(pid), WaitOptions::empty()).ok();
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.end();
    }
}
