//! The key `mix` of the `traffic` section: applications that clients use, each with sessions of its
//! own.
use function_cgnat::config::{Config, Family};
use function_kit::Invalid;
use function_kit::sections::Dir;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::sections::Traffic;

/// An application that clients use.
///
/// A session is a number of exchanges, a packet each way, at even intervals. A TCP session begins
/// with its handshake and ends by FIN both ways, the server's first; a UDP session ends by its last
/// packet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Application {
    /// What it is, for people.
    pub name: String,
    /// What its packets are.
    pub protocol: Transport,
    /// Sessions that a client begins in an hour, on average.
    pub sessions_per_hour: f64,
    /// Packets each way of a session; of TCP at least four, two of which begin and end it.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub exchanges: u32,
    /// From one of them to the next, in milliseconds.
    pub interval_ms: f64,
    /// Length of frames from clients in bytes, check sequence included; those without data are as
    /// short as a stamp allows.
    #[schemars(range(min = 64, max = 1900))]
    pub uplink_bytes: u16,
    /// Bytes of a frame to clients.
    #[schemars(range(min = 64, max = 1900))]
    pub downlink_bytes: u16,
    /// The port of servers; 0 for any port, as of peers.
    #[serde(default)]
    pub server_port: u16,
    /// Whether a client has one port for all sessions of it, as peer-to-peer applications do, and
    /// not one for each.
    #[serde(default)]
    pub one_client_port: bool,
}

/// A protocol of applications.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// Datagrams.
    Udp,
    /// A connection.
    Tcp,
}

/// Checks the applications.
///
/// # Errors
/// What is wrong with which.
pub(super) fn validate(config: &Config, traffic: &Traffic) -> Result<(), Invalid> {
    let refuse = |what, remedy: &str| {
        Err(Invalid { section: "traffic", key: "mix".into(), what, remedy: remedy.into() })
    };
    if traffic.mix.is_empty() {
        return Ok(());
    }
    if traffic.mix.len() > APPLICATIONS_MAX {
        let what = format!("{} applications", traffic.mix.len());
        return refuse(what, "Give at most 64");
    }
    for one in &traffic.mix {
        let least = if one.protocol == Transport::Tcp { 4 } else { 1 };
        let checks = [
            (
                one.sessions_per_hour > 0.0 && one.sessions_per_hour <= 1e6,
                "sessions-per-hour must be more than 0, and 1000000 at most",
            ),
            (
                (least..=1_000_000_000).contains(&one.exchanges),
                "exchanges must be at least 1, of TCP 4, and 1000000000 at most",
            ),
            ((1.0..=1e7).contains(&one.interval_ms), "interval-ms must be from 1 to 10000000"),
            (
                one.interval_ms * f64::from(one.exchanges) >= 200.0,
                "a session must take 200 ms at least, as an answer takes its time",
            ),
            (
                [one.uplink_bytes, one.downlink_bytes].iter().all(|len| (64..=1900).contains(len)),
                "frames must be from 64 to 1900 bytes",
            ),
        ];
        if let Some((_, problem)) = checks.into_iter().find(|(holds, _)| !holds) {
            return refuse(
                format!("{}: {problem}", one.name),
                "Give numbers of a real application",
            );
        }
    }
    let has_beside = traffic.sessions > 0 || traffic.new_sessions || traffic.dir != Dir::Bidir;
    if has_beside || traffic.family != Family::Ipv4 || traffic.vlan != 0 {
        let what = "goes both ways between IPv4 clients and servers, and opens its sessions itself";
        let remedy =
            "Set 'sessions' to 0, and leave 'dir', 'new-sessions', 'family' and 'vlan' out";
        return refuse(what.into(), remedy);
    }
    if config.core > 1 {
        return refuse("is counted on one worker".into(), "Set 'core' to 1");
    }
    let lanes = crate::workload::mix::lanes(traffic);
    if lanes > SESSIONS_MAX {
        let what = format!("{lanes} sessions at a time");
        return refuse(what, "Give fewer clients, sessions or exchanges, or shorter intervals");
    }
    Ok(())
}

/// Applications of a mix.
const APPLICATIONS_MAX: usize = 64;
/// Sessions at a time, of which 16 bytes each are learned.
const SESSIONS_MAX: u64 = 1 << 28;
