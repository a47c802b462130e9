//! A server of a store, and the way to access it.

use gcra::KeyHasher;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;

/// A server, as it appears in breakers and messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// A number that identifies the server.
    pub id: u64,
    /// A number that identifies the server and the way to access it. It selects the breaker, so
    /// that a wrong password does not open the breaker of the right one.
    pub login: u64,
    /// The name for display; it contains no password.
    pub name: String,
}

impl Server {
    /// Creates the server with the full identity `identity`. A process under another root
    /// directory has another way to access it, because it finds other sockets and certificates, and
    /// looks up names in another way.
    pub fn new(identity: &[u8], name: String) -> Self {
        // Truncation is safe, because any half of a good hash is a good hash.
        #[allow(clippy::cast_possible_truncation)]
        let id = KeyHasher::new([0; 2]).key(identity).hash as u64;
        let login = id;
        Self { id, login, name }.with_access(&root())
    }

    /// Notes that the server is found by a path, which leads to another server under another root
    /// directory.
    pub fn at_path(mut self) -> Self {
        self.id ^= hash(&root());
        self
    }

    /// Sets the way to access the server: everything that a connection needs, such as the password
    /// and the TLS settings.
    ///
    /// `login` is in the shared memory. It depends on 16 bits of a hash of `access`, so that a
    /// password cannot be guessed from it.
    pub fn with_access(mut self, access: &impl Hash) -> Self {
        self.login ^= hash(access) >> 48;
        self
    }
}

/// Returns a hash. All processes of the host compute the same number.
fn hash(value: &impl Hash) -> u64 {
    // This hasher has constant keys.
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Returns the device and the inode of the root directory of this process; `None` if it cannot be
/// read.
fn root() -> Option<(u64, u64)> {
    let root = std::fs::metadata("/").ok()?;
    Some((root.dev(), root.ino()))
}
