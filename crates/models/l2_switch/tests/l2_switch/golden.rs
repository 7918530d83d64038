//! The golden cases of the bridge; a change is written as in a scenario, in braces.
use std::path::Path;

use model_kit::Model;
use model_l2_switch::{L2Switch, Section, Traffic};
use testkit::golden::{Reader, hold};

#[test]
fn golden_cases_are_as_expected() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden");
    let update = |text: &str| serde_saphyr::from_str(text).map_err(|error| error.to_string());
    hold::<L2Switch>(&folder, &REQUIRED, &Reader { config, update });
}

fn config(text: &str) -> Section {
    let mut config: Section = serde_saphyr::from_str(text).expect("a section");
    L2Switch::validate(&mut config, &mut Traffic::default()).expect("a valid configuration");
    config
}

/// Cases that must be there.
const REQUIRED: [&str; 14] = [
    "acl",
    "ageing",
    "egress",
    "four-ports",
    "full",
    "hidden",
    "learning",
    "mirrors",
    "moves",
    "patch",
    "storms",
    "timed",
    "tipsy",
    "vlans",
];
