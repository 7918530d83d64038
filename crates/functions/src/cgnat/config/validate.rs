//! Whether the two sections fit together.

use std::net::{IpAddr, Ipv4Addr};

use super::{Config, Family, Prefixed, Traffic};
use crate::unit::Invalid;

/// Checks both sections.
///
/// # Errors
/// The first key that cannot be used.
pub fn validate(config: &mut Config, traffic: &mut Traffic) -> Result<(), Invalid> {
    validate_sizes(config)?;
    validate_times(config)?;
    super::fragments::validate(config)?;
    validate_replication(config)?;
    validate_networks(config)?;
    super::one_to_many::validate(config)?;
    super::nat64::validate(config)?;
    super::ds_lite::validate(config)?;
    super::vrfs::validate(config)?;
    super::stateless::validate(config)?;
    super::bypass::validate(config)?;
    super::lengths::validate(config)?;
    super::pcp::validate(config)?;
    validate_logging(config)?;
    validate_traffic(config, traffic)
}

fn validate_sizes(config: &Config) -> Result<(), Invalid> {
    let one = "Give at least one, and no more than the range of the key";
    for (key, value, max) in [
        ("core", config.core, 64),
        ("sessions", config.sessions, SESSIONS_MAX),
        ("subscribers", config.subscribers, 100_000_000),
    ] {
        if !(1..=max).contains(&value) {
            return refuse(key, format!("must be from 1 to {max}, not {value}"), one);
        }
    }
    for (key, value, min) in [
        ("icmp-errors-per-s", config.icmp_errors_per_s, 0),
        ("icmp-error-burst", config.icmp_error_burst, 1),
    ] {
        if !(min..=1_000_000).contains(&value) {
            let what = format!("must be from {min} to 1000000, not {value}");
            return refuse(key, what, "1000 a second and 50 at once do for most");
        }
    }
    let size = config.port_block.size;
    if size != 0 && !(size.is_power_of_two() && (64..=16_384).contains(&size)) {
        return refuse(
            "port-block",
            format!("a block of {size} ports cannot be cut out of an address"),
            "Give 'size' as a power of two from 64 to 16384, or 0 for no blocks",
        );
    }
    if !(1..=8).contains(&config.port_block.per_subscriber) {
        return refuse(
            "port-block",
            format!("{} blocks a subscriber", config.port_block.per_subscriber),
            "Give 'per-subscriber' from 1 to 8",
        );
    }
    if !(1..=32_768).contains(&config.first_port) {
        return refuse(
            "first-port",
            format!("must be from 1 to 32768, not {}", config.first_port),
            "1024 leaves the well-known ports out",
        );
    }
    if !(1..=CONNECTIONS_MAX).contains(&config.alg.connections) {
        return refuse(
            "alg",
            format!(
                "connections must be from 1 to {CONNECTIONS_MAX}, not {}",
                config.alg.connections
            ),
            "Give how many control connections there are at a time, like 65536",
        );
    }
    if config.mss_clamp != 0 && config.mss_clamp < 536 {
        return refuse(
            "mss-clamp",
            format!("{} is less than every host takes", config.mss_clamp),
            "Give at least 536 bytes (RFC 9293 section 3.7.1), or 0 to change nothing",
        );
    }
    Ok(())
}

fn validate_times(config: &Config) -> Result<(), Invalid> {
    let times = &config.timeouts;
    for (name, value) in [
        ("udp-s", times.udp_s),
        ("tcp-established-s", times.tcp_established_s),
        ("tcp-syn-s", times.tcp_syn_s),
        ("tcp-transitory-s", times.tcp_transitory_s),
        ("icmp-s", times.icmp_s),
    ] {
        if !(0.5..=TIMEOUT_S_MAX).contains(&value) {
            return refuse(
                "timeouts",
                format!("{name} must be from 0.5 to {TIMEOUT_S_MAX} seconds, not {value}"),
                "The RFCs ask for 120 (UDP), 7440, 240 and 240 (TCP) and 60 (ICMP) at least",
            );
        }
    }
    if !(0.0..=TIMEOUT_S_MAX).contains(&config.quarantine_s) {
        return refuse(
            "quarantine-s",
            format!("must be from 0 to {TIMEOUT_S_MAX} seconds, not {}", config.quarantine_s),
            "RFC 6888 REQ-8 asks for 120",
        );
    }
    Ok(())
}

fn validate_replication(config: &Config) -> Result<(), Invalid> {
    let port = config.replication.port;
    if port == 0 || u32::from(port) + config.core - 1 > u32::from(u16::MAX) {
        return refuse(
            "replication",
            format!("{} workers have no TCP ports from {port} on", config.core),
            "Give 'port' from 1 to 65535, with one for each worker",
        );
    }
    Ok(())
}

fn validate_networks(config: &Config) -> Result<(), Invalid> {
    let outside: Vec<(&'static str, Prefixed<Ipv4Addr>)> = config.outside().collect();
    super::deterministic_plan(&config.deterministic)?;
    if outside.is_empty() {
        return refuse(
            "pools",
            "there is no address to translate to".into(),
            "Give a network, like 198.18.0.0/24, or rules",
        );
    }
    for (index, &(key, network)) in outside.iter().enumerate() {
        let before = outside[..index].iter().find(|(_, other)| overlap(*other, network));
        if let Some((_, other)) = before {
            return refuse(
                key,
                format!("{} and {} share addresses", text(*other), text(network)),
                "Give each outside address once",
            );
        }
        if let Some(inside) = config.inside.iter().find(|inside| overlap(**inside, network)) {
            return refuse(
                key,
                format!("{} is inside, in {}", text(network), text(*inside)),
                "Give outside addresses that no subscriber has",
            );
        }
    }
    let addresses: u64 = outside.iter().map(|(_, network)| 1 << (32 - network.len)).sum();
    let addresses = addresses + u64::from(config.spare_addresses);
    if addresses > ADDRESSES_MAX {
        return refuse(
            "pools",
            format!("{addresses} outside addresses"),
            "Give at most 65536 in all, those of 'spare-addresses' included",
        );
    }
    for rule in &config.static_rules {
        if rule.inside.len != rule.outside.len {
            return refuse(
                "static",
                format!("{} and {} differ in size", text(rule.inside), text(rule.outside)),
                "Give networks of the same length",
            );
        }
    }
    if config.inside.is_empty() {
        return refuse(
            "inside",
            "no subscriber has an address".into(),
            "Give the subscribers' networks, like 100.64.0.0/10",
        );
    }
    Ok(())
}

/// The address from which logs come is none of a subscriber's, so that logs are told from packets.
fn validate_logging(config: &Config) -> Result<(), Invalid> {
    let Some(logging) = &config.logging else { return Ok(()) };
    logging.validate()?;
    let IpAddr::V4(source) = logging.source else { return Ok(()) };
    let networks = config.inside.iter().copied().chain(config.outside().map(|(_, net)| net));
    let mut holding = networks.filter(|network| holds(*network, source.to_bits()));
    match holding.next() {
        Some(network) => refuse(
            "logging.source",
            format!("{source} is a subscriber's, of {}", text(network)),
            "Give an address of the NAT's own, like that of 'outside-ip'",
        ),
        None => Ok(()),
    }
}

fn validate_traffic(config: &Config, traffic: &Traffic) -> Result<(), Invalid> {
    let refuse = |key, what, remedy: &str| {
        Err(Invalid { section: "traffic", key, what, remedy: remedy.into() })
    };
    if traffic.random_seed == 0 {
        return refuse("random-seed", "must be at least 1, not 0".into(), "Give any other number");
    }
    for &(size, _) in traffic.pkt_size.weights() {
        if !(64..=1900).contains(&size) {
            return refuse(
                "pkt-size",
                format!("must be from 64 to 1900 bytes, not {size}"),
                "Give a size in this range; it counts the 4 bytes of the frame check sequence",
            );
        }
    }
    let most = traffic.sessions_most();
    if most == 0 || most > u64::from(u32::MAX) {
        return refuse(
            "client",
            format!("clients, servers and their ports make {most} sessions"),
            "Give at least one of each, and at most 4294967295 sessions in all",
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
    match traffic.family {
        Family::Ipv4 => {}
        Family::Ipv6 => super::nat64::validate_traffic(config, traffic)?,
        Family::DsLite => super::ds_lite::validate_traffic(config, traffic)?,
    }
    let inside = super::vrfs::inside_of(config, traffic)?;
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
    let shares = [traffic.tcp_share, traffic.icmp_share];
    if shares.iter().any(|share| !(0.0..=1.0).contains(share)) || shares.iter().sum::<f64>() > 1.0 {
        return refuse(
            "tcp-share",
            format!("TCP {} and ICMP {} of all sessions", shares[0], shares[1]),
            "Give fractions that are 1 at most together; the rest is UDP",
        );
    }
    let identifiers = u64::from(traffic.client_ports) * u64::from(traffic.server_ports);
    if traffic.icmp_share > 0.0 && identifiers > 1 << 16 {
        return refuse(
            "icmp-share",
            format!("{identifiers} sessions of a client and a server, by 16 bits of identifier"),
            "Give fewer 'client-ports' or 'server-ports', or no ICMP",
        );
    }
    super::bypass::validate_traffic(config, traffic)?;
    super::lengths::validate_traffic(config, traffic)?;
    super::mix::validate(config, traffic)
}

/// Whether two networks have an address in common.
pub fn overlap(one: Prefixed<Ipv4Addr>, other: Prefixed<Ipv4Addr>) -> bool {
    let wider = if one.len <= other.len { one } else { other };
    let other = if one.len <= other.len { other } else { one };
    holds(wider, other.address.to_bits())
}

/// Whether a network has an address.
pub fn holds(network: Prefixed<Ipv4Addr>, address: u32) -> bool {
    let shift = 32 - u32::from(network.len);
    u64::from(network.address.to_bits()) >> shift == u64::from(address) >> shift
}

pub(super) fn text(network: Prefixed<Ipv4Addr>) -> String {
    String::from(network)
}

pub(super) fn refuse<T>(key: &'static str, what: String, remedy: &str) -> Result<T, Invalid> {
    Err(Invalid { section: "function", key, what, remedy: remedy.into() })
}

/// Numbers of sessions have 31 bits.
const SESSIONS_MAX: u32 = 1_000_000_000;

/// Outside addresses of all pools and rules together: each takes up to 1 MiB where all ports are used.
const ADDRESSES_MAX: u64 = 65_536;

/// Connections with a gateway: 160 bytes each.
const CONNECTIONS_MAX: u32 = 16_777_216;

/// As long as the sweep's clock tells the past from the future.
const TIMEOUT_S_MAX: f64 = 20_000.0;

#[cfg(test)]
mod tests;
