//! A request and its client, as the rules of the crate [`guard`] read them.

use super::rules::RuleBuckets;
use ext_php_rs::types::ZendHashTable;
use gcra::{Row, wall_clock};
use guard::Client;
use segment::{Day, Host};
use std::ffi::CStr;
use zend::request::{self, Request};
use zend::{system, value};

/// The variables of a request, for the rules of the crate [`guard`].
pub enum Variables<'a> {
    /// Those that the server passes.
    Passed(&'a Request),
    /// Those in an array like `$_SERVER`.
    Listed(&'a ZendHashTable),
}

impl guard::GuardedRequest for Variables<'_> {
    fn variable(&self, name: &CStr) -> Option<&[u8]> {
        match self {
            Self::Passed(request) => request.variable(name),
            Self::Listed(server) => {
                let value = value::dereference(server.get(name.to_str().ok()?)?);
                Some(value.zend_str()?.as_bytes())
            }
        }
    }

    fn script(&self) -> &[u8] {
        match self {
            Self::Passed(request) => request.script(),
            Self::Listed(_) => self.variable(c"SCRIPT_FILENAME").unwrap_or_default(),
        }
    }

    fn real_path(&self, path: &[u8]) -> Option<Vec<u8>> {
        system::real_path(path)
    }

    fn most_cookies(&self) -> usize {
        request::most_cookies()
    }
}

pub struct CountedRequest<'a> {
    pub host: &'a Host,
    pub variables: &'a Variables<'a>,
    pub client: Client,
    /// True if the client's address is that of a trusted proxy, which has named no other client.
    pub is_proxy: bool,
}

impl CountedRequest<'_> {
    pub fn identifier(&self, rule: &RuleBuckets) -> Vec<u8> {
        rule.identifier(self.variables, self.client)
    }

    /// Counts the client among those that this row has denied today.
    pub fn count_denied(&self, row: Row) {
        let mut client = Vec::new();
        self.client.append_to(&mut client);
        let today = Day::of(wall_clock());
        self.host.slots().add_denied_client(row, today, &client);
    }
}
