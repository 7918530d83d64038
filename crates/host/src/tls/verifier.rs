//! Whether a certificate is the far end's: the authorities, the time and the name.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{CryptoProvider, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{ParsedCertificate, WebPkiClientVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, Error, RootCertStore, SignatureScheme};

/// What the far end's certificate is checked by, on either side. The library has no name of a
/// client, and asks for one of a server.
#[derive(Debug)]
pub(super) struct Verifier {
    roots: Arc<RootCertStore>,
    clients: Arc<dyn ClientCertVerifier>,
    provider: Arc<CryptoProvider>,
    name: Option<ServerName<'static>>,
}

impl Verifier {
    /// One for authorities, at least one, and a name; `None` for any.
    ///
    /// # Errors
    /// When there is no authority.
    pub fn new(
        roots: RootCertStore,
        name: Option<ServerName<'static>>,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Verifier, String> {
        let (roots, provider) = (Arc::new(roots), Arc::clone(provider));
        let clients =
            WebPkiClientVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(&provider));
        let clients = clients.build().map_err(|error| error.to_string())?;
        Ok(Verifier { roots, clients, provider, name })
    }

    fn check_name(&self, certificate: &CertificateDer<'_>) -> Result<(), Error> {
        let Some(name) = &self.name else { return Ok(()) };
        verify_server_name(&ParsedCertificate::try_from(certificate)?, name)
    }

    fn check_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        verify_server_cert_signed_by_trust_anchor(
            &ParsedCertificate::try_from(certificate)?,
            &self.roots,
            between,
            now,
            self.provider.signature_verification_algorithms.all,
        )?;
        self.check_name(certificate)?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General(NO_TLS_12.to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.check_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

impl ClientCertVerifier for Verifier {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.clients.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        certificate: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let verified = self.clients.verify_client_cert(certificate, between, now)?;
        self.check_name(certificate)?;
        Ok(verified)
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General(NO_TLS_12.to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.check_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

const NO_TLS_12: &str = "TLS 1.2 is not spoken";
