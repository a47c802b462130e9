//! Tests the client against a real rustls server, with certificates made by the tests.

use super::*;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::version::{TLS12, TLS13};
use rustls::{CertificateError, ServerConfig, ServerConnection, SupportedProtocolVersion};
use std::os::unix::net::UnixStream;
use std::thread;
use tempfile::{NamedTempFile, TempDir};

/// A CA, with its certificate in a file.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    file: NamedTempFile,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        Self {
            file: file(certificate.pem().as_bytes()),
            issuer: Issuer::new(params, key),
        }
    }

    /// Returns a server with a certificate for "cache.example" and 127.0.0.1. The certificate is
    /// valid until the end of `last_year`.
    fn server(&self, last_year: i32) -> Arc<ServerConfig> {
        self.server_of(last_year, rustls::DEFAULT_VERSIONS)
    }

    fn server_of(
        &self,
        last_year: i32,
        versions: &[&'static SupportedProtocolVersion],
    ) -> Arc<ServerConfig> {
        let names = ["cache.example".to_owned(), "127.0.0.1".to_owned()];
        let mut params = CertificateParams::new(names).unwrap();
        params.not_after = date_time_ymd(last_year, 12, 31);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(versions)
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        Arc::new(config)
    }
}

fn file(content: &[u8]) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(content).unwrap();
    file
}

/// Sends a line to an echo server and returns its reply.
fn echo(
    server: Arc<ServerConfig>,
    ca_file: Option<&Path>,
    server_name: &str,
) -> Result<String, TlsError> {
    let (near, far) = UnixStream::pair().unwrap();
    let server = thread::spawn(move || -> io::Result<()> {
        let connection = ServerConnection::new(server).map_err(io::Error::other)?;
        let mut stream = StreamOwned::new(connection, far);
        let mut line = [0; 5];
        stream.read_exact(&mut line)?;
        stream.write_all(&line)?;
        stream.flush()
    });
    let reply = client(ca_file, None, server_name)
        .and_then(|client| handshake(client, near))
        .map(|mut stream| {
            stream.write_all(b"PING\n").unwrap();
            stream.flush().unwrap();
            let mut reply = [0; 5];
            stream.read_exact(&mut reply).unwrap();
            String::from_utf8(reply.to_vec()).unwrap()
        });
    // A client that refuses the server closes the transport, so the server stops in each case.
    let served = server.join().unwrap();
    assert_eq!(served.is_ok(), reply.is_ok());
    reply
}

fn refusal(reply: Result<String, TlsError>) -> CertificateError {
    match reply {
        Err(TlsError::Rustls(rustls::Error::InvalidCertificate(error))) => error,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_right_name_and_ca_pass() {
    let authority = Authority::new();
    let server = authority.server(2999);
    for name in ["cache.example", "CACHE.example", "127.0.0.1"] {
        let reply = echo(Arc::clone(&server), Some(authority.file.path()), name);
        assert_eq!(reply.unwrap(), "PING\n", "{name}");
    }
}

#[test]
fn both_versions_of_tls_pass() {
    let authority = Authority::new();
    for version in [&TLS12, &TLS13] {
        let server = authority.server_of(2999, &[version]);
        echo(server, Some(authority.file.path()), "cache.example").unwrap();
    }
}

#[test]
fn another_name_is_refused() {
    let authority = Authority::new();
    for name in ["other.example", "a.cache.example", "127.0.0.2", "::1"] {
        let server = authority.server(2999);
        let error = refusal(echo(server, Some(authority.file.path()), name));
        let wrong_name = matches!(error, CertificateError::NotValidForNameContext { .. });
        assert!(wrong_name, "{name}: {error:?}");
    }
}

#[test]
fn another_ca_is_refused() {
    let (authority, other) = (Authority::new(), Authority::new());
    for ca_file in [Some(other.file.path()), None] {
        let error = refusal(echo(authority.server(2999), ca_file, "cache.example"));
        // Both CAs have the same name. rustls may find the wrong one by its name and then report a
        // bad signature.
        let unknown = matches!(
            error,
            CertificateError::UnknownIssuer | CertificateError::BadSignature
        );
        assert!(unknown, "{error:?}");
    }
}

#[test]
fn a_ca_file_replaces_the_public_cas() {
    let authority = Authority::new();
    assert_eq!(roots(Some(authority.file.path())).unwrap().len(), 1);
    assert!(roots(None).unwrap().len() > 50);
}

#[test]
fn an_expired_certificate_is_refused() {
    let authority = Authority::new();
    let server = authority.server(2001);
    let error = refusal(echo(server, Some(authority.file.path()), "cache.example"));
    let expired = matches!(error, CertificateError::ExpiredContext { .. });
    assert!(expired, "{error:?}");
}

#[test]
fn a_server_without_tls_is_an_error() {
    let (near, mut far) = UnixStream::pair().unwrap();
    far.write_all(b"-ERR what\r\n").unwrap();
    let error = handshake(client(None, None, "h").unwrap(), near).unwrap_err();
    assert!(matches!(error, TlsError::Rustls(_)), "{error:?}");

    let (near, far) = UnixStream::pair().unwrap();
    drop(far);
    let error = handshake(client(None, None, "h").unwrap(), near).unwrap_err();
    assert!(matches!(error, TlsError::Transport(_)), "{error:?}");
}

#[test]
fn useless_ca_files_are_refused() {
    let directory = TempDir::new().unwrap();
    let missing = directory.path().join("missing.pem");
    for path in [missing.as_path(), directory.path(), Path::new("/dev/null")] {
        let error = client(Some(path), None, "h").unwrap_err();
        assert!(matches!(error, TlsError::CaFile { .. }), "{error:?}");
    }
    let key = KeyPair::generate().unwrap().serialize_pem();
    let junk = "-----BEGIN CERTIFICATE-----\naHVudGVyMg==\n-----END CERTIFICATE-----\n";
    let cut = "-----BEGIN CERTIFICATE-----\naHVudGVyMg==\n";
    let broken = "-----BEGIN CERTIFICATE-----\nhunter2!\n-----END CERTIFICATE-----\n";
    for content in ["", "hunter2", "-----BEGIN hunter2", &key, junk, cut, broken] {
        let file = file(content.as_bytes());
        let error = client(Some(file.path()), None, "h").unwrap_err();
        assert!(matches!(error, TlsError::NoCertificate { .. }), "{error:?}");
        assert!(!error.to_string().contains("hunter2"));
    }
}

#[test]
fn senseless_server_names_are_refused() {
    for name in ["", "a b", "[::1]", "-", "a\0"] {
        let error = client(None, None, name).unwrap_err();
        assert!(matches!(error, TlsError::ServerName), "{name:?}: {error:?}");
    }
}

#[test]
fn a_configuration_is_shared_until_its_file_changes() {
    let (authority, other) = (Authority::new(), Authority::new());
    let path = authority.file.path().to_owned();
    let first = config(Some(&path), None).unwrap();
    assert!(Arc::ptr_eq(&first, &config(Some(&path), None).unwrap()));
    assert!(!Arc::ptr_eq(
        &first,
        &config(Some(other.file.path()), None).unwrap()
    ));
    assert!(Arc::ptr_eq(
        &config(None, None).unwrap(),
        &config(None, None).unwrap()
    ));

    // The file now contains another CA. Servers of the new CA are accepted. Servers of the previous
    // CA are rejected.
    fs::copy(other.file.path(), &path).unwrap();
    echo(other.server(2999), Some(&path), "cache.example").unwrap();
    refusal(echo(authority.server(2999), Some(&path), "cache.example"));

    let grown = config(Some(&path), None).unwrap();
    let mut file = fs::File::options().append(true).open(&path).unwrap();
    file.write_all(b"\n").unwrap();
    assert!(!Arc::ptr_eq(&grown, &config(Some(&path), None).unwrap()));
}

#[test]
fn no_default_of_the_process_is_installed() {
    client(None, None, "h").unwrap();
    assert!(rustls::crypto::CryptoProvider::get_default().is_none());
}
