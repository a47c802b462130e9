//! TLS to a server, over any transport.
//!
//! The server's certificate is always verified. It must be valid for the expected name, and signed
//! by a trusted CA. The trusted CAs are either Mozilla's CAs or the CAs of a file.
//!
//! The client may have a certificate of its own, for servers that require one.
//!
//! Each thread creates one configuration per set of files, and a new configuration when a file
//! changes. Connections share the configuration, so that a new connection can resume the session of
//! an earlier connection. rustls' process-wide default is left unchanged, because other extensions
//! may set it.

#[cfg(test)]
mod tests;

use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An encrypted transport.
pub type TlsStream<T> = StreamOwned<ClientConnection, T>;

/// The reason why TLS with the server failed.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The CA file is missing, unreadable or not a regular file.
    #[error("CA file {path} cannot be read: {source}", path = .0.display(), source = .1)]
    CaFile(PathBuf, #[source] io::Error),
    /// The CA file is not a PEM file, or has no usable certificate.
    // The details are left out, because they would quote the file, which may be a private key.
    #[error("CA file {} has no PEM certificate that can be used", .0.display())]
    NoCertificate(PathBuf),
    /// The file of the client's certificate or of its private key cannot be used.
    // The details are left out, because they could quote the private key.
    #[error("client certificate or key {} cannot be read, or is not a PEM file of its kind", .0.display())]
    Identity(PathBuf),
    /// The expected name is neither a DNS name nor an IP address.
    #[error("server name is neither a DNS name nor an IP address")]
    ServerName,
    /// The server's certificate was rejected, or the handshake failed in another way.
    #[error("TLS: {0}")]
    Rustls(#[from] rustls::Error),
    /// The transport failed during the handshake.
    #[error("TLS handshake: {0}")]
    Transport(io::Error),
}

/// The client's own certificate. The files are in PEM form.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity {
    /// The file of the certificate, which may be followed by the certificates of its CAs.
    pub certificate: PathBuf,
    /// The file of the private key.
    pub key: PathBuf,
}

/// Creates a session with the server that is called `server_name`. Sends nothing yet. The server
/// gets the certificate `identity` if it requests one. Fails with [`TlsError`] if a file cannot be
/// used or the name is invalid.
pub fn client(
    ca_file: Option<&Path>,
    identity: Option<&Identity>,
    server_name: &str,
) -> Result<ClientConnection, TlsError> {
    let name = ServerName::try_from(server_name.to_owned()).map_err(|_| TlsError::ServerName)?;
    Ok(ClientConnection::new(config(ca_file, identity)?, name)?)
}

/// Performs the handshake over `transport`. Returns once the server's certificate has been
/// verified.
///
/// Only the transport limits the time of the handshake, for example by the deadline of a stream.
/// Fails with [`TlsError::Rustls`] if the server cannot be verified or breaks the protocol, and
/// [`TlsError::Transport`] if the transport failed.
pub fn handshake<T: Read + Write>(
    mut client: ClientConnection,
    mut transport: T,
) -> Result<TlsStream<T>, TlsError> {
    while client.is_handshaking() {
        client.complete_io(&mut transport).map_err(unwrapped)?;
    }
    Ok(StreamOwned::new(client, transport))
}

/// Sends the next messages of a handshake. Fails with [`TlsError::Transport`].
pub fn flush(client: &mut ClientConnection, transport: &mut impl Write) -> Result<(), TlsError> {
    while client.wants_write() {
        client.write_tls(transport).map_err(TlsError::Transport)?;
    }
    Ok(())
}

/// Receives a part of a handshake, after the transport has become readable.
pub fn receive(
    client: &mut ClientConnection,
    transport: &mut (impl Read + Write),
) -> Result<(), TlsError> {
    client.read_tls(transport).map_err(TlsError::Transport)?;
    let processed = client.process_new_packets();
    if processed.is_err() {
        // The alert tells the server the reason. The connection is of no use, even if this fails.
        flush(client, transport).ok();
    }
    Ok(processed.map(drop)?)
}

/// Converts an I/O error of the handshake. rustls wraps its own errors in such errors.
fn unwrapped(error: io::Error) -> TlsError {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
    match inner {
        Some(inner) => TlsError::Rustls(rustls::Error::clone(inner)),
        None => TlsError::Transport(error),
    }
}

/// The version of a file: its device, inode and size, its modification time and its change time.
/// The change time is new even if a copy keeps the modification time.
type Stamp = ([u64; 3], [i64; 4]);

struct Cached {
    stamps: Vec<Stamp>,
    config: Arc<ClientConfig>,
}

/// The files of a configuration: the CA file, or `None` for the public CAs, and the client's own
/// certificate.
type Files = (Option<PathBuf>, Option<Identity>);

thread_local! {
    /// The configurations by their files. Only files that could be used have an entry. Each thread
    /// has its own map, because a lock that another thread holds during a fork would stay locked in
    /// the child.
    static CONFIGS: RefCell<BTreeMap<Files, Cached>> = const { RefCell::new(BTreeMap::new()) };
}

fn config(
    ca_file: Option<&Path>,
    identity: Option<&Identity>,
) -> Result<Arc<ClientConfig>, TlsError> {
    // Take the stamps before reading the files. If a file changes in between, its stamp is too old
    // and the next call reads the files again.
    let mut stamps: Vec<_> = ca_file
        .iter()
        .map(|path| stamp(path))
        .collect::<Result<_, _>>()?;
    for path in identity.iter().flat_map(|it| [&it.certificate, &it.key]) {
        stamps.push(stamp(path).map_err(|_| TlsError::Identity(path.clone()))?);
    }
    let key = (ca_file.map(Path::to_owned), identity.cloned());
    let is_fresh = |cached: &&Cached| cached.stamps == stamps;
    let config = |cached: &Cached| Arc::clone(&cached.config);
    let cached = CONFIGS.with_borrow(|all| all.get(&key).filter(is_fresh).map(config));
    if let Some(config) = cached {
        return Ok(config);
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots(ca_file)?);
    let config = match identity {
        None => builder.with_no_client_auth(),
        Some(identity) => {
            let (certificates, key) = read(identity)?;
            builder.with_client_auth_cert(certificates, key)?
        }
    };
    let config = Arc::new(config);
    let cached = Cached {
        stamps,
        config: Arc::clone(&config),
    };
    CONFIGS.with_borrow_mut(|all| all.insert(key, cached));
    Ok(config)
}

/// Reads the client's own certificate and its key.
fn read(
    identity: &Identity,
) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), TlsError> {
    let certificates = CertificateDer::pem_file_iter(&identity.certificate);
    let certificates: Option<Vec<_>> = certificates
        .ok()
        .and_then(|all| all.collect::<Result<_, _>>().ok());
    let certificates = certificates.filter(|all| !all.is_empty());
    let unusable = |path: &PathBuf| TlsError::Identity(path.clone());
    let certificates = certificates.ok_or_else(|| unusable(&identity.certificate))?;
    let key = PrivateKeyDer::from_pem_file(&identity.key).map_err(|_| unusable(&identity.key))?;
    Ok((certificates, key))
}

fn stamp(path: &Path) -> Result<Stamp, TlsError> {
    let unreadable = |source| TlsError::CaFile(path.to_owned(), source);
    let file = fs::metadata(path).map_err(unreadable)?;
    if file.is_file() {
        let (modified, changed) = (file.mtime_nsec(), file.ctime_nsec());
        let times = [file.mtime(), modified, file.ctime(), changed];
        return Ok(([file.dev(), file.ino(), file.size()], times));
    }
    // The file is not opened, because opening a pipe would wait for the pipe's writer.
    let source = io::Error::new(io::ErrorKind::InvalidInput, "not a regular file");
    Err(unreadable(source))
}

/// Returns the public CAs, or the CAs of a file. Certificates that rustls cannot use are skipped if
/// at least one is left, because the bundles of systems contain a few such certificates.
fn roots(ca_file: Option<&Path>) -> Result<RootCertStore, TlsError> {
    let Some(path) = ca_file else {
        return Ok(webpki_roots::TLS_SERVER_ROOTS.iter().cloned().collect());
    };
    let failed = |error| match error {
        pem::Error::Io(source) => TlsError::CaFile(path.to_owned(), source),
        _ => TlsError::NoCertificate(path.to_owned()),
    };
    let certificates = CertificateDer::pem_file_iter(path).map_err(failed)?;
    let certificates = certificates
        .collect::<Result<Vec<_>, _>>()
        .map_err(failed)?;
    let mut roots = RootCertStore::empty();
    match roots.add_parsable_certificates(certificates) {
        (0, _) => Err(TlsError::NoCertificate(path.to_owned())),
        _ => Ok(roots),
    }
}
