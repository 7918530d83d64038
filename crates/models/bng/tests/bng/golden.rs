//! The golden cases of the broadband network gateway; a change is written as in a scenario, in
//! braces.

use std::path::Path;

use function_bng::Update;
use model_bng::{BroadbandGateway, Section, Traffic};
use model_kit::Model;
use testkit::golden::{Reader, hold};

#[test]
fn golden_cases_are_as_expected() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden");
    hold::<BroadbandGateway>(&folder, &REQUIRED, &Reader { config, update });
}

fn config(text: &str) -> Section {
    let mut config: Section = serde_saphyr::from_str(text).expect("a section");
    BroadbandGateway::validate(&mut config, &mut Traffic::default()).expect("it is valid");
    config
}

fn update(text: &str) -> Result<Update, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

/// Cases that must be there.
const REQUIRED: [&str; 7] = ["changes", "control", "ipoe", "lists", "policers", "pppoe", "queues"];
