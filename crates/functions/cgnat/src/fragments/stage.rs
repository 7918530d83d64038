//! Fragments on their way through a NAT (RFC 4787 REQ-14): behind all other packets of their batch.
use std::net::{Ipv4Addr, Ipv6Addr};

use machine::clock::Ticks;
use packet::{Batch, Made, PortId, Reason, Slot, Verdict};
use stages::icmp_host::is_ipv6;
use stages::reassembly::{Key, Part};
use stages::vlan;
use wire::bytes::{array_at, put_u16, put_u32, u16_at, u32_at};
use wire::{checksum, ethernet, icmp, ipv4, ipv6, protocol, tcp, udp};

use crate::cutting::{self, set_identification};
use crate::ds_lite::stage as softwires;
use crate::fragments::followed::Followed;
use crate::fragments::{Addresses, Step, Translation};
use crate::interfaces::Interfaces;
use crate::mtu::links;
use crate::nat64::{Nat64, reason_of};
use crate::pipeline::Pipeline;
use crate::reasons::{self, Tally};
use crate::sessions::times::Moment;
use crate::translation::{self, Ends, Ipv6Packet, Port};
use crate::types::class::{Shape, flags_of_query, is_followed};
use crate::types::flow::{Far, Inside, Outside, SOFTWIRES, halves};
use crate::types::fragment::is_fragment;
use crate::types::hops::{TTL, hops_left};
use crate::types::sides::{OUTSIDE, is_inside, side};
mod outer;

impl Pipeline {
    /// Forgets datagrams whose time is over.
    pub(crate) fn forget_fragments(&mut self, now: Ticks) {
        let Some(Followed { sides, outer, .. }) = &mut self.followed else { return };
        for store in sides.iter_mut().chain(outer) {
            store.expire(now);
            self.state.tallies[Tally::FragmentsGivenUp as usize] += store.take_given_up();
        }
    }

    /// Fragments of a batch, in their order.
    #[inline(never)]
    pub(crate) fn fragments(&mut self, batch: &mut Batch, (now, moment): (Ticks, Moment)) {
        self.state.begin_batch();
        let slots = self.scratch.fragments.clone();
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
        let index = usize::from(slot);
        let (part, shape) = self
            .sound(batch.frame(slot), (port, self.scratch.realm[index], self.scratch.b4[index]))?;
        let frame = &batch.frame(slot)[..usize::from(shape.len)];
        let Some(followed) = &mut self.followed else { return Err(reasons::FRAGMENT) };
        match followed.sides[side(port)].take(&part, frame, now)? {
            Step::Follow(translation) => {
                batch.truncate(slot, usize::from(shape.len));
                let was_ipv6 = is_ipv6(batch.frame(slot));
                follow(batch, slot, &translation, self.interfaces.nat64.as_ref())?;
                self.state.tallies[Tally::FragmentsFollowed as usize] += 1;
                (self.scratch.realm[index], self.scratch.b4[index]) =
                    (translation.realm, translation.b4);
                self.send(batch, slot, translation.to);
                if may_be_cut(batch.frame(slot), was_ipv6, translation.to) {
                    self.cut(batch, slot, translation.to, 0);
                }
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
        let (hops, was_ipv6) = (hops_left(batch.frame(slot)), is_ipv6(batch.frame(slot)));
        let at = (usize::from(shape.transport), port);
        let ports = ports_of(batch.frame(slot), part.key.protocol, at);
        self.scratch.shape[index] = shape;
        let keyed = self.state.sessions.keyed();
        if is_inside(port) {
            let far = Far::new(part.key.protocol, part.key.destination[1] as u32, ports.1);
            let near = u32::from(ports.0) << 16 | u32::from(part.key.realm);
            let key = Inside { address: part.key.source, far, near };
            (self.scratch.inside[index], self.scratch.hash[index]) = (key, key.hash(keyed));
            self.open_from_inside(batch, slot, moment);
        } else {
            let far = Far::new(part.key.protocol, part.key.source[1] as u32, ports.0);
            let key = Outside::new(part.key.destination[1] as u32, ports.1, far);
            (self.scratch.outside[index], self.scratch.hash[index]) = (key, key.hash(keyed));
            match self.owner_of_fragments(port, &key) {
                Some(worker) => self.hand_over(batch, slot, worker),
                None => self.open_from_outside(batch, slot, moment),
            }
        }
        if self.limits_lengths {
            self.stops(batch, slot);
        }
        let Some(Followed { sides, identifications, .. }) = &mut self.followed else { return };
        let made = &mut self.made;
        let side = &mut sides[side(port)];
        let Verdict::Forward(to) = batch.verdict(slot) else { return side.give_up(&part.key) };
        let identification = match is_inside(port) {
            true => identifications.draw(),
            false => part.key.identification as u16,
        };
        let frame = batch.frame_mut(slot);
        set_identification(frame, identification);
        let addresses = addresses_of(frame);
        let hops = hops - hops_left(frame);
        let realm = if is_inside(to) { self.scratch.realm[index] } else { 0 };
        let b4 = self.scratch.b4[index];
        let translation = Translation { addresses, identification, hops, to, realm, b4 };
        let (tallies, uncut) = (&mut self.state.tallies, &mut self.uncut);
        let (nat64, ds_lite) = (self.interfaces.nat64.as_ref(), self.interfaces.ds_lite.as_ref());
        let outer = &mut self.outer_identification;
        side.settle((part, translation), now, |frame| {
            let release = |made: &mut Made| {
                let place = made.push(port, frame, Verdict::Forward(to))?;
                let has_left = release(made, place, &translation, &self.interfaces);
                if has_left && may_be_cut(made.batch_mut().frame(place), was_ipv6, to) {
                    cut_made((made, place), (port, to), nat64, uncut);
                }
                let mtu = self.interfaces.mtu(to);
                let has_left =
                    has_left && links::fit_made((made, place), (port, to, realm), mtu, uncut);
                if let Some(ds_lite) = ds_lite.filter(|_| has_left && realm >= SOFTWIRES)
                    && softwires::cut_made((made, place), port, (ds_lite, outer), uncut)
                {
                    tallies[Tally::PacketsCut as usize] += 1;
                }
                Some(has_left)
            };
            match made.as_mut().and_then(release) {
                Some(true) => tallies[Tally::FragmentsFollowed as usize] += 1,
                Some(false) => tallies[Tally::FragmentsGivenUp as usize] += 1,
                None => {}
            }
        });
        if may_be_cut(batch.frame(slot), was_ipv6, to) {
            self.cut(batch, slot, to, 0);
        }
    }

    /// What a fragment is, if it is one that may be followed.
    fn sound(
        &self,
        frame: &[u8],
        (port, realm, b4): (PortId, u16, Ipv6Addr),
    ) -> Result<(Part, Shape), Reason> {
        let (mut part, transport) = match &self.interfaces.nat64 {
            Some(nat64) if is_ipv6(frame) => read_ipv6(frame, nat64)?,
            _ => read(frame, realm)?,
        };
        let ds_lite = self.interfaces.ds_lite.as_ref().filter(|_| realm >= SOFTWIRES);
        if let Some(softwire) = ds_lite.and_then(|it| it.softwire(b4)) {
            part.key.source = softwire.beside(part.key.source);
        }
        let mut shape =
            Shape { transport: (frame.len() - transport.len()) as u16, len: 0, tcp_flags: 0 };
        let transport = &transport[..usize::from(part.len)];
        shape.len = shape.transport + part.len;
        if part.is_malformed() {
            return Err(reasons::FRAGMENT_MALFORMED);
        }
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
            (protocol::ICMP, 0) if !is_followed(transport[0]) => return Err(reasons::PROTOCOL),
            (protocol::ICMP, 0) => shape.tcp_flags = flags_of_query(transport[0]),
            (protocol::TCP, offset) if usize::from(offset) < tcp::HEADER_LEN => {
                return Err(reasons::FRAGMENT_TINY);
            }
            (protocol::TCP | protocol::UDP | protocol::ICMP, _) => {}
            _ => return Err(reasons::PROTOCOL),
        }
        if hops_left(frame) <= 1 {
            return Err(reasons::TTL_EXPIRED);
        }
        let addresses = &self.state.allocation.addresses;
        let subscriber =
            Inside { address: part.key.source, near: realm.into(), ..Inside::default() };
        // An IPv6 address may look like one of IPv4.
        let is_other = is_ipv6(frame) && part.key.source[0] == 0;
        if is_inside(port) && (is_other || !self.interfaces.is_subscriber(&subscriber)) {
            return Err(reasons::NOT_INSIDE);
        }
        if !is_inside(port) && addresses.number(part.key.destination[1] as u32).is_none() {
            return Err(reasons::NO_ADDRESS);
        }
        Ok((part, shape))
    }
}

/// A fragment by its headers, which were checked, and all that is behind them in the frame.
fn read(frame: &[u8], realm: u16) -> Result<(Part, &[u8]), Reason> {
    let packet = frame.get(IP..).unwrap_or_default();
    let view = ipv4::View::parse_without_checksum(packet).map_err(|_| reasons::IP_MALFORMED)?;
    let ip = packet.first_chunk::<{ ipv4::HEADER_LEN }>().ok_or(reasons::IP_MALFORMED)?;
    let header_len = usize::from(ip[0] & 0x0f) * 4;
    let place = u16_at(ip, ipv4::offset::FLAGS_FRAGMENT);
    let part = Part {
        key: Key {
            source: [0, view.source().to_bits().into()],
            realm,
            destination: [0, view.destination().to_bits().into()],
            protocol: view.protocol(),
            identification: u16_at(ip, ipv4::offset::IDENTIFICATION).into(),
        },
        offset: (place & ipv4::FRAGMENT_OFFSET_MASK) << 3,
        len: view.total_len() - header_len as u16,
        more: place & ipv4::FLAG_MORE_FRAGMENTS != 0,
    };
    Ok((part, &packet[header_len..]))
}

/// The same of a subscriber with an IPv6 address. Pieces of ICMPv6, whose checksum covers addresses
/// and all of the message, are not translated (RFC 7915 section 1.2).
fn read_ipv6<'a>(frame: &'a [u8], nat64: &Nat64) -> Result<(Part, &'a [u8]), Reason> {
    let packet = frame.get(IP..).unwrap_or_default();
    let read = Ipv6Packet::whole(packet).map_err(reason_of)?;
    let far = nat64.prefix.extract(read.destination()).ok_or(reasons::NOT_EMBEDDED)?;
    let (offset, more, identification) = read.place().ok_or(reasons::FRAGMENT)?;
    if read.protocol == protocol::ICMPV6 {
        return Err(reasons::FRAGMENT);
    }
    // ICMP of the other version is none here.
    let protocol = if read.protocol == protocol::ICMP { u8::MAX } else { read.protocol };
    let part = Part {
        key: Key {
            source: halves(read.source()),
            realm: 0,
            destination: [0, far.to_bits().into()],
            protocol,
            identification,
        },
        offset,
        len: read.body_len as u16,
        more,
    };
    Ok((part, &packet[read.header_len..]))
}

/// The ports of a first fragment; the identifier of a query is that of the subscriber.
fn ports_of(frame: &[u8], protocol: u8, (transport, port): (usize, PortId)) -> (u16, u16) {
    if protocol != protocol::ICMP {
        return (u16_at(frame, transport), u16_at(frame, transport + 2));
    }
    let identifier = u16_at(frame, transport + icmp::offset::REST);
    if is_inside(port) { (identifier, 0) } else { (0, identifier) }
}

/// The addresses of a packet that is ready to leave.
fn addresses_of(frame: &[u8]) -> Addresses {
    let port = Port::Kept;
    match is_ipv6(frame) {
        false => Addresses::Ipv4(Ends {
            source: u32_at(frame, IP + ipv4::offset::SOURCE).into(),
            destination: u32_at(frame, IP + ipv4::offset::DESTINATION).into(),
            port,
        }),
        true => Addresses::Ipv6(Ends {
            source: array_at::<16>(frame, IP + ipv6::offset::SOURCE).into(),
            destination: array_at::<16>(frame, IP + ipv6::offset::DESTINATION).into(),
            port,
        }),
    }
}

/// Whether a fragment that is ready to leave by a port became one of the other family, or passed it
/// on its way to another subscriber.
fn may_be_cut(frame: &[u8], was_ipv6: bool, to: PortId) -> bool {
    (to == OUTSIDE && was_ipv6) || (is_inside(to) && is_ipv6(frame) && is_fragment(frame))
}

/// Cuts a fragment that waited, if it is too long.
fn cut_made(
    (made, place): (&mut Made, Slot),
    (from, to): (PortId, PortId),
    nat64: Option<&Nat64>,
    uncut: &mut Vec<u8>,
) {
    let Some(nat64) = nat64 else { return };
    let mtu = if is_inside(to) { nat64.rules.ipv6_mtu } else { nat64.rules.ipv4_mtu };
    let frame = made.batch_mut().frame(place);
    if frame.len() <= IP + usize::from(mtu) {
        return;
    }
    uncut.clear();
    uncut.extend_from_slice(frame);
    cutting::pieces(uncut, (mtu, 0), |number, head, part| match number {
        0 => drop(cutting::put(made.batch_mut(), place, head, part)),
        _ => cutting::add(Some(made), from, (head, part), to),
    });
}

/// Sends on what waited, if it lives long enough; whether it does.
fn release(
    made: &mut Made,
    place: Slot,
    translation: &Translation,
    interfaces: &Interfaces,
) -> bool {
    let nat64 = interfaces.nat64.as_ref();
    if follow(made.batch_mut(), place, translation, nat64).is_err() {
        made.take_back();
        return false;
    }
    let frame = made.batch_mut().frame_mut(place);
    if let Some(header) = frame.first_chunk_mut::<12>() {
        *header = interfaces.header(translation.to);
    }
    // A worker's headroom is larger than a tag, or an outer header.
    let has_room = match (translation.realm, &interfaces.ds_lite) {
        (0, _) => true,
        (SOFTWIRES.., Some(it)) => it.encapsulate(made.batch_mut(), place, translation.b4),
        (vlan, _) => vlan::put_on(made.batch_mut(), place, vlan),
    };
    if !has_room {
        made.take_back();
    }
    has_room
}

/// Translates a fragment as the first one of its datagram was.
fn follow(
    batch: &mut Batch,
    slot: Slot,
    translation: &Translation,
    nat64: Option<&Nat64>,
) -> Result<(), Reason> {
    let frame = batch.frame_mut(slot);
    if hops_left(frame) <= translation.hops {
        return Err(reasons::TTL_EXPIRED);
    }
    // Each translation takes a hop.
    let taken = match (&translation.addresses, is_ipv6(frame), nat64) {
        (Addresses::Ipv4(ends), false, _) => {
            set_addresses(frame, ends);
            0
        }
        (Addresses::Ipv4(ends), true, Some(nat64)) => {
            translation::to_ipv4(batch, slot, ends, 0, &nat64.rules, |_| None)
                .map_err(reason_of)?;
            1
        }
        (Addresses::Ipv6(ends), false, Some(nat64)) => {
            let transport = IP + usize::from(frame[IP] & 0x0f) * 4;
            if !cutting::fits_ipv6(frame, transport, nat64) {
                return Err(reasons::TOO_BIG);
            }
            translation::to_ipv6(batch, slot, ends, &nat64.rules, |_| None).map_err(reason_of)?;
            1
        }
        (Addresses::Ipv6(ends), true, Some(nat64)) => {
            translation::to_ipv4(batch, slot, &BETWEEN, 0, &nat64.rules, |_| None)
                .map_err(reason_of)?;
            translation::to_ipv6(batch, slot, ends, &nat64.rules, |_| None).map_err(reason_of)?;
            2
        }
        (_, _, None) => return Err(reasons::FRAGMENT),
    };
    let frame = batch.frame_mut(slot);
    take_hops(frame, translation.hops.saturating_sub(taken));
    set_identification(frame, translation.identification);
    Ok(())
}

/// Replaces the addresses of an IPv4 packet.
fn set_addresses(frame: &mut [u8], ends: &Ends<Ipv4Addr>) {
    let sum_at = IP + ipv4::offset::CHECKSUM;
    let mut sum = u16_at(frame, sum_at);
    for (field, new) in
        [(ipv4::offset::SOURCE, ends.source), (ipv4::offset::DESTINATION, ends.destination)]
    {
        sum = checksum::update_u32(sum, u32_at(frame, IP + field), new.to_bits());
        put_u32(frame, IP + field, new.to_bits());
    }
    put_u16(frame, sum_at, sum);
}

/// Takes hops from the time to live or the hop limit, of which there are more.
fn take_hops(frame: &mut [u8], hops: u8) {
    if is_ipv6(frame) {
        frame[IP + ipv6::offset::HOP_LIMIT] -= hops;
        return;
    }
    let sum_at = IP + ipv4::offset::CHECKSUM;
    let before = u16_at(frame, TTL);
    frame[TTL] -= hops;
    let sum = checksum::update_u16(u16_at(frame, sum_at), before, u16_at(frame, TTL));
    put_u16(frame, sum_at, sum);
}

/// What the addresses of a packet between two subscribers with IPv6 addresses are on the way, where
/// nobody sees them.
const BETWEEN: Ends<Ipv4Addr> =
    Ends { source: Ipv4Addr::UNSPECIFIED, destination: Ipv4Addr::UNSPECIFIED, port: Port::Kept };

const IP: usize = ethernet::HEADER_LEN;
