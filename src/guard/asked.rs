//! A request and its client, as the rules of the crate [`guard`] read them.

use super::rules::RuleBuckets;
use gcra::clock::wall_clock;
use gcra::key::Row;
use guard::Client;
use segment::slots::SharedMemory;
use segment::slots::clients::Day;
use std::ffi::CStr;
use zend::request::Request;
use zend::system;

/// The variables of a request, for the rules of the crate [`guard`].
pub struct Variables<'a>(pub &'a Request);

impl guard::GuardedRequest for Variables<'_> {
    fn variable(&self, name: &CStr) -> Option<&[u8]> {
        self.0.variable(name)
    }

    fn script(&self) -> &[u8] {
        self.0.script()
    }

    fn real_path(&self, path: &[u8]) -> Option<Vec<u8>> {
        system::real_path(path)
    }

    fn most_cookies(&self) -> usize {
        self.0.most_cookies()
    }
}

pub struct Asked<'a> {
    pub variables: &'a Variables<'a>,
    pub client: Client,
    /// True if the client's address is that of a trusted proxy, which has named no other client.
    pub is_proxy: bool,
}

impl Asked<'_> {
    pub fn identifier(&self, rule: &RuleBuckets) -> Vec<u8> {
        rule.identifier(self.variables, self.client)
    }

    /// Counts the client among those that this row has denied today.
    pub fn count_denied(&self, store: &SharedMemory, row: Row) {
        let mut client = Vec::new();
        self.client.append_to(&mut client);
        store.add_denied_client(row, Day::of(wall_clock()), &client);
    }
}
