//! The files of TLS: certificates, a key, authorities.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;

use protocol_kit::Tls;
use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::NoServerSessionStorage;
use rustls::{ClientConfig, InconsistentKeys, RootCertStore, ServerConfig};

use super::trouble::{Failure, TlsTrouble};
use super::verifier::Verifier;

/// Looks whether streams can begin by these files. Whether a certificate has expired is told when
/// the far end refuses it, so that a device with an old one starts all the same.
///
/// # Errors
/// What is wrong with which file, and what to do.
pub fn check(tls: &Tls) -> io::Result<()> {
    client(tls).map(drop)
}

/// What the side that connects needs.
pub(super) fn client(tls: &Tls) -> io::Result<Arc<ClientConfig>> {
    let Loaded { certificates, key, verifier, provider } = load(tls)?;
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable(&tls.certificate, error))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_client_auth_cert(certificates, key);
    let mut config = config.map_err(|error| mismatch(tls, &error))?;
    config.resumption = Resumption::disabled();
    config.enable_sni = false;
    Ok(Arc::new(config))
}

/// What the side that accepts needs.
pub(super) fn server(tls: &Tls) -> io::Result<Arc<ServerConfig>> {
    let Loaded { certificates, key, verifier, provider } = load(tls)?;
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable(&tls.certificate, error))?
        .with_client_cert_verifier(Arc::new(verifier))
        .with_single_cert(certificates, key);
    let mut config = config.map_err(|error| mismatch(tls, &error))?;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}

struct Loaded {
    certificates: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    verifier: Verifier,
    provider: Arc<CryptoProvider>,
}

fn load(tls: &Tls) -> io::Result<Loaded> {
    let provider = Arc::new(ring::default_provider());
    let certificates = certificates(&tls.certificate)?;
    let key = PrivateKeyDer::from_pem_slice(&read(&tls.key)?)
        .map_err(|error| unusable(&tls.key, format_args!("no private key in PEM: {error}")))?;
    let mut roots = RootCertStore::empty();
    for authority in self::certificates(&tls.authorities)? {
        roots.add(authority).map_err(|error| unusable(&tls.authorities, error))?;
    }
    let name = tls.name.clone().map(|name| {
        ServerName::try_from(name.clone()).map_err(|_| {
            let why = format!("`{name}` is neither a DNS name nor an address");
            io::Error::from(Failure::with(TlsTrouble::Files, why))
        })
    });
    let verifier = Verifier::new(roots, name.transpose()?, &provider)
        .map_err(|error| unusable(&tls.authorities, error))?;
    Ok(Loaded { certificates, key, verifier, provider })
}

fn certificates(file: &str) -> io::Result<Vec<CertificateDer<'static>>> {
    let text = read(file)?;
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match all {
        Ok(all) if all.is_empty() => Err(unusable(file, "no certificate in PEM")),
        Ok(all) => Ok(all),
        Err(error) => Err(unusable(file, error)),
    }
}

fn read(file: &str) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = File::open(file).and_then(|file| file.take(FILE_LEN_MAX).read_to_end(&mut bytes));
    read.map_err(|error| unusable(file, error))?;
    Ok(bytes)
}

fn unusable(file: &str, why: impl Display) -> io::Error {
    Failure::with(TlsTrouble::Files, format!("{file}: {why}")).into()
}

fn mismatch(tls: &Tls, error: &rustls::Error) -> io::Error {
    let (certificate, key) = (&tls.certificate, &tls.key);
    match error {
        rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
            let why = format!("it is not the key of the certificate in {certificate}: give its");
            unusable(key, why)
        }
        other => unusable(certificate, format_args!("with the key in {key}: {other}")),
    }
}

/// Bytes of a file that are read.
const FILE_LEN_MAX: u64 = 1 << 20;
