//! Mirrors: copies of what a port receives or sends, as they are or wrapped for a collector far away.
//!
//! A copy is a made frame; where there is no place for it, it is counted and the frame itself goes on. A
//! copy of a frame that is longer than the room for one is such a case too.

use packet::{Batch, Made, PortId, Slot};
use wire::bytes::{put_array, put_u16, u16_at};
use wire::{MacAddr, erspan, ethernet, ipv4};

use super::config::features::{Direction, Erspan, Mirror};
use super::config::{Config, PORT_NAMES};

/// The mirrors of all ports.
#[derive(Default)]
pub struct Mirrors {
    sessions: [[Option<Session>; PORT_NAMES.len()]; 2],
    /// Copies made.
    pub copies: u64,
}

/// A mirror at work.
struct Session {
    said: Mirror,
    /// Number of the next copy.
    sequence: u32,
}

impl Mirrors {
    /// Those of a validated configuration.
    pub fn new(config: &Config) -> Mirrors {
        let mut mirrors = Mirrors::default();
        config.mirrors.iter().for_each(|mirror| mirrors.set(*mirror));
        mirrors
    }

    /// Sets the mirror of a port and direction; its numbers begin anew.
    pub fn set(&mut self, mirror: Mirror) {
        *self.session(mirror.port.id(), mirror.direction) =
            Some(Session { said: mirror, sequence: 0 });
    }

    /// Takes the mirror of a port and direction away; whether there was one.
    pub fn remove(&mut self, port: PortId, direction: Direction) -> bool {
        self.session(port, direction).take().is_some()
    }

    /// All mirrors.
    pub fn said(&self) -> impl Iterator<Item = Mirror> + '_ {
        self.sessions.iter().flatten().flatten().map(|session| session.said)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.said().next().is_none()
    }

    fn session(&mut self, port: PortId, direction: Direction) -> &mut Option<Session> {
        &mut self.sessions[direction as usize][usize::from(port.0) & (PORT_NAMES.len() - 1)]
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
        let Some(session) = self.session(port, direction) else { return };
        let copy = made.copy(batch, slot, session.said.to.id());
        self.copies += u64::from(session.wrap(copy, made));
    }

    /// Copies a made frame that a port sends, where a mirror asks for it.
    #[inline]
    pub fn copy_made(&mut self, port: PortId, slot: Slot, made: &mut Made) {
        let Some(session) = self.session(port, Direction::Transmit) else { return };
        let copy = made.again(slot, session.said.to.id());
        self.copies += u64::from(session.wrap(copy, made));
    }
}

impl Session {
    /// Wraps a copy if the mirror is a remote one; whether there is a copy.
    fn wrap(&mut self, copy: Option<Slot>, made: &mut Made) -> bool {
        let (Some(slot), Some(to)) = (copy, self.said.erspan) else { return copy.is_some() };
        let batch = made.batch_mut();
        let fields = self.fields(&to, batch.frame(slot));
        let Some(frame) = batch.push_front(slot, OUTER_LEN) else { return false };
        self.sequence = self.sequence.wrapping_add(1);
        write_outer(&to, fields, frame);
        true
    }

    fn fields(&self, to: &Erspan, frame: &[u8]) -> erspan::Fields {
        let is_whole = frame.len() >= ethernet::HEADER_LEN + 2;
        let kind = if is_whole { u16_at(frame, ethernet::offset::TYPE) } else { 0 };
        let is_tagged = matches!(kind, ethernet::TYPE_VLAN | ethernet::TYPE_SERVICE_VLAN);
        let tag = if is_tagged { u16_at(frame, ethernet::HEADER_LEN) } else { 0 };
        erspan::Fields {
            sequence: self.sequence,
            vlan: tag & 0xfff,
            class: (tag >> 13) as u8,
            is_tagged,
            session: to.session,
            index: u32::from(self.said.port.id().0) << 1 | self.said.direction as u32,
        }
    }
}

/// Writes Ethernet, IPv4, GRE and ERSPAN header in front of a copy.
fn write_outer(to: &Erspan, fields: erspan::Fields, frame: &mut [u8]) {
    let MacAddr(destination) = to.destination_mac.0;
    let MacAddr(source) = to.source_mac.0;
    put_array(frame, ethernet::offset::DESTINATION, destination);
    put_array(frame, ethernet::offset::SOURCE, source);
    put_u16(frame, ethernet::offset::TYPE, ethernet::TYPE_IPV4);
    let Some(packet) = frame.get_mut(ethernet::HEADER_LEN..) else { return };
    let total_len = packet.len() as u16;
    let Some((header, rest)) = packet.split_first_chunk_mut() else { return };
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
    if let Some(header) = rest.first_chunk_mut() {
        fields.emit(header);
    }
}

/// What a remote mirror puts in front of a frame.
const OUTER_LEN: usize = ethernet::HEADER_LEN + ipv4::HEADER_LEN + erspan::HEADER_LEN;

const TTL: u8 = 64;
