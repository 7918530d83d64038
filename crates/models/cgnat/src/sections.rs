//! The `traffic` section of a scenario that measures a NAT.

use std::net::Ipv4Addr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use traffic::Sizes;
use wire::embedded::Prefix;

use super::application::Application;
use function_cgnat::config::{Config, Family, PoolsAnswer, Prefixed};
use function_cgnat::types::networks::{holds, text};
use function_kit::Invalid;
use function_kit::sections::Dir;
use model_kit::test_packets::frame_sizes;

/// What the tester sends through a carrier-grade NAT: sessions of clients with servers.
///
/// A session is a client, one of its ports, a server and one of the server's ports. There are
/// `client * client-ports * server * server-ports` different ones, and their order is drawn by
/// `random-seed` (RFC 4814 section 4.2).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Traffic {
    /// Which way packets go: uplink is from clients, downlink to them.
    pub dir: Dir,
    /// The family of the clients' addresses. IPv6 clients need `nat64`: their addresses are those
    /// of its first `inside` network that end with the IPv4 ones which the other keys give them.
    /// `ds-lite` is IPv4 behind a softwire each, with the key of that name: the addresses of B4
    /// elements follow in the same way.
    pub family: Family,
    /// Length of a frame, check sequence included: a number, `imix`, or a map of sizes to weights.
    /// Frames of IPv6 clients have it inside, and 20 bytes less outside; through softwires 40 bytes
    /// less.
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
    /// Share of sessions that are TCP.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub tcp_share: f64,
    /// Share of sessions that are ICMP echo; the rest is UDP.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub icmp_share: f64,
    /// Whether each frame of a closed loop opens another session instead of using one that is open:
    /// for the rate of new sessions.
    pub new_sessions: bool,
    /// Applications that all clients use, by the clock and instead of everything else; none for the
    /// sessions that the other keys describe.
    #[schemars(length(max = 64))]
    pub mix: Vec<Application>,
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

/// Checks the `traffic` section.
///
/// # Errors
/// The first key that cannot be used.
pub(crate) fn validate(config: &Config, traffic: &Traffic) -> Result<(), Invalid> {
    let refuse = |key: &str, what, remedy: &str| {
        Err(Invalid { section: "traffic", key: key.into(), what, remedy: remedy.into() })
    };
    let hosted = [config.inside_host_interface, config.outside_host_interface];
    let further = config.interfaces.iter().map(|one| one.host_interface);
    let is_hosted = hosted.into_iter().chain(further).any(|place| place.is_some());
    if is_hosted || config.pools_answer != PoolsAnswer::Always {
        let key = if is_hosted { "inside-host-interface" } else { "pools-answer" };
        let (section, key) = ("function", key.into());
        let what = "needs a host or a controller, and a scenario has neither".to_owned();
        let remedy = "Leave it out: it is for a daemon".into();
        return Err(Invalid { section, key, what, remedy });
    }
    frame_sizes(&traffic.pkt_size, 1900)?;
    let most = traffic.sessions_most();
    if most > u64::from(u32::MAX) {
        return refuse(
            "client",
            format!("clients, servers and their ports make {most} sessions"),
            "Give fewer, for at most 4294967295 sessions in all",
        );
    }
    if traffic.sessions > most {
        return refuse(
            "sessions",
            format!("{} sessions of {most} different ones", traffic.sessions),
            "Give more clients, servers or ports, or fewer sessions",
        );
    }
    if traffic.sessions > u64::from(config.sessions) {
        return refuse(
            "sessions",
            format!("{} sessions where the function holds {}", traffic.sessions, config.sessions),
            "Raise 'sessions' in the function section, or lower it here",
        );
    }
    let each = traffic.sessions.div_ceil(traffic.client.into());
    let limit = config.session_limit();
    if limit != 0 && each > limit.into() {
        return refuse(
            "sessions",
            format!("{each} sessions of each client, of which a subscriber has {limit} at most"),
            "Set 'sessions-per-subscriber' in the function section to 0, or give more clients",
        );
    }
    match traffic.family {
        Family::Ipv4 => {}
        Family::Ipv6 => nat64(config, traffic)?,
        Family::DsLite => ds_lite(config, traffic)?,
    }
    let inside = inside_of(config, traffic)?;
    let last = |first: Ipv4Addr, count: u32| first.to_bits().checked_add(count - 1);
    let clients = last(traffic.first_client, traffic.client).is_some_and(|last| {
        let holds = |net: &Prefixed<Ipv4Addr>| {
            holds(*net, traffic.first_client.to_bits()) && holds(*net, last)
        };
        traffic.family != Family::Ipv4 || inside.iter().any(holds)
    });
    if !clients {
        return refuse(
            "first-client",
            format!("{} clients from {} on", traffic.client, traffic.first_client),
            "Keep all clients in one network of 'inside', that of their VRF if they have a 'vlan'",
        );
    }
    for (key, first, count) in [
        ("client-ports", traffic.first_client_port, traffic.client_ports),
        ("server-ports", traffic.first_server_port, traffic.server_ports),
    ] {
        if u32::from(first) + count - 1 > u32::from(u16::MAX) {
            return refuse(
                key,
                format!("{count} ports from {first} on"),
                "Give fewer, or a lower first one: the last port is 65535",
            );
        }
    }
    if last(traffic.first_server, traffic.server).is_none() {
        return refuse(
            "server",
            format!("{} servers from {} on", traffic.server, traffic.first_server),
            "Give fewer servers, or a lower first address",
        );
    }
    let (tcp, icmp) = (traffic.tcp_share, traffic.icmp_share);
    if tcp + icmp > 1.0 {
        return refuse(
            "tcp-share",
            format!("TCP {tcp} and ICMP {icmp} of all sessions"),
            "Give fractions that are 1 at most together; the rest is UDP",
        );
    }
    let identifiers = u64::from(traffic.client_ports) * u64::from(traffic.server_ports);
    if icmp > 0.0 && identifiers > 1 << 16 {
        return refuse(
            "icmp-share",
            format!("{identifiers} sessions of a client and a server, by 16 bits of identifier"),
            "Give fewer 'client-ports' or 'server-ports', or no ICMP",
        );
    }
    bypass(config, traffic)?;
    lengths(config, traffic)
}

/// Whether IPv6 clients can be made.
///
/// # Errors
/// What of it cannot be.
fn nat64(config: &Config, traffic: &Traffic) -> Result<(), Invalid> {
    let refuse = |what: &str, remedy: &str| {
        let (what, remedy) = (what.into(), remedy.into());
        Err(Invalid { section: "traffic", key: "family".into(), what, remedy })
    };
    let Some(nat64) = &config.nat64 else {
        return refuse(
            "the NAT has no IPv6 subscribers",
            "Give it 'nat64', or set 'family' to ipv4",
        );
    };
    let rules = config.static_rules.len() + config.port_forwarding.len();
    let has_room = nat64.inside.first().is_some_and(|network| network.len <= 96);
    if !has_room || config.pools.is_empty() || rules > 0 {
        let remedy = "Give a first network of 'nat64' with at most 96 bits, and 'pools' without \
                      'static' and 'port-forwarding'";
        return refuse("IPv6 clients find no addresses inside or outside", remedy);
    }
    let first = traffic.first_server.to_bits();
    let servers = [first, first.saturating_add(traffic.server - 1)].map(Ipv4Addr::from_bits);
    let prefix = Prefix::new(nat64.prefix.address, nat64.prefix.len);
    if prefix.is_ok_and(|prefix| servers.iter().any(|&server| prefix.forbids(server))) {
        let remedy = "Give another 'prefix', or a 'first-server' that is global";
        return refuse("the well-known prefix takes global servers only", remedy);
    }
    let most = nat64.ipv6_mtu.min(nat64.ipv4_mtu.saturating_add(20)).saturating_add(18);
    if traffic.pkt_size.weights().iter().any(|&(size, _)| size > most) {
        return refuse("frames are longer than links take", "Raise 'ipv6-mtu' and 'ipv4-mtu'");
    }
    Ok(())
}

/// Whether clients can be behind softwires.
///
/// # Errors
/// What of it cannot be.
fn ds_lite(config: &Config, traffic: &Traffic) -> Result<(), Invalid> {
    let refuse = |what: &str, remedy: &str| {
        let (what, remedy) = (what.into(), remedy.into());
        Err(Invalid { section: "traffic", key: "family".into(), what, remedy })
    };
    let Some(ds_lite) = &config.ds_lite else {
        let remedy = "Give it 'ds-lite', or set 'family' to ipv4";
        return refuse("the NAT has no softwires", remedy);
    };
    let has_room = ds_lite.inside.first().is_some_and(|network| network.len <= 96);
    if !has_room || ds_lite.subscriber_len < 128 || config.pools.is_empty() {
        let remedy = "Give a first network of 'ds-lite' with at most 96 bits, 'subscriber-len' 128, and 'pools'";
        return refuse("clients find no addresses for their B4 elements", remedy);
    }
    let most = ds_lite.ipv6_mtu.saturating_add(18);
    if traffic.pkt_size.weights().iter().any(|&(size, _)| size > most) {
        return refuse("frames are longer than links take", "Raise 'ipv6-mtu' of 'ds-lite'");
    }
    Ok(())
}

/// The networks of clients.
///
/// # Errors
/// When they are of no VRF, or of one and IPv6.
fn inside_of<'a>(
    config: &'a Config,
    traffic: &Traffic,
) -> Result<&'a [Prefixed<Ipv4Addr>], Invalid> {
    let refuse = |what: String, remedy: &str| {
        Err(Invalid { section: "traffic", key: "vlan".into(), what, remedy: remedy.into() })
    };
    if traffic.vlan == 0 {
        return Ok(&config.inside);
    }
    if traffic.family != Family::Ipv4 {
        return refuse(
            "clients that send IPv6 are of no VRF".into(),
            "Leave 'vlan' out, or set 'family' to ipv4",
        );
    }
    match config.vrfs.iter().find(|vrf| vrf.vlan == traffic.vlan) {
        Some(vrf) => Ok(&vrf.inside),
        None => refuse(
            format!("no VRF has VLAN {}", traffic.vlan),
            "Give that of one of 'vrfs' in the function section, or leave it out",
        ),
    }
}

/// Checks that no server of the traffic is one of them: its clients expect a translation.
///
/// # Errors
/// When one is.
fn bypass(config: &Config, traffic: &Traffic) -> Result<(), Invalid> {
    let first = traffic.first_server.to_bits();
    let last = first.saturating_add(traffic.server - 1);
    let has = |network: &&Prefixed<Ipv4Addr>| {
        let hosts = u32::MAX.checked_shr(u32::from(network.len)).unwrap_or(0);
        let begin = network.address.to_bits() & !hosts;
        begin <= last && first <= (begin | hosts)
    };
    match config.bypass.iter().find(has) {
        Some(network) => Err(Invalid {
            section: "traffic",
            key: "first-server".into(),
            what: format!("packets to {} are not translated", text(*network)),
            remedy: "Give servers that no network of 'bypass' has".into(),
        }),
        None => Ok(()),
    }
}

/// Checks that packets of the traffic pass whole.
///
/// # Errors
/// When some are too long.
fn lengths(config: &Config, traffic: &Traffic) -> Result<(), Invalid> {
    let mtus = [config.inside_mtu, config.outside_mtu].into_iter().filter(|&mtu| mtu > 0);
    let Some(shortest) = mtus.min() else { return Ok(()) };
    let most = shortest.saturating_add(ETHERNET_LEN);
    match traffic.pkt_size.weights().iter().find(|&&(size, _)| size > most) {
        Some((size, _)) => Err(Invalid {
            section: "traffic",
            key: "pkt-size".into(),
            what: format!("frames of {size} bytes, whose packets links of {shortest} do not take"),
            remedy: "Give shorter ones, or raise 'inside-mtu' and 'outside-mtu'".into(),
        }),
        None => Ok(()),
    }
}

/// Ethernet header and frame check sequence, in bytes.
const ETHERNET_LEN: u16 = 18;
