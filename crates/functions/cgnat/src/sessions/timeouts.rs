//! Keys that say how long sessions live without packets from inside.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Seconds without a packet from inside (RFC 4787 REQ-6: packets from outside refresh nothing).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Timeouts {
    /// UDP: at least 120, 300 is recommended (RFC 4787 REQ-5).
    #[schemars(range(min = 0.5, max = TIMEOUT_S_MAX))]
    pub udp_s: f64,
    /// TCP, established: at least 7440 (RFC 5382 REQ-5).
    #[schemars(range(min = 0.5, max = TIMEOUT_S_MAX))]
    pub tcp_established_s: f64,
    /// TCP until both ends have said SYN: at least 240, but less where that is too much room for
    /// floods of them (RFC 5382 REQ-5, RFC 7857 section 2.1).
    #[schemars(range(min = 0.5, max = TIMEOUT_S_MAX))]
    pub tcp_syn_s: f64,
    /// TCP from both FIN, or a RST, on: at least 240 (RFC 5382 REQ-5, RFC 7857 sections 2.1 and
    /// 2.2).
    #[schemars(range(min = 0.5, max = TIMEOUT_S_MAX))]
    pub tcp_transitory_s: f64,
    /// ICMP queries: at least 60 (RFC 5508 REQ-2).
    #[schemars(range(min = 0.5, max = TIMEOUT_S_MAX))]
    pub icmp_s: f64,
}

/// As long as the sweep's clock tells the past from the future.
pub const TIMEOUT_S_MAX: f64 = 20_000.0;

impl Timeouts {
    /// Whether all of them are within their limits.
    pub fn are_possible(&self) -> bool {
        self.all().iter().all(|seconds| (0.5..=TIMEOUT_S_MAX).contains(seconds))
    }

    /// All of them.
    pub fn all(&self) -> [f64; 5] {
        let tcp = [self.tcp_established_s, self.tcp_syn_s, self.tcp_transitory_s];
        [self.udp_s, tcp[0], tcp[1], tcp[2], self.icmp_s]
    }
}

impl Default for Timeouts {
    fn default() -> Timeouts {
        Timeouts {
            udp_s: 300.0,
            tcp_established_s: 7440.0,
            tcp_syn_s: 240.0,
            tcp_transitory_s: 240.0,
            icmp_s: 60.0,
        }
    }
}
