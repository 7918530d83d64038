//! The README says what the code says.

use functions::cgnat::config::Config;
use functions::cgnat::reasons::{NAMES, TALLIES};
use testkit::readme::first_column;

const README: &str = include_str!("../../src/cgnat/README.md");

#[test]
fn every_drop_reason_and_tally_is_explained_in_order() {
    let expected: Vec<&str> = NAMES.iter().chain(TALLIES).copied().collect();
    assert_eq!(first_column(README, "Counters"), expected);
}

#[test]
fn every_config_key_is_explained_in_order() {
    let keys = serde_json::to_value(Config::default()).expect("a configuration can be written");
    let keys: Vec<&str> = keys.as_object().expect("a map").keys().map(String::as_str).collect();
    assert_eq!(first_column(README, "Config keys"), keys);
}
