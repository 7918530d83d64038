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
    refusing(
        "sessions-full",
        Severity::Critical,
        &["refused-no-session"],
        "new connections are refused: there is no room for sessions or mappings",
    ),
    refusing(
        "subscribers-full",
        Severity::Major,
        &["refused-no-subscriber"],
        "subscribers are refused: there is no room for more of them",
    ),
    refusing(
        "pool-exhausted",
        Severity::Major,
        &["refused-no-port"],
        "new connections are refused: outside addresses or ports are used up",
    ),
    dropping(
        "not-active",
        Severity::Major,
        &["not-active"],
        "new connections are refused: packets for them come here, and this is not the active NAT",
    ),
    dropping(
        "next-hop-silent",
        Severity::Major,
        &["unresolved"],
        "packets are dropped because a next hop does not answer to ARP or Neighbor Discovery",
    ),
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

/// Where senders are told, packets that are refused do not count as dropped.
const fn refusing(
    cause: &'static str,
    severity: Severity,
    tallies: &'static [&'static str],
    text: &'static str,
) -> Condition {
    Condition { cause, severity, when: When::Counting(tallies), text }
}

const fn dropping(
    cause: &'static str,
    severity: Severity,
    reasons: &'static [&'static str],
    text: &'static str,
) -> Condition {
    Condition { cause, severity, when: When::Dropping(reasons), text }
}
