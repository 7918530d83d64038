//! Syslog messages (RFC 5424), one for each event and datagram (RFC 5426 section 3.1).
//!
//! ```text
//! <134>1 2026-11-22T08:15:30.123Z 192.0.2.1 cgnat 0 block-allocate
//!   [nat@32473 inside="100.64.0.1" outside="198.51.100.7" first="1024" last="1535" vrf="0"]
//! ```
//! (In one line.) The process identifier is the worker's number, the message identifier what
//! happened. There is no free text: all is in structured data, with what RFC 6888 section 4 asks
//! for. Facility is a key; the severity is informational, of limits and thresholds warning, of
//! exhaustion error.

use std::fmt::Write;
use std::net::Ipv4Addr;

use units::Civil;

use crate::config::Logging;
use crate::message::Message;
use crate::record::{Event, Field, Kind, Templates, Value};

/// What stands in every message.
pub(super) struct Syslog<E: Event> {
    templates: Templates<E::Field>,
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

impl<E: Event> Syslog<E> {
    /// For a worker.
    pub fn new(templates: Templates<E::Field>, config: &Logging, worker: u32) -> Syslog<E> {
        let hostname = match config.hostname.is_empty() {
            true => config.source.to_string(),
            false => config.hostname.clone(),
        };
        Syslog {
            templates,
            facility: config.facility,
            origin: format!(" {hostname} {} {worker} ", E::APPLICATION).into_bytes().into(),
            data: format!(" [{}@{}", E::DATA, config.enterprise).into_bytes().into(),
            time: text_of(0),
            time_ms: 0,
        }
    }

    /// Writes the message of an event; tells whether it fits.
    pub fn put(&mut self, message: &mut Message, event: &E, unix_ms: u64) -> bool {
        if self.time_ms != unix_ms {
            (self.time, self.time_ms) = (text_of(unix_ms), unix_ms);
        }
        let priority = u32::from(self.facility) * 8 + event.kind().severity();
        let template = self.templates.of(event.shape());
        let fields = &self.templates.all[template].fields;
        message.put(b"<")
            && put_number(message, priority)
            && message.put(b">1 ")
            && message.put(&self.time)
            && message.put(&self.origin)
            && message.put(event.kind().name().as_bytes())
            && message.put(&self.data)
            && fields.iter().all(|field| put_field(message, event, (*field, unix_ms)))
            && message.put(b"]")
    }
}

/// A parameter of the structured data. No value has a character that would have to be escaped.
fn put_field<E: Event>(
    message: &mut Message,
    event: &E,
    (field, unix_ms): (E::Field, u64),
) -> bool {
    let Some(name) = field.name(event) else { return true };
    message.put(b" ")
        && message.put(name.as_bytes())
        && message.put(b"=\"")
        && match field.value(event, unix_ms) {
            Value::U8(number) => put_number(message, number.into()),
            Value::U16(number) => put_number(message, number.into()),
            Value::U32(number) => put_number(message, number),
            Value::U64(number) => write!(message, "{number}").is_ok(),
            Value::Ipv4(address) => put_address(message, address),
            Value::Ipv6(address) => write!(message, "{address}").is_ok(),
        }
        && message.put(b"\"")
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
