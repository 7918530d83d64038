//! What a collector must learn of an event of the log, stated once more, by name.
use std::net::{Ipv4Addr, Ipv6Addr};

use function_cgnat::log::{Event, Family, Kind};

use super::oracle::Facts;

/// What a collector must learn of an event that happened at a time in milliseconds since 1970.
pub fn facts(event: &Event, unix_ms: u64, destinations: bool) -> Facts {
    let mut facts = Facts::new();
    let mut know = |name: &str, text: String| {
        assert!(facts.insert(name.to_owned(), text).is_none(), "{name} is told twice");
    };
    know("event", event.kind.name().to_owned());
    know("at", unix_ms.to_string());
    if names_subscriber(event.kind) {
        let ipv6 = Ipv6Addr::from_bits(event.inside);
        match event.family() {
            Family::Nat44 => {
                let ipv4 = ipv6.to_ipv4_mapped().unwrap_or(Ipv4Addr::UNSPECIFIED);
                know("inside", ipv4.to_string());
            }
            Family::Nat64 => know("inside", ipv6.to_string()),
            Family::DsLite => {
                know("b4", ipv6.to_string());
                know("inside", event.inside_ipv4.to_string());
            }
        }
        know("vrf", event.realm.to_string());
    }
    match event.kind {
        Kind::SessionCreate | Kind::SessionDelete | Kind::MappingCreate | Kind::MappingDelete => {
            know("outside", event.outside.to_string());
            know("proto", event.protocol.to_string());
            know("inport", event.inside_port.to_string());
            know("outport", event.first_port.to_string());
            let is_session = matches!(event.kind, Kind::SessionCreate | Kind::SessionDelete);
            if is_session && destinations {
                know("to", event.remote.to_string());
                know("toport", event.remote_port.to_string());
            }
        }
        Kind::BlockAllocate | Kind::BlockRelease => {
            know("outside", event.outside.to_string());
            know("first", event.first_port.to_string());
            know("last", event.last_port.to_string());
        }
        Kind::AddressBind | Kind::AddressUnbind => know("outside", event.outside.to_string()),
        Kind::AddressesExhausted => know("pool", event.pool.to_string()),
        Kind::PortsExhausted => {
            know("outside", event.outside.to_string());
            know("proto", event.protocol.to_string());
        }
        Kind::PoolHigh | Kind::PoolLow => {
            know("pool", event.pool.to_string());
            know("limit", event.limit.to_string());
        }
        Kind::AddressHigh => {
            know("vrf", event.realm.to_string());
            know("limit", event.limit.to_string());
        }
        Kind::SessionsFull
        | Kind::MappingsFull
        | Kind::SubscriberLimit
        | Kind::SubscribersFull
        | Kind::FragmentsFull
        | Kind::PortsHigh
        | Kind::SubscriberHigh => know("limit", event.limit.to_string()),
        Kind::LogBegin => know("domain", event.realm.to_string()),
        Kind::LogEnd => {
            know("domain", event.realm.to_string());
            know("told", (event.inside >> 64).to_string());
            know("lost", (event.inside as u64).to_string());
        }
    }
    facts
}

/// Whether events of a kind are a subscriber's.
fn names_subscriber(kind: Kind) -> bool {
    !matches!(
        kind,
        Kind::AddressesExhausted
            | Kind::PortsExhausted
            | Kind::SessionsFull
            | Kind::MappingsFull
            | Kind::SubscribersFull
            | Kind::PoolHigh
            | Kind::PoolLow
            | Kind::PortsHigh
            | Kind::AddressHigh
            | Kind::LogBegin
            | Kind::LogEnd
    )
}
