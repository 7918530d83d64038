//! The golden cases of the mobile gateway; a change is written `handover teid=1 base-station=0`.

use std::path::Path;

use functions::NetworkFunction;
use functions::mobile_gateway::MobileGateway;
use functions::mobile_gateway::config::{Config, Traffic};
use testkit::golden::{Reader, hold};

use crate::updates::read_update;

#[test]
fn golden_cases_are_as_expected() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/mobile_gateway/golden");
    hold::<MobileGateway>(&folder, &REQUIRED, &Reader { config, update: read_update });
}

fn config(text: &str) -> Config {
    let mut config: Config = serde_saphyr::from_str(text).expect("a section");
    MobileGateway::validate(&mut config, &mut Traffic::default()).expect("a valid configuration");
    config
}

/// Cases that must be there.
const REQUIRED: [&str; 9] = [
    "answers",
    "gtp-u",
    "gtp-u-extension-headers",
    "handover",
    "ipv6",
    "policer",
    "refusals",
    "unmatched-sent-on",
    "vxlan",
];
