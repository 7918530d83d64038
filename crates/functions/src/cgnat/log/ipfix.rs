//! IPFIX messages (RFC 7011) with the records of RFC 8158.
//!
//! ```text
//! 0                   1                   2                   3
//! 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-------------------------------+-------------------------------+
//! |          Version 10           |            Length             |  message header, section 3.1
//! +-------------------------------+-------------------------------+
//! |                     Export Time (seconds)                     |
//! +---------------------------------------------------------------+
//! |        Sequence Number: data records sent before this         |
//! +---------------------------------------------------------------+
//! |                    Observation Domain ID                      |
//! +-------------------------------+-------------------------------+
//! |     Set ID = template ID      |             Length            |  set header, section 3.3.2
//! +-------------------------------+-------------------------------+
//! |                           records …                           |
//! ```
//! Records of one template that follow one another share a set; all are of fixed length, without
//! padding, in the order in which things happened. Templates travel in messages of their own.

use wire::bytes;

use super::event::Event;
use super::message::Message;
use super::templates::{Element, Template, Templates, nat_event, sub_event};

/// What is told from one message to the next.
pub(super) struct Ipfix {
    templates: Templates,
    domain: u32,
    /// Data records sent so far.
    sequence: u32,
    /// Data records in the message, which count when it is sent.
    records: u32,
    /// Where the present set begins in the message, and whose it is; none behind a header only.
    set: Option<(usize, u16)>,
}

impl Ipfix {
    /// For an observation domain.
    pub fn new(templates: Templates, domain: u32) -> Ipfix {
        Ipfix { templates, domain, sequence: 0, records: 0, set: None }
    }

    /// Adds a record; tells whether it fits.
    #[inline]
    pub fn put(&mut self, message: &mut Message, event: &Event, unix_ms: u64) -> bool {
        let template = self.templates.of(event);
        let is_same = self.set.is_some_and(|(_, id)| id == template.id);
        let before = match (is_same, message.is_empty()) {
            (true, _) => 0,
            (false, true) => MESSAGE_HEADER_LEN + SET_HEADER_LEN,
            (false, false) => SET_HEADER_LEN,
        };
        let at = message.len();
        let Some(room) = message.grow(before + template.len) else { return false };
        write(template, event, unix_ms, &mut room[before..]);
        if !is_same {
            let set = (at + before - SET_HEADER_LEN, template.id);
            self.end_set(message, at);
            self.set = Some(set);
        }
        self.records += 1;
        true
    }

    /// Adds templates from a number on; the number of the first one that does not fit, or how many
    /// there are.
    pub fn put_templates(&mut self, message: &mut Message, from: usize) -> usize {
        let mut next = from;
        for template in &self.templates.all()[from..] {
            let before = match message.is_empty() {
                true => MESSAGE_HEADER_LEN + SET_HEADER_LEN,
                false => 0,
            };
            let len = 4 + 4 * template.elements.len();
            let Some(room) = message.grow(before + len) else { break };
            if before > 0 {
                self.set = Some((MESSAGE_HEADER_LEN, TEMPLATE_SET));
            }
            let record = &mut room[before..];
            bytes::put_u16(record, 0, template.id);
            bytes::put_u16(record, 2, template.elements.len() as u16);
            for (at, element) in (4..).step_by(4).zip(&template.elements) {
                bytes::put_u16(record, at, element.number());
                bytes::put_u16(record, at + 2, element.len() as u16);
            }
            next += 1;
        }
        next
    }

    /// How many templates there are.
    pub fn templates(&self) -> usize {
        self.templates.all().len()
    }

    /// Completes the message to be sent at a moment.
    pub fn close(&mut self, message: &mut Message, unix_ms: u64) {
        self.end_set(message, message.len());
        let len = message.len() as u16;
        let header = message.bytes_mut();
        bytes::put_u16(header, 0, VERSION);
        bytes::put_u16(header, 2, len);
        bytes::put_u32(header, 4, (unix_ms / 1000) as u32);
        bytes::put_u32(header, 8, self.sequence);
        bytes::put_u32(header, 12, self.domain);
    }

    /// Counts what was sent, and begins anew.
    pub fn sent(&mut self) -> u32 {
        self.sequence = self.sequence.wrapping_add(self.records);
        self.set = None;
        std::mem::take(&mut self.records)
    }

    /// Writes the header of the present set, which ends before `end`.
    fn end_set(&self, message: &mut Message, end: usize) {
        if let Some((at, id)) = self.set {
            let bytes = message.bytes_mut();
            bytes::put_u16(bytes, at, id);
            bytes::put_u16(bytes, at + 2, (end - at) as u16);
        }
    }
}

/// Writes a record.
#[inline]
fn write(template: &Template, event: &Event, unix_ms: u64, mut record: &mut [u8]) {
    for element in &template.elements {
        let (value, rest) = record.split_at_mut(element.len());
        record = rest;
        match element {
            Element::Inside => {}
            Element::Time => value.copy_from_slice(&unix_ms.to_be_bytes()),
            Element::Event => value[0] = nat_event(event.kind, event.family()),
            Element::Quota | Element::Threshold => put_u32(value, sub_event(event.kind)),
            Element::InsideIpv4 => put_u32(value, event.source_ipv4().to_bits()),
            Element::InsideIpv6 => value.copy_from_slice(&event.inside.to_be_bytes()),
            Element::Outside => put_u32(value, event.outside.to_bits()),
            Element::Protocol => value[0] = event.protocol,
            Element::InsidePort => put_u16(value, event.inside_port),
            Element::OutsidePort | Element::FirstPort => put_u16(value, event.first_port),
            Element::Remote | Element::PostRemote => put_u32(value, event.remote.to_bits()),
            Element::RemotePort | Element::PostRemotePort => put_u16(value, event.remote_port),
            Element::Realm => put_u32(value, event.realm),
            Element::LastPort => put_u16(value, event.last_port),
            Element::Pool => put_u32(value, event.pool),
            Element::Limit(_) => put_u32(value, event.limit),
        }
    }
}

#[inline]
fn put_u16(value: &mut [u8], number: u16) {
    value.copy_from_slice(&number.to_be_bytes());
}

#[inline]
fn put_u32(value: &mut [u8], number: u32) {
    value.copy_from_slice(&number.to_be_bytes());
}

/// The version of the protocol.
const VERSION: u16 = 10;
/// The set of templates (RFC 7011 section 3.3.2).
const TEMPLATE_SET: u16 = 2;
/// Length of a message's header in bytes.
const MESSAGE_HEADER_LEN: usize = 16;
/// Length of a set's header in bytes.
const SET_HEADER_LEN: usize = 4;
