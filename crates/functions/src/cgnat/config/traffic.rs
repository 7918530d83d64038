//! The `traffic` section.

use std::net::Ipv4Addr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use traffic::Sizes;

use super::mix::Application;
use crate::sections::Dir;

/// What the tester sends through a carrier-grade NAT: sessions of clients with servers.
///
/// A session is a client, one of its ports, a server and one of the server's ports. There are `client *
/// client-ports * server * server-ports` different ones, and their order is drawn by `random-seed`
/// (RFC 4814 section 4.2).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Traffic {
    /// Which way packets go: uplink is from clients, downlink to them.
    pub dir: Dir,
    /// The family of the clients' addresses. IPv6 clients need `nat64`: their addresses are those of its first
    /// `inside` network that end with the IPv4 ones which the other keys give them. `ds-lite` is IPv4 behind a
    /// softwire each, with the key of that name: the addresses of B4 elements follow in the same way.
    pub family: Family,
    /// Length of a frame, check sequence included: a number, `imix`, or a map of sizes to weights. Frames of
    /// IPv6 clients have it inside, and 20 bytes less outside; through softwires 40 bytes less.
    pub pkt_size: Sizes,
    /// Everything random follows from this number.
    #[schemars(range(min = 1))]
    pub random_seed: u64,
    /// Sessions that are open before anything else is measured.
    pub sessions: u64,
    /// Clients.
    #[schemars(range(min = 1))]
    pub client: u32,
    /// The first client's address; the others follow it.
    pub first_client: Ipv4Addr,
    /// Ports that each client sends from.
    #[schemars(range(min = 1, max = 64_512))]
    pub client_ports: u32,
    /// The first of these.
    pub first_client_port: u16,
    /// The VLAN of the VRF of which clients are; 0 for none.
    #[schemars(range(max = 4094))]
    pub vlan: u16,
    /// Servers.
    #[schemars(range(min = 1))]
    pub server: u32,
    /// The first server's address; the others follow it.
    pub first_server: Ipv4Addr,
    /// Ports on which each server answers.
    #[schemars(range(min = 1, max = 64_512))]
    pub server_ports: u32,
    /// The first of these.
    pub first_server_port: u16,
    /// Share of sessions that are TCP, from 0 to 1.
    pub tcp_share: f64,
    /// Share of sessions that are ICMP echo, from 0 to 1; the rest is UDP.
    pub icmp_share: f64,
    /// Whether each frame of a closed loop opens another session instead of using one that is open: for
    /// the rate of new sessions.
    pub new_sessions: bool,
    /// Applications that all clients use, by the clock and instead of everything else; none for the sessions that
    /// the other keys describe.
    pub mix: Vec<Application>,
}

/// A family of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// IPv4.
    Ipv4,
    /// IPv6.
    Ipv6,
    /// IPv4 in IPv6 (RFC 6333).
    DsLite,
}

impl Default for Traffic {
    fn default() -> Traffic {
        Traffic {
            dir: Dir::Bidir,
            family: Family::Ipv4,
            pkt_size: Sizes::fixed(64),
            random_seed: 1,
            sessions: 1000,
            client: 1000,
            first_client: Ipv4Addr::new(10, 0, 0, 1),
            client_ports: 4,
            first_client_port: 10_000,
            vlan: 0,
            server: 100,
            first_server: Ipv4Addr::new(192, 0, 2, 1),
            server_ports: 1,
            first_server_port: 80,
            tcp_share: 0.0,
            icmp_share: 0.0,
            new_sessions: false,
            mix: Vec::new(),
        }
    }
}

impl Traffic {
    /// How many different sessions there can be.
    pub fn sessions_most(&self) -> u64 {
        let pairs = u64::from(self.client) * u64::from(self.server);
        let ports = u64::from(self.client_ports) * u64::from(self.server_ports);
        pairs.saturating_mul(ports)
    }
}
