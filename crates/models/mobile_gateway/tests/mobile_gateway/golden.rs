//! The golden cases of the mobile gateway; a change is written `handover ipv4=3.3.0.1
//! base-station=0`.
use std::path::Path;

use model_kit::Model;
use model_mobile_gateway::MobileGateway;
use model_mobile_gateway::Section;
use model_mobile_gateway::Traffic;
use testkit::golden::{Reader, hold};

use crate::updates::read_update;

#[test]
fn golden_cases_are_as_expected() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden");
    hold::<MobileGateway>(&folder, &REQUIRED, &Reader { config, update: read_update });
}

fn config(text: &str) -> Section {
    let mut config: Section = serde_saphyr::from_str(text).expect("a section");
    MobileGateway::validate(&mut config, &mut Traffic::default()).expect("a valid configuration");
    config
}

/// Cases that must be there.
const REQUIRED: [&str; 10] = [
    "answers",
    "gtp-u",
    "gtp-u-extension-headers",
    "handover",
    "ipv6",
    "next-hops",
    "policer",
    "refusals",
    "unmatched-sent-on",
    "vxlan",
];
