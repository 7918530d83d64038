//! What operators are shown of the gateway beside its tables, and what raises alarms.

use function_kit::{Condition, Neighbour, Severity, When, station};
use stages::duplicates::{self, Duplicate};
use stages::neighbours::Entry;

use super::neighbours::Neighbours;

/// Base stations and next hops that are asked for their MAC address.
pub(super) fn neighbours(all: &Neighbours, limit: usize) -> Vec<Neighbour> {
    let shown = |one: &Entry| {
        let interface = PORTS.get(usize::from(one.link)).map_or("", |name| name).to_owned();
        station(interface, one.address, one.state(), one.mac)
    };
    let others = all.duplicates().iter().map(|one: &Duplicate| {
        let interface = PORTS.get(usize::from(one.link)).map_or("", |name| name).to_owned();
        station(interface, one.address, duplicates::STATE, Some(one.mac))
    });
    others.chain(all.entries().map(shown)).take(limit).collect()
}

/// What raises alarms.
pub(super) const CONDITIONS: &[Condition] = &[
    Condition {
        cause: "next-hop-silent",
        severity: Severity::Major,
        when: When::Dropping(&["unresolved"]),
        text: "packets are dropped because a base station or next hop does not answer to ARP or \
               Neighbor Discovery",
    },
    Condition {
        cause: "address-conflict",
        severity: Severity::Major,
        when: When::Neighbour {
            protocol: "arp",
            state: duplicates::STATE,
            told_by: &["address-conflicts"],
        },
        text: "another station has the gateway's address, and base stations or hosts may send there \
               instead",
    },
    Condition {
        cause: "error-indication",
        severity: Severity::Warning,
        when: When::Dropping(&["gtp-error-indication"]),
        text: "a base station says by error indications of GTP-U that it does not have bearers of \
               its users",
    },
    Condition {
        cause: "made-full",
        severity: Severity::Warning,
        when: When::Counting(&["made-full"]),
        text: "answers and errors of the gateway are dropped for want of room",
    },
];

/// The names of the ports, in the order of their numbers.
pub(super) const PORTS: [&str; 2] = ["access", "core"];
