//! The golden cases of the NAT; a change is written as in a scenario, in braces. Ports follow from
//! a secret in each case's configuration.
use std::path::Path;

use function_cgnat::config::Config;
use model_cgnat::Cgnat;
use model_cgnat::Traffic;
use model_kit::Model;
use testkit::golden::{Reader, hold};

#[test]
fn golden_cases_are_as_expected() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden");
    let update = |text: &str| serde_saphyr::from_str(text).map_err(|error| error.to_string());
    hold::<Cgnat>(&folder, &REQUIRED, &Reader { config, update });
}

fn config(text: &str) -> Config {
    let mut config: Config = serde_saphyr::from_str(text).expect("a section");
    let mut traffic = Traffic { sessions: 1, ..Traffic::default() };
    Cgnat::validate(&mut config, &mut traffic).expect("a valid configuration");
    config
}

/// Cases that must be there.
const REQUIRED: [&str; 28] = [
    "blocks",
    "bypass",
    "changes",
    "clat",
    "deterministic",
    "ds-lite",
    "ds-lite-fragments",
    "filtering",
    "fragments",
    "hairpin",
    "icmp",
    "interfaces",
    "links",
    "nat46",
    "nat64",
    "next-hops",
    "port-forwarding",
    "pcp",
    "pcp-realms",
    "pptp",
    "rule-changes",
    "rules",
    "siit",
    "siit-lengths",
    "tcp",
    "timers",
    "udp",
    "vrfs",
];
