//! Whether the applications of a mix fit together, and what else the traffic is.
use function_cgnat::config::{Config, Family};
use function_kit::Invalid;
use function_kit::sections::Dir;

use super::application::Transport;
use super::sections::Traffic;

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
