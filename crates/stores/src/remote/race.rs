//! A race of tasks, each of which waits for a socket. The results are returned as they arrive.
//!
//! A task has a head start before the next task begins. So a server that replies soon is the only
//! one that is contacted. No task ends because another one began, so a slow server is waited for
//! until the deadline. A result that has arrived by then counts, even if something else, such as a
//! lookup of a host name, has used up the time.

use super::failure::Cause;
use gcra::{TICKS_PER_SECOND, Ticks, Timestamp, boot_clock};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io;
use std::iter::Empty;
use std::time::Duration;

/// The time until the deadline is divided into this number of parts. All head starts together take
/// one part.
const PARTS: Ticks = 4;
/// The least time for reading a reply of which a part has arrived, even after the deadline.
const LEAST: Ticks = TICKS_PER_SECOND / 1000;

/// A task that waits for a socket and never for anything else. If only a part of a reply has
/// arrived, it waits for the rest until [`share`].
pub trait Task {
    type Output;

    /// Returns the socket and the events that the task waits for, or `None` if it need not wait.
    fn waits_for(&self) -> Option<PollFd<'_>>;

    /// Continues the task after an event. Returns `None` if the task must wait again.
    fn advance(&mut self) -> Result<Option<Self::Output>, Cause>;

    /// Returns the instant at which the task ends, if the race does not end before.
    fn deadline(&self) -> Timestamp {
        Timestamp::MAX
    }

    /// Returns the result of a task that still waits at the deadline.
    fn stop(&mut self) -> Result<Self::Output, Cause> {
        Err(Cause::Timeout)
    }
}

/// Returns the head start of each of `count` tasks that end at `deadline`.
pub fn head_start(count: usize, deadline: Timestamp) -> Ticks {
    deadline.saturating_since(boot_clock()) / (PARTS * count.max(1) as Ticks)
}

/// Returns the instant until which a task may wait for the rest of a reply. The other tasks wait
/// meanwhile, so a server that stops in the middle gets half of the time until `deadline`.
pub fn share(deadline: Timestamp) -> Timestamp {
    let now = boot_clock();
    now.midpoint(deadline).max(now + LEAST)
}

/// The tasks that were begun, and those that were not. `K` identifies a task.
pub struct Race<K, T, I> {
    running: Vec<(K, T)>,
    /// Begins each task when it is taken from the iterator.
    others: I,
    next_at: Timestamp,
    head_start: Ticks,
    deadline: Timestamp,
}

impl<K, T: Task> Race<K, T, Empty<(K, Result<T, Cause>)>> {
    /// Creates a race without a task, in which each has its own deadline.
    pub fn empty() -> Self {
        Self::new(std::iter::empty(), 0, Timestamp::MAX)
    }

    pub fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// Adds a task that has begun. It has a result.
    pub fn add(&mut self, key: K, task: T) {
        self.running.push((key, task));
    }

    /// Returns the next task that has ended, and its result. Returns `None` at `until`, or if no
    /// task runs.
    pub fn next_before(&mut self, until: Timestamp) -> Option<(K, Result<T::Output, Cause>)> {
        while !self.is_empty() {
            let now = boot_clock();
            self.next_at = until;
            let ended = self.turn(now);
            if ended.is_some() || now >= until {
                return ended;
            }
        }
        None
    }
}

impl<K, T: Task, I: Iterator<Item = (K, Result<T, Cause>)>> Race<K, T, I> {
    /// Creates the race that ends at `deadline`. `tasks` begins a task when it is taken from the
    /// iterator. Each task but the last has a head start of `head_start` ticks.
    pub fn new(tasks: I, head_start: Ticks, deadline: Timestamp) -> Self {
        Self {
            running: Vec::new(),
            others: tasks,
            next_at: Timestamp::ZERO,
            head_start,
            deadline,
        }
    }

    fn deadline_of(&self, task: &T) -> Timestamp {
        task.deadline().min(self.deadline)
    }

    /// Continues a task that can continue, or stops one at its deadline. Returns the task if it has
    /// ended, and its result.
    fn turn(&mut self, now: Timestamp) -> Option<(K, Result<T::Output, Cause>)> {
        match self.wait(now) {
            Ok(Some(index)) => {
                let result = self.running[index].1.advance().transpose()?;
                // A result that is of no use ends the head start, too.
                self.next_at = self.next_at.min(now);
                Some((self.running.swap_remove(index).0, result))
            }
            Ok(None) => {
                let is_late = |(_, task): &(K, T)| now >= self.deadline_of(task);
                let index = self.running.iter().position(is_late)?;
                let (key, mut task) = self.running.swap_remove(index);
                Some((key, task.stop()))
            }
            Err(error) => {
                let (key, _) = self.running.pop()?;
                Some((key, Err(error.into())))
            }
        }
    }

    /// Waits until a task can continue, and returns its index. Returns `None` if the next task must
    /// begin first, or at a deadline.
    fn wait(&self, now: Timestamp) -> io::Result<Option<usize>> {
        let is_ready = |(_, task): &(K, T)| task.waits_for().is_none();
        if let Some(index) = self.running.iter().position(is_ready) {
            return Ok(Some(index));
        }
        let deadlines = self.running.iter().map(|(_, task)| self.deadline_of(task));
        let until = deadlines.min().unwrap_or(self.deadline).min(self.next_at);
        let left = until.saturating_since(now);
        let left = Timespec::try_from(Duration::from_nanos(left)).map_err(io::Error::other)?;
        let sockets = self.running.iter().enumerate();
        let sockets = sockets.filter_map(|(index, (_, task))| Some((index, task.waits_for()?)));
        let (indexes, mut sockets): (Vec<_>, Vec<_>) = sockets.unzip();
        match poll(&mut sockets, Some(&left)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let is_ready = |socket: &PollFd<'_>| socket.revents() != PollFlags::empty();
        Ok(sockets
            .iter()
            .position(is_ready)
            .map(|place| indexes[place]))
    }
}

impl<K, T: Task, I: Iterator<Item = (K, Result<T, Cause>)>> Iterator for Race<K, T, I> {
    /// A task that has ended, and its result.
    type Item = (K, Result<T::Output, Cause>);

    /// Returns the next task that has ended, and its result. Returns `None` if there are no more.
    /// Tasks that still wait at the deadline are stopped, and none begins after it.
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let now = boot_clock();
            let is_late = now >= self.deadline;
            if !is_late && (now >= self.next_at || self.running.is_empty()) {
                match self.others.next() {
                    Some((key, Ok(task))) => {
                        self.running.push((key, task));
                        self.next_at = now + self.head_start;
                    }
                    Some((key, Err(cause))) => return Some((key, Err(cause))),
                    None if self.running.is_empty() => return None,
                    None => self.next_at = Timestamp::MAX,
                }
            }
            let ended = self.turn(now);
            if ended.is_some() || (is_late && self.running.is_empty()) {
                return ended;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    /// A task that ends when anything arrives.
    struct Reading(UnixStream);

    impl Task for Reading {
        type Output = ();

        fn waits_for(&self) -> Option<PollFd<'_>> {
            Some(PollFd::new(&self.0, PollFlags::IN))
        }

        fn advance(&mut self) -> Result<Option<()>, Cause> {
            Ok(Some(()))
        }

        fn deadline(&self) -> Timestamp {
            Timestamp::ZERO
        }
    }

    #[test]
    fn every_task_has_a_result_if_the_time_is_up_before_the_race() {
        let pairs = [(); 3].map(|()| UnixStream::pair().unwrap());
        let [(mut first, a), (_second, b), (mut third, c)] = pairs;
        for sender in [&mut first, &mut third] {
            sender.write_all(b"reply").unwrap();
        }
        let mut race = Race::empty();
        for (place, task) in [a, b, c].map(Reading).into_iter().enumerate() {
            race.add(place, task);
        }
        let results = std::iter::from_fn(|| race.next_before(Timestamp::MAX));
        let mut results: Vec<_> = results.collect();
        results.sort_by_key(|(place, _)| *place);
        let arrived = results.iter().map(|(_, result)| result.is_ok());
        assert_eq!(arrived.collect::<Vec<_>>(), [true, false, true]);
        assert!(matches!(results[1].1, Err(Cause::Timeout)));
    }
}
