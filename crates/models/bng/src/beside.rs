//! What stands beside the function where clients bring sessions up: the controller, which a daemon
//! runs, and which sections can be so.

use function_kit::Invalid;
use function_kit::sections::function_key;
use serde_json::{Value, json};

use crate::catalogue::{POOLS, PROFILE};
use crate::section::{Kind, Section, SetUp, Stack};

/// What stands beside the function in a daemon's file: the controller, and what comes up to it.
pub(crate) fn beside(section: &Section) -> Vec<(&'static str, Value)> {
    if section.generated.set_up == SetUp::Configured {
        return Vec::new();
    }
    let (ipv4, ipv6) = section.generated.stack.versions();
    let is_asked_for = |kind: &str| if kind == "ipv4" { ipv4 } else { ipv6 };
    let pools = POOLS.into_iter().filter(|(kind, _)| is_asked_for(kind));
    let pool = |(kind, prefix)| json!({"name": kind, "kind": kind, "prefix": prefix});
    let controller = json!({
        "name": "bng",
        "profile": PROFILE,
        "line-leases": 65_535,
        "lease-time-s": 86_400,
        "pools": pools.map(pool).collect::<Value>(),
        // Clients of ordinary traffic answer no echoes.
        "pppoe": {"echo-interval-s": 3600, "circuit-sessions": 65_535},
    });
    let rate = json!({"per-s": 0, "per-s-and-source": 0, "ring-kib": PUNT_RING_KIB});
    let punts = ["dhcpv4", "dhcpv6", "pppoe-discovery", "ppp"];
    let punts = punts.into_iter().map(|reason| (reason.to_owned(), rate.clone()));
    vec![("controller", controller), ("punt", Value::Object(punts.collect()))]
}

/// The same sessions, there from the start.
pub(crate) fn alone(section: &Section) -> Section {
    let mut section = section.clone();
    section.generated.set_up = SetUp::Configured;
    section
}

/// Checks what clients can bring up.
///
/// # Errors
/// The first key that cannot be used.
pub(crate) fn validate(section: &Section) -> Result<(), Invalid> {
    let generated = &section.generated;
    if generated.set_up == SetUp::Configured {
        return Ok(());
    }
    let refuse = |key, what: &str, remedy| Err(function_key(key, what.to_owned(), remedy));
    if generated.kind != Kind::Ipoe && generated.stack == Stack::Ipv6 {
        let what = "clients of PPPoE ask for an IPv4 address, too";
        return refuse("stack", what, "Set `stack: dual`");
    }
    if generated.fluct_session > 0.0 || generated.fluct_profile > 0.0 {
        let key = if generated.fluct_session > 0.0 { "fluct-session" } else { "fluct-profile" };
        let what = "sessions that clients bring up are the controller's to change";
        return refuse(key, what, "Set it to 0, or `set-up: configured`");
    }
    if generated.lists_generated > 1 {
        let what = "clients are given the list of their profile";
        return refuse("lists-generated", what, "Set it to 1, or `set-up: configured`");
    }
    Ok(())
}

/// Room for what has come and is not looked at yet, in KiB.
const PUNT_RING_KIB: u32 = 8192;
