//! Reports whether the guard limits the requests of this process, and if not, why.

use super::{INTERFACES, has_limits, rules};
use crate::{attached, ini};
use segment::memory::Backing;
use std::borrow::Cow;
use std::env;
use std::sync::atomic::{AtomicBool, Ordering};
use zend::system;

/// True after a process has warned that the guard is not in force.
static HAS_WARNED: AtomicBool = AtomicBool::new(false);
/// True after PHP code of this process has applied the limits by `TokenBucket\guard()`.
static HAS_LOOP: AtomicBool = AtomicBool::new(false);

thread_local! {
    static SERVER: Server = Server::current();
}

/// The program that passes requests to this process.
enum Server {
    /// One whose requests the gate sees.
    Web,
    CommandLine,
    /// Another one, by its name.
    Other(String),
}

impl Server {
    fn current() -> Self {
        let interface = system::interface_name();
        let other = |name: &str| Self::Other(name.to_owned());
        match interface.as_str() {
            known if INTERFACES.contains(&known) => Self::Web,
            "frankenphp" => other("FrankenPHP"),
            // RoadRunner sets this variable for its workers.
            "cli" if env::var_os("RR_MODE").is_some() => other("RoadRunner"),
            "cli" if ["swoole", "openswoole"].into_iter().any(system::has_module) => {
                other("Swoole")
            }
            "cli" => Self::CommandLine,
            _ => Self::Other(format!("the server interface \"{interface}\"")),
        }
    }
}

pub fn is_web() -> bool {
    SERVER.with(|server| matches!(server, Server::Web))
}

/// Notes that PHP code applies the limits.
pub fn note_loop() {
    HAS_LOOP.store(true, Ordering::Relaxed);
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
    let host = attached::host();
    let is_named = host.is_some_and(|it| matches!(it.segment().backing(), Backing::Named(..)));
    // Only a process of plain CGI has the variables of its request in its environment.
    let is_cgi =
        system::interface_name() == "cgi-fcgi" && env::var_os("GATEWAY_INTERFACE").is_some();
    (is_cgi && !is_named).then_some(
        "each request has a process and buckets of its own, because tokenbucket.shm_path is empty"
            .into(),
    )
}

/// Returns the reason why the gate sees no requests.
fn unseen() -> Option<Cow<'static, str>> {
    SERVER.with(|server| match server {
        Server::Web => None,
        Server::CommandLine => Some("the command line serves no requests".into()),
        Server::Other(name) => Some(
            format!("it does not see the requests of {name}; call guard() for each of them").into(),
        ),
    })
}

/// Logs that the limits are set but not in force, once in a process. The command line logs nothing.
pub fn warn_once() {
    let is_server = SERVER.with(|server| matches!(server, Server::Other(_)));
    let Some(store) = attached::store().filter(|_| is_server) else {
        return;
    };
    if !HAS_WARNED.swap(true, Ordering::Relaxed)
        && let Some(reason) = unseen()
    {
        let message = format!("guard: tokenbucket.guard is not in force, because {reason}");
        rules::log(store, "not in force", &message);
    }
}
