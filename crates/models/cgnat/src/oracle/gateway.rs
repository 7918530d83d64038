//! Application-level gateways: what becomes of a packet after its ends were translated.
//!
//! What is told in a payload is found by words and numbers ([`ftp`], [`sip`], [`pptp`]), not by the
//! gateways' parsers; which outside port the device chose is read from what left. Sequence numbers
//! behind replaced text are those of [`sequences`].
use std::net::IpAddr;
use std::time::Duration;

use super::packets::{Packet, word};
use super::state::{Left, Model};
use super::tables::{End, Own};

mod ftp;
mod mapping;
mod pptp;
mod reading;
pub(super) mod script;
pub mod sequences;
mod sip;

use reading::Reading;
use script::{Ask, Message, Put, Step};
use sequences::{Replaced, Sequences};

/// Where its message begins; a part of the payload, from and up to; what stands there instead.
type Piece = (usize, usize, usize, Vec<u8>);

/// A payload as a gateway writes it.
struct Written {
    payload: Vec<u8>,
    edited: Vec<Replaced>,
    /// Calls that are connected, by both identifiers.
    calls: Vec<(u16, u16)>,
}

/// An application with a gateway.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Ftp,
    Sip,
    Pptp,
}

impl Model {
    /// The packet as a gateway of its session lets it pass.
    pub(super) fn by_gateway(
        &mut self,
        packet: Packet,
        (own, far, is_out): (Own, End, bool),
        now: Duration,
        left: Left<'_>,
    ) -> Packet {
        let Some(kind) = self.gateway_of(own, far) else { return packet };
        // RFC 6384 is for those of IPv6.
        let IpAddr::V4(inside) = own.1.0.address else { return packet };
        let Some(mapping) = self.tables.mappings.get_mut(&own) else { return packet };
        let outside = mapping.outside;
        let Some(session) = mapping.sessions.get_mut(&far) else { return packet };
        if packet.flags() & 2 != 0 {
            if !session.is_established() {
                session.shifts = None;
            }
            return packet;
        }
        let has_none = packet.protocol == 17 && word(&packet.bytes, packet.transport + 6) == 0;
        let is_fragment = word(&packet.bytes, 6) & 0x3fff != 0;
        if is_fragment || !has_none && packet.damage() != 0 {
            return packet;
        }
        let mut reading = Reading {
            own,
            inside: (inside, own.1.1),
            outside,
            far,
            is_out,
            now,
            left,
            untold_is_refused: false,
            made: Vec::new(),
        };
        if packet.protocol == 6 {
            return self.segment(packet, kind, reading);
        }
        let header = packet.bytes[packet.transport..packet.transport + 8].to_vec();
        let payload = packet.bytes[packet.transport + 8..].to_vec();
        let room = self.room_of(&packet, is_out);
        let written = self.write(kind, &payload, room, &mut reading);
        packet.with_message([header, written.payload].concat())
    }

    /// Which gateway a session has: by the other end's port, or by its own.
    fn gateway_of(&self, own: Own, far: End) -> Option<Kind> {
        if self.is_outside(far.0) {
            return None;
        }
        let alg = &self.config.alg;
        let by = |port: u16| match (own.0, port) {
            (6, 21) if alg.ftp => Some(Kind::Ftp),
            (6 | 17, 5060) if alg.sip => Some(Kind::Sip),
            (6, 1723) if alg.pptp => Some(Kind::Pptp),
            _ => None,
        };
        by(far.1).or_else(|| by(own.1.1))
    }

    /// A segment as it left, if the device may have let it pass so. Where that lacks a message that
    /// asks for ports, it does not tell whether they were refused: both are tried.
    fn segment(&mut self, packet: Packet, kind: Kind, reading: Reading<'_>) -> Packet {
        let at = packet.transport;
        let payload = |packet: &Packet| {
            let header_len = usize::from(packet.bytes[at + 12] >> 4) * 4;
            packet.bytes[at + header_len..].to_vec()
        };
        let left = left_payload(reading.left, 6);
        let lacks = |passed: &Packet| left.as_ref().is_some_and(|left| *left != payload(passed));
        let before = lacks(&packet).then(|| self.clone());
        let passed = self.segment_of(packet.clone(), kind, &mut reading.clone());
        if let Some(mut other) = before.filter(|_| lacks(&passed)) {
            let mut reading = Reading { untold_is_refused: true, ..reading };
            let instead = other.segment_of(packet, kind, &mut reading);
            if !lacks(&instead) {
                *self = other;
                return instead;
            }
        }
        passed
    }

    fn segment_of(&mut self, packet: Packet, kind: Kind, reading: &mut Reading<'_>) -> Packet {
        let at = packet.transport;
        let header_len = usize::from(packet.bytes[at + 12] >> 4) * 4;
        let mut header = packet.bytes[at..at + header_len].to_vec();
        let payload = packet.bytes[at + header_len..].to_vec();
        let known = self.tables.shifts_of(reading.own, reading.far);
        let has_room = known.is_some() || self.tables.connections() < self.connections;
        if known.is_none() && (payload.is_empty() || !has_room) {
            return packet;
        }
        let mut shifts = known.unwrap_or_default();
        let written = self.write(kind, &payload, self.room_of(&packet, reading.is_out), reading);
        let number = |at: usize, header: &[u8]| {
            u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
        };
        let seq = number(4, &header);
        let passing = shifts.segment(reading.is_out, seq, payload.len(), &written.edited);
        header[4..8].copy_from_slice(&passing.seq.to_be_bytes());
        if !passing.is_whole {
            header[13] &= !1;
        }
        if header[13] & 16 != 0 {
            let ack = shifts.ack(reading.is_out, number(8, &header));
            header[8..12].copy_from_slice(&ack.to_be_bytes());
            acknowledge_parts(&mut header, reading.is_out, &shifts);
        }
        self.tables.set_shifts(reading.own, reading.far, shifts);
        let is_new = !written.edited.is_empty();
        if !passing.is_whole || is_new && !passing.is_edited {
            self.take_back(reading, passing.taken);
        } else {
            for (call, other) in written.calls {
                let ends = ((47, (reading.own.1.0, call)), (reading.far.0, 0));
                self.connect(ends, other, reading.now, reading.left);
            }
        }
        let text = if passing.is_edited { &written.payload } else { &payload };
        packet.with_message([&header, &text[..passing.len]].concat())
    }

    /// The payload as it leaves, its mappings made.
    fn write(
        &mut self,
        kind: Kind,
        payload: &[u8],
        room: usize,
        reading: &mut Reading<'_>,
    ) -> Written {
        let messages = self.messages(kind, payload, reading);
        let left = left_payload(reading.left, reading.own.0);
        let mut puts: Vec<Piece> = Vec::new();
        let mut expected: Vec<(Ask, End)> = Vec::new();
        let mut calls = Vec::new();
        for message in &messages {
            let mut units: Vec<usize> = puts.iter().map(|put| put.0).collect();
            units.dedup();
            if units.len() >= UNITS_MAX {
                continue;
            }
            let before = (puts.len(), expected.len());
            let growth: isize = puts.iter().map(growth_of).sum();
            let place = message.at.saturating_add_signed(growth);
            let mut told = Told::read(message, payload, left.as_deref(), place);
            told.is_refused |= reading.untold_is_refused && told.ports.contains(&None);
            if self.take_steps(message, &told, (&mut puts, &mut expected), reading).is_none() {
                puts.truncate(before.0);
                expected.truncate(before.1);
                self.take_back(reading, message.at);
            } else {
                calls.extend(message.call);
            }
        }
        puts.retain(|(_, from, to, new)| payload[*from..*to] != new[..]);
        puts.sort_by_key(|put| put.1);
        let mut new = Vec::new();
        let mut read = 0;
        for (_, from, to, text) in &puts {
            new.extend_from_slice(&payload[read..*from]);
            new.extend_from_slice(text);
            read = *to;
        }
        new.extend_from_slice(&payload[read..]);
        if !puts.is_empty() && new.len() > room {
            self.take_back(reading, 0);
            let (edited, calls) = (Vec::new(), Vec::new());
            return Written { payload: payload.to_vec(), edited, calls };
        }
        Written { payload: new, edited: edited(&puts), calls }
    }

    fn messages(&self, kind: Kind, payload: &[u8], reading: &Reading<'_>) -> Vec<Message> {
        // A character for each octet; those that mean nothing are all alike.
        let text: String = payload.iter().map(|&byte| char::from(byte.min(0x7f))).collect();
        let owner = |protocol: u8, port: u16| {
            let own = self.tables.owner(protocol, (reading.outside.0, port))?;
            match own.1.0.address {
                IpAddr::V4(inside) if own.1.0.realm == reading.own.1.0.realm => {
                    Some((inside, own.1.1))
                }
                _ => None,
            }
        };
        match kind {
            Kind::Ftp if !reading.is_out => Vec::new(),
            Kind::Ftp => ftp::messages(&text, reading.inside.0, reading.far.0),
            Kind::Pptp => {
                let own = |call| {
                    let found = owner(47, call).filter(|end| end.0 == reading.inside.0);
                    found.map(|end| end.1)
                };
                pptp::messages(payload, (reading.is_out, reading.far.0), own)
            }
            Kind::Sip => {
                let talk = sip::Talk {
                    protocol: reading.own.0,
                    is_out: reading.is_out,
                    inside: reading.inside,
                    outside: reading.outside,
                    owner: &owner,
                };
                sip::messages(&text, &talk)
            }
        }
    }

    /// The steps of a message; none where one fails.
    fn take_steps(
        &mut self,
        message: &Message,
        told: &Told,
        (puts, expected): (&mut Vec<Piece>, &mut Vec<(Ask, End)>),
        reading: &mut Reading<'_>,
    ) -> Option<()> {
        if told.is_refused && message.is_chained() {
            return None;
        }
        let mut ends: Vec<End> = Vec::new();
        for step in &message.steps {
            match step {
                Step::Fail => return None,
                Step::Ask(ask) => {
                    let hint = told.ports.get(ends.len()).copied().flatten();
                    let hint = (hint.filter(|_| !told.is_refused), told.is_refused);
                    let end = self.ask(ask, message.at, hint, reading)?;
                    ends.push(end);
                    let same = |(one, known): &(Ask, End)| {
                        *known == end
                            && one.protocol == ask.protocol
                            && one.remote == ask.remote
                            && (one.wish == script::Wish::Pair) == (ask.wish == script::Wish::Pair)
                    };
                    if !expected.iter().any(same) {
                        expected.push((*ask, end));
                    }
                    if expected.len() > EXPECTATIONS_MAX {
                        return None;
                    }
                }
                Step::Put(Put { from, to, what }) => {
                    puts.push((message.at, *from, *to, what.bytes(&ends)));
                }
                Step::Length { from, to, body, body_len } => {
                    let behind = puts.iter().filter(|put| put.1 >= *body);
                    let growth: isize = behind.map(growth_of).sum();
                    if growth != 0 {
                        let len = body_len.saturating_add_signed(growth);
                        puts.push((message.at, *from, *to, len.to_string().into_bytes()));
                    }
                }
            }
            if puts.len() > EDITS_MAX {
                return None;
            }
        }
        Some(())
    }
}

/// What left tells of a message's mappings.
struct Told {
    /// By ask.
    ports: Vec<Option<u16>>,
    /// It left as it came, or is taken to have been refused.
    is_refused: bool,
}

impl Told {
    /// `place` is where the message begins in what left.
    fn read(message: &Message, old: &[u8], left: Option<&[u8]>, place: usize) -> Told {
        let asks = message.steps.iter().filter(|step| matches!(step, Step::Ask(_))).count();
        let mut told = Told { ports: vec![None; asks], is_refused: false };
        let Some(left) = left.and_then(|left| left.get(place..)) else { return told };
        let mut puts: Vec<(usize, usize, Option<&Put>)> = Vec::new();
        for step in &message.steps {
            match step {
                Step::Put(put) => puts.push((put.from, put.to, Some(put))),
                Step::Length { from, to, .. } => puts.push((*from, *to, None)),
                Step::Ask(_) | Step::Fail => {}
            }
        }
        puts.sort_by_key(|put| put.0);
        let end = puts.last().map_or(message.at, |put| put.1);
        told.is_refused = left.starts_with(&old[message.at..end]);
        let text: String = left.iter().map(|&byte| char::from(byte.min(0x7f))).collect();
        let (mut read, mut at) = (message.at, 0);
        for (from, to, put) in puts {
            at += from - read;
            read = to;
            let Some(rest) = text.get(at..) else { return told };
            let (port, len) = match put {
                Some(put) => put.what.told(rest, left[at..].first_chunk().copied()),
                None => {
                    (None, rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len())
                }
            };
            if let Some((ask, port)) = port {
                told.ports[ask] = told.ports[ask].or(Some(port));
            }
            at += len;
        }
        told
    }
}

fn growth_of((_, from, to, new): &Piece) -> isize {
    new.len() as isize - (to - from) as isize
}

/// What is new of a payload, message by message.
fn edited(puts: &[Piece]) -> Vec<Replaced> {
    let units = puts.chunk_by(|one, next| one.0 == next.0);
    let text = |unit: &[Piece]| {
        let (at, end) = (unit[0].0, unit[unit.len() - 1].2);
        let growth: isize = unit.iter().map(growth_of).sum();
        let was = end - at;
        let is = was.saturating_add_signed(growth);
        Replaced { at: at as u32, was: was as u16, is: is as u16 }
    };
    units.map(text).collect()
}

impl Model {
    /// How long a payload may become: that of a packet of 1500 bytes, or of what the link takes, or
    /// as long as it was.
    fn room_of(&self, packet: &Packet, is_out: bool) -> usize {
        let head = match packet.protocol {
            6 => usize::from(packet.bytes[packet.transport + 12] >> 4) * 4,
            _ => 8,
        };
        let mtu = if is_out { self.config.outside_mtu } else { self.config.inside_mtu };
        let most = if mtu == 0 { 1500 } else { mtu.min(1500) };
        packet.bytes.len().max(usize::from(most)) - packet.transport - head
    }
}

/// The payload of the packet of a protocol that left.
fn left_payload(left: Left<'_>, protocol: u8) -> Option<Vec<u8>> {
    let packet = left.iter().find_map(|(_, frame)| {
        let packet = frame.get(14..)?;
        (*packet.get(9)? == protocol).then_some(packet)
    })?;
    let transport = usize::from(packet[0] & 0x0f) * 4;
    let head = match protocol {
        6 => usize::from(*packet.get(transport + 12)? >> 4) * 4,
        _ => 8,
    };
    packet.get(transport + head..).map(<[u8]>::to_vec)
}

/// Selective acknowledgements (RFC 2018 section 3) in the numbers of the other side.
fn acknowledge_parts(header: &mut [u8], is_out: bool, shifts: &Sequences) {
    let mut at = 20;
    while at < header.len() && header[at] != 0 {
        if header[at] == 1 {
            at += 1;
            continue;
        }
        let len = header.get(at + 1).copied().map_or(0, usize::from);
        if len < 2 || at + len > header.len() && header[at] == 5 {
            return;
        }
        if header[at] == 5 {
            let option = &mut header[at..at + len];
            match parts(&option[2..], is_out, shifts) {
                Some(parts) => option[2..].copy_from_slice(&parts),
                None => option.fill(1),
            }
        }
        at += len;
    }
}

/// All blocks of one option; none where nothing is left of one.
fn parts(blocks: &[u8], is_out: bool, shifts: &Sequences) -> Option<Vec<u8>> {
    let word = |bytes: &[u8]| Some(u32::from_be_bytes(bytes.try_into().ok()?));
    let block = |block: &[u8]| {
        let edges = [word(block.get(..4)?)?, word(block.get(4..)?)?];
        Some(shifts.block(is_out, edges)?.map(u32::to_be_bytes).concat())
    };
    blocks.chunks(8).map(block).collect::<Option<Vec<_>>>().map(|blocks| blocks.concat())
}

/// Parts of a payload that a device replaces.
const EDITS_MAX: usize = 48;

/// Mappings for which a message may ask.
const EXPECTATIONS_MAX: usize = 16;

/// Messages or lines of one payload that a device changes.
const UNITS_MAX: usize = 8;
