//! What is told: an event of a NAT as plain data, a cache line of it.

use std::net::{Ipv4Addr, Ipv6Addr};

use export::record::{self, Class};
use machine::clock::Ticks;

/// Something that happened. Which fields mean something depends on the kind; the others are zero.
#[repr(align(64))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The subscriber's address: IPv4 in its mapped form (RFC 4291 section 2.5.5.2) under NAT44,
    /// IPv6 under NAT64, and the address of the B4 under DS-Lite (RFC 6333). Of the end of a log
    /// what [`Event::told`] and [`Event::lost`] say.
    pub inside: u128,
    /// When it happened, in ticks.
    pub at: Ticks,
    /// The subscriber's IPv4 address behind a B4; unspecified otherwise.
    pub inside_ipv4: Ipv4Addr,
    /// The outside address.
    pub outside: Ipv4Addr,
    /// The address at the other end of a session; told only where destinations are asked for.
    pub remote: Ipv4Addr,
    /// The realm of the inside address: a VRF; of begin and end of a log the observation domain.
    pub realm: u32,
    /// The pool, where one is exhausted or at a threshold.
    pub pool: u32,
    /// The limit that was met, or the threshold that was passed.
    pub limit: u32,
    /// The inside port, or the identifier of an ICMP query.
    pub inside_port: u16,
    /// The outside port, or the first one of a block.
    pub first_port: u16,
    /// The last port of a block.
    pub last_port: u16,
    /// The port at the other end of a session.
    pub remote_port: u16,
    /// The protocol by its IP number.
    pub protocol: u8,
    /// What happened.
    pub kind: Kind,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// A session was opened.
    SessionCreate = 1,
    /// It ended.
    SessionDelete,
    /// A mapping was made: an entry of the binding information base (RFC 6146 section 3.1).
    MappingCreate,
    /// It is gone.
    MappingDelete,
    /// A subscriber got a block of ports.
    BlockAllocate,
    /// The block was taken back.
    BlockRelease,
    /// A subscriber was paired with an outside address (RFC 4787 REQ-2).
    AddressBind,
    /// It is no longer.
    AddressUnbind,
    /// A pool has no address left.
    AddressesExhausted,
    /// An outside address has no port left of a protocol.
    PortsExhausted,
    /// There are as many sessions as there may be.
    SessionsFull,
    /// There are as many mappings as there may be.
    MappingsFull,
    /// A subscriber has as much as it may have: sessions, or ports in its blocks.
    SubscriberLimit,
    /// There are as many subscribers as there may be.
    SubscribersFull,
    /// As many fragments wait for others of their packets as may.
    FragmentsFull,
    /// A pool's addresses in use rose to the high threshold.
    PoolHigh,
    /// They fell to the low one.
    PoolLow,
    /// The ports in use rose to the high threshold.
    PortsHigh,
    /// A subscriber's ports in use rose to the threshold.
    SubscriberHigh,
    /// The mappings of an outside address that is paired rose to the threshold.
    AddressHigh,
    /// The log of a worker begins.
    LogBegin,
    /// It ends in good order: everything that lived was told to be over.
    LogEnd,
}

/// How a subscriber is attached, which decides by what it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// By IPv4.
    Nat44,
    /// By IPv6 to IPv4.
    Nat64,
    /// By IPv4 in IPv6.
    DsLite,
}

impl Event {
    /// An event of a kind with every other field zero.
    pub const fn of(kind: Kind, at: Ticks) -> Event {
        let none = Ipv4Addr::UNSPECIFIED;
        Event {
            inside: 0,
            at,
            inside_ipv4: none,
            outside: none,
            remote: none,
            realm: 0,
            pool: 0,
            limit: 0,
            inside_port: 0,
            first_port: 0,
            last_port: 0,
            remote_port: 0,
            protocol: 0,
            kind,
        }
    }

    /// The log of an observation domain begins.
    pub const fn log_begin(domain: u32, at: Ticks) -> Event {
        Event { realm: domain, ..Event::of(Kind::LogBegin, at) }
    }

    /// It ends behind so many records of events, and so many that were lost.
    pub const fn log_end(domain: u32, (told, lost): (u64, u64), at: Ticks) -> Event {
        let inside = (told as u128) << 64 | lost as u128;
        Event { realm: domain, inside, ..Event::of(Kind::LogEnd, at) }
    }

    /// The records before the end of a log.
    #[inline]
    pub const fn told(&self) -> u64 {
        (self.inside >> 64) as u64
    }

    /// The events that are lost before the end of a log.
    #[inline]
    pub const fn lost(&self) -> u64 {
        self.inside as u64
    }

    /// How its subscriber is attached.
    #[inline]
    pub const fn family(&self) -> Family {
        if self.inside >> 32 == MAPPED {
            Family::Nat44
        } else if self.inside_ipv4.to_bits() == 0 {
            Family::Nat64
        } else {
            Family::DsLite
        }
    }

    /// The subscriber's IPv4 address; of one under NAT64 the unspecified one.
    #[inline]
    pub const fn source_ipv4(&self) -> Ipv4Addr {
        match self.family() {
            Family::Nat44 => Ipv4Addr::from_bits(self.inside as u32),
            Family::Nat64 | Family::DsLite => self.inside_ipv4,
        }
    }

    /// The inside address as IPv6.
    #[inline]
    pub const fn source_ipv6(&self) -> Ipv6Addr {
        Ipv6Addr::from_bits(self.inside)
    }
}

impl Kind {
    /// Kinds, and one more: none has the number 0.
    pub const COUNT: usize = 23;

    /// All, in the order of their numbers.
    pub const ALL: [Kind; Kind::COUNT - 1] = [
        Kind::SessionCreate,
        Kind::SessionDelete,
        Kind::MappingCreate,
        Kind::MappingDelete,
        Kind::BlockAllocate,
        Kind::BlockRelease,
        Kind::AddressBind,
        Kind::AddressUnbind,
        Kind::AddressesExhausted,
        Kind::PortsExhausted,
        Kind::SessionsFull,
        Kind::MappingsFull,
        Kind::SubscriberLimit,
        Kind::SubscribersFull,
        Kind::FragmentsFull,
        Kind::PoolHigh,
        Kind::PoolLow,
        Kind::PortsHigh,
        Kind::SubscriberHigh,
        Kind::AddressHigh,
        Kind::LogBegin,
        Kind::LogEnd,
    ];

    /// What it is called in syslog.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::SessionCreate => "session-create",
            Kind::SessionDelete => "session-delete",
            Kind::MappingCreate => "mapping-create",
            Kind::MappingDelete => "mapping-delete",
            Kind::BlockAllocate => "block-allocate",
            Kind::BlockRelease => "block-release",
            Kind::AddressBind => "address-bind",
            Kind::AddressUnbind => "address-unbind",
            Kind::AddressesExhausted => "addresses-exhausted",
            Kind::PortsExhausted => "ports-exhausted",
            Kind::SessionsFull => "sessions-full",
            Kind::MappingsFull => "mappings-full",
            Kind::SubscriberLimit => "subscriber-limit",
            Kind::SubscribersFull => "subscribers-full",
            Kind::FragmentsFull => "fragments-full",
            Kind::PoolHigh => "pool-high",
            Kind::PoolLow => "pool-low",
            Kind::PortsHigh => "ports-high",
            Kind::SubscriberHigh => "subscriber-high",
            Kind::AddressHigh => "address-high",
            Kind::LogBegin => "log-begin",
            Kind::LogEnd => "log-end",
        }
    }

    /// With what it is counted.
    #[inline]
    pub const fn class(self) -> Class {
        match self {
            Kind::SessionCreate | Kind::SessionDelete => Class::Sessions,
            Kind::MappingCreate | Kind::MappingDelete => Class::Mappings,
            Kind::BlockAllocate | Kind::BlockRelease | Kind::AddressBind | Kind::AddressUnbind => {
                Class::Blocks
            }
            Kind::LogBegin | Kind::LogEnd => Class::Blocks,
            _ => Class::Alarms,
        }
    }
}

impl record::Kind for Kind {
    const ALL: &'static [Kind] = &Kind::ALL;

    #[inline]
    fn number(self) -> usize {
        self as usize
    }

    fn name(self) -> &'static str {
        self.name()
    }

    #[inline]
    fn class(self) -> Class {
        self.class()
    }

    fn severity(self) -> u32 {
        match (self, self.class()) {
            (Kind::AddressesExhausted | Kind::PortsExhausted, _) => 3,
            (_, Class::Alarms) => 4,
            _ => 6,
        }
    }
}

/// What stands before an IPv4 address in its mapped form.
const MAPPED: u128 = 0xffff;

const _: () = assert!(size_of::<Event>() == 64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_follow_from_the_addresses() {
        let mut event = Event::of(Kind::SessionCreate, 0);
        event.inside = Ipv4Addr::new(100, 64, 0, 1).to_ipv6_mapped().to_bits();
        assert_eq!(event.family(), Family::Nat44);
        assert_eq!(event.source_ipv4(), Ipv4Addr::new(100, 64, 0, 1));
        event.inside = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).to_bits();
        assert_eq!(event.family(), Family::Nat64);
        event.inside_ipv4 = Ipv4Addr::new(192, 168, 1, 2);
        assert_eq!(event.family(), Family::DsLite);
        assert_eq!(event.source_ipv4(), event.inside_ipv4);
    }

    #[test]
    fn kinds_have_their_numbers_and_names() {
        for (number, kind) in (1u8..).zip(Kind::ALL) {
            assert_eq!(kind as u8, number);
            // RFC 5424 section 6.2.7.
            assert!(kind.name().len() <= 32);
        }
    }
}
