//! The guard: limits of php.ini that a request must pass before its script is compiled.
//!
//! The core has the rules ([`guard`]). The buckets are in shared memory, where no
//! PHP code can name them.

use crate::{attached, decision, ini, log};
use gcra::batch::{Few, Grouped, Taken};
use gcra::clock::TICKS_PER_SECOND;
use gcra::{Decision, Grain, Key, KeyHasher, Quota, Ticket, Tokens};
use guard::{Client, Limit, Networks};
use segment::slots::SharedMemory;
use segment::slots::counters::By;
use std::cell::RefCell;
use std::ffi::CStr;
use std::ptr;
use std::rc::Rc;
use std::thread::LocalKey;
use stores::printable;
use zend::gate::{self, Gate};
use zend::request::{self, Request};
use zend::system::{self, Ending, Starting};

/// The server interfaces that the guard knows.
const INTERFACES: [&str; 4] = ["fpm-fcgi", "apache2handler", "cgi-fcgi", "cli-server"];

/// The server interfaces that apply sections of php.ini.
const WITH_SECTIONS: [&str; 2] = ["fpm-fcgi", "cgi-fcgi"];

/// The most texts of a setting whose values are kept. A server with more texts parses some again.
const MOST_TEXTS: usize = 64;

/// A limit, and the hasher of its buckets.
struct Rule {
    limit: Limit,
    hasher: KeyHasher,
}

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

/// The values of a setting by their text.
type Known<T> = RefCell<Vec<(Vec<u8>, Rc<T>)>>;

thread_local! {
    static IS_WEB: bool = INTERFACES.contains(&system::interface_name().as_str());
    static RULES: Known<Vec<Rule>> = RefCell::default();
    static NETWORKS: Known<Networks> = RefCell::default();
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
    RULES.with_borrow_mut(Vec::clear);
}

/// Returns true if a limit denies the request. Then the response has been sent.
fn refuses(request: &Request) -> bool {
    let Some(store) = attached::store() else {
        return false;
    };
    let networks = |setting: &ini::Parsed<Networks>| {
        setting.text(|text| known(&NETWORKS, text, || valid(store, setting)))
    };
    let none = Networks::default();
    let trusted = networks(&ini::GUARD_TRUSTED_PROXIES);
    let allowed = networks(&ini::GUARD_ALLOW);
    let variables = &Variables(request);
    let client = Client::of(variables, trusted.as_deref().unwrap_or(&none));
    match client {
        Client::Known(address) if allowed.is_some_and(|it| it.contains(address)) => return false,
        Client::Local => {
            let key = hasher(store, &[b"no address"], "guard: no address").key(b"");
            store.count_for(key, By::SharedMemory, true);
            return false;
        }
        Client::Known(_) | Client::Malformed => {}
    }
    let lists = [operators(store), applications(store)];
    let rules = lists.iter().flatten().flat_map(|list| list.iter());
    let Err((limit, refused)) = take(store, rules.clone(), variables, client) else {
        return false;
    };
    let enforces = ini::guard_enforces().unwrap_or_else(|error| {
        log(store, &error, &error);
        true
    });
    if enforces {
        respond(request, limit.quota(), &refused);
        return true;
    }
    observe(store, rules, variables, client, limit);
    false
}

/// Logs each limit that would deny a request. Counts the denials of all but `counted`, whose denial
/// has been counted.
fn observe<'a>(
    store: &SharedMemory,
    rules: impl Iterator<Item = &'a Rule>,
    variables: &Variables<'_>,
    client: Client,
    counted: &Limit,
) {
    for Rule { limit, hasher } in rules {
        let identifier = limit.identifier(variables, client);
        let mut ticket = [ticket(0, limit, hasher.key(&identifier))];
        let mut denies = || store.refused(Grouped::new(&mut ticket)).is_some();
        if ptr::eq(limit, counted) || denies() {
            let name = limit.name();
            let message = format!(
                "guard: {client} exceeds \"{name}\" and would be denied in the mode \"enforce\""
            );
            log(store, name, &message);
        }
    }
}

/// Takes a token from the bucket of each rule or from none. Fails with the limit that refuses.
fn take<'a>(
    store: &SharedMemory,
    mut rules: impl Iterator<Item = &'a Rule> + Clone,
    variables: &Variables<'_>,
    client: Client,
) -> Result<(), (&'a Limit, Taken)> {
    let mut others = rules.clone();
    let Some(first) = others.next() else {
        return Ok(());
    };
    if others.next().is_none() {
        // One limit needs no batch, which takes longer.
        let identifier = first.limit.identifier(variables, client);
        let Ticket { index, key, step } = ticket(0, &first.limit, first.hasher.key(&identifier));
        let outcome = store.take(key, &step, None);
        let taken = Taken {
            index,
            step,
            outcome,
        };
        return outcome.granted().then_some(()).ok_or((&first.limit, taken));
    }
    let identifiers = rules
        .clone()
        .map(|rule| rule.limit.identifier(variables, client));
    let identifiers: Vec<Vec<u8>> = identifiers.collect();
    let tickets = rules.clone().zip(&identifiers).enumerate();
    let tickets = tickets
        .map(|(index, (rule, identifier))| ticket(index, &rule.limit, rule.hasher.key(identifier)));
    let mut tickets: Few<_> = tickets.collect();
    let taken = store.take_all(Grouped::new(&mut tickets));
    taken.map(drop).map_err(|taken| {
        let refusing = rules.nth(taken.index).unwrap_or(first);
        (&refusing.limit, taken)
    })
}

/// Returns the ticket of rule number `index`, which takes a token.
fn ticket<'k>(index: usize, limit: &Limit, key: Key<'k>) -> Ticket<'k> {
    let step = limit.quota().step_whole(1);
    Ticket { index, key, step }
}

fn respond(request: &Request, quota: &Quota, refused: &Taken) {
    let decision = Decision::new(quota, &refused.step, &refused.outcome);
    let fields = decision::fields(quota, &decision, "\"guard\"");
    // PHP adds its default Content-Type.
    let fields = ["Cache-Control: no-store"].into_iter().chain(fields.iter());
    request::respond(request, 429, fields, "Too many requests.\n");
}

/// Returns the rules of the operator. Their buckets do not depend on settings that an application
/// can change.
fn operators(store: &SharedMemory) -> Option<Rc<Vec<Rule>>> {
    ini::GUARD.text(|text| {
        known(&RULES, text, || {
            let rule = |limit: Limit| {
                let name = limit.name();
                let hasher = hasher(
                    store,
                    &[b"limit", name.as_bytes()],
                    &format!("guard: {name}"),
                );
                Rule { limit, hasher }
            };
            valid(store, &ini::GUARD).into_iter().map(rule).collect()
        })
    })
}

/// Returns the rules that the application adds. `tokenbucket.namespace` separates their buckets.
fn applications(store: &SharedMemory) -> Option<Rc<Vec<Rule>>> {
    ini::GUARD_LOCAL.text(|text| {
        if text.is_empty() {
            return None;
        }
        ini::namespace(|namespace| {
            // The length keeps ("a", "bc") and ("ab", "c") apart.
            let length = namespace.len().to_le_bytes();
            let known_as = [b"local", &length[..], namespace, text].concat();
            known(&RULES, &known_as, || {
                let rule = |limit: Limit| {
                    let names = [b"local", namespace, limit.name().as_bytes()];
                    let hasher = hasher(store, &names, "guard_local");
                    Rule { limit, hasher }
                };
                valid(store, &ini::GUARD_LOCAL)
                    .into_iter()
                    .map(rule)
                    .collect()
            })
        })
    })
}

/// Returns the value of a text, or `None` for an empty text. Makes the value if it is not kept.
fn known<T>(
    values: &'static LocalKey<Known<T>>,
    text: &[u8],
    make: impl FnOnce() -> T,
) -> Option<Rc<T>> {
    if text.is_empty() {
        return None;
    }
    let kept = values.with_borrow(|values| {
        let kept = values.iter().find(|(of, _)| of == text);
        kept.map(|(_, value)| Rc::clone(value))
    });
    if kept.is_some() {
        return kept;
    }
    let value = Rc::new(make());
    values.with_borrow_mut(|values| {
        if values.len() >= MOST_TEXTS {
            values.clear();
        }
        values.push((text.to_vec(), Rc::clone(&value)));
    });
    Some(value)
}

/// Returns the value of a setting. Logs an error, and returns the default.
fn valid<T: Default>(store: &SharedMemory, setting: &ini::Parsed<T>) -> T {
    setting.value().unwrap_or_else(|error| {
        log(store, &error, &error);
        T::default()
    })
}

/// Returns the hasher of buckets that no namespace of an application contains. The decisions are
/// counted in a row with the name `row`.
fn hasher(store: &SharedMemory, names: &[&[u8]], row: &str) -> KeyHasher {
    let guard: [&[u8]; 2] = [b"guard", b""];
    store.reserved_hasher(&[&guard, names].concat(), row.as_bytes())
}

/// Logs a message, unless one about the same `subject` was logged on this host in the last minute.
fn log(store: &SharedMemory, subject: &str, message: &str) {
    let Ok(quota) = Quota::within(Tokens::ONE, 60 * TICKS_PER_SECOND, Grain::Nanosecond) else {
        return;
    };
    let hasher = hasher(store, &[b"log lines"], "guard: log lines");
    let key = hasher.key(subject.as_bytes());
    if store.take(key, &quota.step_whole(1), None).granted() {
        // The message may quote a setting of an application.
        log::write(&printable(message));
    }
}
