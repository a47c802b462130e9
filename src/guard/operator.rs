//! Operators, who may act on the clients of the guard.
//!
//! On the command line, an operator may open the file of a named segment. Elsewhere an operator has
//! sent a password. An attempt is counted before the password is verified, so that parallel guesses
//! count, too. No PHP code can name the bucket that counts it.

use super::counted::Variables;
use super::{password, rules, syslog};
use crate::token_bucket::wait::{rest, sleep_until};
use crate::{exceptions, ini};
use gcra::lockout::{Lockout, UNIT};
use gcra::{Denial, Key, Outcome, TICKS_PER_SECOND, Ticks, Verdict, boot_clock};
use guard::{Client, Networks};
use segment::memory::Backing;
use segment::{By, Day, Host, SharedMemory};
use std::cell::Cell;
use zend::{Call, Thrown, request, system};

/// The limit of wrong passwords for each client: five attempts, and then one after each block.
const GUESSES: Lockout = Lockout {
    attempts: 5,
    block: 900 * TICKS_PER_SECOND,
    factor: 2.0,
    max_block: 86_400 * TICKS_PER_SECOND,
    unit: UNIT,
    one_clock: true,
};

/// The time in which a password is verified, in ticks, also if others are verified beside it.
const VERIFYING: Ticks = 2 * TICKS_PER_SECOND;
/// The pause between two looks at a new block, in ticks.
const PAUSE: Ticks = TICKS_PER_SECOND / 50;

thread_local! {
    /// The client of the current request.
    static CLIENT: Cell<Client> = const { Cell::new(Client::Local) };
}

/// Notes the client of a request that begins, before PHP code runs. PHP code could change the
/// variables that some servers pass, with `apache_setenv()` or `putenv()`.
pub fn request_begins(store: &SharedMemory) {
    if password::is_set() {
        let trusted = rules::networks(store, &ini::GUARD_TRUSTED_PROXIES);
        let none = Networks::default();
        let trusted = trusted.as_deref().unwrap_or(&none);
        CLIENT.set(request::read(|request| {
            Client::of(&Variables::Passed(request), trusted)
        }));
    }
}

/// An operator who may act.
#[derive(Clone, Copy, Debug)]
pub enum Operator {
    /// A user who may open the file of the segment.
    CommandLine,
    /// The client of a request with the password.
    At(Client),
}

impl Operator {
    /// Returns the operator that runs this code. Argument `number` is the password or null. Throws
    /// `TokenBucket\AccessDeniedException` if this code may not act.
    pub fn of(host: &Host, call: &mut Call<'_>, number: u32) -> Result<Self, Thrown> {
        let password = call.string_or_null(number)?;
        if system::interface_name() == "cli" {
            return match host.segment().backing() {
                Backing::Named(..) => Ok(Self::CommandLine),
                _ => Err(exceptions::access_denied(
                    "The command line shares no memory with the site, because tokenbucket.shm_path names no segment",
                )),
            };
        }
        if !password::is_set() {
            let message = "tokenbucket.guard_password_hash is not set";
            return Err(exceptions::access_denied(message));
        }
        let required = || exceptions::access_denied("A password is required");
        let password = password.ok_or_else(required)?;
        let client = CLIENT.get();
        check(host.slots(), client, password)?;
        Ok(Self::At(client))
    }

    /// Writes a record of what this operator has done to the system's log.
    pub fn record(self, store: &SharedMemory, deed: &str) {
        match self {
            // Without a log of the system, the command line writes nothing: PHP's log would be the
            // terminal.
            Self::CommandLine => {
                let user = rustix::process::getuid().as_raw();
                let record = format!("guard: the user {user} on the command line has {deed}");
                syslog::write(&record).ok();
            }
            Self::At(client) => {
                record(store, &format!("guard: an operator at {client} has {deed}"));
            }
        }
    }
}

/// Fails if the client has no attempt left, or if the password is wrong.
fn check(store: &SharedMemory, client: Client, password: &[u8]) -> Result<(), Thrown> {
    let hasher = rules::hasher(store, &[b"password"], "guard: password");
    let mut name = Vec::new();
    client.append_to(&mut name);
    let key = hasher.key(&name);
    let longest = GUESSES.max_block;
    let outcome = attempt(store, key)?;
    let refused = |message: &str| {
        store.count_for(key, By::SharedMemory, false);
        store.add_denied_client(key.row, Day::of(gcra::clock::wall_clock()), &name);
        Err(exceptions::access_denied(message))
    };
    match outcome.verdict {
        Verdict::Granted => {}
        Verdict::Denied(Denial::LockedOut) => {
            let wait = GUESSES
                .decision(&outcome, false)
                .1
                .div_ceil(TICKS_PER_SECOND);
            return refused(&format!("Too many wrong passwords; try again in {wait} s"));
        }
        Verdict::Denied(_) => {
            return refused("Attempts cannot be counted, because the table is full");
        }
    }
    if !password::is_right(password) {
        record(store, &format!("guard: wrong password from {client}"));
        return refused("The password is wrong");
    }
    store.update(key, longest, Lockout::succeed);
    store.count_for(key, By::SharedMemory, true);
    Ok(())
}

/// Counts an attempt. While a block is so new that its attempts may still be verified, waits for
/// their end: if one of them is right, the block ends. So parallel requests of one operator deny
/// each other nothing, and guesses gain nothing.
fn attempt(store: &SharedMemory, key: Key<'_>) -> Result<Outcome, Thrown> {
    loop {
        let longest = GUESSES.max_block;
        let outcome = store.update(key, longest, |state, now| GUESSES.attempt(state, now));
        let is_new = outcome.verdict == Verdict::Denied(Denial::LockedOut)
            && GUESSES.blocked_for(&outcome) < VERIFYING;
        if !is_new || !rest(|| sleep_until(boot_clock() + PAUSE))? {
            return Ok(outcome);
        }
    }
}

/// Writes a record, or writes it to PHP's log if the system has no log. All texts in it are in
/// canonical form, so they forge no other record.
fn record(store: &SharedMemory, record: &str) {
    if let Err(error) = syslog::write(record) {
        let message = format!("{record}; not written to /dev/log: {error}");
        rules::log(store, record, &message);
    }
}
