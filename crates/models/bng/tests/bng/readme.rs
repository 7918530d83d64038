//! The README says what the code says.

use function_bng::reasons::{NAMES, TALLIES};
use testkit::readme::first_column;

const README: &str = include_str!("../../../../functions/bng/README.md");

#[test]
fn every_drop_reason_and_tally_is_explained_in_order() {
    let expected: Vec<&str> = NAMES.iter().chain(TALLIES).copied().collect();
    assert_eq!(first_column(README, "Counters"), expected);
}
