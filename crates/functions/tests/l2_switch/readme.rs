//! The README says what the code says.

use functions::l2_switch::config::features::MoveLimit;
use functions::l2_switch::config::{Config, Unknown};
use functions::l2_switch::reasons::{NAMES, TALLIES};
use testkit::readme::first_column;

const README: &str = include_str!("../../src/l2_switch/README.md");

#[test]
fn every_drop_reason_and_tally_is_explained_in_order() {
    let expected: Vec<&str> = NAMES.iter().chain(TALLIES).copied().collect();
    assert_eq!(first_column(README, "Counters"), expected);
}

#[test]
fn every_config_key_is_explained_in_order() {
    let unknown = Some(Unknown::Flood);
    let move_limit = Some(MoveLimit::default());
    let config = Config { fakedrop: Some(true), unknown, move_limit, ..Config::default() };
    let keys = serde_json::to_value(config).expect("a configuration can be written");
    let keys: Vec<&str> = keys.as_object().expect("a map").keys().map(String::as_str).collect();
    assert_eq!(first_column(README, "Config keys"), keys);
}
