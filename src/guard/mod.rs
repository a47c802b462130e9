//! The guard: limits of php.ini that a request must pass before its script is compiled.
//!
//! The crate [`guard`] has the rules. The buckets are in shared memory, where no PHP code can name
//! them.

mod age;
mod block;
pub mod client_address;
mod counted;
pub mod decided;
mod enforce;
pub mod guarded_client;
pub mod in_force;
pub mod in_loop;
mod observe;
mod operator;
pub mod password;
mod permits;
mod respond;
mod rules;
mod siblings;
mod syslog;

use crate::{attached, ini, log};
use counted::{CountedRequest, Variables};
use enforce::{Exceeded, Granted};
use gcra::Few;
use guard::{Client, Networks, Target};
use rules::RuleBuckets;
use segment::{By, Host, SharedMemory};
use std::rc::Rc;
use zend::gate::{self, Gate};
use zend::request::Request;
use zend::system::{self, Ending, Starting};

/// The server interfaces that apply the sections `[HOST=...]` and `[PATH=...]` of php.ini.
const WITH_SECTIONS: [&str; 3] = ["fpm-fcgi", "cgi-fcgi", "litespeed"];

/// Prepares the engine for the guard. Warns about settings that this server ignores.
pub fn install(starting: &Starting) {
    siblings::note_start(starting);
    if !in_force::is_web() {
        return;
    }
    gate::install(starting);
    let interface = system::interface_name();
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
    let is_web = in_force::is_web();
    if let Some(store) = attached::store().filter(|_| is_web) {
        operator::request_begins(store);
    }
    let is_on = in_force::has_limits() || !ini::GUARD_MAX_AGE.text(<[u8]>::is_empty);
    if is_on {
        in_force::warn_once();
    }
    let gate: Gate = refuses;
    let gate = (is_on && is_web).then_some(gate);
    if gate.is_none() {
        decided::begin(false);
    }
    gate::set(gate);
}

/// Removes the guard from the engine. Forgets the rules, because PHP may start again in this
/// process, with another segment and other hashers.
pub fn remove(ending: &Ending) {
    gate::remove(ending);
    rules::forget();
}

/// Returns true if the request is denied, by a limit or because of its age. Then the response has
/// been sent.
fn refuses(request: &Request) -> bool {
    let Some(host) = attached::host() else {
        return false;
    };
    let store = host.slots();
    let variables = &Variables::Passed(request);
    let enforces = enforces(store);
    if age::is_refused(store, variables, enforces) {
        respond::unavailable(request);
        return true;
    }
    let has_limits = in_force::has_limits();
    decided::begin(has_limits);
    if !has_limits {
        return false;
    }
    let is_refused = judged(host, variables, enforces, |result| match result {
        Ok(granted) => {
            if let Some((limit, taken)) = granted.tokens.filter(|_| sends_fields(store)) {
                respond::add_fields(request, limit, &taken);
            }
            false
        }
        Err(refusal) => {
            respond::refuse(request, &refusal);
            true
        }
    });
    is_refused == Some(true)
}

/// Applies the limits to a request, and passes the result to `answer`. Returns `None` if no limit
/// counts the request, or if the limits only observe.
fn judged<R>(
    host: &Host,
    variables: &Variables<'_>,
    enforces: bool,
    answer: impl FnOnce(Result<Granted<'_>, Exceeded<'_>>) -> R,
) -> Option<R> {
    let target = Target::of(variables);
    let counted = counted(host, &target)?;
    let lists = lists(host.slots(), variables);
    let rules = counting(&lists, &target);
    if enforces {
        return Some(answer(counted.enforce(&rules)));
    }
    let permits = observe::observe(&counted, &rules);
    if !in_force::is_web() {
        // A worker loop has no object that ends the permits when the request ends.
        permits.release();
    }
    None
}

/// Reports whether the limits deny requests. Logs an invalid mode, which counts as "enforce".
fn enforces(store: &SharedMemory) -> bool {
    ini::guard_enforces().unwrap_or_else(|error| {
        rules::log(store, &error, &error);
        true
    })
}

/// Reports whether granted requests carry header fields. Logs an invalid setting, which counts as
/// "0".
fn sends_fields(store: &SharedMemory) -> bool {
    ini::guard_headers().unwrap_or_else(|error| {
        rules::log(store, &error, &error);
        false
    })
}

/// Returns the request with its client. Returns `None` if no limit counts requests of this client,
/// because it is allowed or on this host.
fn counted<'a, 'r>(
    host: &'a Host,
    target: &'a Target<'r, Variables<'r>>,
) -> Option<CountedRequest<'a, 'r>> {
    let store = host.slots();
    let none = Networks::default();
    let trusted = rules::networks(store, &ini::GUARD_TRUSTED_PROXIES);
    let allowed = rules::networks(store, &ini::GUARD_ALLOW);
    let trusted = trusted.as_deref().unwrap_or(&none);
    let client = Client::of(target.request(), trusted);
    let is_in = |networks: &Networks| matches!(client, Client::Known(it) if networks.contains(it));
    if client == Client::Local {
        let key = rules::hasher(store, &[b"no address"], "guard: no address").key(b"");
        store.count_for(key, By::SharedMemory, true);
        return None;
    }
    let is_allowed = allowed.is_some_and(|allowed| is_in(&allowed));
    (!is_allowed).then(|| CountedRequest {
        host,
        target,
        client,
        is_proxy: is_in(trusted),
    })
}

/// The lists of the rules that may count a request.
type Lists = [Option<Rc<Vec<RuleBuckets>>>; 2];

/// Returns the rules in these lists that count the request.
fn counting<'l>(lists: &'l Lists, target: &Target<'_, Variables<'_>>) -> Few<&'l RuleBuckets> {
    let rules = lists.iter().flatten().flat_map(|list| list.iter());
    rules.filter(|rule| rule.counts(target)).collect()
}

fn lists(store: &SharedMemory, variables: &Variables<'_>) -> Lists {
    match rules::preflights(store).filter(|_| guard::is_preflight(variables)) {
        Some(rules) => [Some(rules), None],
        None => [rules::operators(store), rules::applications(store)],
    }
}
