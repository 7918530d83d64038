//! The files of TLS: certificates, a key, authorities.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;
use std::time::Duration;

use protocol_kit::{Time, Tls};
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

/// What the side that accepts needs, for many streams: the files are read for those who come, but
/// not for each.
pub(crate) struct Accepting {
    tls: Arc<Tls>,
    kept: Kept<Arc<ServerConfig>>,
}

impl Accepting {
    /// What these files say, which are not read yet.
    pub fn new(tls: Arc<Tls>) -> Accepting {
        Accepting { tls, kept: Kept(None) }
    }

    /// What they say at a time, or have said shortly before.
    ///
    /// # Errors
    /// When they are of no use. Nobody remembers that: it is on the caller to wait.
    pub fn config(&mut self, now: Time) -> io::Result<Arc<ServerConfig>> {
        self.kept.get(now, || server(&self.tls)).cloned()
    }
}

/// Something that was read, and when.
struct Kept<T>(Option<(Time, T)>);

impl<T> Kept<T> {
    fn get(&mut self, now: Time, read: impl FnOnce() -> io::Result<T>) -> io::Result<&T> {
        let kept = self.0.take().filter(|(at, _)| at.after(FILES_AGE_MAX) > now);
        let kept = kept.map_or_else(|| Ok((now, read()?)), io::Result::Ok)?;
        Ok(&self.0.insert(kept).1)
    }
}

/// What the side that accepts needs.
fn server(tls: &Tls) -> io::Result<Arc<ServerConfig>> {
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

/// How long what the files say holds for those who come.
pub(crate) const FILES_AGE_MAX: Duration = Duration::from_secs(1);

/// Bytes of a file that are read.
const FILE_LEN_MAX: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_holds_for_a_second_and_an_error_for_nobody() {
        let (mut kept, mut reads) = (Kept(None), 0);
        let mut get = |at_ms: u64, is_there: bool| {
            let read = || {
                reads += 1;
                if is_there { Ok(reads) } else { Err(io::Error::other("it is not there")) }
            };
            let now = Time::ZERO.after(Duration::from_millis(at_ms));
            kept.get(now, read).map_or(-1, |read| *read)
        };
        let times = [(0, false), (1, true), (2, false), (1000, true), (1001, true), (2001, false)];
        assert_eq!(times.map(|(at, is_there)| get(at, is_there)), [-1, 2, 2, 2, 3, -1]);
    }
}
