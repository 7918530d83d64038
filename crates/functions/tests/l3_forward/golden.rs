//! The golden cases of the router; a change is written as in a scenario, in braces.

use std::path::Path;

use functions::NetworkFunction;
use functions::l3_forward::L3Forward;
use functions::l3_forward::config::{Config, Traffic};
use testkit::golden::{Reader, hold};

#[test]
fn golden_cases_are_as_expected() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/l3_forward/golden");
    let update = |text: &str| serde_saphyr::from_str(text).map_err(|error| error.to_string());
    hold::<L3Forward>(&folder, &REQUIRED, &Reader { config, update });
}

fn config(text: &str) -> Config {
    let mut config: Config = serde_saphyr::from_str(text).expect("a section");
    L3Forward::validate(&mut config, &mut Traffic::default()).expect("a valid configuration");
    config
}

/// Cases that must be there.
const REQUIRED: [&str; 5] = ["changes", "ipv4", "ipv6", "listed-routes", "tipsy"];
