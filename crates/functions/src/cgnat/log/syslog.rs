//! Syslog messages (RFC 5424), one for each event and datagram (RFC 5426 section 3.1).
//!
//! ```text
//! <134>1 2026-11-22T08:15:30.123Z 192.0.2.1 cgnat 0 block-allocate
//!   [nat@32473 inside="100.64.0.1" outside="198.51.100.7" first="1024" last="1535" vrf="0"]
//! ```
//! (In one line.) The process identifier is the worker's number, the message identifier what
//! happened. There is no free text: all is in structured data, with what RFC 6888 section 4 asks for.
//! Facility is a key; the severity is informational, of limits and thresholds warning, of exhaustion
//! error.

use std::fmt::Write;
use std::net::Ipv4Addr;

use super::config::Logging;
use super::epoch::Civil;
use super::event::{Class, Event, Family, Kind};
use super::message::Message;
use super::templates::{Element, Templates};

/// What stands in every message.
pub(super) struct Syslog {
    templates: Templates,
    facility: u8,
    /// From the space behind the time to that before the message identifier.
    origin: Box<[u8]>,
    /// From the space behind the message identifier to the structured data's name.
    data: Box<[u8]>,
    /// The text of the latest time.
    time: [u8; TIME_LEN],
    /// Of which milliseconds that is.
    time_ms: u64,
}

impl Syslog {
    /// For a worker.
    pub fn new(templates: Templates, config: &Logging, worker: u32) -> Syslog {
        let hostname = match config.hostname.is_empty() {
            true => config.source.to_string(),
            false => config.hostname.clone(),
        };
        Syslog {
            templates,
            facility: config.facility,
            origin: format!(" {hostname} {APPLICATION} {worker} ").into_bytes().into(),
            data: format!(" [nat@{}", config.enterprise).into_bytes().into(),
            time: text_of(0),
            time_ms: 0,
        }
    }

    /// Writes the message of an event; tells whether it fits.
    pub fn put(&mut self, message: &mut Message, event: &Event, unix_ms: u64) -> bool {
        if self.time_ms != unix_ms {
            (self.time, self.time_ms) = (text_of(unix_ms), unix_ms);
        }
        let priority = u32::from(self.facility) * 8 + severity(event.kind);
        message.put(b"<")
            && put_number(message, priority)
            && message.put(b">1 ")
            && message.put(&self.time)
            && message.put(&self.origin)
            && message.put(event.kind.name().as_bytes())
            && message.put(&self.data)
            && self.templates.of(event).elements.iter().all(|one| put_element(message, event, *one))
            && message.put(b"]")
    }
}

/// A parameter of the structured data.
fn put_element(message: &mut Message, event: &Event, element: Element) -> bool {
    let name = match element {
        // The header has them, or the name does.
        Element::Time | Element::Event | Element::Quota | Element::Threshold | Element::Inside => {
            return true;
        }
        // The threshold stands there by its other element.
        Element::Limit(480) => return true,
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
    };
    message.put(b" ")
        && message.put(name.as_bytes())
        && message.put(b"=\"")
        && put_value(message, event, element)
        && message.put(b"\"")
}

/// Its value. None has a character that would have to be escaped.
fn put_value(message: &mut Message, event: &Event, element: Element) -> bool {
    match element {
        Element::InsideIpv4 => put_address(message, event.source_ipv4()),
        Element::InsideIpv6 => write!(message, "{}", event.source_ipv6()).is_ok(),
        Element::Outside => put_address(message, event.outside),
        Element::Remote | Element::PostRemote => put_address(message, event.remote),
        Element::Protocol => put_number(message, event.protocol.into()),
        Element::InsidePort => put_number(message, event.inside_port.into()),
        Element::OutsidePort | Element::FirstPort => put_number(message, event.first_port.into()),
        Element::LastPort => put_number(message, event.last_port.into()),
        Element::RemotePort | Element::PostRemotePort => {
            put_number(message, event.remote_port.into())
        }
        Element::Realm => put_number(message, event.realm),
        Element::Pool => put_number(message, event.pool),
        Element::Limit(_) => put_number(message, event.limit),
        _ => true,
    }
}

fn put_address(message: &mut Message, address: Ipv4Addr) -> bool {
    let [a, b, c, d] = address.octets().map(u32::from);
    put_number(message, a)
        && message.put(b".")
        && put_number(message, b)
        && message.put(b".")
        && put_number(message, c)
        && message.put(b".")
        && put_number(message, d)
}

/// A number in decimal.
fn put_number(message: &mut Message, number: u32) -> bool {
    let mut digits = [0; 10];
    let mut at = digits.len();
    let mut left = number;
    loop {
        at -= 1;
        digits[at] = b'0' + (left % 10) as u8;
        left /= 10;
        if left == 0 {
            return message.put(&digits[at..]);
        }
    }
}

/// How grave it is (RFC 5424 section 6.2.1).
const fn severity(kind: Kind) -> u32 {
    match (kind, kind.class()) {
        (Kind::AddressesExhausted | Kind::PortsExhausted, _) => 3,
        (_, Class::Alarms) => 4,
        _ => 6,
    }
}

/// `2026-11-22T08:15:30.123Z` (RFC 5424 section 6.2.3).
fn text_of(unix_ms: u64) -> [u8; TIME_LEN] {
    let civil = Civil::of(unix_ms);
    let mut text = *b"0000-00-00T00:00:00.000Z";
    let mut put = |range: std::ops::Range<usize>, mut number: u32| {
        for digit in text[range].iter_mut().rev() {
            *digit = b'0' + (number % 10) as u8;
            number /= 10;
        }
    };
    put(0..4, civil.year);
    put(5..7, civil.month);
    put(8..10, civil.day);
    put(11..13, civil.hour);
    put(14..16, civil.minute);
    put(17..19, civil.second);
    put(20..23, civil.millisecond);
    text
}

/// Length of the text of a time.
const TIME_LEN: usize = 24;
/// The name of the application in messages.
const APPLICATION: &str = "cgnat";
