//! The process of a server.
//!
//! Invariant: the server ends when its [`Process`] is dropped. The server also ends when the test
//! process ends without dropping anything. For that, a watchdog waits until its input pipe is
//! closed. Only the test process and its forked children hold the other end of the pipe.

use crate::eventually;
use crate::folder::{Folder, unprivileged};
use crate::places::take_places;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{File, read_dir, read_to_string};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// The watchdog's shell script. It kills the server and removes the folder once its input ends.
const WATCHDOG: &str = r#"cat >/dev/null; kill -9 "$1"; rm -rf "$2""#;

/// The process of a server, which ends when this is dropped.
pub struct Process {
    server: Child,
    watchdog: Child,
}

impl Process {
    /// Starts `program`. Its output goes to the file `log` in the folder.
    pub fn start(program: &str, arguments: &[String], folder: &Folder) -> Self {
        take_places(1);
        let log = File::options()
            .create(true)
            .append(true)
            .open(folder.file("log"))
            .unwrap();
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log);
        if let Some((user, group)) = unprivileged() {
            command.uid(user).gid(group);
        }
        let server = command
            .spawn()
            .unwrap_or_else(|error| panic!("{program}: {error}. Run scripts/setup test"));
        let watchdog = Command::new("/bin/sh")
            .args(["-c", WATCHDOG, "watchdog"])
            .arg(server.id().to_string())
            .arg(folder.path())
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self { server, watchdog }
    }

    /// Starts a server and waits until it replies. Tries again if the server does not reply,
    /// because another process may have taken its port.
    ///
    /// `attempt` starts the server, with a new port if the port may change.
    pub fn until_ready(
        folder: &Folder,
        mut attempt: impl FnMut() -> Self,
        mut ready: impl FnMut(u32) -> bool,
    ) -> Self {
        for _ in 0..10 {
            let mut process = attempt();
            let mut ended = false;
            let settled = eventually(|| {
                ended = process.has_ended();
                ended || ready(process.pid())
            });
            if settled && !ended {
                return process;
            }
        }
        let log = read_to_string(folder.file("log")).unwrap_or_default();
        panic!("a server does not start\n{log}");
    }

    /// Returns the server's process id.
    pub fn pid(&self) -> u32 {
        self.server.id()
    }

    /// Suspends the server, and returns when all its threads are suspended. Clients can connect,
    /// but get no reply.
    pub fn stop(&self) {
        self.signal(Signal::STOP);
        assert!(eventually(|| self.states().all(|state| state == 'T')));
    }

    /// Resumes the server, and returns when all its threads are resumed.
    pub fn cont(&self) {
        self.signal(Signal::CONT);
        assert!(eventually(|| self.states().all(|state| state != 'T')));
    }

    /// Kills the server, as in a crash, and returns when it no longer exists.
    pub fn kill(&mut self) {
        // The watchdog ends first. Otherwise it could kill another process that gets the same id
        // after the server has ended.
        self.watchdog.kill().ok();
        self.watchdog.wait().ok();
        self.server.kill().ok();
        self.server.wait().ok();
    }

    fn has_ended(&mut self) -> bool {
        self.server.try_wait().unwrap().is_some()
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.pid().cast_signed()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Returns the state of each thread of the server, as a letter as in `ps`.
    fn states(&self) -> impl Iterator<Item = char> {
        let threads = read_dir(format!("/proc/{}/task", self.pid())).unwrap();
        threads.map(|thread| {
            let stat = read_to_string(thread.unwrap().path().join("stat")).unwrap_or_default();
            // The name of the thread is in brackets and may contain any bytes. The state follows
            // the name.
            let state = stat.rsplit_once(") ");
            state
                .and_then(|(_, rest)| rest.chars().next())
                .unwrap_or('X')
        })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}
