//! Keys of the application-level gateways.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Gateway, Protocol};

/// Application-level gateways, which replace addresses in payloads; all off (RFC 4787 REQ-10).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Alg {
    /// FTP: sessions with TCP port 21 (RFC 959, RFC 2428).
    pub ftp: bool,
    /// SIP: sessions with UDP or TCP port 5060 (RFC 3261), and the RTP that they agree on.
    pub sip: bool,
    /// PPTP: sessions with TCP port 1723 (RFC 2637), and their GRE.
    pub pptp: bool,
    /// Most TCP connections with a gateway at a time whose sequence numbers are kept right, further
    /// ones pass as they are; and most calls of PPTP at a time.
    #[schemars(range(min = 1, max = 16_777_216))]
    pub connections: u32,
}

impl Default for Alg {
    fn default() -> Alg {
        Alg { ftp: false, sip: false, pptp: false, connections: 65_536 }
    }
}

impl Alg {
    /// Whether there is none, so that nothing need be looked at.
    pub fn is_off(&self) -> bool {
        !(self.ftp || self.sip || self.pptp)
    }

    /// The gateway for a session with a well-known port at either end.
    #[inline]
    pub fn gateway(&self, protocol: Protocol, port: u16) -> Option<Gateway> {
        match (protocol, port) {
            (Protocol::Tcp, FTP_PORT) if self.ftp => Some(Gateway::Ftp),
            (Protocol::Tcp | Protocol::Udp, SIP_PORT) if self.sip => Some(Gateway::Sip),
            (Protocol::Tcp, PPTP_PORT) if self.pptp => Some(Gateway::Pptp),
            _ => None,
        }
    }
}

/// The port of FTP's control connection (RFC 959 section 8).
pub const FTP_PORT: u16 = 21;

/// The port of SIP without TLS (RFC 3261 section 19.1.2).
pub const SIP_PORT: u16 = 5060;

/// The port of PPTP's control connection (RFC 2637 section 3).
pub const PPTP_PORT: u16 = 1723;
