//! A controller that begins anew finds what an earlier life has left.

use controller_kernel::Config;

use crate::support::*;

#[test]
fn what_the_kernel_has_no_more_goes_when_it_has_told_everything() {
    let mut driven = Driven::new();
    driven.lists.push((22, address(20, 3, "10.0.0.1/24")));
    driven.link().tell(&[
        address(20, 4, "10.4.0.1/24"),
        address(20, 4, "10.5.0.1/24"),
        neighbour(28, 3, "10.0.0.77", 0x80),
        neighbour(28, 3, "10.0.0.78", 0x80),
        route(24, 254, "203.0.113.0/24", "10.0.0.9", 3),
        route(24, 254, "198.51.100.0/24", "10.0.0.9", 3),
    ]);
    assert_eq!(driven.memory().len(), 7, "{:?}", driven.memory());
    let mut again = Driven::on(driven.config, Config::default(), driven.router);
    again.lists = vec![
        (22, address(20, 3, "10.0.0.1/24")),
        (22, address(20, 4, "10.5.0.1/24")),
        (30, neighbour(28, 3, "10.0.0.78", 0x80)),
        (26, route(24, 254, "198.51.100.0/24", "10.0.0.9", 3)),
    ];
    assert!(again.is_own("10.4.0.1") && again.has("203.0.113.0/24"), "nothing goes before");
    again.link();
    assert!(!again.is_own("10.4.0.1") && again.is_own("10.5.0.1"));
    assert!(!again.has("203.0.113.0/24") && again.has("198.51.100.0/24"));
    assert_eq!(again.memory().len(), 4, "{:?}", again.memory());
    assert!(again.refused.is_empty() && again.alarms.is_empty());
}

#[test]
fn an_interface_that_is_made_again_keeps_what_it_had_until_the_kernel_has_told() {
    let mut driven = Driven::new();
    driven.lists.push((22, address(20, 3, "10.0.0.1/24")));
    driven.link();
    // Somebody deletes it; the daemon makes another one, with another number.
    driven.links(&[(4, 1)]);
    driven.tell(&[address(21, 3, "10.0.0.1/24")]);
    assert!(driven.is_own("10.0.0.1"));
    driven.tell(&[address(20, 5, "10.0.0.1/24")]);
    driven.links(&[(4, 1), (5, 0)]);
    assert!(driven.is_own("10.0.0.1") && driven.memory().is_empty());
}
