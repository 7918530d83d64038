//! Interfaces, the ends of streams, and what holds for a stream.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// An interface of the node, by the driver's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Interface(pub u32);

/// An end of a stream.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Endpoint {
    /// Of TCP.
    Tcp(SocketAddr),
    /// A Unix socket by its path.
    Unix(String),
}

/// What holds for a stream of TCP; a Unix socket has nothing of it but TLS.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct StreamOptions {
    /// The only interface of its packets; `None` for any.
    pub interface: Option<Interface>,
    /// Time To Live or Hop Limit of what is sent; `None` for the node's usual one.
    pub ttl: Option<u8>,
    /// The least Time To Live or Hop Limit of what is accepted (RFC 5082); 0 for any.
    pub ttl_min: u8,
    /// Keys by which segments are signed (RFC 2385), by the far ends that have one; segments of
    /// such a far end without signature are dropped.
    pub md5: Vec<(IpAddr, Secret)>,
    /// By what it is encrypted; `None` for a plain one. It stands when the handshake is done.
    pub tls: Option<Arc<Tls>>,
}

/// TLS of a stream (RFC 8446): each end shows a certificate and checks that of the other one. It
/// names files, because a machine reads none: the driver reads them when a stream begins, those of
/// a listener once a second at most, so that renewed ones count for those who come later. A
/// simulated network does nothing of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// File of the own certificate, and of those between it and its authority, in PEM.
    pub certificate: String,
    /// File of the own certificate's private key, in PEM.
    pub key: String,
    /// File of the authorities that the far end's certificate may come from, in PEM.
    pub authorities: String,
    /// The name or address that the far end's certificate must have; `None` for any of theirs.
    pub name: Option<String>,
}

/// A secret, bytes or something else: it is shown nowhere.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Secret<T = Vec<u8>>(pub T);

impl<T> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Tcp(address) => write!(f, "TCP {address}"),
            Endpoint::Unix(path) => write!(f, "{path}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_of_any_type_is_not_shown() {
        assert_eq!(format!("{:?} {:#?}", Secret(vec![7]), Secret(77u64)), "Secret Secret");
    }
}
