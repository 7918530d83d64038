//! What operators are shown of a function: stations that it asks for, the conditions that they have
//! to know of, and the protocols that its workers speak.

use std::net::IpAddr;
use std::ops::Range;

use protocol_kit::{Content, Neighbour};
use wire::MacAddr;

/// A station on a link, at an interface, that is asked for its Ethernet address: by ARP, or over
/// IPv6 by Neighbor Discovery.
pub fn station(interface: String, address: IpAddr, state: &str, mac: Option<MacAddr>) -> Neighbour {
    Neighbour {
        protocol: if address.is_ipv4() { "arp" } else { "nd" },
        interface,
        address: address.to_string(),
        state: state.to_owned(),
        since: None,
        detail: mac.map_or_else(String::new, |mac| mac.to_string()),
    }
}

/// How bad a condition is (ITU-T X.733 section 8.1.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Something may go wrong.
    Warning,
    /// Something does not work that others make up for.
    Minor,
    /// A service is worse than it should be.
    Major,
    /// A service is not there.
    Critical,
}

/// A condition of a function that raises an alarm for as long as it holds. Who runs the function
/// judges it from time to time by what the function shows anyway; no packet pays for it.
#[derive(Clone, Copy, Debug)]
pub struct Condition {
    /// The cause of the alarm, in one word of the field: `sessions-full`.
    pub cause: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// When it holds.
    pub when: When,
    /// What that means to users, as a sentence without a full stop.
    pub text: &'static str,
}

/// When a condition holds.
#[derive(Clone, Copy, Debug)]
pub enum When {
    /// Packets are dropped for one of these reasons, again and again within seconds.
    Dropping(&'static [&'static str]),
    /// One of these tallies grows, again and again within seconds.
    Counting(&'static [&'static str]),
    /// A table is so full.
    Filled {
        /// One of [`NetworkFunction::TABLES`](crate::NetworkFunction::TABLES).
        table: &'static str,
        /// Of a hundred of its entries so many are used when it begins to hold.
        raised: u64,
        /// It holds until fewer are.
        cleared: u64,
    },
    /// Some neighbour of this protocol is in this state: an alarm for each.
    Neighbour {
        /// The protocol, as [`protocol_kit::Neighbour`] has it.
        protocol: &'static str,
        /// The state.
        state: &'static str,
        /// Tallies of which one changes when a neighbour's state does, so that it is noticed soon.
        told_by: &'static [&'static str],
    },
}

/// A short table whose numbers are metrics: as `<table>_<key>`, a value for each entry.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// One of [`NetworkFunction::TABLES`](crate::NetworkFunction::TABLES).
    pub table: &'static str,
    /// Keys of its entries that become labels; entries of several workers that have the same are
    /// one.
    pub labels: &'static [&'static str],
    /// Keys of its entries that are numbers, how those of several workers become one, and the help
    /// text.
    pub values: &'static [(&'static str, Sum, &'static str)],
}

/// How numbers of several workers become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sum {
    /// All together.
    All,
    /// The largest of them, of what all workers see.
    Largest,
}

/// A protocol that a function's workers speak, among the frames of their ports.
#[derive(Clone, Copy, Debug)]
pub struct Spoken {
    /// The protocol, by the name of its folder.
    pub protocol: &'static str,
    /// Where the message is in a frame; `None` of a frame of something else.
    pub message: fn(&[u8]) -> Option<Range<usize>>,
    /// What of the message is shown.
    pub content: Content,
}

/// Columns of a table that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summed {
    /// The table, by its name.
    pub table: &'static str,
    /// The columns whose sums over the workers are shown; the others are the same on all of them.
    pub columns: &'static [&'static str],
}
