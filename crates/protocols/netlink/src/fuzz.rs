//! The body of the fuzz target: any messages, to a machine with little room.

use std::collections::BTreeSet;

use protocol_kit::{Arrival, Departure, Input, Machine, Output, Socket, Time};

use crate::ledger::Report;
use crate::machine::{Config, Netlink};
use crate::route::RouteChange;
use crate::wire::message;

/// Feeds a machine with messages, as a reading and beside one; the first byte tells how they are
/// cut. It panics when the machine reports what goes and was not there, or holds more than it may.
pub fn fuzz(bytes: &[u8]) {
    let Some((piece, messages)) = bytes.split_first() else { return };
    let config = Config {
        routes_max: ROOM,
        next_hops_max: ROOM,
        neighbours_max: ROOM,
        addresses_max: ROOM,
        ..Config::default()
    };
    let (mut netlink, mut now) = (Netlink::new(config), Time::ZERO);
    let (mut addresses, mut neighbours) = (BTreeSet::new(), BTreeSet::new());
    let (mut routes, mut next_hops) = (BTreeSet::new(), BTreeSet::new());
    let socket = Socket(0);
    let mut cuts = messages.chunks(usize::from(*piece) + 1);
    for _ in 0..TURNS_MAX {
        let mut done = Vec::new();
        while let Some(output) = netlink.poll(now) {
            match output {
                // The kernel has nothing.
                Output::Departure(Departure::Netlink { bytes, .. }) => {
                    let sequence = u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]);
                    done.extend(message(3, 2, sequence, &[0; 4]));
                }
                Output::Departure(_) | Output::Report(Report::Settled | Report::Full(_)) => {}
                Output::Report(Report::Address { interface, address, .. }) => {
                    addresses.insert((interface, address));
                }
                Output::Report(Report::AddressGone { interface, address }) => {
                    assert!(addresses.remove(&(interface, address)));
                }
                Output::Report(Report::Neighbour { interface, address, .. }) => {
                    neighbours.insert((interface, address));
                }
                Output::Report(Report::NeighbourGone { interface, address }) => {
                    assert!(neighbours.remove(&(interface, address)));
                }
                Output::Report(Report::NeighbourHeard { .. }) => {}
                Output::Report(Report::Routing(RouteChange::Route(route))) => {
                    routes.insert(route.key());
                }
                Output::Report(Report::Routing(RouteChange::Withdrawn(key))) => {
                    assert!(routes.remove(&key))
                }
                Output::Report(
                    Report::Routing(RouteChange::NextHop { id, .. })
                    | Report::Routing(RouteChange::Group { id, .. }),
                ) => {
                    next_hops.insert(id);
                }
                Output::Report(Report::Routing(RouteChange::NextHopGone { id })) => {
                    assert!(next_hops.remove(&id))
                }
            }
        }
        let held = [routes.len(), next_hops.len(), neighbours.len(), addresses.len()];
        assert_eq!(held, netlink.held());
        assert!(held.iter().all(|count| *count <= ROOM));
        if !done.is_empty() {
            netlink.input(now, Input::Arrival(Arrival::Netlink { socket, bytes: &done }));
        } else if let Some(bytes) = cuts.next() {
            netlink.input(now, Input::Arrival(Arrival::Netlink { socket, bytes }));
        } else {
            match netlink.deadline() {
                Some(deadline) => now = now.max(deadline),
                None => return,
            }
        }
    }
}

/// Examples from which a fuzzer begins: one message of each kind.
pub fn examples() -> Vec<Vec<u8>> {
    let attribute = |kind: u16, value: &[u8]| {
        let len = 4 + value.len() as u16;
        let mut bytes = [len.to_le_bytes(), kind.to_le_bytes()].concat();
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    };
    let address = [&[2, 24, 128, 0, 7, 0, 0, 0][..], &attribute(2, &[192, 0, 2, 1])].concat();
    let neighbour = [
        &[2, 0, 0, 0, 7, 0, 0, 0, 0x80, 0, 0, 1][..],
        &attribute(1, &[192, 0, 2, 9]),
        &attribute(2, &[2, 0, 0, 0, 0, 9]),
    ]
    .concat();
    let route = [
        &[2, 24, 0, 0, 254, 4, 0, 1, 0, 0, 0, 0][..],
        &attribute(1, &[198, 51, 100, 0]),
        &attribute(5, &[192, 0, 2, 9]),
        &attribute(4, &[7, 0, 0, 0]),
    ]
    .concat();
    let link = [0, 0, 1, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let next_hop = [
        &[2, 0, 0, 0, 0, 0, 0, 0][..],
        &attribute(1, &[1, 0, 0, 0]),
        &attribute(5, &[7, 0, 0, 0]),
        &attribute(6, &[192, 0, 2, 9]),
    ]
    .concat();
    let all = [
        (20, &address[..]),
        (21, &address),
        (28, &neighbour),
        (29, &neighbour),
        (24, &route),
        (25, &route),
        (16, &link),
        (104, &next_hop),
        (105, &next_hop),
    ];
    let one = |(kind, body): (u16, &[u8])| [&[255][..], &message(kind, 0, 0, body)].concat();
    let mut examples: Vec<Vec<u8>> = all.into_iter().map(one).collect();
    let together: Vec<u8> =
        all.into_iter().flat_map(|(kind, body)| message(kind, 0, 0, body)).collect();
    examples.push([&[39][..], &together].concat());
    examples
}

/// Of each kind.
const ROOM: usize = 4;

/// Turns of one input.
const TURNS_MAX: usize = 4096;
