//! The README says what the code says.

use functions::l2_switch::config::{Config, Unknown};
use functions::l2_switch::reasons::{NAMES, TALLIES};

const README: &str = include_str!("../../src/l2_switch/README.md");

/// The first column of the table in a section, in code quotes.
fn first_column(section: &str) -> Vec<&'static str> {
    let start = README.find(&format!("\n## {section}\n")).expect("the section is there");
    let body = &README[start + 4..];
    let body = &body[..body.find("\n## ").unwrap_or(body.len())];
    body.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect()
}

#[test]
fn every_drop_reason_and_tally_is_explained_in_order() {
    let expected: Vec<&str> = NAMES.iter().chain(TALLIES).copied().collect();
    assert_eq!(first_column("Counters"), expected);
}

#[test]
fn every_config_key_is_explained_in_order() {
    let unknown = Some(Unknown::Flood);
    let config = Config { fakedrop: Some(true), unknown, ..Config::default() };
    let keys = serde_json::to_value(config).expect("a configuration can be written");
    let keys: Vec<&str> = keys.as_object().expect("a map").keys().map(String::as_str).collect();
    assert_eq!(first_column("Config keys"), keys);
}
