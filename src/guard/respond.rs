//! The responses to denied requests.

use super::enforce::Exceeded;
use crate::decision;
use gcra::{Decision, Denial, Limit, Taken, Verdict};
use segment::Refusal;
use zend::request::{self, Request};

/// The field of every denial. PHP adds its default Content-Type.
const NO_STORE: &str = "Cache-Control: no-store";
/// The field of a denial that ends as soon as another request ends.
const SOON: &str = "Retry-After: 1";
const TOO_MANY: &str = "Too many requests.\n";
const UNAVAILABLE: &str = "Service unavailable.\n";

/// The name of the policy in the fields.
const POLICY: &str = "\"guard\"";

/// Adds the fields of a limit to the response that the script of a granted request will send.
pub fn add_fields(request: &Request, limit: &Limit, taken: &Taken) {
    let decision = Decision::new(limit, &taken.step, &taken.outcome);
    let fields = decision::fields(limit, &decision, taken.step.floor(), POLICY);
    request::add_fields(request, fields.iter());
}

/// Sends the response to a request that a limit denies. The status is 429 if a bucket denies, or if
/// no permit of this client alone is free. It is 503 if no permit is free that several clients
/// share, because the server is busy then, or if the request must leave what is left to others.
pub fn refuse(request: &Request, refusal: &Exceeded<'_>) {
    match refusal {
        Exceeded::Tokens(_, limit, taken) => {
            let decision = Decision::new(limit, &taken.step, &taken.outcome);
            let fields = decision::fields(limit, &decision, taken.step.floor(), POLICY);
            let fields = [NO_STORE].into_iter().chain(fields.iter());
            let (status, text) = if decision.verdict == Verdict::Denied(Denial::BelowFloor) {
                (503, UNAVAILABLE)
            } else {
                (429, TOO_MANY)
            };
            request::respond(request, status, fields, text);
        }
        Exceeded::Permits(limit, _, refusal)
            if limit.is_of_client() && *refusal == Refusal::TooMany =>
        {
            let fields = [NO_STORE, SOON].into_iter();
            request::respond(request, 429, fields, TOO_MANY);
        }
        Exceeded::Permits(..) => unavailable(request),
    }
}

/// Sends the response of a server that is busy.
pub fn unavailable(request: &Request) {
    let fields = [NO_STORE, SOON].into_iter();
    request::respond(request, 503, fields, UNAVAILABLE);
}
