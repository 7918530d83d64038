//! Records of a NAT by the registry of information elements (RFC 5102, RFC 8158 section 4.2), said
//! in the words that syslog has for the same.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use jiff::Timestamp;

use crate::search::{Ends, Subject};

/// The elements that matter. Their numbers in the registry are in [`SLOTS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    Protocol,
    InsidePort,
    InsideIpv4,
    RemotePort,
    Remote,
    InsideIpv6,
    Told,
    ExporterIpv4,
    ExporterIpv6,
    Domain,
    Begun,
    Lost,
    Outside,
    PostRemote,
    OutsidePort,
    PostRemotePort,
    Event,
    Realm,
    TimeS,
    TimeMs,
    FirstPort,
    LastPort,
    Step,
    Count,
}

/// What a record tells, by element.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record {
    values: [Option<u128>; SLOTS.len()],
}

/// What a record is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// Something of a kind begins or ends.
    Change {
        /// What it is called in syslog, before the hyphen.
        kind: &'static str,
        /// Whether it begins.
        begins: bool,
    },
    /// The log of an observation domain begins.
    LogBegin,
    /// Another event of a NAT, or of its log.
    Other,
}

impl Slot {
    /// That of an element.
    pub fn of(number: u16) -> Option<Slot> {
        SLOTS.iter().find(|(_, one, _)| *one == number).map(|(slot, ..)| *slot)
    }
}

impl Record {
    /// Takes a value; false where it is none that the element can have. Numbers may be told by
    /// fewer bytes than they can have (RFC 7011 section 6.2), and some exporters need more. The
    /// first of several values counts.
    pub fn set(&mut self, slot: Slot, value: &[u8]) -> bool {
        let (_, _, form) = SLOTS[slot as usize];
        if !(1..=16).contains(&value.len()) {
            return false;
        }
        let number = value.iter().fold(0, |sum, byte| sum << 8 | u128::from(*byte));
        let is_right = match form {
            Form::Number(most) => number >> (8 * most) == 0,
            Form::Address(len) => value.len() == len,
        };
        if is_right {
            self.values[slot as usize].get_or_insert(number);
        }
        is_right
    }

    /// A number.
    pub fn number(&self, slot: Slot) -> Option<u64> {
        self.values[slot as usize].map(|value| value as u64)
    }

    fn port(&self, slot: Slot) -> Option<u16> {
        self.values[slot as usize].map(|value| value as u16)
    }

    fn address(&self, slot: Slot) -> Option<IpAddr> {
        let value = self.values[slot as usize]?;
        Some(match SLOTS[slot as usize].2 {
            Form::Address(16) => Ipv6Addr::from_bits(value).into(),
            _ => Ipv4Addr::from_bits(value as u32).into(),
        })
    }

    /// When it happened; none where it is no time, or none is told.
    pub fn at(&self) -> Option<Timestamp> {
        let ms =
            self.number(Slot::TimeMs).or_else(|| self.number(Slot::TimeS)?.checked_mul(1000))?;
        Timestamp::from_millisecond(ms.try_into().ok()?).ok()
    }

    /// The address of the exporter, where a collector has added it.
    pub fn host(&self) -> Option<String> {
        let address =
            self.address(Slot::ExporterIpv4).or_else(|| self.address(Slot::ExporterIpv6))?;
        Some(address.to_string())
    }

    /// What is told; none where the record is not of a NAT.
    pub fn told(&self) -> Option<Told> {
        let change = |kind, begins| Told::Change { kind, begins };
        let Some(event) = self.number(Slot::Event) else {
            // The records of options by which a NAT tells of its log itself.
            self.number(Slot::Domain)?;
            let (at, begun) = (self.number(Slot::TimeMs)?, self.number(Slot::Begun));
            let is_end = self.number(Slot::Told).zip(self.number(Slot::Lost)).is_some();
            return match begun {
                Some(begun) if begun == at => Some(Told::LogBegin),
                _ => is_end.then_some(Told::Other),
            };
        };
        // RFC 8158 table 2; 1 and 2 are what others called sessions before it.
        Some(match event {
            1 | 4 | 6 => change("session", true),
            2 | 5 | 7 => change("session", false),
            8 | 10 => change("mapping", true),
            9 | 11 => change("mapping", false),
            14 => change("address", true),
            15 => change("address", false),
            16 => change("block", true),
            17 => change("block", false),
            _ => Told::Other,
        })
    }

    /// The addresses and ports by which it may be sought; none where a block has no form that can
    /// be told from these.
    pub fn ends(&self) -> Option<Ends> {
        let end = |address: Option<IpAddr>, port: Option<u16>| Some((address?, port));
        let inside = self.port(Slot::InsidePort);
        let block = match self.port(Slot::FirstPort) {
            Some(first) => Some((first, self.last_port(first)?)),
            None => None,
        };
        let (inside_ipv4, inside_ipv6) =
            (self.address(Slot::InsideIpv4), self.address(Slot::InsideIpv6));
        Some(Ends {
            each: [
                end(self.address(Slot::Outside), self.port(Slot::OutsidePort)),
                end(inside_ipv4, inside),
                end(inside_ipv6, inside),
                end(self.remote(), self.remote_port()),
            ],
            block,
        })
    }

    /// The last port of a block, told or counted; none where its ports do not follow each other.
    fn last_port(&self, first: u16) -> Option<u16> {
        if self.port(Slot::Step).is_some_and(|step| step > 1) {
            return None;
        }
        let last = self.port(Slot::LastPort);
        last.or_else(|| first.checked_add(self.port(Slot::Count)?.checked_sub(1)?))
    }

    /// The other end as the subscriber sees it, or else behind the translation.
    fn remote(&self) -> Option<IpAddr> {
        self.address(Slot::Remote).or_else(|| self.address(Slot::PostRemote))
    }

    fn remote_port(&self) -> Option<u16> {
        self.port(Slot::RemotePort).or_else(|| self.port(Slot::PostRemotePort))
    }

    /// What begins or ends, in the words of syslog.
    pub fn subject(&self, host: Option<String>, worker: String) -> Subject {
        let text = |number: Option<u64>| number.map(|number| number.to_string());
        let port = |port: Option<u16>| port.map(|port| port.to_string());
        let address = |address: Option<IpAddr>| address.map(|address| address.to_string());
        let (ipv4, ipv6) = (self.address(Slot::InsideIpv4), self.address(Slot::InsideIpv6));
        let first = self.port(Slot::FirstPort);
        let parameters = [
            ("b4", address(ipv4.and(ipv6))),
            ("inside", address(ipv4.or(ipv6))),
            ("outside", address(self.address(Slot::Outside))),
            ("proto", text(self.number(Slot::Protocol))),
            ("inport", port(self.port(Slot::InsidePort))),
            ("outport", port(self.port(Slot::OutsidePort))),
            ("to", address(self.remote())),
            ("toport", port(self.remote_port())),
            ("first", port(first)),
            ("last", port(first.and_then(|first| self.last_port(first)))),
            ("vrf", text(self.number(Slot::Realm))),
        ];
        let told = |(name, text): (&str, Option<String>)| Some((name.to_owned(), text?));
        let parameters: BTreeMap<String, String> =
            parameters.into_iter().filter_map(told).collect();
        Subject { host, worker, parameters }
    }
}

/// What values an element has.
#[derive(Clone, Copy)]
enum Form {
    /// A number of at most so many bytes.
    Number(usize),
    /// An address of so many bytes.
    Address(usize),
}

use Form::{Address, Number};

/// The elements in the order of [`Slot`], with their numbers in IANA's registry and the forms of
/// their values.
const SLOTS: [(Slot, u16, Form); 24] = [
    (Slot::Protocol, 4, Number(1)),
    (Slot::InsidePort, 7, Number(2)),
    (Slot::InsideIpv4, 8, Address(4)),
    (Slot::RemotePort, 11, Number(2)),
    (Slot::Remote, 12, Address(4)),
    (Slot::InsideIpv6, 27, Address(16)),
    (Slot::Told, 42, Number(8)),
    (Slot::ExporterIpv4, 130, Address(4)),
    (Slot::ExporterIpv6, 131, Address(16)),
    (Slot::Domain, 149, Number(4)),
    (Slot::Begun, 160, Number(8)),
    (Slot::Lost, 166, Number(8)),
    (Slot::Outside, 225, Address(4)),
    (Slot::PostRemote, 226, Address(4)),
    (Slot::OutsidePort, 227, Number(2)),
    (Slot::PostRemotePort, 228, Number(2)),
    (Slot::Event, 230, Number(1)),
    (Slot::Realm, 234, Number(4)),
    (Slot::TimeS, 322, Number(4)),
    (Slot::TimeMs, 323, Number(8)),
    (Slot::FirstPort, 361, Number(2)),
    (Slot::LastPort, 362, Number(2)),
    (Slot::Step, 363, Number(2)),
    (Slot::Count, 364, Number(2)),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn record(values: &[(Slot, &[u8])]) -> Record {
        let mut record = Record::default();
        assert!(values.iter().all(|(slot, value)| record.set(*slot, value)));
        record
    }

    #[test]
    fn elements_stand_in_the_order_of_their_slots() {
        for (at, (slot, number, _)) in SLOTS.iter().enumerate() {
            assert_eq!((*slot as usize, Slot::of(*number)), (at, Some(*slot)));
        }
        assert_eq!(Slot::of(0), None);
    }

    #[test]
    fn blocks_are_told_by_their_last_port_or_by_how_many_they_are() {
        let outside: (Slot, &[u8]) = (Slot::Outside, &[198, 51, 100, 7]);
        let block = |more: &[(Slot, &[u8])]| {
            let record = record(&[&[outside, (Slot::FirstPort, &[4, 0])], more].concat());
            record.ends().and_then(|ends| ends.block)
        };
        assert_eq!(block(&[(Slot::LastPort, &[5, 255])]), Some((1024, 1535)));
        assert_eq!(block(&[(Slot::Count, &[2, 0]), (Slot::Step, &[1])]), Some((1024, 1535)));
        assert_eq!(block(&[(Slot::Count, &[0])]), None);
        assert_eq!(block(&[(Slot::Count, &[255, 255])]), None);
        assert_eq!(block(&[(Slot::LastPort, &[5, 255]), (Slot::Step, &[2])]), None);
    }

    #[test]
    fn times_that_are_none_are_refused() {
        let seconds = record(&[(Slot::TimeS, &[0, 0, 0, 9])]);
        assert_eq!(seconds.at(), Timestamp::from_second(9).ok());
        assert_eq!(record(&[(Slot::TimeMs, &[255; 8])]).at(), None);
        assert_eq!(record(&[(Slot::TimeMs, &[127, 255, 255, 255, 255, 0, 0, 0])]).at(), None);
        assert_eq!(record(&[]).at(), None);
    }
}
