//! Fragments on their way through a NAT (RFC 4787 REQ-14): behind all other packets of their batch.

use std::io;

use machine::clock::{Clock, Ticks};
use packet::{Batch, Made, PortId, Reason, Room, Slot, Verdict};
use wire::bytes::{put_u16, put_u32, u16_at, u32_at};
use wire::{checksum, ethernet, icmp, ipv4, protocol, tcp, udp};

use super::super::config::Config;
use super::super::flow::{Far, Inside, Outside};
use super::super::fragments::{Fragments, Key, Part, Step, Translation};
use super::super::interfaces::{INSIDE, Interfaces};
use super::super::parse::{Shape, TIMESTAMP, TIMESTAMP_REPLY};
use super::super::reasons::{self, Tally};
use super::super::times::Moment;
use super::{Pipeline, TTL};
use crate::unit::Shard;

/// What is known of fragments.
pub(super) struct Followed {
    /// By the port where they come in.
    sides: [Fragments; 2],
    identifications: Identifications,
    /// Those that waited.
    made: Option<Made>,
}

/// New identifications of datagrams from inside, whose senders share addresses and know nothing of one
/// another (RFC 6864 section 5.3): all 65,536 in an order that a secret decides, each worker its own.
struct Identifications {
    next: u16,
    step: u16,
    factor: u16,
    shift: u16,
}

impl Identifications {
    fn new(shard: Shard, secret: u64) -> Identifications {
        Identifications {
            next: shard.index as u16,
            step: shard.count as u16,
            factor: secret as u16 | 1,
            shift: (secret >> 16) as u16,
        }
    }

    fn draw(&mut self) -> u16 {
        let number = self.next;
        self.next = number.wrapping_add(self.step);
        number.wrapping_mul(self.factor).wrapping_add(self.shift)
    }
}

impl Followed {
    /// As configured; none where fragments are dropped.
    pub fn new(config: &Config, shard: Shard, clock: &Clock, secret: u64) -> Followed {
        let side = || Fragments::new(config.fragments, clock);
        Followed {
            sides: [side(), side()],
            identifications: Identifications::new(shard, secret),
            made: None,
        }
    }

    /// Takes the memory for fragments that leave after they waited.
    pub fn make_room(&mut self, room: Room) -> io::Result<()> {
        self.made = Some(Made::new(room)?);
        Ok(())
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.sides.iter().map(Fragments::bytes).sum()
    }

    /// Datagrams followed, and fragments that wait, of one direction.
    pub fn sizes(&self, port: PortId) -> (usize, usize) {
        self.sides[usize::from(port.0 & 1)].sizes()
    }
}

impl Pipeline {
    /// Forgets datagrams whose time is over, and lends what waited for others.
    pub(super) fn fragments_made(&mut self, now: Ticks) -> Option<&mut Batch> {
        let followed = self.followed.as_mut()?;
        let tallies = &mut self.state.tallies;
        for side in &mut followed.sides {
            side.expire(now);
            tallies[Tally::FragmentsGivenUp as usize] += side.take_given_up();
        }
        let made = followed.made.as_mut()?;
        tallies[Tally::MadeFull as usize] = made.refused();
        self.state.tell(now, made);
        made.lend()
    }

    /// Fragments of a batch, in their order.
    #[inline(never)]
    pub(super) fn fragments(&mut self, batch: &mut Batch, (now, moment): (Ticks, Moment)) {
        self.state.begin_batch();
        let slots = self.way.fragments.clone();
        for &slot in slots.as_slice() {
            if let Err(reason) = self.fragment(batch, slot, (now, moment)) {
                self.refuse_and_tell(batch, slot, reason);
            }
        }
    }

    fn fragment(
        &mut self,
        batch: &mut Batch,
        slot: Slot,
        (now, moment): (Ticks, Moment),
    ) -> Result<(), Reason> {
        let port = batch.port(slot);
        let (part, shape) = self.sound(batch.frame(slot), port)?;
        let frame = &batch.frame(slot)[..usize::from(shape.len)];
        let Some(followed) = &mut self.followed else { return Err(reasons::FRAGMENT) };
        match followed.sides[usize::from(port.0 & 1)].take(&part, frame, now)? {
            Step::Follow(translation) => {
                batch.truncate(slot, usize::from(shape.len));
                follow(batch.frame_mut(slot), &translation)?;
                self.state.tallies[Tally::FragmentsFollowed as usize] += 1;
                self.send(batch, slot, translation.to);
            }
            Step::First => self.first(batch, (slot, &part, shape), (now, moment)),
        }
        Ok(())
    }

    /// A first fragment is translated as a packet, and tells how the others are.
    fn first(
        &mut self,
        batch: &mut Batch,
        (slot, part, shape): (Slot, &Part, Shape),
        (now, moment): (Ticks, Moment),
    ) {
        let port = batch.port(slot);
        let index = usize::from(slot);
        let hops = batch.frame(slot)[TTL];
        let ports = ports_of(batch.frame(slot), part.key.protocol, usize::from(shape.transport));
        self.way.shape[index] = shape;
        let keyed = self.state.sessions.keyed();
        if port == INSIDE {
            let far = Far::new(part.key.protocol, part.key.destination, ports.1);
            let key = Inside::ipv4(part.key.source, ports.0, 0, far);
            (self.way.inside[index], self.way.hash[index]) = (key, key.hash(keyed));
            self.open_from_inside(batch, slot, moment);
        } else {
            let far = Far::new(part.key.protocol, part.key.source, ports.0);
            let key = Outside::new(part.key.destination, ports.1, far);
            (self.way.outside[index], self.way.hash[index]) = (key, key.hash(keyed));
            self.open_from_outside(batch, slot, moment);
        }
        let Some(Followed { sides, identifications, made }) = &mut self.followed else { return };
        let side = &mut sides[usize::from(port.0 & 1)];
        let Verdict::Forward(to) = batch.verdict(slot) else { return side.give_up(&part.key) };
        let identification = match port == INSIDE {
            true => identifications.draw(),
            false => part.key.identification,
        };
        let frame = batch.frame_mut(slot);
        set_identification(frame, identification);
        let translation = Translation {
            source: u32_at(frame, IP + ipv4::offset::SOURCE),
            destination: u32_at(frame, IP + ipv4::offset::DESTINATION),
            identification,
            hops: hops - frame[TTL],
            to,
        };
        let tallies = &mut self.state.tallies;
        side.settle((part, translation), now, |frame| {
            let release = |made: &mut Made| {
                let place = made.push(port, frame, Verdict::Forward(to));
                place.map(|place| release(made, place, &translation, &self.interfaces))
            };
            match made.as_mut().and_then(release) {
                Some(true) => tallies[Tally::FragmentsFollowed as usize] += 1,
                Some(false) => tallies[Tally::FragmentsGivenUp as usize] += 1,
                None => {}
            }
        });
    }

    /// What a fragment is, if it is one that may be followed.
    fn sound(&self, frame: &[u8], port: PortId) -> Result<(Part, Shape), Reason> {
        let (part, transport) = read(frame)?;
        let mut shape =
            Shape { transport: (frame.len() - transport.len()) as u16, len: 0, tcp_flags: 0 };
        let transport = &transport[..usize::from(part.len)];
        shape.len = shape.transport + part.len;
        let end = u32::from(part.offset) + u32::from(part.len);
        let is_cut = part.more && !part.len.is_multiple_of(8);
        if part.len == 0 || is_cut || end > u32::from(u16::MAX) {
            return Err(reasons::FRAGMENT_MALFORMED);
        }
        let is_query = |kind| match port == INSIDE {
            true => matches!(kind, icmp::v4::ECHO_REQUEST | TIMESTAMP),
            false => matches!(kind, icmp::v4::ECHO_REPLY | TIMESTAMP_REPLY),
        };
        match (part.key.protocol, part.offset) {
            (protocol::TCP, 0) => {
                let view = tcp::View::parse(transport).map_err(|_| reasons::FRAGMENT_TINY)?;
                shape.tcp_flags = view.flags();
            }
            (protocol::UDP, 0) if transport.len() < udp::HEADER_LEN => {
                return Err(reasons::FRAGMENT_TINY);
            }
            (protocol::ICMP, 0) if transport.len() < icmp::HEADER_LEN => {
                return Err(reasons::FRAGMENT_TINY);
            }
            (protocol::ICMP, 0) if !is_query(transport[0]) => return Err(reasons::PROTOCOL),
            (protocol::TCP, offset) if usize::from(offset) < tcp::HEADER_LEN => {
                return Err(reasons::FRAGMENT_TINY);
            }
            (protocol::TCP | protocol::UDP | protocol::ICMP, _) => {}
            _ => return Err(reasons::PROTOCOL),
        }
        if frame[TTL] <= 1 {
            return Err(reasons::TTL_EXPIRED);
        }
        let addresses = &self.state.allocation.addresses;
        let subscriber = Inside::ipv4(part.key.source, 0, 0, Far::default());
        if port == INSIDE && !self.interfaces.is_subscriber(&subscriber) {
            return Err(reasons::NOT_INSIDE);
        }
        if port != INSIDE && addresses.number(part.key.destination).is_none() {
            return Err(reasons::NO_ADDRESS);
        }
        Ok((part, shape))
    }
}

/// A fragment by its headers, which were checked, and all that is behind them in the frame.
fn read(frame: &[u8]) -> Result<(Part, &[u8]), Reason> {
    let packet = frame.get(IP..).unwrap_or_default();
    let view = ipv4::View::parse_without_checksum(packet).map_err(|_| reasons::IP_MALFORMED)?;
    let ip = packet.first_chunk::<{ ipv4::HEADER_LEN }>().ok_or(reasons::IP_MALFORMED)?;
    let header_len = usize::from(ip[0] & 0x0f) * 4;
    let place = u16_at(ip, ipv4::offset::FLAGS_FRAGMENT);
    let part = Part {
        key: Key {
            source: view.source().to_bits(),
            destination: view.destination().to_bits(),
            protocol: view.protocol(),
            identification: u16_at(ip, ipv4::offset::IDENTIFICATION),
        },
        offset: (place & ipv4::FRAGMENT_OFFSET_MASK) << 3,
        len: view.total_len() - header_len as u16,
        more: place & ipv4::FLAG_MORE_FRAGMENTS != 0,
    };
    Ok((part, &packet[header_len..]))
}

/// The ports of a first fragment; the identifier of a query is that of the subscriber.
fn ports_of(frame: &[u8], protocol: u8, transport: usize) -> (u16, u16) {
    if protocol != protocol::ICMP {
        return (u16_at(frame, transport), u16_at(frame, transport + 2));
    }
    let identifier = u16_at(frame, transport + icmp::offset::REST);
    match frame[transport] {
        icmp::v4::ECHO_REQUEST | TIMESTAMP => (identifier, 0),
        _ => (0, identifier),
    }
}

/// Sends on what waited, if it lives long enough; whether it does.
fn release(
    made: &mut Made,
    place: Slot,
    translation: &Translation,
    interfaces: &Interfaces,
) -> bool {
    let frame = made.batch_mut().frame_mut(place);
    if follow(frame, translation).is_err() {
        made.take_back();
        return false;
    }
    if let Some(header) = frame.first_chunk_mut::<12>() {
        *header = interfaces.headers[usize::from(translation.to.0)];
    }
    true
}

/// Translates a fragment as the first one of its datagram was.
fn follow(frame: &mut [u8], translation: &Translation) -> Result<(), Reason> {
    if frame[TTL] <= translation.hops {
        return Err(reasons::TTL_EXPIRED);
    }
    let sum_at = IP + ipv4::offset::CHECKSUM;
    let mut sum = u16_at(frame, sum_at);
    for (field, new) in [
        (ipv4::offset::SOURCE, translation.source),
        (ipv4::offset::DESTINATION, translation.destination),
    ] {
        sum = checksum::update_u32(sum, u32_at(frame, IP + field), new);
        put_u32(frame, IP + field, new);
    }
    let before = u16_at(frame, TTL);
    frame[TTL] -= translation.hops;
    sum = checksum::update_u16(sum, before, u16_at(frame, TTL));
    put_u16(frame, sum_at, sum);
    set_identification(frame, translation.identification);
    Ok(())
}

fn set_identification(frame: &mut [u8], identification: u16) {
    let (at, sum_at) = (IP + ipv4::offset::IDENTIFICATION, IP + ipv4::offset::CHECKSUM);
    let sum = checksum::update_u16(u16_at(frame, sum_at), u16_at(frame, at), identification);
    put_u16(frame, at, identification);
    put_u16(frame, sum_at, sum);
}

const IP: usize = ethernet::HEADER_LEN;
