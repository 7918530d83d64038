//! Softwires: RFC 6333 over the sessions of everybody. Each subscriber behind one is a realm of its
//! own, numbered as it is met.
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use crate::translation::oracle::{Refusal, take_ipv6};
use function_cgnat::config::{DsLite, Prefixed};
use function_cgnat::types::sides::INSIDE;
use model_kit::check::Expected;
use model_kit::slow::Pieces;
use packet::PortId;

use super::super::nat64::reason;
use super::super::packets::word;
use super::super::state::Model;
use super::{FIRST, Gathered};

/// What a frame from inside is.
pub(in crate::oracle) enum Opened {
    /// A packet that is in no softwire.
    Bare,
    /// One of a softwire, in a frame of its own, and its realm.
    Inner(u16, Vec<u8>),
    /// It is answered.
    Answered(Expected),
}

impl Model {
    /// The packet of a softwire in a frame without tag.
    pub(in crate::oracle) fn open_tunnel(
        &mut self,
        port: PortId,
        frame: &[u8],
        now: Duration,
    ) -> Result<Opened, &'static str> {
        let is_ipv6 = frame.len() >= 14 && word(frame, 12) == 0x86dd;
        let Some(ds_lite) = self.config.ds_lite.clone().filter(|_| is_ipv6 && port == INSIDE)
        else {
            return Ok(Opened::Bare);
        };
        let packet = &frame[14..];
        let is_whole = packet.len() >= 40
            && packet[0] >> 4 == 6
            && 40 + usize::from(word(packet, 4)) <= packet.len();
        let has_message = is_whole && packet[6] == 58 && word(packet, 4) > 0;
        if has_message && matches!(packet[40], 135 | 136) {
            let ask = |own| self.judge_discovery((INSIDE, own), frame);
            return ask(ds_lite.aftr).or_else(|_| ask(self.own_ipv6(INSIDE))).map(Opened::Answered);
        }
        if frame[..6] != self.mac(INSIDE) {
            return Err("other-station");
        }
        if !is_whole {
            return Err("ip-malformed");
        }
        let taken = take_ipv6(packet, true).map_err(|refusal| match refusal {
            Refusal::Malformed => "ip-malformed",
            other => reason(other),
        })?;
        if taken.destination != ds_lite.aftr {
            let has_other = self.config.nat64.is_some();
            return if has_other { Ok(Opened::Bare) } else { Err("not-embedded") };
        }
        if taken.protocol != 4 {
            return Err("local");
        }
        let name = name_of(&ds_lite, taken.source).ok_or("not-inside")?;
        let fragment = taken.fragment.filter(|one| one.offset > 0 || one.more_fragments);
        let body = match fragment {
            Some(fragment) => {
                let place = (usize::from(fragment.offset) * 8, fragment.more_fragments);
                let key = (taken.source, fragment.identification);
                self.gather((key, name), (place, &taken.body), now)?
            }
            None => taken.body,
        };
        self.softwires.from = taken.source;
        let known = self.softwires.all.iter().position(|(known, _)| *known == name);
        let number = known.unwrap_or_else(|| {
            self.softwires.all.push((name, taken.source));
            self.softwires.all.len() - 1
        });
        let frame = [&frame[..12], &[8, 0], &body].concat();
        Ok(Opened::Inner(FIRST + number as u16, frame))
    }

    /// RFC 6333 section 6.3, RFC 8200 section 4.5: what an outer packet bears, with its last
    /// fragment.
    fn gather(
        &mut self,
        (key, name): ((Ipv6Addr, u32), Ipv6Addr),
        ((start, more), body): ((usize, bool), &[u8]),
        now: Duration,
    ) -> Result<Vec<u8>, &'static str> {
        let limits = self.config.fragments;
        if limits.datagrams == 0 {
            return Err("fragment");
        }
        let end = start + body.len();
        if body.is_empty() || more && !body.len().is_multiple_of(8) || end > 65_535 {
            return Err("fragment-malformed");
        }
        let gathered = &mut self.softwires.gathered;
        gathered.retain(|one| now < one.until);
        let at = gathered.iter().position(|one| one.key == key);
        if at.is_some_and(|at| gathered[at].pieces.is_broken) {
            return Err("fragment-overlap");
        }
        let of_one = || gathered.iter().filter(|one| one.name == name);
        let waiting = |all: &mut dyn Iterator<Item = &Gathered>| -> usize {
            all.map(|one| one.bodies.len()).sum()
        };
        if at.is_none() && of_one().count() >= limits.datagrams_per_sender as usize {
            return Err("fragment-limit");
        }
        if at.is_none() && gathered.len() >= limits.datagrams as usize {
            return Err("fragments-full");
        }
        if waiting(&mut of_one()) >= limits.waiting_per_sender as usize {
            return Err("fragment-limit");
        }
        if waiting(&mut gathered.iter()) >= limits.waiting as usize {
            return Err("fragments-full");
        }
        let at = at.unwrap_or_else(|| {
            let until = now + Duration::from_secs_f64(limits.timeout_s);
            let (pieces, bodies) = (Pieces::default(), Vec::new());
            gathered.push(Gathered { key, name, pieces, bodies, until });
            gathered.len() - 1
        });
        let one = &mut gathered[at];
        let taken = one.pieces.take(start, body.len(), more);
        if one.pieces.is_broken {
            one.bodies.clear();
        }
        taken?;
        one.bodies.push((start, body.to_vec()));
        if !one.pieces.is_whole() {
            return Err("awaiting-outer-fragments");
        }
        let mut bodies = gathered.remove(at).bodies;
        bodies.sort();
        Ok(bodies.into_iter().flat_map(|(_, body)| body).collect())
    }

    /// A packet of a subscriber has a session: others for it go where that came from.
    pub(in crate::oracle) fn note_b4(&mut self, realm: u16) {
        let from = self.softwires.from;
        if let Some((_, latest)) = self.softwire_mut(realm) {
            *latest = from;
        }
    }

    /// The address that names the subscriber of a realm; none of one without a softwire.
    pub(in crate::oracle) fn b4(&self, realm: u16) -> Option<Ipv6Addr> {
        let number = usize::from(realm.checked_sub(FIRST)?);
        self.softwires.all.get(number).map(|(name, _)| *name)
    }

    /// Where packets for the subscriber of a realm go; none of one without a softwire.
    pub(in crate::oracle) fn latest_b4(&self, realm: u16) -> Option<Ipv6Addr> {
        let number = usize::from(realm.checked_sub(FIRST)?);
        self.softwires.all.get(number).map(|(_, latest)| *latest)
    }

    /// From where the frame in hand came, if that was a softwire.
    pub(in crate::oracle) fn asking_b4(&self) -> Option<Ipv6Addr> {
        (self.realm >= FIRST).then_some(self.softwires.from)
    }

    /// The realm of a B4 element that has sent something.
    pub(in crate::oracle) fn realm_of_b4(&self, b4: Ipv6Addr) -> Option<u16> {
        let name = name_of(self.config.ds_lite.as_ref()?, b4)?;
        let number = self.softwires.all.iter().position(|(known, _)| *known == name)?;
        Some(FIRST + number as u16)
    }

    fn softwire_mut(&mut self, realm: u16) -> Option<&mut (Ipv6Addr, Ipv6Addr)> {
        self.softwires.all.get_mut(usize::from(realm.checked_sub(FIRST)?))
    }

    /// The outer addresses' destination of a frame that left through a softwire, or a first piece
    /// of one.
    pub(in crate::oracle) fn b4_of_frame(&self, port: PortId, frame: &[u8]) -> Option<Ipv6Addr> {
        let aftr = self.config.ds_lite.as_ref()?.aftr;
        let is_long = port == INSIDE && frame.len() >= 54 && word(frame, 12) == 0x86dd;
        let is_it = is_long && frame[22..38] == aftr.octets() && matches!(frame[20], 4 | 44);
        let destination: [u8; 16] = frame.get(38..54).filter(|_| is_it)?.try_into().ok()?;
        Some(destination.into())
    }

    /// A frame that left without its outer header; of pieces the first one has all of it, and the
    /// others nothing.
    pub(in crate::oracle) fn without_header(
        &self,
        frame: &[u8],
        left: &[(PortId, &[u8])],
    ) -> Vec<u8> {
        if frame[20] == 4 {
            return [&frame[..12], &[8, 0], &frame[54..]].concat();
        }
        if frame.len() < 62 || word(frame, 56) & 0xfff8 != 0 {
            return Vec::new();
        }
        let is_of = |other: &&[u8]| {
            other.len() >= 62
                && other[20] == 44
                && other[22..54] == frame[22..54]
                && other[58..62] == frame[58..62]
        };
        let mut pieces: Vec<&[u8]> = left.iter().map(|(_, other)| *other).filter(is_of).collect();
        pieces.sort_by_key(|piece| word(piece, 56));
        let body: Vec<u8> = pieces.iter().flat_map(|piece| piece[62..].to_vec()).collect();
        [&frame[..12], &[8, 0], &body].concat()
    }

    /// Keeps what left because of the frame in hand, for the identifications in it.
    pub(in crate::oracle) fn note_left(&mut self, left: &[(PortId, &[u8])]) {
        if self.config.ds_lite.is_some() {
            self.softwires.left = left.iter().map(|(_, frame)| frame.to_vec()).collect();
        }
    }

    /// RFC 2473 section 3.1: the frame with an outer header, to a B4 element.
    pub(in crate::oracle) fn with_header(&self, b4: Ipv6Addr, frame: &[u8]) -> Vec<u8> {
        let Some(ds_lite) = &self.config.ds_lite else { return frame.to_vec() };
        let packet = &frame[14..];
        let code_point = packet[1] / 4 * 4;
        let len = (packet.len() as u16).to_be_bytes();
        let header = [0x60 | code_point >> 4, code_point << 4, 0, 0, len[0], len[1], 4, 64];
        let ends = [ds_lite.aftr.octets(), b4.octets()].concat();
        [&frame[..12], &[0x86, 0xdd], &header, &ends, packet].concat()
    }

    /// RFC 6333 section 6.3: fragments of the outer packet, whatever the inner one says.
    pub(in crate::oracle) fn cut_tunnelled(&mut self, whole: Expected) -> Expected {
        let Expected::Forward { port, frame } = &whole else { return whole };
        let Some(ds_lite) = &self.config.ds_lite else { return whole };
        let mtu = usize::from(ds_lite.ipv6_mtu);
        let is_tunnelled = self.b4_of_frame(*port, frame).is_some() && frame[20] == 4;
        if !is_tunnelled || frame.len() <= 14 + mtu {
            return whole;
        }
        let room = (mtu - 48) / 8 * 8;
        let piece = |number: u32, (index, body): (usize, &[u8])| {
            let mut piece = frame[..54].to_vec();
            piece[20] = 44;
            piece[18..20].copy_from_slice(&(body.len() as u16 + 8).to_be_bytes());
            let more = u16::from(54 + index * room + body.len() < frame.len());
            let place = (index * room) as u16 | more;
            piece.extend([4, 0]);
            piece.extend(place.to_be_bytes());
            piece.extend(number.to_be_bytes());
            [&piece, body].concat()
        };
        let first = (0, &frame[54..54 + room]);
        let number_of = |left: &Vec<u8>| {
            let number = left.get(58..62)?;
            let number = u32::from_be_bytes([number[0], number[1], number[2], number[3]]);
            let is_new = !self.softwires.numbers.contains(&number);
            // Of the next hop's address nothing is known yet.
            (is_new && left[6..] == piece(number, first)[6..]).then_some(number)
        };
        let number = self.softwires.left.iter().find_map(number_of).unwrap_or_default();
        let all = frame[54..].chunks(room).enumerate();
        let all = all.map(|part| Expected::Forward { port: *port, frame: piece(number, part) });
        let mut all: Vec<Expected> = all.collect();
        self.softwires.numbers.push(number);
        let is_many = self.softwires.numbers.len() > 1000;
        self.softwires.numbers.drain(..usize::from(is_many));
        let first = all.remove(0);
        self.datagrams.made.extend(all);
        first
    }

    /// The address of the NAT itself that the sender of the frame in hand sees.
    pub(in crate::oracle) fn own_of_realm(&self, port: PortId) -> Ipv4Addr {
        match port == INSIDE && self.realm >= FIRST {
            true => AFTR,
            false => self.own(port),
        }
    }

    /// Whether an address of a packet is the NAT's own.
    pub(in crate::oracle) fn is_itself(&self, port: PortId, address: Ipv4Addr) -> bool {
        address == self.own(port) || address == self.own_of_realm(port)
    }

    /// Whether a frame that left inside is one in the NAT's own name in a softwire.
    pub(in crate::oracle) fn is_of_aftr(&self, port: PortId, source: Ipv4Addr) -> bool {
        port == INSIDE && self.config.ds_lite.is_some() && source == AFTR
    }
}

/// The address that names a subscriber: its B4 element's, as many bits of it as are to be.
fn name_of(ds_lite: &DsLite, b4: Ipv6Addr) -> Option<Ipv6Addr> {
    let holds = |network: &Prefixed<Ipv6Addr>| {
        first_bits(b4, network.len) == first_bits(network.address, network.len)
    };
    let is_one = b4 != ds_lite.aftr && ds_lite.inside.iter().any(holds);
    is_one.then(|| first_bits(b4, ds_lite.subscriber_len))
}

/// An address without the bits behind the first ones.
fn first_bits(address: Ipv6Addr, len: u8) -> Ipv6Addr {
    let octets = address.octets();
    let kept = |index: usize| match usize::from(len).saturating_sub(index * 8) {
        0 => 0,
        bits @ 1..8 => octets[index] >> (8 - bits) << (8 - bits),
        _ => octets[index],
    };
    Ipv6Addr::from(std::array::from_fn::<u8, 16, _>(kept))
}

/// RFC 6333 section 6.5.
const AFTR: Ipv4Addr = Ipv4Addr::new(192, 0, 0, 1);
