//! TLS to a server, over any transport.
//!
//! The server is always checked: its certificate must be for the expected name and signed by one of
//! the CAs, which are Mozilla's or those of a file, never both.
//!
//! The configuration of each CA file is made once a process, and again when the file changes. Sharing it
//! is what lets a new connection resume the session of an earlier one. rustls' process-wide default
//! stays untouched, for other extensions may set it.

#[cfg(test)]
mod tests;

use parking_lot::Mutex;
use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An encrypted transport.
pub type TlsStream<T> = StreamOwned<ClientConnection, T>;

/// Why there is no TLS with the server.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The CA file is not there, may not be read or is no regular file.
    #[error("CA file {} cannot be read: {source}", path.display())]
    CaFile {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The CA file is no PEM file, or has no certificate that can be used.
    // What exactly is wrong would quote the file, and that may be somebody's private key.
    #[error("CA file {} has no PEM certificate that can be used", path.display())]
    NoCertificate {
        /// The file.
        path: PathBuf,
    },
    /// The expected name is neither a DNS name nor an IP address.
    #[error("server name is neither a DNS name nor an IP address")]
    ServerName,
    /// The server's certificate was refused, or the two sides do not get along.
    #[error("TLS: {0}")]
    Rustls(#[from] rustls::Error),
    /// The transport failed within the handshake.
    #[error("TLS handshake: {0}")]
    Transport(io::Error),
}

/// Begins a session with the server that is called `server_name`, before anything is sent.
///
/// # Errors
/// [`TlsError`] when the CA file cannot be used or the name cannot be checked.
pub fn client(ca_file: Option<&Path>, server_name: &str) -> Result<ClientConnection, TlsError> {
    let name = ServerName::try_from(server_name.to_owned()).map_err(|_| TlsError::ServerName)?;
    Ok(ClientConnection::new(config(ca_file)?, name)?)
}

/// Shakes hands over `transport`; returns once the server's certificate has been checked.
///
/// Only the transport bounds how long that takes: a stream by its one deadline.
///
/// # Errors
/// [`TlsError::Rustls`] when the server is not who it should be, [`TlsError::Transport`] when the
/// transport failed.
pub fn handshake<T: Read + Write>(
    mut client: ClientConnection,
    mut transport: T,
) -> Result<TlsStream<T>, TlsError> {
    while client.is_handshaking() {
        client.complete_io(&mut transport).map_err(unwrapped)?;
    }
    Ok(StreamOwned::new(client, transport))
}

/// rustls hides its own errors in those of the transport.
fn unwrapped(error: io::Error) -> TlsError {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
    match inner {
        Some(inner) => TlsError::Rustls(rustls::Error::clone(inner)),
        None => TlsError::Transport(error),
    }
}

/// Tells one version of a file from the next: its device, number and size, the time of its
/// modification, and that of its change, which moves even if a copy keeps the former.
type Stamp = ([u64; 3], [i64; 4]);

struct Cached {
    stamp: Option<Stamp>,
    config: Arc<ClientConfig>,
}

/// By CA file. As many entries as there are CA files that worked.
static CONFIGS: Mutex<BTreeMap<Option<PathBuf>, Cached>> = Mutex::new(BTreeMap::new());

fn config(ca_file: Option<&Path>) -> Result<Arc<ClientConfig>, TlsError> {
    // Taken before the file is read: a change in between makes the stamp too old, so the next call
    // reads again.
    let stamp = ca_file.map(stamp).transpose()?;
    let key = ca_file.map(Path::to_owned);
    if let Some(cached) = CONFIGS.lock().get(&key)
        && cached.stamp == stamp
    {
        return Ok(Arc::clone(&cached.config));
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots(ca_file)?)
        .with_no_client_auth();
    let config = Arc::new(config);
    let cached = Cached {
        stamp,
        config: Arc::clone(&config),
    };
    CONFIGS.lock().insert(key, cached);
    Ok(config)
}

fn stamp(path: &Path) -> Result<Stamp, TlsError> {
    let file = fs::metadata(path).map_err(|source| unreadable(path, source))?;
    if file.is_file() {
        let (modified, changed) = (file.mtime_nsec(), file.ctime_nsec());
        let times = [file.mtime(), modified, file.ctime(), changed];
        return Ok(([file.dev(), file.ino(), file.size()], times));
    }
    // To open a pipe would wait for its writer.
    let source = io::Error::new(io::ErrorKind::InvalidInput, "not a regular file");
    Err(unreadable(path, source))
}

/// Returns the public CAs, or those of a file. Certificates that rustls cannot use are skipped, as long
/// as one is left: bundles of systems hold a few.
fn roots(ca_file: Option<&Path>) -> Result<RootCertStore, TlsError> {
    let Some(path) = ca_file else {
        return Ok(webpki_roots::TLS_SERVER_ROOTS.iter().cloned().collect());
    };
    let failed = |error| match error {
        pem::Error::Io(source) => unreadable(path, source),
        _ => no_certificate(path),
    };
    let certificates = CertificateDer::pem_file_iter(path).map_err(failed)?;
    let certificates = certificates
        .collect::<Result<Vec<_>, _>>()
        .map_err(failed)?;
    let mut roots = RootCertStore::empty();
    match roots.add_parsable_certificates(certificates) {
        (0, _) => Err(no_certificate(path)),
        _ => Ok(roots),
    }
}

fn unreadable(path: &Path, source: io::Error) -> TlsError {
    let path = path.to_owned();
    TlsError::CaFile { path, source }
}

fn no_certificate(path: &Path) -> TlsError {
    let path = path.to_owned();
    TlsError::NoCertificate { path }
}
