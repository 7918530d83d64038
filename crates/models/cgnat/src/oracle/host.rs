//! The NAT as a host: answers to ARP, echo replies, ICMP errors of its own, and next hops that it
//! asks for their Ethernet address: what is asked, what waits, what another worker is told.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use function_cgnat::config::Config;
use function_kit::Shard;
use model_kit::neighbours::{self, Due, Own, Said};
use packet::PortId;

use super::interfaces::{Interfaces, interface_number, shared_interface};
use super::packets::{address, mend_ip, sum, word};
use super::{Expected, INSIDE, Judgement, Model, OUTSIDE};
use crate::translation::oracle::take_ipv6;

impl Model {
    /// What becomes of a frame that is dropped: an error about it where its sender may be told
    /// (RFC 1812 section 4.3.2.7) and is to be (RFC 5508 REQ-8 and REQ-10, RFC 6888 REQ-11).
    pub(super) fn tell(
        &mut self,
        port: PortId,
        frame: &[u8],
        reason: &'static str,
        now: Duration,
    ) -> Expected {
        let dropped = Expected::Drop(reason);
        let is_ipv6 = frame.len() >= 14 && word(frame, 12) == 0x86dd;
        // The same in the words of both versions (RFC 6146 section 3.5.1.1).
        let (kind, code, rest) = match (reason, is_ipv6) {
            ("ttl-expired", false) => (11, 0, 0),
            ("ttl-expired", true) => (3, 0, 0),
            ("too-big", _) => match self.too_big(port, frame) {
                Some(told) => told,
                None => return dropped,
            },
            ("untranslatable", _) => match self.refused(port, frame) {
                Some(told) => told,
                None => return dropped,
            },
            _ if port == OUTSIDE => return dropped,
            // RFC 7915 sections 4.4 and 5.4.
            ("no-counterpart", false) => (3, 13, 0),
            ("no-counterpart", true) => (1, 1, 0),
            ("hairpin-off", false) => (3, 13, 0),
            ("hairpin-off", true) => (1, 1, 0),
            (
                "session-limit" | "block-limit" | "ports-exhausted" | "pool-exhausted"
                | "sessions-full" | "mappings-full" | "subscribers-full",
                is_ipv6,
            ) => {
                if is_ipv6 {
                    (1, 3, 0)
                } else {
                    (3, 1, 0)
                }
            }
            _ => return dropped,
        };
        let [high, low] = u16::to_be_bytes(rest);
        let message = [kind, code, 0, 0, 0, 0, high, low];
        if is_ipv6 && self.config.nat64.is_none() && self.config.siit.is_none() {
            return dropped;
        }
        if is_ipv6 {
            return self.tell_ipv6((port, frame), message, now).unwrap_or(dropped);
        }
        if word(frame, 12) != 0x0800 {
            return dropped;
        }
        let packet = &frame[14..];
        let [header, len] = [usize::from(packet[0] % 16) * 4, usize::from(word(packet, 2))];
        let hosts = [12, 16].iter().all(|&at| is_host(address(packet, at)));
        let is_first = word(packet, 6) & 0x1fff == 0;
        let queries = [0, 8, 9, 10, 13, 14, 15, 16, 17, 18];
        let is_query = header < len && queries.contains(&packet[header]);
        let is_error = packet[9] == 1 && !is_query;
        if self.config.icmp_errors_per_s == 0 || !hosts || !is_first || is_error {
            return dropped;
        }
        if frame[6] % 2 == 1 || !self.errors.takes(now) {
            return dropped;
        }
        // RFC 1812 section 4.3.2.3: as much of it as makes 576 bytes in all.
        let quoted = &packet[..len.min(576 - 28)];
        let mut message = [&message, quoted].concat();
        let right = !sum(&message);
        message[2..4].copy_from_slice(&right.to_be_bytes());
        let total = (20 + message.len() as u16).to_be_bytes();
        let fixed = [0x45, 0xc0, total[0], total[1], 0, 0, 0x40, 0, 64, 1, 0, 0];
        let own = self.own_of_realm(port).octets();
        let mut ip = [&fixed[..], &own, &packet[12..16]].concat();
        mend_ip(&mut ip);
        self.reply(port, [&frame[6..12], &self.mac(port), &[8, 0], &ip, &message].concat())
    }

    /// RFC 4443 section 2.4: an error about an IPv6 packet to its sender, none where that may not
    /// be told.
    fn tell_ipv6(
        &mut self,
        (port, frame): (PortId, &[u8]),
        message: [u8; 8],
        now: Duration,
    ) -> Option<Expected> {
        let taken = take_ipv6(frame.get(14..)?, false).ok()?;
        let source = taken.source.octets();
        let is_far = source[..15].iter().any(|&octet| octet != 0) || source[15] > 1;
        let is_one = source[0] != 0xff && taken.destination.octets()[0] != 0xff && is_far;
        let is_error =
            taken.protocol == 58 && matches!(taken.body.first(), None | Some(0..128 | 137));
        let is_first = taken.fragment.is_none_or(|fragment| fragment.offset == 0);
        let may = self.config.icmp_errors_per_s > 0 && is_one && is_first && !is_error;
        if !may || frame[6] % 2 == 1 || !self.errors.takes(now) {
            return None;
        }
        let len = 40 + usize::from(word(frame, 18));
        let mut message = [&message, &frame[14..14 + len.min(1280 - 48)]].concat();
        let own = self.own_ipv6(port).octets();
        let total = (message.len() as u16).to_be_bytes();
        let pseudo = [&own[..], &source, &[0, 0, total[0], total[1], 0, 0, 0, 58], &message];
        let right = !sum(&pseudo.concat());
        message[2..4].copy_from_slice(&right.to_be_bytes());
        let ip = [&[0x6c, 0, 0, 0, total[0], total[1], 58, 64][..], &own, &source].concat();
        let frame = [&frame[6..12], &self.mac(port), &[0x86, 0xdd], &ip, &message].concat();
        Some(Expected::Forward { port, frame })
    }

    /// RFC 826: who asks for an address of the port is answered, at the hardware address in the
    /// packet.
    pub(super) fn judge_arp(&self, port: PortId, frame: &[u8]) -> Judgement {
        let arp = &frame[14..];
        let is_question = arp.len() >= 28 && arp[..8] == [0, 1, 8, 0, 6, 4, 0, 1];
        if !is_question {
            return Err("arp-ignored");
        }
        let target = address(arp, 24);
        let is_other = port == OUTSIDE && (self.is_outside(target) || self.stands_for(target));
        if target != self.own(port) && !is_other {
            return Err("arp-ignored");
        }
        let mac = self.mac(port);
        let mut reply = [&arp[8..14], &mac, &frame[12..14], &arp[..6], &[0, 2]].concat();
        reply.extend_from_slice(&mac);
        reply.extend_from_slice(&arp[24..28]);
        reply.extend_from_slice(&arp[8..18]);
        Ok(self.reply(port, reply))
    }

    /// RFC 792, RFC 1122 section 3.2.2.6: the same data back, by whoever is a single host. RFC
    /// 6887: what is asked for.
    pub(super) fn judge_local(&mut self, port: PortId, frame: &[u8], now: Duration) -> Judgement {
        let packet = &frame[14..14 + usize::from(word(frame, 16))];
        if let Some(message) = self.request(port, packet) {
            let judged = message.and_then(|message| self.judge_request(packet, message, now));
            return judged.map(|packet| {
                let head = [&frame[6..12], &self.mac(port), &[8, 0]].concat();
                self.reply(port, [head, packet].concat())
            });
        }
        let options = usize::from(packet[0] % 16) * 4;
        let asker = address(packet, 12);
        let is_whole = word(packet, 6) & 0x3fff == 0;
        if packet[9] != 1 || !is_whole || !is_host(asker) || asker == address(packet, 16) {
            return Err("local");
        }
        let message = &packet[options..];
        if message.len() < 8 || sum(message) != 0xffff {
            return Err("transport-malformed");
        }
        if options > 20 || message[..2] != [8, 0] {
            return Err("local");
        }
        let mut message = [&[0, 0, 0, 0], &message[4..]].concat();
        let right = !sum(&message);
        message[2..4].copy_from_slice(&right.to_be_bytes());
        let mut ip = packet[..20].to_vec();
        // Flags are kept but for the reserved one.
        ip[6] &= 0x7f;
        ip[8] = 64;
        ip[12..16].copy_from_slice(&packet[16..20]);
        ip[16..20].copy_from_slice(&asker.octets());
        mend_ip(&mut ip);
        let frame = [&frame[6..12], &self.mac(port), &[8, 0], &ip, &message].concat();
        Ok(self.reply(port, frame))
    }

    /// Whether a frame is one in the NAT's own name.
    pub(super) fn is_own(&self, port: PortId, frame: &[u8]) -> bool {
        match frame.len() >= 54 && word(frame, 12) == 0x86dd {
            true => frame[22..38] == self.own_ipv6(port).octets(),
            false => {
                frame.len() >= 34
                    && word(frame, 12) == 0x0800
                    && (address(frame, 26) == self.own(port)
                        || self.is_of_aftr(port, address(frame, 26)))
            }
        }
    }

    /// The Ethernet address of a side's interface in hand.
    pub(super) fn mac(&self, port: PortId) -> [u8; 6] {
        self.here(port).mac
    }

    /// Its IPv6 address.
    pub(super) fn own_ipv6(&self, port: PortId) -> Ipv6Addr {
        self.here(port).ipv6.unwrap_or(Ipv6Addr::UNSPECIFIED)
    }

    /// Its IPv4 address.
    pub(super) fn own(&self, port: PortId) -> Ipv4Addr {
        self.here(port).ipv4.unwrap_or(Ipv4Addr::UNSPECIFIED)
    }
}

/// Whether an address can be a single host's.
pub(super) fn is_host(address: Ipv4Addr) -> bool {
    !matches!(address.octets()[0], 0 | 127 | 224..)
}

/// A port, and the VLAN on it.
type Link = (PortId, u16);

/// The next hops that are asked for, and what waits for each: the port by which it leaves, and the
/// frame.
#[derive(Clone)]
pub(super) struct Neighbours {
    list: neighbours::Neighbours<Link, Vec<u8>>,
    hops: Vec<(Link, IpAddr)>,
    made: Vec<Expected>,
    has_asked: bool,
}

impl Neighbours {
    pub fn new(config: &Config) -> Neighbours {
        let ipv4 = config.inside_next_hop;
        let of_ports = [
            ((INSIDE, 0), ipv4.map(IpAddr::V4)),
            ((INSIDE, 0), config.inside_next_hop_ipv6.map(IpAddr::V6)),
            ((OUTSIDE, 0), config.outside_next_hop.map(IpAddr::V4)),
            ((OUTSIDE, 0), config.outside_next_hop_ipv6.map(IpAddr::V6)),
        ];
        let of_vrfs = config.vrfs.iter().map(|vrf| {
            let address = vrf.next_hop.or(ipv4).map(IpAddr::V4);
            ((INSIDE, vrf.vlan), address)
        });
        let of_interfaces = config.interfaces.iter().enumerate().flat_map(|(place, one)| {
            let link = (Interfaces::number(place), 0);
            let hops = [one.next_hop.map(IpAddr::V4), one.next_hop_ipv6.map(IpAddr::V6)];
            hops.map(|hop| (link, hop))
        });
        let all = of_ports.into_iter().chain(of_vrfs).chain(of_interfaces);
        let hops: Vec<_> = all.filter_map(|(link, hop)| Some((link, hop?))).collect();
        let count = hops.len() as u32;
        let list = neighbours::Neighbours::new(count, (8 * count).min(512), 1200);
        Neighbours { list, hops, made: Vec::new(), has_asked: false }
    }

    /// Whether a next hop behind a port is asked for.
    pub fn are_asked(&self, port: PortId) -> bool {
        self.hops.iter().any(|((of, _), _)| *of == port)
    }

    fn hop(&self, link: Link, is_ipv6: bool) -> Option<IpAddr> {
        let is_it = |hop: &&(Link, IpAddr)| hop.0 == link && hop.1.is_ipv6() == is_ipv6;
        self.hops.iter().find(is_it).map(|hop| hop.1)
    }

    fn number(&self, link: Link, address: IpAddr) -> Option<usize> {
        self.list.find(|entry| entry.key == link && entry.address == address)
    }
}

impl Model {
    /// The frame of a packet that leaves, without tag.
    pub(super) fn frame(&self, port: PortId, packet: &[u8]) -> Expected {
        let next = match port {
            INSIDE | OUTSIDE if self.interfaces.are_there() => NEXT_HOP,
            INSIDE | OUTSIDE if self.neighbours.are_asked(port) => NEXT_HOP,
            INSIDE | OUTSIDE => self.configured_mac(port),
            _ => self.own_at(OUTSIDE).mac,
        };
        let kind = if packet[0] >> 4 == 6 { [0x86, 0xdd] } else { [8, 0] };
        let frame = [&next[..], &self.own_at(port).mac, &kind, packet].concat();
        Expected::Forward { port, frame }
    }

    /// The Ethernet address of the next hop behind a port, where it is configured.
    fn configured_mac(&self, port: PortId) -> [u8; 6] {
        match port {
            INSIDE => self.config.inside_next_hop_mac.0.0,
            _ => self.config.outside_next_hop_mac.0.0,
        }
    }

    /// A frame that is ready to leave, with the Ethernet address of its next hop; or it waits.
    pub(super) fn addressed(&mut self, whole: Expected, now: Duration) -> Expected {
        let (port, mut frame) = match whole {
            Expected::Forward { port, frame } if frame[..6] == NEXT_HOP => (port, frame),
            other => return other,
        };
        let vlan = if word(&frame, 12) == 0x8100 { word(&frame, 14) % 4096 } else { 0 };
        let port = self.way_out(port, &frame);
        frame[6..12].copy_from_slice(&self.own_at(port).mac);
        let (link, is_ipv6) = ((port, vlan), word(&frame, 12) == 0x86dd);
        let Some(address) = self.neighbours.hop(link, is_ipv6) else {
            let mac = self.mac_behind(port).unwrap_or_else(|| self.configured_mac(port));
            frame[..6].copy_from_slice(&mac);
            return Expected::Forward { port, frame };
        };
        let number = match self.neighbours.number(link, address) {
            Some(number) => number,
            None => match self.look_for(link, address, now) {
                Ok(number) => number,
                Err(reason) => return Expected::Drop(reason),
            },
        };
        match self.neighbours.list.get(number).and_then(|entry| entry.mac) {
            Some(mac) => {
                frame[..6].copy_from_slice(&mac);
                Expected::Forward { port, frame }
            }
            None => Expected::Drop(self.neighbours.list.wait(number, frame)),
        }
    }

    fn look_for(
        &mut self,
        link: Link,
        address: IpAddr,
        now: Duration,
    ) -> Result<usize, &'static str> {
        let (number, asks) = self.neighbours.list.add(link, address, now)?;
        if asks {
            self.ask_for(link, address, None);
        }
        Ok(number)
    }

    fn ask_for(&mut self, (port, vlan): Link, address: IpAddr, station: Option<[u8; 6]>) {
        let question = neighbours::question(&self.own_at(port), address, station);
        let frames = question.map(|frame| super::vrfs::with_tag(vlan, frame));
        let made = frames.map(|frame| Expected::Forward { port, frame });
        self.neighbours.made.extend(made);
    }

    /// ARP (RFC 826) and Neighbor Discovery (RFC 4861 section 7.2) by which a next hop tells its
    /// Ethernet address; whether that is all that a frame is for.
    pub(super) fn hears(
        &mut self,
        (port, realm): (PortId, u16),
        frame: &[u8],
        now: Duration,
    ) -> bool {
        if frame.len() < 14 {
            return false;
        }
        let is_shared = port != INSIDE && port != OUTSIDE;
        let link = match is_shared {
            false => self.link_here(port, realm),
            true if frame[6..10] != [3, 0, 0, 0] => return false,
            true if frame[10] >> 4 == 0xf => (shared_interface(&self.config, frame[11]), 0),
            true => (PortId(frame[10] >> 4), word(frame, 10) % 4096),
        };
        let own = Own {
            ipv6: self.own_at(link.0).ipv6,
            ..self.own_at(if is_shared { port } else { link.0 })
        };
        let Some(Told { address, mac, overrides, answers, is_answer }) = said(frame, &own) else {
            return false;
        };
        if !self.neighbours.hops.contains(&(link, address)) {
            return false;
        }
        if !is_shared {
            self.share(link, frame);
        }
        let of_use = self.heard((link, address), (&mac, overrides, answers), now);
        is_shared || of_use && is_answer
    }

    /// Every other worker gets it, with the link in place of who has sent it.
    fn share(&mut self, (port, vlan): Link, frame: &[u8]) {
        let Shard { index, count, .. } = self.shard;
        let link = match interface_number(&self.config, port) {
            Some(number) => [0xf0, number],
            None => [port.0 << 4 | (vlan >> 8) as u8, vlan as u8],
        };
        for other in (0..count).filter(|other| *other != index) {
            let frame =
                [&self.own_at(OUTSIDE).mac[..], &[3, 0, 0, 0], &link, &frame[12..]].concat();
            let port = PortId(OUTSIDE.0 + 1 + other as u8);
            self.neighbours.made.push(Expected::Forward { port, frame });
        }
    }

    fn heard(
        &mut self,
        (link, address): (Link, IpAddr),
        said: (&[u8], bool, bool),
        now: Duration,
    ) -> bool {
        let Some(number) = self.neighbours.number(link, address) else { return false };
        let Some(free) = self.neighbours.list.heard(number, said, now) else { return false };
        let mac = self.neighbours.list.get(number).and_then(|entry| entry.mac);
        for mut frame in free {
            frame[..6].copy_from_slice(&mac.unwrap_or_default());
            self.neighbours.made.push(Expected::Forward { port: link.0, frame });
        }
        true
    }

    /// What was made until now beside what became of frames.
    pub(super) fn made_of_neighbours(&mut self, now: Duration) -> Vec<Expected> {
        if !self.neighbours.has_asked {
            self.neighbours.has_asked = true;
            for (link, address) in self.neighbours.hops.clone() {
                if self.neighbours.number(link, address).is_none() {
                    self.look_for(link, address, now).ok();
                }
            }
        }
        for due in self.neighbours.list.tick(now) {
            match due {
                Due::Ask(link, address, station) => self.ask_for(link, address, station),
                Due::Gone(free) => {
                    let dropped = free.iter().map(|_| Expected::Drop("unresolved"));
                    self.neighbours.made.extend(dropped);
                }
            }
        }
        std::mem::take(&mut self.neighbours.made)
    }
}

/// What somebody says of himself.
struct Told {
    address: IpAddr,
    mac: Vec<u8>,
    /// Whether that takes the place of another one.
    overrides: bool,
    /// Whether it proves that he hears.
    answers: bool,
    is_answer: bool,
}

/// Who says what of himself by a frame.
fn said(frame: &[u8], own: &Own) -> Option<Told> {
    if word(frame, 12) == 0x0806 {
        let packet = &frame[14..];
        let is_said = packet.len() >= 28 && packet[..6] == [0, 1, 8, 0, 6, 4];
        if !is_said || frame[..6] != own.mac && frame[..6] != [0xff; 6] {
            return None;
        }
        return Some(Told {
            address: [packet[14], packet[15], packet[16], packet[17]].into(),
            mac: packet[8..14].to_vec(),
            overrides: true,
            answers: true,
            is_answer: word(packet, 6) == 2,
        });
    }
    Some(match neighbours::read(frame, own)?.ok()? {
        Said::Advertisement { target: address, mac, overrides } => {
            Told { address, mac: mac.to_vec(), overrides, answers: true, is_answer: true }
        }
        Said::Solicitation { from: address, mac, .. } => {
            let mac = mac?.to_vec();
            Told { address, mac, overrides: true, answers: false, is_answer: false }
        }
    })
}

/// Whether the next hop of a frame that leaves is yet to be found.
pub(super) fn is_unaddressed(frame: &[u8]) -> bool {
    frame[..6] == NEXT_HOP
}

/// Whether a frame asks for an Ethernet address.
pub(super) fn is_question(frame: &[u8]) -> bool {
    let at = if frame.len() > 17 && word(frame, 12) == 0x8100 { 16 } else { 12 };
    match frame.len() > at + 43 && word(frame, at) == 0x86dd {
        true => frame[at + 8] == 58 && frame[at + 42] == 135,
        false => frame.len() > at + 9 && word(frame, at) == 0x0806 && word(frame, at + 8) == 1,
    }
}

/// Where a frame goes whose next hop is yet to be found: to no station's address.
const NEXT_HOP: [u8; 6] = [3, 0, 0, 0, 0, 0];
