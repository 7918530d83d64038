//! The README says what the code says.

use function_l2_switch::reasons::{NAMES, TALLIES};
use testkit::readme::first_column;

const README: &str = include_str!("../../../../functions/l2_switch/README.md");

#[test]
fn every_drop_reason_and_tally_is_explained_in_order() {
    let expected: Vec<&str> = NAMES.iter().chain(TALLIES).copied().collect();
    assert_eq!(first_column(README, "Counters"), expected);
}
