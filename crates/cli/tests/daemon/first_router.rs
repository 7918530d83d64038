//! The page for a first router, as it stands.

use crate::{frr, pages};

const PAGE: &str = include_str!("../../../../docs/first-router.md");

#[test]
fn the_page_for_a_first_router_works_as_it_stands() {
    if !frr::is_there() || !netns::is_installed("ping") {
        return;
    }
    let said = pages::run(PAGE);
    assert!(said.contains("10.2.0.0/24"), "r1 has the far network: {said}");
    assert!(said.contains("Full"), "the adjacency: {said}");
}
