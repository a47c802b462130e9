//! A Redis or Valkey server without persistence.

use crate::certificates::Authority;
use crate::folder::Folder;
use crate::process::Process;
use crate::resp::Connection;
use crate::{eventually, free_port};
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Makes `redis.call` fail for a number, unless its last digit is 1 and it is at most 2^40. Redis
/// never writes such a number with an exponent.
const STRICT: &str = r"
    local given = redis
    local redis = setmetatable({ call = function(...)
        for _, argument in ipairs({ ... }) do
            if type(argument) == 'number' and (argument > 2 ^ 40 or argument % 10 ~= 1) then
                error('the number ' .. argument)
            end
        end
        return given.call(...)
    end }, { __index = given })
";

/// A server that listens on a TCP port of 127.0.0.1 and on a Unix socket.
pub struct Redis {
    // The process is declared before the folder, so that it ends before the folder is removed.
    process: Process,
    folder: Folder,
    program: String,
    options: Vec<String>,
    port: u16,
    tls_port: Option<u16>,
}

impl Deref for Redis {
    type Target = Process;

    fn deref(&self) -> &Process {
        &self.process
    }
}

impl DerefMut for Redis {
    fn deref_mut(&mut self) -> &mut Process {
        &mut self.process
    }
}

impl Redis {
    /// Starts the program in `REDIS_SERVER`, or `redis-server` from `PATH`, with command-line
    /// options.
    pub fn start(options: &[&str]) -> Self {
        Self::launch(redis(), options, Folder::new(), false)
    }

    /// Starts the program in `VALKEY_SERVER`, or the Valkey that `scripts/setup valkey` unpacked.
    /// Returns `None` if neither exists.
    pub fn start_valkey(options: &[&str]) -> Option<Self> {
        let unpacked = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../target/valkey/valkey-server"
        );
        let program = std::env::var("VALKEY_SERVER").unwrap_or_else(|_| unpacked.into());
        if !Path::new(&program).exists() {
            eprintln!("skipped: no Valkey, which scripts/setup valkey fetches");
            return None;
        }
        Some(Self::launch(program, options, Folder::new(), false))
    }

    /// Starts a server that also accepts TLS, with a certificate for localhost and 127.0.0.1.
    pub fn start_tls() -> Self {
        let folder = Folder::new();
        let authority = Authority::new();
        std::fs::write(folder.file("ca.crt"), &authority.pem).unwrap();
        let issued = authority.issue(&["localhost", "127.0.0.1"], folder.path());
        let authority_file = text(&folder.file("ca.crt"));
        let (certificate, key) = (text(&issued.certificate), text(&issued.key));
        let mut all = vec!["--tls-auth-clients", "no"];
        all.extend(["--tls-ca-cert-file", &authority_file]);
        all.extend(["--tls-cert-file", &certificate, "--tls-key-file", &key]);
        Self::launch(redis(), &all, folder, true)
    }

    fn launch(program: String, options: &[&str], folder: Folder, tls: bool) -> Self {
        let options: Vec<String> = options.iter().map(ToString::to_string).collect();
        let (mut port, mut tls_port) = (0, None);
        let process = Process::until_ready(
            &folder,
            || {
                port = free_port();
                tls_port = tls.then(free_port);
                run(&program, &options, &folder, port, tls_port)
            },
            |_| answers(&folder.file("redis.sock")),
        );
        Self {
            process,
            folder,
            program,
            options,
            port,
            tls_port,
        }
    }

    /// Returns the server's TCP port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the TLS port of a server from [`Self::start_tls`].
    pub fn tls_port(&self) -> u16 {
        self.tls_port.expect("a server with TLS")
    }

    /// Returns the path of the authority's certificate, which verifies the server's certificate.
    pub fn ca_file(&self) -> PathBuf {
        self.folder.file("ca.crt")
    }

    /// Returns the path of the server's Unix socket.
    pub fn socket(&self) -> PathBuf {
        self.folder.file("redis.sock")
    }

    /// Returns the text that the server has logged.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.file("log")).unwrap()
    }

    /// Restarts the server without data, at the same ports and socket.
    pub fn restart(&mut self) {
        self.process.kill();
        self.process = Process::until_ready(
            &self.folder,
            || {
                let (port, tls_port) = (self.port, self.tls_port);
                run(&self.program, &self.options, &self.folder, port, tls_port)
            },
            |_| answers(&self.folder.file("redis.sock")),
        );
    }

    /// Returns the server's reply to a command, as text. See [`Connection::command`].
    pub fn cli(&self, words: &[&str]) -> String {
        let mut connection = Connection::open(&self.socket()).unwrap();
        let password = self.options.iter().skip_while(|o| *o != "--requirepass");
        if let Some(password) = password.into_iter().nth(1) {
            connection.command(&["AUTH", password]).unwrap();
        }
        connection.command(words).unwrap()
    }

    /// Returns the reply of a script on `key`, as text. The script fails if it passes a number to a
    /// command and Redis may write that number with an exponent. Redis 7.2.0 to 7.2.4 does so if a
    /// number has eight zeros at its end.
    pub fn run_strictly(&self, script: &str, key: &str, arguments: &[&str]) -> String {
        let script = format!("{STRICT}{script}");
        self.cli(&[&["EVAL", &script, "1", key], arguments].concat())
    }

    /// Makes the server a replica of `primary`, and returns when it has the primary's data.
    pub fn follow(&self, primary: &Self) {
        self.cli(&["REPLICAOF", "127.0.0.1", &primary.port.to_string()]);
        let is_linked = || {
            let info = self.cli(&["INFO", "replication"]);
            info.contains("master_link_status:up")
        };
        assert!(eventually(is_linked));
    }
}

/// Returns the path or name of the Redis server to start.
pub fn redis() -> String {
    std::env::var("REDIS_SERVER").unwrap_or_else(|_| "redis-server".into())
}

/// Returns the major version of [`redis`], also if that is a Valkey.
pub fn major_version() -> u32 {
    let output = Command::new(redis()).arg("--version").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    // For example "Redis server v=7.0.15 sha=00000000:0 …".
    let (_, version) = text.split_once("v=").unwrap();
    version.split('.').next().unwrap().parse().unwrap()
}

fn run(
    program: &str,
    options: &[String],
    folder: &Folder,
    port: u16,
    tls_port: Option<u16>,
) -> Process {
    let (path, socket) = (text(folder.path()), text(&folder.file("redis.sock")));
    let (port, tls_port) = (port.to_string(), tls_port.map(|port| port.to_string()));
    let mut arguments = vec!["--port", &port, "--bind", "127.0.0.1", "--dir", &path];
    arguments.extend(["--unixsocket", &socket, "--unixsocketperm", "777"]);
    arguments.extend(["--save", "", "--appendonly", "no", "--daemonize", "no"]);
    arguments.extend(["--loglevel", "warning"]);
    if let Some(tls_port) = &tls_port {
        arguments.extend(["--tls-port", tls_port]);
    }
    let mut arguments: Vec<String> = arguments.into_iter().map(Into::into).collect();
    arguments.extend_from_slice(options);
    Process::start(program, &arguments, folder)
}

/// Reports whether the server replies on its socket. An error because of a missing password is a
/// reply too. The server opens its ports before its socket, so its ports are open then.
pub fn answers(socket: &Path) -> bool {
    let reply = Connection::open(socket).and_then(|mut server| server.command(&["PING"]));
    reply.is_ok_and(|text| text == "PONG" || text.starts_with("NOAUTH"))
}

pub fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}
