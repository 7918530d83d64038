//! What operators are shown of the gateway beside its tables, and what raises alarms.

use function_kit::{Condition, Neighbour, Severity, When, station};

use super::neighbours::Neighbours;

/// Next hops that are asked for their MAC address.
pub(super) fn neighbours(all: &Neighbours, limit: usize) -> Vec<Neighbour> {
    let shown =
        all.entries().map(|one| station(PORTS[1].to_owned(), one.address, one.state(), one.mac));
    shown.take(limit).collect()
}

/// What raises alarms.
pub(super) const CONDITIONS: &[Condition] = &[
    Condition {
        cause: "next-hop-silent",
        severity: Severity::Major,
        when: When::Dropping(&["unresolved"]),
        text: "packets are dropped because a next hop does not answer to ARP or Neighbor Discovery",
    },
    Condition {
        cause: "sessions-full",
        severity: Severity::Major,
        when: When::Filled { table: "sessions", raised: 95, cleared: 90 },
        text: "there is hardly room for more sessions, and subscribers will get none",
    },
    Condition {
        cause: "buffers-full",
        severity: Severity::Warning,
        when: When::Dropping(&["buffers-full"]),
        text: "packets are dropped because all memory for queues is in use",
    },
    Condition {
        cause: "spoofing",
        severity: Severity::Warning,
        when: When::Dropping(&["spoofed-source", "spoofed-mac"]),
        text: "packets are dropped because subscribers send from addresses that they do not have",
    },
    Condition {
        cause: "made-full",
        severity: Severity::Warning,
        when: When::Counting(&["made-full"]),
        text: "answers and errors of the gateway, or packets from queues, are dropped for want of \
               room",
    },
];

/// The names of the ports, in the order of their numbers.
pub(super) const PORTS: [&str; 2] = ["access", "core"];
