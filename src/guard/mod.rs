//! The guard: limits of php.ini that a request must pass before its script is compiled.
//!
//! The core has the rules ([`guard`]). The buckets are in shared memory, where no
//! PHP code can name them.

mod rules;

use crate::{attached, decision, ini, log};
use gcra::batch::{Few, Grouped, Taken};
use gcra::{Decision, Quota, Ticket};
use guard::{Client, Limit, Networks, Target};
use rules::Rule;
use segment::slots::SharedMemory;
use segment::slots::counters::By;
use std::ffi::CStr;
use std::ptr;
use zend::gate::{self, Gate};
use zend::request::{self, Request};
use zend::system::{self, Ending, Starting};

/// The server interfaces that the guard knows.
const INTERFACES: [&str; 4] = ["fpm-fcgi", "apache2handler", "cgi-fcgi", "cli-server"];

/// The server interfaces that apply sections of php.ini.
const WITH_SECTIONS: [&str; 2] = ["fpm-fcgi", "cgi-fcgi"];

/// The variables of a request, for the rules of the core.
struct Variables<'a>(&'a Request);

impl guard::Request for Variables<'_> {
    fn variable(&self, name: &CStr) -> Option<&[u8]> {
        self.0.variable(name)
    }

    fn script(&self) -> &[u8] {
        self.0.script()
    }
}

thread_local! {
    static IS_WEB: bool = INTERFACES.contains(&system::interface_name().as_str());
}

/// Prepares the engine for the guard. Warns about settings that this server ignores.
pub fn install(starting: &Starting) {
    let interface = system::interface_name();
    if !INTERFACES.contains(&interface.as_str()) {
        return;
    }
    gate::install(starting);
    if !WITH_SECTIONS.contains(&interface.as_str())
        && system::has_section_with(starting, "tokenbucket.")
    {
        log::startup_warning(
            "php.ini has settings in a section [HOST=...] or [PATH=...], which this server ignores",
        );
    }
}

/// Prepares the guard for a request that begins.
pub fn request_begins() {
    let is_empty = |text: &[u8]| text.is_empty();
    let is_off = ini::GUARD.text(is_empty) && ini::GUARD_LOCAL.text(is_empty);
    let gate: Gate = refuses;
    gate::set((!is_off && IS_WEB.with(|it| *it)).then_some(gate));
}

/// Removes the guard from the engine. PHP may start again in this process, with another segment and
/// other hashers.
pub fn remove(ending: &Ending) {
    gate::remove(ending);
    rules::forget();
}

/// Returns true if a limit denies the request. Then the response has been sent.
fn refuses(request: &Request) -> bool {
    let Some(store) = attached::store() else {
        return false;
    };
    let none = Networks::default();
    let trusted = rules::networks(store, &ini::GUARD_TRUSTED_PROXIES);
    let allowed = rules::networks(store, &ini::GUARD_ALLOW);
    let variables = &Variables(request);
    let client = Client::of(variables, trusted.as_deref().unwrap_or(&none));
    match client {
        Client::Known(address) if allowed.is_some_and(|it| it.contains(address)) => return false,
        Client::Local => {
            let key = rules::hasher(store, &[b"no address"], "guard: no address").key(b"");
            store.count_for(key, By::SharedMemory, true);
            return false;
        }
        Client::Known(_) | Client::Malformed => {}
    }
    let lists = [rules::operators(store), rules::applications(store)];
    let target = Target::of(variables);
    let rules = lists.iter().flatten().flat_map(|list| list.iter());
    let rules: Few<&Rule> = rules.filter(|rule| rule.limit.counts(&target)).collect();
    let Err((limit, refused)) = take(store, &rules, variables, client) else {
        return false;
    };
    let enforces = ini::guard_enforces().unwrap_or_else(|error| {
        rules::log(store, &error, &error);
        true
    });
    if enforces {
        respond(request, limit.quota(), &refused);
        return true;
    }
    observe(store, &rules, variables, client, limit);
    false
}

/// Logs each limit that would deny a request. Counts the denials of all but `counted`, whose denial
/// has been counted.
fn observe(
    store: &SharedMemory,
    rules: &[&Rule],
    variables: &Variables<'_>,
    client: Client,
    counted: &Limit,
) {
    for rule in rules {
        let limit = &rule.limit;
        let identifier = limit.identifier(variables, client);
        let mut ticket = [rule.ticket(0, &identifier)];
        let mut denies = || store.refused(Grouped::new(&mut ticket)).is_some();
        if ptr::eq(limit, counted) || denies() {
            let name = limit.name();
            let message = format!(
                "guard: {client} exceeds \"{name}\" and would be denied in the mode \"enforce\""
            );
            rules::log(store, name, &message);
        }
    }
}

/// Takes a token from the bucket of each rule or from none. Fails with the limit that refuses.
fn take<'a>(
    store: &SharedMemory,
    rules: &[&'a Rule],
    variables: &Variables<'_>,
    client: Client,
) -> Result<(), (&'a Limit, Taken)> {
    match rules {
        [] => Ok(()),
        // One limit needs no batch, which takes longer.
        [rule] => {
            let identifier = rule.limit.identifier(variables, client);
            let Ticket { index, key, step } = rule.ticket(0, &identifier);
            let outcome = store.take(key, &step, None);
            let taken = Taken {
                index,
                step,
                outcome,
            };
            outcome.granted().then_some(()).ok_or((&rule.limit, taken))
        }
        [first, ..] => {
            let identifier = |rule: &&Rule| rule.limit.identifier(variables, client);
            let identifiers: Few<Vec<u8>> = rules.iter().map(identifier).collect();
            let tickets = rules.iter().zip(&identifiers).enumerate();
            let tickets = tickets.map(|(index, (rule, identifier))| rule.ticket(index, identifier));
            let mut tickets: Few<_> = tickets.collect();
            let taken = store.take_all(Grouped::new(&mut tickets));
            taken.map(drop).map_err(|taken| {
                let refusing = rules.get(taken.index).unwrap_or(first);
                (&refusing.limit, taken)
            })
        }
    }
}

fn respond(request: &Request, quota: &Quota, refused: &Taken) {
    let decision = Decision::new(quota, &refused.step, &refused.outcome);
    let fields = decision::fields(quota, &decision, "\"guard\"");
    // PHP adds its default Content-Type.
    let fields = ["Cache-Control: no-store"].into_iter().chain(fields.iter());
    request::respond(request, 429, fields, "Too many requests.\n");
}
