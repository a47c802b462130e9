//! A bucket's name, and its keyed hash.
//!
//! The hash is SipHash-1-3 under a secret of the store, over the namespace and the identifier, each
//! namespace preceded by its length so that no two pairs read alike.

use siphasher::sip128::{Hasher128, SipHasher13};
use std::hash::Hasher;

/// A bucket's name in one store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key<'a> {
    /// The caller's bytes, of any value and length.
    pub identifier: &'a [u8],
    /// Namespace and identifier, hashed under the store's secret.
    pub hash: u128,
}

/// Makes the keys of one namespace of one store.
#[derive(Clone, Copy, Debug)]
pub struct KeyHasher(SipHasher13);

impl KeyHasher {
    /// A hasher under `secret`, in no namespace yet.
    #[must_use]
    pub fn new(secret: [u64; 2]) -> Self {
        Self(SipHasher13::new_with_keys(secret[0], secret[1]))
    }

    /// The hasher of a namespace inside this one.
    #[must_use]
    pub fn namespace(mut self, name: &[u8]) -> Self {
        self.0.write_u64(name.len() as u64);
        self.0.write(name);
        self
    }

    /// The key of `identifier`.
    #[inline]
    #[must_use]
    pub fn key<'a>(&self, identifier: &'a [u8]) -> Key<'a> {
        let mut hasher = self.0;
        hasher.write(identifier);
        Key {
            identifier,
            hash: hasher.finish128().as_u128(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namespaces_keep_identifiers_apart() {
        let root = KeyHasher::new([1, 2]);
        let hash = |namespace: &[u8], identifier| root.namespace(namespace).key(identifier).hash;
        assert_ne!(hash(b"a", b"bc"), hash(b"ab", b"c"));
        assert_ne!(hash(b"", b"abc"), hash(b"abc", b""));
        assert_eq!(hash(b"a", b"bc"), hash(b"a", b"bc"));
        assert_ne!(KeyHasher::new([1, 3]).key(b"x").hash, root.key(b"x").hash);
    }
}
