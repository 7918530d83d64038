//! What operators are shown of the NAT beside its tables: the next hops that it asks for, and what
//! raises alarms.

use function_kit::{Condition, Neighbour, Severity, When, station};

use crate::neighbours::conflicts::Conflicts;
use crate::neighbours::table::Neighbours;

/// Stations that have an address of the NAT's, and next hops that are asked for their MAC address.
pub(crate) fn neighbours(
    (all, conflicts): (Option<&Neighbours>, &Conflicts),
    limit: usize,
) -> Vec<Neighbour> {
    let shown = |(interface, one): (String, &stages::neighbours::Entry)| {
        station(interface, one.address, one.state(), one.mac)
    };
    let asked = all.into_iter().flat_map(Neighbours::entries).map(shown);
    conflicts.shown().chain(asked).take(limit).collect()
}

/// What raises alarms.
pub(crate) const CONDITIONS: &[Condition] = &[
    // Packets that are refused are tallied, too, where their senders are told, and so not dropped.
    Condition {
        cause: "sessions-full",
        severity: Severity::Critical,
        when: When::Counting(&["refused-no-session"]),
        text: "new connections are refused: there is no room for sessions or mappings",
    },
    Condition {
        cause: "subscribers-full",
        severity: Severity::Major,
        when: When::Counting(&["refused-no-subscriber"]),
        text: "subscribers are refused: there is no room for more of them",
    },
    Condition {
        cause: "pool-exhausted",
        severity: Severity::Major,
        when: When::Counting(&["refused-no-port"]),
        text: "new connections are refused: outside addresses or ports are used up",
    },
    Condition {
        cause: "not-active",
        severity: Severity::Major,
        when: When::Dropping(&["not-active"]),
        text: "new connections are refused: packets for them come here, and this is not the active NAT",
    },
    Condition {
        cause: "next-hop-silent",
        severity: Severity::Major,
        when: When::Dropping(&["unresolved"]),
        text: "packets are dropped because a next hop does not answer to ARP or Neighbor Discovery",
    },
    Condition {
        cause: "address-conflict",
        severity: Severity::Major,
        when: When::Neighbour {
            protocol: "arp",
            state: stages::duplicates::STATE,
            told_by: &["address-conflicts"],
        },
        text: "another station has an address of the NAT's, and hosts may send there instead",
    },
    Condition {
        cause: "replication-lost",
        severity: Severity::Major,
        when: When::Neighbour { protocol: "replication", state: "gone", told_by: &[] },
        text: "there is no connection with the other NAT: sessions that are opened now would not \
               outlive the one that has them",
    },
    Condition {
        cause: "blocks-low",
        severity: Severity::Warning,
        when: When::Filled { table: "blocks", raised: 90, cleared: 80 },
        text: "nine of ten port blocks are in use: add a pool, or give smaller blocks",
    },
    Condition {
        cause: "sessions-low",
        severity: Severity::Warning,
        when: When::Filled { table: "sessions", raised: 90, cleared: 80 },
        text: "nine of ten places for sessions are in use: raise `sessions`",
    },
    Condition {
        cause: "log-lost",
        severity: Severity::Minor,
        when: When::Counting(&["log-lost-sessions", "log-lost-mappings", "log-lost-blocks"]),
        text: "records for the collector of logs are lost",
    },
];
