//! A memcached that listens either on a TCP port or on a Unix socket.
//!
//! memcached cannot listen on a port and a socket at once, because it ignores the port if a socket
//! is given.

use crate::folder::Folder;
use crate::free_port;
use crate::process::Process;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Result, Write};
use std::net::TcpStream;
use std::ops::{Deref, DerefMut};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

#[derive(Clone, Debug)]
enum Listener {
    Tcp(u16),
    Unix(PathBuf),
}

/// A memcached on one port or one socket.
pub struct Memcached {
    // The process is declared before the folder, so that it ends before the folder is removed.
    process: Process,
    folder: Folder,
    options: Vec<String>,
    listener: Listener,
}

impl Deref for Memcached {
    type Target = Process;

    fn deref(&self) -> &Process {
        &self.process
    }
}

impl DerefMut for Memcached {
    fn deref_mut(&mut self) -> &mut Process {
        &mut self.process
    }
}

impl Memcached {
    /// Starts the memcached from `PATH` on a port of 127.0.0.1, with command-line options.
    pub fn start_tcp(options: &[&str]) -> Self {
        Self::launch(options, Folder::new(), |_| Listener::Tcp(free_port()))
    }

    /// Starts the memcached from `PATH` on a Unix socket, with command-line options.
    pub fn start_unix(options: &[&str]) -> Self {
        Self::launch(options, Folder::new(), |folder| {
            Listener::Unix(folder.file("memcached.sock"))
        })
    }

    fn launch(options: &[&str], folder: Folder, listener: fn(&Folder) -> Listener) -> Self {
        let options: Vec<String> = options.iter().map(ToString::to_string).collect();
        let chosen = std::cell::RefCell::new(listener(&folder));
        let process = Process::until_ready(
            &folder,
            || {
                chosen.replace(listener(&folder));
                chosen.borrow().run(&options, &folder)
            },
            |pid| chosen.borrow().answers(pid),
        );
        let listener = chosen.into_inner();
        Self {
            process,
            folder,
            options,
            listener,
        }
    }

    /// Returns the port of a server from [`Self::start_tcp`].
    pub fn port(&self) -> u16 {
        match self.listener {
            Listener::Tcp(port) => port,
            Listener::Unix(_) => panic!("this memcached listens on a socket"),
        }
    }

    /// Returns the socket of a server from [`Self::start_unix`].
    pub fn socket(&self) -> PathBuf {
        match &self.listener {
            Listener::Unix(socket) => socket.clone(),
            Listener::Tcp(_) => panic!("this memcached listens on a port"),
        }
    }

    /// Restarts the server without data, at the same port or socket.
    pub fn restart(&mut self) {
        self.process.kill();
        self.process = Process::until_ready(
            &self.folder,
            || self.listener.run(&self.options, &self.folder),
            |pid| self.listener.answers(pid),
        );
    }

    /// Returns the server's counters by name, such as `cmd_get`.
    pub fn stats(&self) -> HashMap<String, String> {
        let lines = self.listener.command("stats", "END").unwrap();
        let pairs = lines.iter().filter_map(|line| {
            let (name, value) = line.strip_prefix("STAT ")?.split_once(' ')?;
            Some((name.to_owned(), value.to_owned()))
        });
        pairs.collect()
    }

    /// Returns the lines of the reply to a command of the text protocol, before the line `last`.
    pub fn command(&self, command: &str, last: &str) -> Vec<String> {
        self.listener.command(command, last).unwrap()
    }
}

impl Listener {
    fn run(&self, options: &[String], folder: &Folder) -> Process {
        let mut arguments = match self {
            Self::Tcp(port) => vec![
                "-l".into(),
                "127.0.0.1".into(),
                "-p".into(),
                port.to_string(),
            ],
            Self::Unix(path) => {
                let path = path.to_str().unwrap().to_owned();
                vec!["-s".into(), path, "-a".into(), "777".into()]
            }
        };
        arguments.extend(["-U", "0", "-m", "64"].map(Into::into));
        arguments.extend_from_slice(options);
        Process::start("memcached", &arguments, folder)
    }

    /// Reports whether the server that replies has this process id. Another server may have taken
    /// the port.
    fn answers(&self, pid: u32) -> bool {
        let lines = self.command("stats", "END");
        lines.is_ok_and(|lines| lines.contains(&format!("STAT pid {pid}")))
    }

    fn command(&self, command: &str, last: &str) -> Result<Vec<String>> {
        match self {
            Self::Tcp(port) => {
                let stream = TcpStream::connect(("127.0.0.1", *port))?;
                stream.set_read_timeout(Some(crate::PATIENCE))?;
                exchange(stream, command, last)
            }
            Self::Unix(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_read_timeout(Some(crate::PATIENCE))?;
                exchange(stream, command, last)
            }
        }
    }
}

fn exchange(mut stream: impl Read + Write, command: &str, last: &str) -> Result<Vec<String>> {
    stream.write_all(format!("{command}\r\n").as_bytes())?;
    let mut lines = Vec::new();
    for line in BufReader::new(stream).lines() {
        let line = line?;
        if line == last {
            return Ok(lines);
        }
        lines.push(line);
    }
    Err(std::io::ErrorKind::UnexpectedEof.into())
}
