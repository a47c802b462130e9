//! A certificate authority for one test, and the certificates that it issues.

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use std::path::{Path, PathBuf};

/// A certificate authority with its own key.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// The certificate of the authority itself, in PEM.
    pub pem: String,
}

/// The files of a server's certificate and key, in PEM.
pub struct Issued {
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

impl Authority {
    /// Generates a key and a self-signed certificate.
    pub fn new() -> Self {
        let mut params = CertificateParams::default();
        params
            .distinguished_name
            .push(DnType::CommonName, "tokenbucket test authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        let issuer = Issuer::new(params, key);
        Self { issuer, pem }
    }

    /// Writes a certificate for `names`, which may be IP addresses, and its key into `folder`.
    pub fn issue(&self, names: &[&str], folder: &Path) -> Issued {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let params = CertificateParams::new(names).unwrap();
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let issued = Issued {
            certificate: folder.join("server.crt"),
            key: folder.join("server.key"),
        };
        std::fs::write(&issued.certificate, certificate.pem()).unwrap();
        std::fs::write(&issued.key, key.serialize_pem()).unwrap();
        issued
    }
}
