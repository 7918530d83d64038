//! Mirrors: copies of what a port receives or sends, as they are or wrapped for a collector far
//! away.
//!
//! A copy is a made frame; where there is no place for it, it is counted and the frame itself goes
//! on. A copy of a frame that is longer than the room for one is such a case too.

use machine::clock::{Clock, Ticks};
use packet::{Batch, Made, PortId, Slot};
use wire::bytes::{put_array, put_u16, u16_at};
use wire::{MacAddr, erspan, erspan_iii, ethernet, ipv4};

use super::config::features::{Direction, Erspan, ErspanType, Mirror};
use super::config::{Config, Port};

/// The mirrors of all ports.
pub struct Mirrors {
    /// By direction and port.
    sessions: [Vec<Option<Session>>; 2],
    now: Ticks,
    ticks_per_unit: f64,
    /// Copies made.
    pub copies: u64,
}

/// A mirror at work.
struct Session {
    said: Mirror,
    /// Number of the next copy.
    sequence: u32,
    /// When it was set, which is where its time begins.
    since: Ticks,
}

impl Mirrors {
    /// Those of a validated configuration.
    pub fn new(config: &Config, clock: Clock, now: Ticks) -> Mirrors {
        let ticks_per_unit = clock.ticks_per_second() * erspan_iii::UNIT_NS as f64 / 1e9;
        let none = || Port::first(config.ports).map(|_| None).collect();
        let sessions = [none(), none()];
        let mut mirrors = Mirrors { sessions, now, ticks_per_unit, copies: 0 };
        config.mirrors.iter().for_each(|mirror| mirrors.set(*mirror, now));
        mirrors
    }

    /// Sets the mirror of a port and direction; its numbers and its time begin anew.
    pub fn set(&mut self, mirror: Mirror, now: Ticks) {
        if let Some(place) = self.place(mirror.port.id(), mirror.direction) {
            *place = Some(Session { said: mirror, sequence: 0, since: now });
        }
    }

    /// Notes when the frames of a batch came in, for copies that tell.
    #[inline(always)]
    pub fn note_time(&mut self, now: Ticks) {
        self.now = now;
    }

    /// Takes the mirror of a port and direction away; whether there was one.
    pub fn remove(&mut self, port: PortId, direction: Direction) -> bool {
        self.place(port, direction).is_some_and(|place| place.take().is_some())
    }

    /// All mirrors.
    pub fn said(&self) -> impl Iterator<Item = Mirror> + '_ {
        self.sessions.iter().flatten().flatten().map(|session| session.said)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.said().next().is_none()
    }

    fn place(&mut self, port: PortId, direction: Direction) -> Option<&mut Option<Session>> {
        self.sessions[direction as usize].get_mut(usize::from(port.0))
    }

    fn session(&mut self, port: PortId, direction: Direction) -> Option<&mut Session> {
        self.place(port, direction)?.as_mut()
    }

    /// Copies a frame of the batch, which a port has received or sends, where a mirror asks for it.
    #[inline]
    pub fn copy(
        &mut self,
        (port, direction): (PortId, Direction),
        batch: &Batch,
        slot: Slot,
        made: &mut Made,
    ) {
        let time = self.time();
        let Some(session) = self.session(port, direction) else { return };
        let copy = made.copy(batch, slot, session.said.to.id());
        self.copies += u64::from(session.wrap(copy, time, made));
    }

    /// Copies a made frame that a port sends, where a mirror asks for it.
    #[inline]
    pub fn copy_made(&mut self, port: PortId, slot: Slot, made: &mut Made) {
        let time = self.time();
        let Some(session) = self.session(port, Direction::Transmit) else { return };
        let copy = made.again(slot, session.said.to.id());
        self.copies += u64::from(session.wrap(copy, time, made));
    }

    #[inline(always)]
    fn time(&self) -> Time {
        Time { now: self.now, ticks_per_unit: self.ticks_per_unit }
    }
}

/// The present, and how copies tell it.
#[derive(Clone, Copy)]
struct Time {
    now: Ticks,
    ticks_per_unit: f64,
}

impl Session {
    /// Wraps a copy if the mirror is a remote one; whether there is a copy.
    fn wrap(&mut self, copy: Option<Slot>, time: Time, made: &mut Made) -> bool {
        let (Some(slot), Some(to)) = (copy, self.said.erspan) else { return copy.is_some() };
        if made.batch_mut().long(slot).is_some() {
            // Nobody cuts what is in a tunnel.
            made.refuse_last();
            return false;
        }
        let batch = made.batch_mut();
        let tag = tag_of(batch.frame(slot));
        let erspan_len = match to.kind {
            ErspanType::Ii => erspan::HEADER_LEN,
            ErspanType::Iii => erspan_iii::HEADER_LEN,
        };
        let Some(frame) = batch.push_front(slot, OUTER_LEN + erspan_len) else { return false };
        write_outer(&to, frame);
        let inner = &mut frame[OUTER_LEN..];
        match to.kind {
            ErspanType::Ii => {
                if let Some(header) = inner.first_chunk_mut() {
                    self.fields(&to, tag).emit(header);
                }
            }
            ErspanType::Iii => {
                if let Some(header) = inner.first_chunk_mut() {
                    self.fields_iii(&to, tag, time).emit(header);
                }
            }
        }
        self.sequence = self.sequence.wrapping_add(1);
        true
    }

    fn fields(&self, to: &Erspan, tag: Option<u16>) -> erspan::Fields {
        let (vlan, class) = vlan_of(tag);
        erspan::Fields {
            sequence: self.sequence,
            vlan,
            class,
            is_tagged: tag.is_some(),
            session: to.session,
            index: u32::from(self.said.port.id().0) << 1 | self.said.direction as u32,
        }
    }

    fn fields_iii(&self, to: &Erspan, tag: Option<u16>, time: Time) -> erspan_iii::Fields {
        let (vlan, class) = vlan_of(tag);
        let units = time.now.saturating_sub(self.since) as f64 / time.ticks_per_unit;
        erspan_iii::Fields {
            sequence: self.sequence,
            vlan,
            class,
            session: to.session,
            // The field holds seven minutes, and then begins anew.
            timestamp: units.round() as u64 as u32,
            port: self.said.port.id().0,
            is_egress: self.said.direction == Direction::Transmit,
        }
    }
}

/// The outer tag of a frame.
fn tag_of(frame: &[u8]) -> Option<u16> {
    let is_whole = frame.len() >= ethernet::HEADER_LEN + 2;
    let kind = if is_whole { u16_at(frame, ethernet::offset::TYPE) } else { 0 };
    let is_tagged = matches!(kind, ethernet::TYPE_VLAN | ethernet::TYPE_SERVICE_VLAN);
    is_tagged.then(|| u16_at(frame, ethernet::HEADER_LEN))
}

/// The VLAN and the priority of a tag.
fn vlan_of(tag: Option<u16>) -> (u16, u8) {
    tag.map_or((0, 0), |tag| (tag & 0xfff, (tag >> 13) as u8))
}

/// Writes Ethernet and IPv4 header in front of GRE's.
fn write_outer(to: &Erspan, frame: &mut [u8]) {
    let MacAddr(destination) = to.destination_mac.0;
    let MacAddr(source) = to.source_mac.0;
    put_array(frame, ethernet::offset::DESTINATION, destination);
    put_array(frame, ethernet::offset::SOURCE, source);
    put_u16(frame, ethernet::offset::TYPE, ethernet::TYPE_IPV4);
    let Some(packet) = frame.get_mut(ethernet::HEADER_LEN..) else { return };
    let total_len = packet.len() as u16;
    let Some(header) = packet.first_chunk_mut() else { return };
    ipv4::Fields {
        dscp: 0,
        ecn: 0,
        total_len,
        identification: 0,
        dont_fragment: true,
        more_fragments: false,
        fragment_offset: 0,
        ttl: TTL,
        protocol: wire::protocol::GRE,
        source: to.source,
        destination: to.destination,
    }
    .emit(header);
}

/// What a remote mirror puts in front of GRE's header.
const OUTER_LEN: usize = ethernet::HEADER_LEN + ipv4::HEADER_LEN;

const TTL: u8 = 64;
