//! What the machine says, case by case.

use protocol_kit::{Arrival, Departure, Input, Interface, Machine, Output, Socket};
use protocol_netlink::{Config, Follows, Limited, Report};

use crate::kernel::*;

/// A kernel with something of each kind.
fn some() -> Kernel {
    let mut kernel = Kernel::new(Config::default());
    kernel.add_address((7, ip(2, 1)), 24);
    kernel.set_neighbour((7, ip(2, 9)), 9);
    kernel.add_route(ip(5, 0), 20, 7, ip(2, 9));
    kernel
}

#[test]
fn everything_is_read_at_first_and_changes_follow() {
    let mut kernel = some();
    kernel.settle();
    assert_eq!(kernel.said, kernel.having());
    assert_eq!(kernel.reports.last(), Some(&Report::Settled), "{:?}", kernel.reports);
    assert_eq!(kernel.netlink.held(), [1, 0, 1, 1]);
    kernel.add_address((8, ip(3, 1)), 16);
    kernel.set_neighbour((7, ip(2, 9)), 10);
    kernel.remove_route(ip(5, 0), 20);
    kernel.settle();
    assert_eq!(kernel.said, kernel.having());
    assert_eq!(kernel.netlink.counters().readings, 1, "nothing had to be read again");
}

#[test]
fn what_was_lost_is_read_and_what_is_gone_is_swept() {
    let mut kernel = some();
    kernel.settle();
    kernel.room = 0;
    kernel.add_address((8, ip(3, 1)), 24);
    kernel.remove_neighbour((7, ip(2, 9)));
    kernel.remove_route(ip(5, 0), 20);
    kernel.room = 100;
    kernel.settle();
    assert_eq!(kernel.said, kernel.having());
    let counters = kernel.netlink.counters();
    assert_eq!((counters.overruns, counters.readings, counters.swept), (1, 2, 2));
    // What is lost while a list is read tears it, and so does what the kernel says of it.
    kernel.now = kernel.now.after(std::time::Duration::from_secs(1));
    kernel.netlink.input(kernel.now, Input::Arrival(Arrival::Overrun { socket: Socket(0) }));
    kernel.is_torn = true;
    kernel.settle();
    let counters = kernel.netlink.counters();
    assert_eq!((counters.overruns, counters.readings, counters.torn), (2, 4, 1));
}

#[test]
fn of_several_routes_the_best_holds_and_the_next_one_comes_forward() {
    let mut kernel = some();
    kernel.settle();
    kernel.add_route(ip(5, 0), 10, 7, ip(2, 10));
    kernel.add_route(ip(5, 0), 30, 7, ip(2, 30));
    kernel.settle();
    assert_eq!(kernel.said.routes[&key(ip(5, 0))], ip(2, 10));
    kernel.remove_route(ip(5, 0), 10);
    kernel.settle();
    assert_eq!(kernel.said.routes[&key(ip(5, 0))], ip(2, 9));
    kernel.remove_route(ip(5, 0), 20);
    kernel.remove_route(ip(5, 0), 30);
    kernel.settle();
    assert!(kernel.said.routes.is_empty());
}

#[test]
fn routes_that_go_with_an_address_or_a_link_are_missed() {
    let mut kernel = some();
    kernel.settle();
    kernel.remove_address((7, ip(2, 1)));
    kernel.settle();
    assert!(kernel.said.routes.is_empty() && kernel.said.addresses.is_empty());
    kernel.add_route(ip(5, 0), 20, 7, ip(2, 9));
    kernel.settle();
    // The link goes down: its header has neither IFF_UP nor IFF_RUNNING.
    kernel.routes.clear();
    kernel.tell(numbered(16, &[0, 0, 1, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 0, 0));
    kernel.settle();
    assert!(kernel.said.routes.is_empty());
}

#[test]
fn neighbours_that_answer_are_heard_and_not_held() {
    let mut kernel = some();
    kernel.settle();
    for (state, is_heard) in [(0x02, true), (0x04, false), (0x20, false), (0x01, false)] {
        kernel.reports.clear();
        kernel.tell(neighbour(28, (7, ip(2, 8)), 8, state));
        kernel.settle();
        let (interface, address, mac) = (Interface(7), ip(2, 8), [2, 0, 0, 0, 0, 8]);
        let heard = Report::NeighbourHeard { interface, address, mac };
        let expected = if is_heard { vec![heard] } else { Vec::new() };
        assert_eq!(kernel.reports, expected, "state {state:#x}");
    }
    assert_eq!(kernel.netlink.held()[2], 1);
    // One that was named and is learned now.
    kernel.tell(neighbour(28, (7, ip(2, 9)), 9, 0x02));
    kernel.settle();
    assert_eq!(kernel.netlink.held()[2], 0);
    assert!(kernel.said.neighbours.is_empty());
}

#[test]
fn only_what_is_followed_is_asked_for() {
    let follows = Follows { addresses: true, ..Follows::default() };
    let mut kernel = some();
    kernel.netlink = protocol_netlink::Netlink::new(Config { follows, ..Config::default() });
    kernel.settle();
    assert!(kernel.said.routes.is_empty() && kernel.said.neighbours.is_empty());
    assert_eq!(kernel.said.addresses.len(), 1);
    assert_eq!(kernel.netlink.counters().readings, 1);
}

#[test]
fn there_is_room_for_so_much_and_no_more() {
    let config = Config { routes_max: 2, neighbours_max: 1, addresses_max: 3, ..Config::default() };
    let mut kernel = Kernel::new(config);
    for number in 0..10 {
        kernel.add_address((7, ip(2, number)), 24);
        kernel.set_neighbour((7, ip(2, number)), number);
        kernel.add_route(ip(number, 0), 20, 7, ip(2, 9));
    }
    kernel.settle();
    assert_eq!(kernel.netlink.held(), [2, 0, 1, 3]);
    assert!(!kernel.netlink.has_room());
    let full = |what| kernel.reports.iter().filter(|one| **one == Report::Full(what)).count();
    let said = [Limited::Routes, Limited::Neighbours, Limited::Addresses].map(full);
    assert_eq!((said, kernel.netlink.counters().refused), ([1; 3], 8 + 9 + 7));
    // What does not go for the sake of what was refused changes nothing.
    let readings = |kernel: &Kernel| kernel.netlink.counters().readings;
    let before = readings(&kernel);
    kernel.tell(neighbour(28, (7, ip(2, 200)), 200, 2));
    kernel.settle();
    assert_eq!(readings(&kernel), before);
}

#[test]
fn what_was_refused_is_read_when_there_is_room() {
    let config = Config { routes_max: 2, neighbours_max: 2, addresses_max: 2, ..Config::default() };
    type Change = fn(&mut Kernel, u8);
    let kinds: [[Change; 2]; 3] = [
        [
            |kernel, number| kernel.add_route(ip(number, 0), 20, 7, ip(2, 9)),
            |kernel, number| kernel.remove_route(ip(number, 0), 20),
        ],
        [
            |kernel, number| kernel.set_neighbour((7, ip(2, number)), number),
            |kernel, number| kernel.remove_neighbour((7, ip(2, number))),
        ],
        [
            |kernel, number| kernel.add_address((7, ip(2, number)), 24),
            |kernel, number| kernel.remove_address((7, ip(2, number))),
        ],
    ];
    for [add, remove] in kinds {
        let mut kernel = Kernel::new(config);
        kernel.settle();
        (1..=4).for_each(|number| add(&mut kernel, number));
        kernel.settle();
        // One that was refused goes, and then two that were not: also while all is read.
        remove(&mut kernel, 4);
        remove(&mut kernel, 1);
        kernel.settle();
        assert!(kernel.netlink.has_room());
        assert_eq!((kernel.said.clone(), kernel.netlink.held()[1]), (kernel.having(), 0));
        add(&mut kernel, 5);
        kernel.settle();
        assert!(!kernel.netlink.has_room());
        // The refused one alone.
        remove(&mut kernel, 5);
        kernel.settle();
        assert!(kernel.netlink.has_room());
        assert_eq!(kernel.said, kernel.having());
        // What goes unheard leaves its place at the end of a reading.
        kernel.room = 0;
        remove(&mut kernel, 2);
        add(&mut kernel, 6);
        kernel.room = usize::MAX;
        kernel.settle();
        assert!(kernel.netlink.has_room());
        assert_eq!(kernel.said, kernel.having());
    }
}

#[test]
fn a_socket_that_fails_or_falls_silent_is_opened_again() {
    let mut kernel = some();
    let opens = |kernel: &mut Kernel| match kernel.netlink.poll(kernel.now) {
        Some(Output::Departure(Departure::Open { .. })) => true,
        other => panic!("{other:?}"),
    };
    assert!(opens(&mut kernel));
    kernel.netlink.input(kernel.now, Input::Arrival(Arrival::Failed { socket: Socket(0) }));
    assert_eq!(kernel.netlink.poll(kernel.now), None);
    kernel.now = kernel.netlink.deadline().expect("it tries again");
    assert!(opens(&mut kernel));
    // It asks, and nobody answers.
    assert!(matches!(
        kernel.netlink.poll(kernel.now),
        Some(Output::Departure(Departure::Netlink { .. }))
    ));
    assert_eq!(kernel.netlink.poll(kernel.now), None);
    kernel.now = kernel.netlink.deadline().expect("it does not wait for ever");
    assert!(matches!(
        kernel.netlink.poll(kernel.now),
        Some(Output::Departure(Departure::Close { .. }))
    ));
    kernel.settle();
    assert_eq!(kernel.said, kernel.having());
}

#[test]
fn while_too_many_reports_wait_nothing_is_read() {
    let mut kernel = Kernel::new(Config { waiting_max: 4, ..Config::default() });
    kernel.settle();
    for number in 0..20 {
        kernel.arrive(&address(20, (7, ip(2, number)), 24));
    }
    let wanted = |kernel: &mut Kernel| kernel.netlink.depart(kernel.now);
    let read = |is_wanted| Some(Departure::Read { socket: Socket(0), is_wanted });
    assert_eq!(wanted(&mut kernel), read(false));
    for _ in 0..18 {
        assert_eq!(wanted(&mut kernel), None);
        assert!(matches!(kernel.netlink.poll(kernel.now), Some(Output::Report(_))));
    }
    assert_eq!(wanted(&mut kernel), read(true));
}
