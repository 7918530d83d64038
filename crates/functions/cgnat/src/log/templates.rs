//! What a record of each kind of event consists of: the templates of RFC 8158 section 4.6.
//!
//! The table is the one place where records are described, for IPFIX by information elements and
//! for syslog by parameters of the same order. Elements that the RFC leaves open are in it where
//! they say who it was: the VRF of an inside address. Destinations are told only when asked for
//! (RFC 6888 REQ-12). A session from IPv6 tells its destination behind the translation.

use export::record::{self, Field, Template, Templates, Value};
use machine::clock::Ticks;

use crate::log::event::{Event, Family, Kind};

/// A piece of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// When it happened.
    Time,
    /// What happened.
    Event,
    /// Which quota was exceeded.
    Quota,
    /// Which threshold was reached.
    Threshold,
    /// Who it was, by the family: stands for one or two of the following.
    Inside,
    /// The subscriber's IPv4 address.
    InsideIpv4,
    /// The subscriber's IPv6 address, or that of its B4 element.
    InsideIpv6,
    /// The outside address.
    Outside,
    /// The transport protocol.
    Protocol,
    /// The subscriber's port.
    InsidePort,
    /// The outside port.
    OutsidePort,
    /// The other end of a session as the subscriber sees it.
    Remote,
    /// The port of that end.
    RemotePort,
    /// The other end behind the translation.
    PostRemote,
    /// The port of that end.
    PostRemotePort,
    /// The VRF of the inside address.
    Realm,
    /// The first port of a block.
    FirstPort,
    /// The last port of a block.
    LastPort,
    /// The pool.
    Pool,
    /// A limit or threshold, by the number of its information element.
    Limit(u16),
    /// The observation domain of a log.
    Domain,
    /// When a log began.
    Begun,
    /// The records before the end of a log.
    Told,
    /// The events that are lost before it.
    Lost,
}

/// The templates of the kinds that are told; with destinations or without.
fn templates(tells: impl Fn(Kind) -> bool, destinations: bool) -> Templates<Element> {
    let mut templates = Templates { all: Vec::new(), by_shape: vec![0; Kind::COUNT * FAMILIES] };
    for (row, (kinds, elements)) in (0u16..).zip(SHAPES) {
        if !kinds.iter().any(|kind| tells(*kind)) {
            continue;
        }
        let by_family = elements.contains(&Element::Inside);
        let families = if by_family { &Family::ALL[..] } else { &Family::ALL[..1] };
        for family in families {
            let number = templates.all.len() as u8;
            let variant = u16::from(destinations) * 4 + *family as u16;
            let fields = expand(elements, *family, destinations);
            // What is said of a log is said of its observation domain.
            let scope = u16::from(fields.first() == Some(&Element::Domain));
            templates.all.push(Template { id: FIRST_ID + row * 8 + variant, scope, fields });
            for kind in *kinds {
                let first = *kind as usize * FAMILIES;
                match by_family {
                    true => templates.by_shape[first + *family as usize] = number,
                    false => templates.by_shape[first..first + FAMILIES].fill(number),
                }
            }
        }
    }
    templates
}

impl record::Event for Event {
    type Kind = Kind;
    type Field = Element;

    const APPLICATION: &'static str = "cgnat";
    const DATA: &'static str = "nat";
    const FILLER: Event = Event::of(Kind::SessionCreate, 0);

    #[inline]
    fn at(&self) -> Ticks {
        self.at
    }

    #[inline]
    fn kind(&self) -> Kind {
        self.kind
    }

    #[inline]
    fn shape(&self) -> usize {
        self.kind as usize * FAMILIES + self.family() as usize
    }

    fn templates(tells: impl Fn(Kind) -> bool, destinations: bool) -> Templates<Element> {
        templates(tells, destinations)
    }
}

impl Field<Event> for Element {
    fn number(self) -> u16 {
        match self {
            Element::Protocol => 4,
            Element::InsidePort => 7,
            // The pseudo-element is never in a template.
            Element::Inside | Element::InsideIpv4 => 8,
            Element::RemotePort => 11,
            Element::Remote => 12,
            Element::InsideIpv6 => 27,
            Element::Outside => 225,
            Element::PostRemote => 226,
            Element::OutsidePort => 227,
            Element::PostRemotePort => 228,
            Element::Event => 230,
            Element::Realm => 234,
            Element::Pool => 283,
            Element::Time => 323,
            Element::FirstPort => 361,
            Element::LastPort => 362,
            Element::Quota => 466,
            Element::Threshold => 467,
            Element::Limit(number) => number,
            Element::Told => 42,
            Element::Domain => 149,
            Element::Begun => 160,
            Element::Lost => 166,
        }
    }

    fn name(self, event: &Event) -> Option<&'static str> {
        Some(match self {
            // The header has them, or the message identifier tells them.
            Element::Time | Element::Event | Element::Quota | Element::Threshold => return None,
            // The pseudo-element is never in a template; the threshold stands there by its other
            // element.
            Element::Inside | Element::Limit(480) | Element::Begun => return None,
            Element::InsideIpv6 if event.family() == Family::DsLite => "b4",
            Element::InsideIpv4 | Element::InsideIpv6 => "inside",
            Element::Outside => "outside",
            Element::Protocol => "proto",
            Element::InsidePort => "inport",
            Element::OutsidePort => "outport",
            Element::Remote | Element::PostRemote => "to",
            Element::RemotePort | Element::PostRemotePort => "toport",
            Element::Realm => "vrf",
            Element::FirstPort => "first",
            Element::LastPort => "last",
            Element::Pool => "pool",
            Element::Limit(_) => "limit",
            Element::Domain => "domain",
            Element::Told => "told",
            Element::Lost => "lost",
        })
    }

    #[inline]
    fn value(self, event: &Event, unix_ms: u64) -> Value {
        match self {
            Element::Time => Value::U64(unix_ms),
            Element::Event => Value::U8(nat_event(event.kind, event.family())),
            Element::Quota | Element::Threshold => Value::U32(sub_event(event.kind)),
            Element::Inside | Element::InsideIpv4 => Value::Ipv4(event.source_ipv4()),
            Element::InsideIpv6 => Value::Ipv6(event.source_ipv6()),
            Element::Outside => Value::Ipv4(event.outside),
            Element::Protocol => Value::U8(event.protocol),
            Element::InsidePort => Value::U16(event.inside_port),
            Element::OutsidePort | Element::FirstPort => Value::U16(event.first_port),
            Element::Remote | Element::PostRemote => Value::Ipv4(event.remote),
            Element::RemotePort | Element::PostRemotePort => Value::U16(event.remote_port),
            Element::Realm => Value::U32(event.realm),
            Element::LastPort => Value::U16(event.last_port),
            Element::Pool => Value::U32(event.pool),
            Element::Limit(_) => Value::U32(event.limit),
            Element::Domain => Value::U32(event.realm),
            Element::Begun => Value::U64(unix_ms),
            Element::Told => Value::U64(event.told()),
            Element::Lost => Value::U64(event.lost()),
        }
    }
}

impl Family {
    const ALL: [Family; FAMILIES] = [Family::Nat44, Family::Nat64, Family::DsLite];
}

/// The value of `natEvent` (RFC 8158 table 2). DS-Lite translates IPv4, and counts as such.
#[inline]
const fn nat_event(kind: Kind, family: Family) -> u8 {
    let from_ipv6 = matches!(family, Family::Nat64);
    match kind {
        Kind::AddressesExhausted => 3,
        Kind::SessionCreate => 4 + 2 * from_ipv6 as u8,
        Kind::SessionDelete => 5 + 2 * from_ipv6 as u8,
        Kind::MappingCreate => 8 + 2 * from_ipv6 as u8,
        Kind::MappingDelete => 9 + 2 * from_ipv6 as u8,
        Kind::PortsExhausted => 12,
        Kind::SessionsFull
        | Kind::MappingsFull
        | Kind::SubscriberLimit
        | Kind::SubscribersFull
        | Kind::FragmentsFull => 13,
        Kind::AddressBind => 14,
        Kind::AddressUnbind => 15,
        Kind::BlockAllocate => 16,
        Kind::BlockRelease => 17,
        Kind::PoolHigh
        | Kind::PoolLow
        | Kind::PortsHigh
        | Kind::SubscriberHigh
        | Kind::AddressHigh => 18,
        // No event of a NAT: the elements of their templates tell them.
        Kind::LogBegin | Kind::LogEnd => 0,
    }
}

/// The value of `natQuotaExceededEvent` or `natThresholdEvent` (RFC 8158 tables 3 and 4); 0 of
/// others.
#[inline]
const fn sub_event(kind: Kind) -> u32 {
    match kind {
        Kind::SessionsFull | Kind::PoolHigh => 1,
        Kind::MappingsFull | Kind::PoolLow => 2,
        Kind::SubscriberLimit | Kind::PortsHigh => 3,
        Kind::SubscribersFull | Kind::SubscriberHigh => 4,
        Kind::FragmentsFull | Kind::AddressHigh => 5,
        _ => 0,
    }
}

/// What the pieces of a row are for a family.
fn expand(elements: &[Element], family: Family, destinations: bool) -> Vec<Element> {
    let inside: &[Element] = match family {
        Family::Nat44 => &[Element::InsideIpv4],
        Family::Nat64 => &[Element::InsideIpv6],
        Family::DsLite => &[Element::InsideIpv6, Element::InsideIpv4],
    };
    let mut expanded = Vec::new();
    for element in elements {
        match element {
            Element::Inside => expanded.extend(inside),
            Element::Remote | Element::RemotePort if !destinations => {}
            Element::Remote if family == Family::Nat64 => expanded.push(Element::PostRemote),
            Element::RemotePort if family == Family::Nat64 => {
                expanded.push(Element::PostRemotePort);
            }
            _ => expanded.push(*element),
        }
    }
    expanded
}

/// Ways in which a subscriber is attached.
const FAMILIES: usize = 3;
/// The lowest identifier of a template for data (RFC 7011 section 3.4.3).
const FIRST_ID: u16 = 256;

use Element::{Event as What, *};

/// Kinds and of what their records consist; identifiers follow from the order, so new rows come
/// last.
const SHAPES: &[(&[Kind], &[Element])] = &[
    // Tables 5 and 6.
    (
        &[Kind::SessionCreate, Kind::SessionDelete],
        &[
            Time,
            What,
            Inside,
            Outside,
            Protocol,
            InsidePort,
            OutsidePort,
            Remote,
            RemotePort,
            Realm,
        ],
    ),
    // Tables 7 and 8.
    (
        &[Kind::MappingCreate, Kind::MappingDelete],
        &[Time, What, Inside, Outside, Protocol, InsidePort, OutsidePort, Realm],
    ),
    // Table 21.
    (
        &[Kind::BlockAllocate, Kind::BlockRelease],
        &[Time, What, Inside, Outside, FirstPort, LastPort, Realm],
    ),
    // Table 20.
    (&[Kind::AddressBind, Kind::AddressUnbind], &[Time, What, Inside, Outside, Realm]),
    // Tables 9 and 10.
    (&[Kind::AddressesExhausted], &[Time, What, Pool]),
    (&[Kind::PortsExhausted], &[Time, What, Outside, Protocol]),
    // Tables 11 to 15.
    (&[Kind::SessionsFull], &[Time, What, Quota, Limit(471)]),
    (&[Kind::MappingsFull], &[Time, What, Quota, Limit(472)]),
    (&[Kind::SubscriberLimit], &[Time, What, Quota, Limit(473), Inside, Realm]),
    (&[Kind::SubscribersFull], &[Time, What, Quota, Limit(474)]),
    (&[Kind::FragmentsFull], &[Time, What, Quota, Limit(475), Inside, Realm]),
    // Tables 16 to 19. Table 18 has the element of table 17, where the registry has one of its own:
    // a subscriber's threshold is told by both.
    (&[Kind::PoolHigh], &[Time, What, Threshold, Pool, Limit(476)]),
    (&[Kind::PoolLow], &[Time, What, Threshold, Pool, Limit(477)]),
    (&[Kind::PortsHigh], &[Time, What, Threshold, Limit(478)]),
    (&[Kind::SubscriberHigh], &[Time, What, Threshold, Limit(478), Limit(480), Inside, Realm]),
    (&[Kind::AddressHigh], &[Time, What, Threshold, Limit(481), Realm]),
    // RFC 8158 has no such events. RFC 7011 section 4 has records of options for what is true of an
    // exporter; the elements are those of its section 4.3 and of the exporter's beginning.
    (&[Kind::LogBegin], &[Domain, Time, Begun]),
    (&[Kind::LogEnd], &[Domain, Time, Told, Lost]),
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use export::record::Event as _;

    use super::*;

    #[test]
    fn every_kind_has_one_row() {
        for kind in Kind::ALL {
            let rows = SHAPES.iter().filter(|(kinds, _)| kinds.contains(&kind)).count();
            assert_eq!(rows, 1, "{kind:?}");
        }
    }

    #[test]
    fn identifiers_are_never_shared() {
        let mut ids = HashSet::new();
        for destinations in [false, true] {
            for template in templates(|_| true, destinations).all {
                assert!(ids.insert(template.id), "{template:?}");
                assert!(template.id >= FIRST_ID && !template.fields.contains(&Element::Inside));
            }
        }
    }

    #[test]
    fn what_is_not_told_has_no_template() {
        let templates = templates(|kind| kind == Kind::BlockAllocate, false);
        assert_eq!(templates.all.len(), FAMILIES);
        let event = Event::of(Kind::BlockAllocate, 0);
        let template = &templates.all[templates.of(event.shape())];
        let len: usize =
            template.fields.iter().map(|field| field.value(&event, 0).len_bytes()).sum();
        assert_eq!(len, 37);
    }
}
