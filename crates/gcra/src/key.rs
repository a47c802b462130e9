//! The name of a bucket, and its keyed hash.
//!
//! The hash is SipHash-1-3, keyed with a secret of the store. Each namespace has its own secret,
//! which is derived from the store's secret and the names of the namespace. So equal identifiers in
//! two namespaces identify two buckets. A key without a namespace uses the store's secret.

use siphasher::sip128::{Hasher128, SipHasher13};
use std::hash::Hasher;

/// The name of a bucket in one store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key<'a> {
    /// The identifier as the caller passed it: any bytes of any length.
    pub identifier: &'a [u8],
    /// The hash of the namespace and the identifier, keyed with the store's secret.
    pub hash: u128,
    /// The row of counters in which this host counts the decisions on the bucket.
    pub row: Row,
}

/// The number of a row of counters, in which this host counts the decisions of a namespace. The
/// default is the row of all buckets in shared memory whose namespace has no row of its own.
///
/// The number has 32 bits, because a smaller field is slower to copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Row(pub u32);

/// Makes the keys of one namespace of one store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyHasher {
    secret: [u64; 2],
    row: Row,
}

impl KeyHasher {
    /// Returns a hasher that is keyed with `secret` and has no namespace.
    pub const fn new(secret: [u64; 2]) -> Self {
        Self {
            secret,
            row: Row(0),
        }
    }

    /// Returns the same hasher, for keys whose decisions are counted in `row`.
    pub const fn counted_in(self, row: Row) -> Self {
        Self { row, ..self }
    }

    /// Returns the row in which the decisions on the keys are counted.
    #[inline]
    pub const fn row(&self) -> Row {
        self.row
    }

    /// Returns 64 bits that identify the namespace. They cannot be predicted without the secret.
    pub const fn tag(self) -> u64 {
        self.secret[0]
    }

    /// Returns the hasher of a nested namespace. `names` lists its parts from the outermost to the
    /// innermost. If all parts are empty, the hasher is unchanged.
    pub fn namespace(self, names: &[&[u8]]) -> Self {
        if names.iter().all(|name| name.is_empty()) {
            return self;
        }
        let mut hasher = self.hasher();
        for name in names {
            // The length keeps ("a", "bc") and ("ab", "c") apart.
            hasher.write_u64(name.len() as u64);
            hasher.write(name);
        }
        let hash = hasher.finish128();
        Self {
            secret: [hash.h1, hash.h2],
            ..self
        }
    }

    #[inline]
    pub fn key(self, identifier: &[u8]) -> Key<'_> {
        let mut hasher = self.hasher();
        hasher.write(identifier);
        Key {
            identifier,
            hash: hasher.finish128().as_u128(),
            row: self.row,
        }
    }

    #[inline]
    fn hasher(self) -> SipHasher13 {
        SipHasher13::new_with_keys(self.secret[0], self.secret[1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namespaces_keep_identifiers_apart() {
        let root = KeyHasher::new([1, 2]);
        let hash = |names: &[&[u8]], identifier| root.namespace(names).key(identifier).hash;
        assert_ne!(hash(&[b"a"], b"bc"), hash(&[b"ab"], b"c"));
        assert_ne!(hash(&[], b"abc"), hash(&[b"abc"], b""));
        assert_ne!(hash(&[b"a", b""], b"x"), hash(&[b"", b"a"], b"x"));
        assert_ne!(hash(&[b"a", b"bc"], b"x"), hash(&[b"ab", b"c"], b"x"));
        assert_eq!(hash(&[b"a"], b"bc"), hash(&[b"a"], b"bc"));
        assert_eq!(hash(&[b"", b""], b"x"), root.key(b"x").hash);
        assert_ne!(KeyHasher::new([1, 3]).key(b"x").hash, root.key(b"x").hash);
    }
}
