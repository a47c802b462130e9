//! A request and its client, as the rules of the crate [`guard`] read them.

use super::rules::RuleBuckets;
use ext_php_rs::types::{ZendHashTable, ZendStr};
use gcra::{Limit, Row, Step, wall_clock};
use guard::{Client, Target};
use segment::{Day, Host};
use std::ffi::CStr;
use zend::request::{self, Request};
use zend::{Zval, system, value};

/// The variables of a request, for the rules of the crate [`guard`].
pub enum Variables<'a> {
    /// Those that the server passes.
    Passed(&'a Request),
    /// Those in an array like `$_SERVER`, and the headers that are arrays there, each as one text.
    Listed(&'a ZendHashTable, Vec<(Zval, Vec<u8>)>),
}

impl<'a> Variables<'a> {
    /// Returns the variables in an array like `$_SERVER`. Swoole has a list for a header that was
    /// sent twice, and cookies by their names.
    pub fn listed(server: &'a ZendHashTable) -> Self {
        let headers = value::entries(server);
        let headers = headers.filter(|(name, _)| value::bytes(name).starts_with(b"HTTP_"));
        let arrays = headers.filter_map(|(name, it)| Some((name, it.array()?)));
        let joined = arrays.map(|(name, values)| {
            let separator = match value::bytes(&name) {
                b"HTTP_COOKIE" => b"; ",
                _ => b", ",
            };
            let text = |(key, element): (Zval, &Zval)| {
                let named = if key.is_string() { &key } else { element };
                value::bytes(named).to_vec()
            };
            let texts: Vec<_> = value::entries(values).map(text).collect();
            (name, texts.join(separator.as_slice()))
        });
        Self::Listed(server, joined.collect())
    }
}

impl guard::GuardedRequest for Variables<'_> {
    fn variable(&self, name: &CStr) -> Option<&[u8]> {
        match self {
            Self::Passed(request) => request.variable(name),
            Self::Listed(server, joined) => {
                let value = value::dereference(server.get(name.to_str().ok()?)?);
                let is_named = |it: &&(Zval, _)| value::bytes(&it.0) == name.to_bytes();
                let text = || joined.iter().find(is_named).map(|it| it.1.as_slice());
                value.zend_str().map(ZendStr::as_bytes).or_else(text)
            }
        }
    }

    fn script(&self) -> &[u8] {
        match self {
            Self::Passed(request) => request.script(),
            Self::Listed(..) => self.variable(c"SCRIPT_FILENAME").unwrap_or_default(),
        }
    }

    fn real_path(&self, path: &[u8]) -> Option<Vec<u8>> {
        system::real_path(path)
    }

    fn most_cookies(&self) -> usize {
        request::most_cookies()
    }
}

pub struct CountedRequest<'a, 'r> {
    pub host: &'a Host,
    pub target: &'a Target<'r, Variables<'r>>,
    pub client: Client,
    /// True if the client's address is that of a trusted proxy, which has named no other client.
    pub is_proxy: bool,
}

impl CountedRequest<'_, '_> {
    pub fn identifier(&self, rule: &RuleBuckets) -> Vec<u8> {
        rule.identifier(self.target.request(), self.client)
    }

    /// Returns the step on the bucket of a rate: it takes a token, and leaves those of the rule.
    #[inline(always)]
    pub fn step(&self, rule: &RuleBuckets, limit: &Limit) -> Step {
        guard::step_leaving(limit, rule.left_by(self.target))
    }

    /// Returns the permits that the request leaves to others.
    pub fn left_permits(&self, rule: &RuleBuckets) -> u16 {
        // It is less than the limit.
        u16::try_from(rule.left_by(self.target)).unwrap_or(u16::MAX)
    }

    /// Counts the client among those that this row has denied today.
    pub fn count_denied(&self, row: Row) {
        let mut client = Vec::new();
        self.client.append_to(&mut client);
        let today = Day::of(wall_clock());
        self.host.slots().add_denied_client(row, today, &client);
    }
}
