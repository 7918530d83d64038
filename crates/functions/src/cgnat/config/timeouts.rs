//! Keys that say how long sessions live without packets from inside.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Seconds without a packet from inside (RFC 4787 REQ-6: packets from outside refresh nothing).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Timeouts {
    /// UDP: at least 120, 300 is recommended (RFC 4787 REQ-5).
    pub udp_s: f64,
    /// TCP, established: at least 7440 (RFC 5382 REQ-5).
    pub tcp_established_s: f64,
    /// TCP while it opens or closes: at least 240 (RFC 5382 REQ-5, RFC 7857 section 2).
    pub tcp_transitory_s: f64,
    /// ICMP queries: at least 60 (RFC 5508 REQ-2).
    pub icmp_s: f64,
}

impl Default for Timeouts {
    fn default() -> Timeouts {
        Timeouts { udp_s: 300.0, tcp_established_s: 7440.0, tcp_transitory_s: 240.0, icmp_s: 60.0 }
    }
}
