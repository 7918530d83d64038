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
    for one in &traffic.mix {
        let problem = if one.protocol == Transport::Tcp && one.exchanges < 4 {
            "exchanges must be at least 4 of TCP"
        } else if one.interval_ms * f64::from(one.exchanges) < 200.0 {
            "a session must take 200 ms at least, as an answer takes its time"
        } else {
            continue;
        };
        let what = format!("{}: {problem}", one.name);
        return refuse(what, "Give numbers of a real application");
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

/// Sessions at a time, of which 16 bytes each are learned.
const SESSIONS_MAX: u64 = 1 << 28;
