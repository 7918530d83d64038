//! Packets of sessions with a gateway of an application ([`crate::alg`]), after their
//! addresses and ports were translated.
//!
//! Only what a receiver would take is read: a packet with a wrong checksum passes as it is, and so
//! is dropped there. A payload grows to a packet of 1500 bytes at most, and to none that the next
//! link does not take.
use std::net::SocketAddrV4;

use packet::{Batch, Slot};
use wire::bytes::{put_u16, put_u32, u16_at, u32_at};
use wire::checksum::{Sum, update_u16};
use wire::{ethernet, ipv4, protocol, tcp, udp};

use crate::alg::expected::Asking;
use crate::alg::{self, Gateway, Passing, Protocol, Rewritten, Shifts, Side, Translation};
use crate::pipeline::Pipeline;
use crate::reasons::Tally;
use crate::sessions::session::Session;
use crate::sessions::table::Number;
use crate::sessions::times::Moment;
use crate::types::class::Shape;
use crate::types::sides::{INSIDE, OUTSIDE};

impl Pipeline {
    /// Lets a gateway read a packet, and puts what it says in the place of the payload.
    #[inline(never)]
    pub(crate) fn by_alg(
        &mut self,
        batch: &mut Batch,
        slot: Slot,
        (number, from): (Number, Side),
        now: Moment,
    ) {
        let index = usize::from(slot);
        let shape = self.scratch.shape[index];
        let record = &mut self.state.sessions.records[number as usize];
        let session = *record;
        let Some((gateway, protocol)) = self.state.algs.of(&session) else { return };
        if shape.tcp_flags & tcp::FLAG_SYN != 0 {
            // A connection begins: nothing of it was replaced yet.
            if !session.tcp.is_established() && record.beside.is_some() {
                self.state.algs.forget(&mut record.beside);
                self.state.note(number);
            }
            return;
        }
        if !is_sound(batch.frame(slot), shape, protocol) {
            self.state.tallies[Tally::AlgDamaged as usize] += 1;
            return;
        }
        match protocol {
            Protocol::Tcp => self.segment(batch, slot, (number, gateway, from), now),
            _ => {
                let head = usize::from(shape.transport) + udp::HEADER_LEN;
                let done = self.rewritten(batch, slot, head, (&session, gateway, from), now);
                if !done.edited.is_empty() {
                    self.replace_payload(batch, slot, head, &self.payload[..done.len]);
                    self.finish(batch, slot, head + done.len);
                }
            }
        }
    }

    /// A TCP segment but for SYN.
    fn segment(
        &mut self,
        batch: &mut Batch,
        slot: Slot,
        (number, gateway, from): (Number, Gateway, Side),
        now: Moment,
    ) {
        let shape = self.scratch.shape[usize::from(slot)];
        let transport = usize::from(shape.transport);
        let offset = batch.frame(slot)[transport + tcp::offset::DATA_OFFSET];
        let head = transport + usize::from(offset >> 4) * 4;
        let len = usize::from(shape.len) - head;
        let mut session = self.state.sessions.records[number as usize];
        if len == 0 && !session.beside.is_some() {
            return;
        }
        if self.state.algs.shifts(&mut session.beside).is_none() {
            self.state.tallies[Tally::AlgConnectionsFull as usize] += 1;
            return;
        }
        self.state.sessions.records[number as usize].beside = session.beside;
        let done = self.rewritten(batch, slot, head, (&session, gateway, from), now);
        let Some(shifts) = self.state.algs.shifts(&mut session.beside) else { return };
        let header = &mut batch.frame_mut(slot)[transport..head];
        let seq = u32_at(header, tcp::offset::SEQUENCE);
        let before = self.state.journal.as_ref().map(|_| *shifts);
        let passing = shifts.segment(from, seq, len, &done.edited);
        renumber(header, (shifts, from), &passing);
        let is_news = before.is_some_and(|before| before != *shifts);
        self.scratch.shape[usize::from(slot)].tcp_flags = header[tcp::offset::FLAGS];
        if is_news {
            self.state.note(number);
        }
        if !passing.is_whole || !done.edited.is_empty() && !passing.is_edited {
            self.state.undo_expected(passing.taken, now);
        } else if gateway == Gateway::Pptp {
            self.state.begin_calls(&done, &session.inside_key(), now);
        }
        if passing.is_edited {
            self.replace_payload(batch, slot, head, &self.payload[..passing.len]);
        }
        self.finish(batch, slot, head + passing.len);
    }

    /// What a gateway makes of the payload that begins at a place, in `scratch`.
    fn rewritten(
        &mut self,
        batch: &Batch,
        slot: Slot,
        head: usize,
        (session, gateway, from): (&Session, Gateway, Side),
        now: Moment,
    ) -> Rewritten {
        let frame = batch.frame(slot);
        let end = |address: u32, port| SocketAddrV4::new(address.into(), port);
        let is_tcp = session.far.protocol() == protocol::TCP;
        let translation = Translation {
            from,
            protocol: if is_tcp { Protocol::Tcp } else { Protocol::Udp },
            inside: end(session.inside[1] as u32, session.inside_port()),
            outside: end(session.outside, session.outside_port),
            remote: end(session.far.address(), session.far.port()),
        };
        let to = if from == Side::Inside { OUTSIDE } else { INSIDE };
        let link = ethernet::HEADER_LEN + usize::from(self.interfaces.mtu(to));
        let longest = FRAME_LEN_MAX.min(link).min(batch.frame_room()).max(frame.len());
        let room = &mut self.payload[..longest - head];
        let mut asking = Asking::new(&mut self.state, session.inside_key(), now);
        let done = alg::rewrite(gateway, &frame[head..], &translation, &mut asking, room);
        if let Some(reason) = done.reason {
            self.state.tallies[Tally::AlgMalformed as usize + reason as usize] += 1;
        }
        if !done.edited.is_empty() {
            self.state.tallies[Tally::AlgRewritten as usize] += 1;
        }
        done
    }

    fn replace_payload(&self, batch: &mut Batch, slot: Slot, head: usize, payload: &[u8]) {
        // The gateway had no more room than a frame has.
        if batch.set_frame_len(slot, head + payload.len()) {
            batch.frame_mut(slot)[head..].copy_from_slice(payload);
        }
    }

    /// Makes lengths and checksums those of a frame of so many bytes.
    fn finish(&mut self, batch: &mut Batch, slot: Slot, len: usize) {
        let shape = &mut self.scratch.shape[usize::from(slot)];
        shape.len = len as u16;
        batch.truncate(slot, len);
        let frame = batch.frame_mut(slot);
        let (old, new) = (u16_at(frame, TOTAL_LEN), (len - ethernet::HEADER_LEN) as u16);
        put_u16(frame, TOTAL_LEN, new);
        let sum = update_u16(u16_at(frame, IP_CHECKSUM), old, new);
        put_u16(frame, IP_CHECKSUM, sum);
        let transport = usize::from(shape.transport);
        if frame[PROTOCOL] == protocol::TCP {
            put_u16(frame, transport + tcp::offset::CHECKSUM, 0);
            let sum = transport_sum(frame, transport).checksum();
            put_u16(frame, transport + tcp::offset::CHECKSUM, sum);
            return;
        }
        put_u16(frame, transport + udp::offset::LENGTH, (len - transport) as u16);
        let at = transport + udp::offset::CHECKSUM;
        if u16_at(frame, at) != udp::CHECKSUM_NONE {
            put_u16(frame, at, 0);
            let sum = transport_sum(frame, transport).checksum();
            put_u16(frame, at, if sum == 0 { u16::MAX } else { sum });
        }
    }
}

/// Sets the sequence numbers of a TCP header to those of the other side; blocks of which nothing is
/// left become no-operations.
fn renumber(header: &mut [u8], (shifts, from): (&mut Shifts, Side), passing: &Passing) {
    put_u32(header, tcp::offset::SEQUENCE, passing.seq);
    if !passing.is_whole {
        header[tcp::offset::FLAGS] &= !tcp::FLAG_FIN;
    }
    if header[tcp::offset::FLAGS] & tcp::FLAG_ACK == 0 {
        return;
    }
    let ack = shifts.ack(from, u32_at(header, tcp::offset::ACKNOWLEDGMENT));
    put_u32(header, tcp::offset::ACKNOWLEDGMENT, ack);
    let mut at = tcp::HEADER_LEN;
    while let Some(&kind) = header.get(at) {
        let len = match kind {
            tcp::OPTION_END => return,
            tcp::OPTION_NO_OPERATION => 1,
            _ => header.get(at + 1).map_or(0, |&len| usize::from(len)),
        };
        if kind == OPTION_SACK && len >= 2 {
            let Some(option) = header.get_mut(at..at + len) else { return };
            if !shifts.sack(from, &mut option[2..]) {
                option.fill(tcp::OPTION_NO_OPERATION);
            }
        } else if len < 2 && kind != tcp::OPTION_NO_OPERATION {
            return;
        }
        at += len;
    }
}

/// Whether it is no fragment and the transport's checksum is right; a datagram may have none.
fn is_sound(frame: &[u8], shape: Shape, protocol: Protocol) -> bool {
    let whole = !(ipv4::FLAG_MORE_FRAGMENTS | ipv4::FRAGMENT_OFFSET_MASK);
    if u16_at(frame, FRAGMENT) | whole != whole {
        return false;
    }
    let transport = usize::from(shape.transport);
    let has_none = protocol == Protocol::Udp
        && u16_at(frame, transport + udp::offset::CHECKSUM) == udp::CHECKSUM_NONE;
    has_none || transport_sum(frame, transport).fold() == u16::MAX
}

/// The sum of a transport's message and what it covers of the IPv4 header.
fn transport_sum(frame: &[u8], transport: usize) -> Sum {
    let message = &frame[transport..];
    let ends = &frame[SOURCE..SOURCE + 8];
    let sum = Sum::ZERO.add_bytes(ends).add_u16(u16::from(frame[PROTOCOL]));
    sum.add_u16(message.len() as u16).add_bytes(message)
}

/// A payload grows to such a frame at most.
const FRAME_LEN_MAX: usize = ethernet::HEADER_LEN + 1500;

/// TCP: selective acknowledgement (RFC 2018 section 3).
const OPTION_SACK: u8 = 5;

const TOTAL_LEN: usize = ethernet::HEADER_LEN + ipv4::offset::TOTAL_LEN;
const FRAGMENT: usize = ethernet::HEADER_LEN + ipv4::offset::FLAGS_FRAGMENT;
const IP_CHECKSUM: usize = ethernet::HEADER_LEN + ipv4::offset::CHECKSUM;
const PROTOCOL: usize = ethernet::HEADER_LEN + ipv4::offset::PROTOCOL;
const SOURCE: usize = ethernet::HEADER_LEN + ipv4::offset::SOURCE;
