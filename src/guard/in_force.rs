//! Reports whether the guard limits the requests of this process, and if not, why.

use super::{rules, siblings};
use crate::{attached, ini};
use segment::memory::Backing;
use std::borrow::Cow;
use std::env;
use std::sync::atomic::{AtomicBool, Ordering};
use zend::{request, system};

/// True after a process has warned that the guard is not in force.
static HAS_WARNED: AtomicBool = AtomicBool::new(false);
/// True after PHP code of this process has applied the limits by `TokenBucket\guard()`.
static HAS_LOOP: AtomicBool = AtomicBool::new(false);

thread_local! {
    static SERVER: Server = Server::current();
}

/// Reports whether the settings have limits, which may be invalid.
pub fn has_limits() -> bool {
    let is_empty = |text: &[u8]| text.is_empty();
    !ini::GUARD.text(is_empty) || !ini::GUARD_LOCAL.text(is_empty)
}

/// The program that passes requests to this process.
enum Server {
    /// One whose requests the gate sees, in processes that share their private memory.
    Web,
    /// The same, but it may have started several processes, each with private memory of its own.
    Spawner,
    CommandLine,
    /// Starts its workers one by one, so that each has private memory of its own.
    RoadRunner,
    /// The command line, where a script may start a server of Swoole.
    Swoole,
    /// Another one, by its name.
    Other(String),
}

impl Server {
    fn current() -> Self {
        let interface = system::interface_name();
        match interface.as_str() {
            "fpm-fcgi" | "apache2handler" | "cli-server" => Self::Web,
            "cgi-fcgi" | "litespeed" => Self::Spawner,
            "frankenphp" => Self::Other("FrankenPHP".to_owned()),
            // RoadRunner sets this variable for its workers.
            "cli" if env::var_os("RR_MODE").is_some() => Self::RoadRunner,
            "cli" if ["swoole", "openswoole"].into_iter().any(system::has_module) => Self::Swoole,
            "cli" => Self::CommandLine,
            _ => Self::Other(format!("the server interface \"{interface}\"")),
        }
    }

    const fn is_web(&self) -> bool {
        matches!(self, Self::Web | Self::Spawner)
    }

    /// Returns the reason why the gate sees no requests.
    fn unseen(&self) -> Option<Cow<'static, str>> {
        let name = match self {
            Self::Web | Self::Spawner => return None,
            Self::CommandLine => return Some("the command line serves no requests".into()),
            Self::RoadRunner => "RoadRunner",
            Self::Swoole => "Swoole",
            Self::Other(name) => name,
        };
        Some(
            format!("it does not see the requests of {name}; call guard() for each of them").into(),
        )
    }

    /// Returns the processes of which each has buckets of its own, if these serve requests.
    fn apart(&self) -> Option<&'static str> {
        match self {
            // Only a process of plain CGI has the variables of its request in its environment.
            Self::Spawner if env::var_os("GATEWAY_INTERFACE").is_some() => Some("each request"),
            Self::Spawner if siblings::is_spawned_alone() || siblings::exist(|_| true) => {
                Some("each process that the web server has started")
            }
            Self::RoadRunner => Some("each worker of RoadRunner"),
            Self::CommandLine | Self::Swoole | Self::Other(_) => {
                let script = request::read(|request| request.script().to_vec());
                let is_same = |command: &[u8]| siblings::names_script(command, &script);
                siblings::exist(is_same).then_some("each process of this script")
            }
            Self::Web | Self::Spawner => None,
        }
    }
}

/// Reports whether the gate sees the requests of this process.
pub fn is_web() -> bool {
    SERVER.with(Server::is_web)
}

/// Notes that PHP code applies the limits. Warns once if processes count apart.
pub fn note_loop() {
    if !HAS_LOOP.load(Ordering::Relaxed) {
        HAS_LOOP.store(true, Ordering::Relaxed);
        warn(apart());
    }
}

/// Returns the reason why the limits are not in force in this process. `None` if they are.
pub fn hindrance() -> Option<Cow<'static, str>> {
    if !has_limits() {
        return Some("no limit is set".into());
    }
    let settings = [&ini::GUARD, &ini::GUARD_LOCAL].map(ini::Parsed::value);
    if settings
        .iter()
        .all(|rules| rules.as_ref().map_or(true, Vec::is_empty))
    {
        let error = settings.into_iter().find_map(Result::err);
        return Some(error.map_or("no limit is set".into(), Into::into));
    }
    if let Some(reason) = unseen().filter(|_| !HAS_LOOP.load(Ordering::Relaxed)) {
        return Some(reason);
    }
    if ini::guard_enforces() == Ok(false) {
        return Some("the mode is \"observe\"".into());
    }
    apart()
}

/// Returns the reason why the gate sees no requests.
fn unseen() -> Option<Cow<'static, str>> {
    SERVER.with(Server::unseen)
}

/// Returns the reason why a client gets more than a limit: several processes serve requests, and do
/// not share a segment.
fn apart() -> Option<Cow<'static, str>> {
    let host = attached::host()?;
    if matches!(host.segment().backing(), Backing::Named(..)) || !has_limits() {
        return None;
    }
    let cause = if ini::path().is_none() {
        "tokenbucket.shm_path is empty"
    } else {
        "the segment of tokenbucket.shm_path was refused"
    };
    let processes = SERVER.with(Server::apart)?;
    Some(format!("{processes} has buckets of its own while {cause}").into())
}

/// Logs that the limits are set but not in force, once in a process. The command line logs nothing,
/// because a process with Swoole's module may be a cron job.
pub fn warn_once() {
    if !HAS_WARNED.swap(true, Ordering::Relaxed) {
        warn(SERVER.with(|server| match server {
            Server::Web | Server::CommandLine | Server::Swoole => None,
            Server::Spawner => apart(),
            Server::RoadRunner | Server::Other(_) => server.unseen(),
        }));
    }
}

fn warn(reason: Option<Cow<'static, str>>) {
    if let Some((reason, store)) = reason.zip(attached::store()) {
        let message = format!("guard: tokenbucket.guard is not in force, because {reason}");
        rules::log(store, &message, &message);
    }
}
