//! Why TLS has ended a stream, in words that say what to do.

use std::fmt;
use std::io;

use rustls::{AlertDescription, CertificateError, Error};

/// Why TLS has ended a stream, or has not let it begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsTrouble {
    /// The own files are of no use.
    Files,
    /// The far end's certificate has expired, or is not valid yet.
    Expired,
    /// The far end's certificate comes from another authority.
    UnknownAuthority,
    /// The far end's certificate has another name.
    WrongName,
    /// The far end has shown no certificate.
    NoCertificate,
    /// The far end's certificate is wrong in another way.
    Certificate,
    /// The far end has refused this one.
    Refused,
    /// The far end does not speak TLS, or has ended the stream within the handshake.
    NotSpoken,
    /// The handshake has taken too long.
    Slow,
    /// The stream has ended without the far end saying so.
    CutOff,
    /// Something that may not come, or was altered on the way.
    Malformed,
}

/// Streams that TLS has ended, by [`TlsTrouble`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TlsCounters([u64; TlsTrouble::Malformed as usize + 1]);

impl TlsCounters {
    /// Returns how many streams have ended so.
    pub fn of(&self, trouble: TlsTrouble) -> u64 {
        self.0[trouble as usize]
    }

    /// Returns how many streams TLS has ended.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Counts an error, if it is one of TLS.
    pub(crate) fn note(&mut self, error: &io::Error) {
        let failure = error.get_ref().and_then(|inner| inner.downcast_ref::<Failure>());
        if let Some(failure) = failure {
            self.0[failure.trouble as usize] += 1;
        }
    }
}

/// Why TLS has ended a stream, and what more there is to say of it.
#[derive(Debug)]
pub(crate) struct Failure {
    trouble: TlsTrouble,
    details: String,
}

impl Failure {
    pub fn new(trouble: TlsTrouble) -> Failure {
        Failure::with(trouble, String::new())
    }

    pub fn with(trouble: TlsTrouble, details: String) -> Failure {
        Failure { trouble, details }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.trouble {
            TlsTrouble::Files => "TLS",
            TlsTrouble::Expired => {
                "the far end's certificate is not valid at this time: renew it there, and look at \
                 both clocks"
            }
            TlsTrouble::UnknownAuthority => {
                "the far end's certificate does not come from the authorities that are named \
                 here: name its authority, or give the far end a certificate of this one"
            }
            TlsTrouble::WrongName => {
                "the far end's certificate has another name than is wanted here: name it as it \
                 is, or give the far end a certificate with that name"
            }
            TlsTrouble::NoCertificate => {
                "the far end has shown no certificate: give it one, and its key"
            }
            TlsTrouble::Certificate => "the far end's certificate cannot be used: make another one",
            TlsTrouble::Refused => "the far end has refused this one's certificate or TLS",
            TlsTrouble::NotSpoken => {
                "no TLS 1.3 from the far end: look whether it is configured there, too"
            }
            TlsTrouble::Slow => "the far end did not finish the handshake of TLS in time",
            TlsTrouble::CutOff => "the stream was cut off",
            TlsTrouble::Malformed => "what came is not right in TLS, or was altered on the way",
        })?;
        if self.details.is_empty() { Ok(()) } else { write!(f, " ({})", self.details) }
    }
}

impl std::error::Error for Failure {}

impl From<Failure> for io::Error {
    fn from(failure: Failure) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, failure)
    }
}

/// An error of the library as one of a socket.
pub(super) fn of(error: Error) -> io::Error {
    let trouble = match &error {
        Error::NoCertificatesPresented => TlsTrouble::NoCertificate,
        Error::InvalidCertificate(error) => of_certificate(error),
        Error::AlertReceived(alert) => {
            return Failure::with(TlsTrouble::Refused, of_alert(*alert)).into();
        }
        Error::InvalidMessage(_)
        | Error::PeerIncompatible(_)
        | Error::InappropriateMessage { .. }
        | Error::InappropriateHandshakeMessage { .. } => TlsTrouble::NotSpoken,
        _ => TlsTrouble::Malformed,
    };
    Failure::with(trouble, error.to_string()).into()
}

fn of_certificate(error: &CertificateError) -> TlsTrouble {
    match error {
        CertificateError::Expired
        | CertificateError::ExpiredContext { .. }
        | CertificateError::NotValidYet
        | CertificateError::NotValidYetContext { .. } => TlsTrouble::Expired,
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            TlsTrouble::UnknownAuthority
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            TlsTrouble::WrongName
        }
        _ => TlsTrouble::Certificate,
    }
}

/// What an alert says, and what to do.
fn of_alert(alert: AlertDescription) -> String {
    match alert {
        AlertDescription::CertificateExpired => {
            "the certificate is not valid at the time of its clock: renew it".into()
        }
        AlertDescription::UnknownCA => {
            "the certificate comes from no authority that is named there".into()
        }
        AlertDescription::CertificateRequired => "it wants a certificate".into(),
        AlertDescription::BadCertificate | AlertDescription::CertificateUnknown => {
            "the certificate does not do there, perhaps by its name".into()
        }
        other => format!("it says {other:?}"),
    }
}
