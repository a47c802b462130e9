//! Keys and servers as another client of the same servers has them.

use super::Memcached;
use super::ketama::{Distribution, Ring};
use super::key::shared_key;
use super::servers;

impl Memcached {
    /// Keys placed as another client of the same servers places them.
    #[must_use]
    pub fn placed(mut self, servers: &[servers::Server], distribution: Distribution) -> Self {
        self.ring = Ring::new(servers, distribution);
        self
    }

    /// Every key begun with what another client begins its keys with, and perhaps places them by.
    #[must_use]
    pub fn among(mut self, client_prefix: &[u8], places_prefix: bool) -> Self {
        self.prefix = [client_prefix, self.prefix.as_slice()].concat();
        self.client_prefix = client_prefix.to_vec();
        self.places_from = if places_prefix {
            0
        } else {
            client_prefix.len()
        };
        self
    }

    /// Returns the key of an item that ext-memcache calls `name`; see [`super::key::shared_key`].
    #[must_use]
    pub fn shared_key(&self, name: &[u8], room: usize) -> Vec<u8> {
        shared_key(&[self.client_prefix.as_slice(), name].concat(), room)
    }

    /// Returns the index of the server that keeps the item `key`.
    #[must_use]
    pub fn place(&self, key: &[u8]) -> usize {
        self.ring.place(key.get(self.places_from..).unwrap_or(key))
    }
}
