//! Requests that waited longer than `tokenbucket.guard_max_age` before a worker took them.

use super::counted::Variables;
use super::rules;
use crate::ini;
use gcra::wall_clock;
use guard::{Age, GuardedRequest};
use segment::{By, SharedMemory};

/// The variable with the instant at which the web server received the request. A client cannot set
/// it, because the variables of header fields begin with `HTTP_`.
const RECEIVED: &std::ffi::CStr = c"TOKENBUCKET_RECEIVED";

/// Reports whether a request is denied because of its age. The mode "observe" only counts such a
/// request.
pub fn is_refused(store: &SharedMemory, variables: &Variables<'_>, enforces: bool) -> bool {
    if ini::GUARD_MAX_AGE.text(<[u8]>::is_empty) {
        return false;
    }
    let received = variables.variable(RECEIVED);
    let most = rules::valid(store, &ini::GUARD_MAX_AGE);
    match most.compare(received, wall_clock()) {
        Age::Served => false,
        Age::Stale(age) => {
            let hasher = rules::hasher(store, &[b"stale"], "guard: stale");
            store.count_for(hasher.key(b""), By::SharedMemory, false);
            if !enforces {
                let seconds = age.as_secs_f64();
                let message = format!(
                    "guard: a request has waited for {seconds:.3} s and would be denied in the mode \"enforce\""
                );
                rules::log(store, "stale", &message);
            }
            enforces
        }
        Age::Invalid => {
            let received = String::from_utf8_lossy(received.unwrap_or_default());
            let message = format!(
                "guard: TOKENBUCKET_RECEIVED is no instant of the last 300 seconds: \"{received:.100}\""
            );
            rules::log(store, "age", &message);
            false
        }
    }
}
