//! IPFIX messages (RFC 7011).
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

use crate::message::Message;
use crate::record::{Event, Field, Templates, Value};

/// What is told from one message to the next.
pub(super) struct Ipfix<E: Event> {
    templates: Templates<E::Field>,
    /// Length of a record of each, in bytes.
    lens: Vec<usize>,
    domain: u32,
    /// Data records sent so far.
    sequence: u32,
    /// Data records in the message, which count when it is sent.
    records: u32,
    /// Where the present set begins in the message, and whose it is; none behind a header only.
    set: Option<(usize, u16)>,
}

impl<E: Event> Ipfix<E> {
    /// For an observation domain.
    pub fn new(templates: Templates<E::Field>, domain: u32) -> Ipfix<E> {
        let len = |field: &E::Field| field_len::<E>(*field);
        let lens = templates.all.iter().map(|one| one.fields.iter().map(len).sum()).collect();
        Ipfix { templates, lens, domain, sequence: 0, records: 0, set: None }
    }

    /// Adds a record; tells whether it fits.
    #[inline]
    pub fn put(&mut self, message: &mut Message, event: &E, unix_ms: u64) -> bool {
        let number = self.templates.of(event.shape());
        let (template, len) = (&self.templates.all[number], self.lens[number]);
        let is_same = self.set.is_some_and(|(_, id)| id == template.id);
        let before = match (is_same, message.is_empty()) {
            (true, _) => 0,
            (false, true) => MESSAGE_HEADER_LEN + SET_HEADER_LEN,
            (false, false) => SET_HEADER_LEN,
        };
        let at = message.len();
        let Some(room) = message.grow(before + len) else { return false };
        write(&template.fields, event, unix_ms, &mut room[before..]);
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
        for number in from..self.templates.all.len() {
            let template = &self.templates.all[number];
            let (set, header_len) = match template.scope {
                0 => (TEMPLATE_SET, 4),
                _ => (OPTIONS_TEMPLATE_SET, 6),
            };
            let is_same = self.set.is_some_and(|(_, id)| id == set);
            let before = match (is_same, message.is_empty()) {
                (true, _) => 0,
                (false, true) => MESSAGE_HEADER_LEN + SET_HEADER_LEN,
                (false, false) => SET_HEADER_LEN,
            };
            let at = message.len();
            let len = header_len + 4 * template.fields.len();
            let Some(room) = message.grow(before + len) else { break };
            let record = &mut room[before..];
            bytes::put_u16(record, 0, template.id);
            bytes::put_u16(record, 2, template.fields.len() as u16);
            if template.scope > 0 {
                bytes::put_u16(record, 4, template.scope);
            }
            for (at, field) in (header_len..).step_by(4).zip(&template.fields) {
                bytes::put_u16(record, at, field.number());
                bytes::put_u16(record, at + 2, field_len::<E>(*field) as u16);
            }
            if !is_same {
                self.end_set(message, at);
                self.set = Some((at + before - SET_HEADER_LEN, set));
            }
            next += 1;
        }
        next
    }

    /// How many templates there are.
    pub fn templates(&self) -> usize {
        self.templates.all.len()
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

    /// Data records in the message that is open.
    pub fn open_records(&self) -> u32 {
        self.records
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
fn write<E: Event>(fields: &[E::Field], event: &E, unix_ms: u64, mut record: &mut [u8]) {
    for field in fields {
        record = match field.value(event, unix_ms) {
            Value::U8(number) => put(record, [number]),
            Value::U16(number) => put(record, number.to_be_bytes()),
            Value::U32(number) => put(record, number.to_be_bytes()),
            Value::U64(number) => put(record, number.to_be_bytes()),
            Value::Ipv4(address) => put(record, address.octets()),
            Value::Ipv6(address) => put(record, address.octets()),
        };
    }
}

/// Writes a value to the front of a record; gives the rest.
#[inline]
fn put<const LEN: usize>(record: &mut [u8], value: [u8; LEN]) -> &mut [u8] {
    let (place, rest) = record.split_at_mut(LEN);
    place.copy_from_slice(&value);
    rest
}

/// Length of a field's value in bytes, which is the same for all events.
fn field_len<E: Event>(field: E::Field) -> usize {
    field.value(&E::FILLER, 0).len_bytes()
}

/// The version of the protocol.
const VERSION: u16 = 10;
/// The set of templates (RFC 7011 section 3.3.2).
const TEMPLATE_SET: u16 = 2;
/// The set of options templates (RFC 7011 section 3.3.2).
const OPTIONS_TEMPLATE_SET: u16 = 3;
/// Length of a message's header in bytes.
const MESSAGE_HEADER_LEN: usize = 16;
/// Length of a set's header in bytes.
const SET_HEADER_LEN: usize = 4;
