//! How fragments go: as the first one of their datagram did.
use std::net::IpAddr;
use std::time::Duration;

use function_cgnat::types::sides::{INSIDE, OUTSIDE};
use model_kit::check::Expected;
use packet::PortId;

use super::super::packets::{Packet, address, mend_ip, without_tag, word};
use super::super::state::{Judgement, Left, Model};
use super::{Datagram, First, Part};

impl Model {
    /// RFC 4787 REQ-14: a sound fragment goes as the first one of its datagram does.
    pub(in crate::oracle) fn judge_fragment(
        &mut self,
        port: PortId,
        packet: &[u8],
        now: Duration,
        left: Left<'_>,
    ) -> Judgement {
        if self.config.fragments.datagrams == 0 {
            return Err("fragment");
        }
        let part = self.sound(port, packet)?;
        let at = self.datagrams.all.iter().position(|one| one.key == part.key);
        let waits = part.start > 0;
        let Some(at) = at else {
            self.datagrams.check(&part, &self.config, true)?;
            let until = now + Duration::from_secs_f64(self.config.fragments.timeout_s);
            let mut one = Datagram::new(part.key, until);
            one.take(&part)?;
            if waits {
                one.waiting.push(packet.to_vec());
                self.datagrams.all.push(one);
                return Err("awaiting-first-fragment");
            }
            let (first, frame) = self.first(port, packet, now, left)?;
            one.first = Some(first);
            self.datagrams.all.push(one);
            return Ok(self.cut_fragment(packet, frame));
        };
        let is_broken = self.datagrams.all[at].pieces.is_broken;
        let first = self.datagrams.all[at].first.clone();
        if !is_broken && first.is_none() {
            self.datagrams.check(&part, &self.config, false)?;
        }
        self.datagrams.all[at].take(&part)?;
        let Some(first) = first else {
            if waits {
                self.datagrams.all[at].waiting.push(packet.to_vec());
                return Err("awaiting-first-fragment");
            }
            let mut one = self.datagrams.all.remove(at);
            let (first, frame) = self.first(port, packet, now, left)?;
            for waited in std::mem::take(&mut one.waiting) {
                let at = self.datagrams.made.len();
                let leaves = self.follow(&first, &waited).ok();
                let leaves = leaves.map(|leaves| self.cut_fragment(&waited, leaves));
                if let Some(leaves) = leaves.and_then(|leaves| self.fitted_later(leaves)) {
                    let leaves = self.cut_tunnelled(leaves);
                    self.datagrams.made.insert(at, leaves);
                }
            }
            one.first = Some(first);
            if !one.pieces.is_whole() {
                self.datagrams.all.push(one);
            }
            return Ok(self.cut_fragment(packet, frame));
        };
        if self.datagrams.all[at].pieces.is_whole() {
            self.datagrams.all.remove(at);
        }
        let leaves = self.follow(&first, packet)?;
        Ok(self.cut_fragment(packet, leaves))
    }

    /// A fragment in pieces, if it became one of the other family, or passed it, and is too long
    /// there.
    fn cut_fragment(&mut self, packet: &[u8], leaves: Expected) -> Expected {
        let is_cut = match &leaves {
            Expected::Forward { port: INSIDE, frame } => {
                frame[12..14] == [0x86, 0xdd] && frame[20] == 44
            }
            Expected::Forward { port: OUTSIDE, .. } => packet[0] >> 4 == 6,
            _ => false,
        };
        if is_cut { self.cut(leaves, 0) } else { leaves }
    }

    /// What stands in the headers, in their order.
    fn sound(&self, port: PortId, packet: &[u8]) -> Result<Part, &'static str> {
        let header = usize::from(packet[0] % 16) * 4;
        let ipv6 = self.part_of_ipv6(packet)?;
        let (part, transport) = ipv6.unwrap_or_else(|| {
            let transport = packet[header..].to_vec();
            let [from, to] = [12, 16].map(|at| address(packet, at));
            let from = (from.into(), self.realm);
            let part = Part {
                key: (port.min(OUTSIDE), from, to, packet[9], word(packet, 4).into()),
                start: usize::from(word(packet, 6) & 0x1fff) * 8,
                len: transport.len(),
                more: word(packet, 6) & 0x2000 != 0,
            };
            (part, transport)
        });
        let (_, (from, _), to, protocol, _) = part.key;
        let is_cut = part.more && !part.len.is_multiple_of(8);
        if part.len == 0 || is_cut || part.start + part.len > 65_535 {
            return Err("fragment-malformed");
        }
        let needed = match protocol {
            6 if part.start == 0 && part.len >= 20 => (usize::from(transport[12] / 16) * 4).max(20),
            6 => 20,
            1 | 17 => 8,
            _ => return Err("protocol-unsupported"),
        };
        let is_short_header =
            protocol == 6 && part.start == 0 && part.len >= 20 && transport[12] / 16 < 5;
        let is_tiny = if part.start == 0 { part.len < needed } else { part.start < needed };
        if is_short_header || is_tiny && (part.start == 0 || protocol == 6) {
            return Err("fragment-tiny");
        }
        if protocol == 1 && part.start == 0 && ![0, 8, 13, 14].contains(&transport[0]) {
            return Err("protocol-unsupported");
        }
        if hops(packet) <= 1 {
            return Err("ttl-expired");
        }
        let is_subscriber = match from {
            IpAddr::V4(from) => self.has_inside(self.realm, from),
            IpAddr::V6(from) => from.octets()[..8] != [0; 8] && self.is_subscriber(from),
        };
        if port == INSIDE && !is_subscriber {
            return Err("not-inside");
        }
        if port != INSIDE && !self.is_outside(to) {
            return Err("no-address");
        }
        Ok(part)
    }

    /// The first fragment, with ports, as a packet of its own.
    fn first(
        &mut self,
        port: PortId,
        packet: &[u8],
        now: Duration,
        left: Left<'_>,
    ) -> Result<(First, Expected), &'static str> {
        if packet[0] >> 4 == 6 {
            let leaves = self.first_of_ipv6(packet, now, left)?;
            let leaves = self.passing(leaves)?;
            return self.first_left(port, packet, leaves, left);
        }
        let at = usize::from(packet[0] % 16) * 4;
        let [from, to] = [12, 16].map(|field| address(packet, field));
        let ports = match packet[9] {
            1 if port == INSIDE => [word(packet, at + 4), 0],
            1 => [0, word(packet, at + 4)],
            _ => [word(packet, at), word(packet, at + 2)],
        };
        let one = Packet {
            bytes: packet.to_vec(),
            protocol: packet[9],
            source: (from, ports[0]),
            destination: (to, ports[1]),
            transport: at,
        };
        let leaves = match port == INSIDE {
            true => self.leaving(&one, now, left)?,
            // All fragments of a datagram come to some worker, of which only the first tells whose
            // they are.
            false if port == OUTSIDE => match self.worker_of_end(one.protocol, one.destination) {
                owner if owner == self.shard.index => self.coming(port, &one, now, left)?,
                owner => self.handed_over(owner, packet),
            },
            false => self.coming(port, &one, now, left)?,
        };
        let leaves = self.passing(leaves)?;
        self.first_left(port, packet, leaves, left)
    }

    /// How the first fragment left, with the identification that it got.
    fn first_left(
        &self,
        port: PortId,
        packet: &[u8],
        leaves: Expected,
        left: Left<'_>,
    ) -> Result<(First, Expected), &'static str> {
        let Expected::Forward { port: to, frame } = leaves else { return Err("unhandled") };
        let b4 = self.b4_of_frame(to, &frame).filter(|_| frame[20] == 4);
        let (realm, mut frame) = match word(&frame, 12) {
            0x8100 => without_tag(&frame),
            _ if b4.is_some() => (0, self.without_header(&frame, &[])),
            _ => (0, frame),
        };
        let mut identification = word(packet, 4);
        if port == INSIDE {
            identification = self.identification(&frame[14..], left);
        }
        set_identification(&mut frame[14..], identification);
        let ends = ends_of(&frame[14..]).to_vec();
        let hops = hops(packet) - hops(&frame[14..]);
        let frame = self.dressed(realm, b4, frame);
        let first = First { port: to, realm, b4, ends, identification, hops };
        Ok((first, Expected::Forward { port: to, frame }))
    }

    /// RFC 6864 section 5.3: what the device chose, if no other datagram between the same two has
    /// it.
    fn identification(&self, packet: &[u8], left: Left<'_>) -> u16 {
        let is_free = |wanted: u16| {
            let protocol = if packet[0] >> 4 == 6 { packet[40] } else { packet[9] };
            let others = self.datagrams.all.iter().filter(|one| one.key.3 == protocol);
            let mut firsts = others.filter_map(|one| one.first.as_ref());
            !firsts.any(|one| one.ends == ends_of(packet) && one.identification == wanted)
        };
        let chosen = left.iter().find_map(|(_, frame)| {
            let first = frame.get(14..).filter(|first| first.len() >= 20)?;
            let is_ipv6 = frame[12..14] == [0x86, 0xdd];
            if is_ipv6 != (packet[0] >> 4 == 6) || is_ipv6 && first.len() < 48 {
                return None;
            }
            let (is_first, number) = match is_ipv6 {
                true => (first[6] == 44 && word(first, 42) == 1, word(first, 46)),
                false => (word(first, 6) & 0x3fff == 0x2000, word(first, 4)),
            };
            (is_first && ends_of(first) == ends_of(packet)).then_some(number)
        });
        chosen
            .filter(|chosen| is_free(*chosen))
            .or_else(|| (0..=u16::MAX).find(|id| is_free(*id)))
            .unwrap_or(0)
    }

    /// A fragment translated as the first one was.
    fn follow(&self, first: &First, packet: &[u8]) -> Result<Expected, &'static str> {
        let left = hops(packet).checked_sub(first.hops).filter(|&left| left > 0);
        let left = left.ok_or("ttl-expired")?;
        let mut bytes = match first.ends.len() == 8 && packet[0] >> 4 == 4 {
            true => {
                let mut bytes = packet.to_vec();
                bytes[12..20].copy_from_slice(&first.ends);
                bytes
            }
            false => self.follow_translated(packet, &first.ends)?,
        };
        let hops_at = if bytes[0] >> 4 == 6 { 7 } else { 8 };
        bytes[hops_at] = left;
        set_identification(&mut bytes, first.identification);
        Ok(match self.frame(first.port, &bytes) {
            Expected::Forward { port, frame } => {
                Expected::Forward { port, frame: self.dressed(first.realm, first.b4, frame) }
            }
            other => other,
        })
    }
}

/// The time to live or hop limit of a packet.
fn hops(packet: &[u8]) -> u8 {
    if packet[0] >> 4 == 6 { packet[7] } else { packet[8] }
}

/// Both addresses of a packet.
fn ends_of(packet: &[u8]) -> &[u8] {
    if packet[0] >> 4 == 6 { &packet[8..40] } else { &packet[12..20] }
}

/// Gives a fragment, of IPv6 right behind its header, an identification.
fn set_identification(packet: &mut [u8], identification: u16) {
    let [high, low] = identification.to_be_bytes();
    if packet[0] >> 4 == 6 {
        packet[44..48].copy_from_slice(&[0, 0, high, low]);
    } else {
        packet[4..6].copy_from_slice(&[high, low]);
        mend_ip(packet);
    }
}
