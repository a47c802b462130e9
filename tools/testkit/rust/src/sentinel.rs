//! Sentinels, which promote a replica when a primary fails.

use crate::folder::Folder;
use crate::free_port;
use crate::process::Process;
use crate::redis::{Redis, answers, redis, text};
use crate::resp::Connection;
use std::fmt::Write;
use std::fs;
use std::ops::Deref;
use std::os::unix::fs::PermissionsExt;

/// The name under which the sentinels know the primary.
pub const PRIMARY: &str = "mymaster";

pub struct Sentinel {
    // The process is declared before the folder, so that it ends before the folder is removed.
    process: Process,
    folder: Folder,
    port: u16,
}

impl Deref for Sentinel {
    type Target = Process;

    fn deref(&self) -> &Process {
        &self.process
    }
}

impl Sentinel {
    /// Starts a sentinel that counts a server as down after half a second. Two sentinels must
    /// agree.
    pub fn start(primary: &Redis, options: &[&str]) -> Self {
        let folder = Folder::new();
        let (socket, file) = (folder.file("redis.sock"), folder.file("sentinel.conf"));
        let mut port = 0;
        let process = Process::until_ready(
            &folder,
            || {
                port = free_port();
                let mut lines = format!("port {port}\nbind 127.0.0.1\n");
                writeln!(lines, "unixsocket {}\nunixsocketperm 777", text(&socket)).unwrap();
                let address = format!("{PRIMARY} 127.0.0.1 {}", primary.port());
                writeln!(lines, "sentinel monitor {address} 2").unwrap();
                writeln!(lines, "sentinel down-after-milliseconds {PRIMARY} 500").unwrap();
                writeln!(lines, "sentinel failover-timeout {PRIMARY} 2000").unwrap();
                lines.extend(options.iter().map(|option| format!("{option}\n")));
                fs::write(&file, lines).unwrap();
                // The sentinel rewrites its file.
                fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
                let arguments = [text(&file), "--sentinel".to_owned()];
                Process::start(&redis(), &arguments, &folder)
            },
            |_| answers(&socket),
        );
        Self {
            process,
            folder,
            port,
        }
    }

    /// Returns the sentinel's TCP port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the sentinel's reply to a command, as text.
    pub fn cli(&self, words: &[&str]) -> String {
        let mut connection = Connection::open(&self.folder.file("redis.sock")).unwrap();
        connection.command(words).unwrap()
    }

    /// Returns the port of the primary, as the sentinel reports it.
    pub fn primary(&self) -> String {
        let address = self.cli(&["SENTINEL", "get-master-addr-by-name", PRIMARY]);
        address.lines().last().unwrap_or_default().to_owned()
    }

    /// Reports whether the sentinel knows `count` other sentinels and a replica.
    pub fn knows(&self, count: usize) -> bool {
        let state = self.cli(&["SENTINEL", "MASTER", PRIMARY]);
        let field = |name| {
            let value = state.lines().skip_while(|line| *line != name).nth(1);
            value.and_then(|number| number.parse().ok()).unwrap_or(0)
        };
        field("num-other-sentinels") == count && field("num-slaves") == 1
    }
}
