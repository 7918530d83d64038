//! Packets translated without sessions: RFC 7757 by writing addresses out bit by bit, packets by
//! the slow twin of RFC 7915.
use std::net::{Ipv4Addr, Ipv6Addr};

use function_cgnat::config::{AddressMapping, Family, Side, SiitConfig};
use function_cgnat::types::sides::{INSIDE, OUTSIDE};
use packet::PortId;

use super::nat64::{
    embedded, extracted, forbids, identification, is_discovery, reason, taken_of, whole_ipv6,
};
use super::networks::{holds, is_host};
use super::packets::{Packet, address, word};
use super::state::{Judgement, Left, Model};
use crate::translation::oracle::{Ends, Port, Refusal, Rules, to_ipv4, to_ipv6};

/// An address of the other family, and where its host is.
type Known<A> = Result<(A, Side), &'static str>;

impl Model {
    /// Whether hosts of a family are behind a port that are translated so.
    pub(super) fn is_port_of(&self, port: PortId, family: Family) -> bool {
        let siit = self.config.siit.as_ref();
        siit.is_some_and(|it| (it.inside_family == family) == (port == INSIDE))
    }

    /// Whether the outside port answers for an IPv4 address of a host inside.
    pub(super) fn stands_for(&self, target: Ipv4Addr) -> bool {
        self.is_port_of(OUTSIDE, Family::Ipv4)
            && matches!(self.six_of(target), Ok((_, Side::Inside)))
    }

    /// Whether an IPv4 packet needs no session.
    pub(super) fn is_siit(&self, port: PortId, packet: &[u8]) -> bool {
        let Some(siit) = &self.config.siit else { return false };
        let [from, to] = [12, 16].map(|at| address(packet, at));
        let is_mapped = |it: Ipv4Addr| siit.mappings.iter().any(|one| holds(one.ipv4, it));
        let is_embedded = siit.embedded.iter().any(|network| holds(*network, to));
        let is_one = match port == INSIDE {
            true => is_mapped(from) || is_mapped(to),
            false => is_mapped(to) || is_embedded,
        };
        is_one && self.is_port_of(port, Family::Ipv4)
    }

    /// Such a packet becomes IPv6.
    pub(super) fn judge_siit_ipv4(&mut self, port: PortId, packet: &[u8]) -> Judgement {
        let source = from_side(self.six_of(address(packet, 12)), port)?;
        let destination = to_side(self.six_of(address(packet, 16)), port)?;
        if packet[8] <= 1 {
            return Err("ttl-expired");
        }
        let body = &packet[usize::from(packet[0] % 16) * 4..];
        let is_part = word(packet, 6) & 0x3fff != 0;
        let is_error = packet[9] == 1 && !is_part && matches!(body.first(), Some(3 | 11 | 12));
        let len = body.len() + if is_part { 48 } else { 40 };
        let stays_whole = packet[6] & 0x40 != 0;
        if !is_error && stays_whole && len > usize::from(self.siit()?.ipv6_mtu) {
            return Err("too-big");
        }
        let number = word(packet, 4);
        let ends = Ends { source, destination, port: Port::Kept };
        let packet = self.clamped_segment(packet.to_vec());
        let bytes = to_ipv6(&packet, &ends, &self.siit_rules()?, &mut |quote| {
            let [from, to] = [quote.source, quote.destination].map(|it| self.six_of(it));
            Some(Ends { source: from.ok()?.0, destination: to.ok()?.0, port: Port::Kept })
        });
        let to = if port == INSIDE { OUTSIDE } else { INSIDE };
        let whole = self.frame(to, &bytes.map_err(why)?);
        Ok(self.cut(whole, number))
    }

    /// An IPv6 frame at the port of that family: it becomes IPv4, and IPv6 again if it turns
    /// around.
    pub(super) fn judge_siit_ipv6(
        &mut self,
        port: PortId,
        frame: &[u8],
        left: Left<'_>,
    ) -> Judgement {
        let packet = whole_ipv6(&frame[14..]);
        let own = self.own_ipv6(port);
        if packet.is_some_and(is_discovery) {
            let target = frame.get(62..78).and_then(|it| <[u8; 16]>::try_from(it).ok());
            let target = target.map(Ipv6Addr::from).filter(|target| {
                port == OUTSIDE && matches!(self.four_of(*target), Ok((_, Side::Inside)))
            });
            return self.judge_discovery((port, target.unwrap_or(own)), frame);
        }
        if frame[..6] != self.mac(port) {
            return Err("other-station");
        }
        let packet = packet.ok_or("ip-malformed")?;
        let taken = taken_of(packet)?;
        if 20 + taken.body.len() > 65535 {
            return Err("too-big");
        }
        if taken.destination == own {
            return Err("local");
        }
        let is_part = taken.fragment.is_some_and(|it| it.offset > 0 || it.more_fragments);
        let kind = taken.body.first().filter(|_| taken.protocol == 58 && !is_part);
        let is_error = matches!(kind, Some(1..=4));
        let other = if port == INSIDE { OUTSIDE } else { INSIDE };
        let source = match self.four_of(taken.source) {
            // RFC 6791 section 3.2: a router that has no other address.
            Err("no-counterpart") if is_error => self.own(other),
            known => from_side(known, port)?,
        };
        let turned = self.turned(taken.destination).filter(|_| port == INSIDE);
        if turned.is_some() {
            self.may_turn(source, taken.hops)?;
        }
        let destination = match turned {
            Some(destination) => destination,
            None => to_side(self.four_of(taken.destination), port)?,
        };
        if taken.hops <= 1 {
            return Err("ttl-expired");
        }
        let SiitConfig { ipv4_mtu, ipv6_mtu, .. } = *self.siit()?;
        let (len, mtu) = match turned {
            None => (20, ipv4_mtu),
            Some(_) => (if is_part { 48 } else { 40 }, ipv6_mtu),
        };
        let is_long = len + taken.body.len() > usize::from(mtu);
        // RFC 7915 section 5.1: what would bear no "don't fragment".
        let may_be_cut = taken.fragment.is_some() || 20 + taken.body.len() <= 1260;
        if is_long && !is_error && !may_be_cut {
            return Err("too-big");
        }
        let ends = Ends { source, destination, port: Port::Kept };
        let (rules, number) = (self.siit_rules()?, identification(left));
        let bytes = to_ipv4(packet, &ends, number, &rules, &mut |quote| {
            let [from, to] = [quote.source, quote.destination].map(|it| self.four_of(it));
            Some(Ends { source: from.ok()?.0, destination: to.ok()?.0, port: Port::Kept })
        });
        let bytes = self.clamped_segment(bytes.map_err(why)?);
        match turned {
            None => {
                let whole = self.frame(other, &bytes);
                Ok(self.cut(whole, 0))
            }
            Some(_) => {
                let whole = self.turn(&bytes, (source, destination))?;
                Ok(self.cut(whole, word(&bytes, 4)))
            }
        }
    }

    /// RFC 7757 section 4.2.2: back at once, from the embedded address.
    fn turn(&self, packet: &[u8], (source, destination): (Ipv4Addr, Ipv4Addr)) -> Judgement {
        let prefix = self.siit()?.prefix.ok_or("unhandled")?;
        let ends = |source, destination| Ends { source, destination, port: Port::Kept };
        let outer = ends(embedded(prefix, source), self.six_of(destination)?.0);
        let bytes = to_ipv6(packet, &outer, &self.siit_rules()?, &mut |quote| {
            let to = quote.destination;
            let is_carried = !forbids(prefix, to);
            let from = self.six_of(quote.source).ok()?.0;
            is_carried.then(|| ends(from, embedded(prefix, to)))
        });
        Ok(self.frame(INSIDE, &bytes.map_err(why)?))
    }

    fn may_turn(&self, source: Ipv4Addr, hops: u8) -> Result<(), &'static str> {
        let prefix = self.siit()?.prefix.ok_or("unhandled")?;
        match hops {
            _ if !self.config.hairpinning => Err("hairpin-off"),
            _ if forbids(prefix, source) => Err("martian"),
            ..=2 => Err("ttl-expired"),
            _ => Ok(()),
        }
    }

    /// Whether a packet to an address turns around.
    pub(super) fn turns(&self, port: PortId, to: Ipv6Addr) -> bool {
        port == INSIDE && self.turned(to).is_some()
    }

    /// What the sender of a packet is told whose headers have no counterpart: a type, a code, and
    /// what follows (RFC 7915 sections 4.1 and 5.1). One of a session that turned around nobody is
    /// told of.
    pub(super) fn refused(&self, port: PortId, frame: &[u8]) -> Option<(u8, u8, u16)> {
        let rules = Rules::default();
        if word(frame, 12) == 0x86dd {
            let none = Ipv4Addr::UNSPECIFIED;
            let ends = Ends { source: none, destination: none, port: Port::Kept };
            return match to_ipv4(whole_ipv6(&frame[14..])?, &ends, 0, &rules, &mut |_| None) {
                Err(Refusal::SegmentsLeft { pointer }) => Some((4, 0, pointer)),
                Err(Refusal::Protocol) => Some((1, 1, 0)),
                _ => None,
            };
        }
        if port == INSIDE && self.config.siit.is_none() {
            return None;
        }
        let none = Ipv6Addr::UNSPECIFIED;
        let ends = Ends { source: none, destination: none, port: Port::Kept };
        match to_ipv6(&frame[14..], &ends, &rules, &mut |_| None) {
            Err(Refusal::SourceRoute) => Some((3, 5, 0)),
            Err(Refusal::Protocol) => Some((3, 13, 0)),
            _ => None,
        }
    }

    /// The IPv4 address of a mapped host inside, by the prefix.
    fn turned(&self, to: Ipv6Addr) -> Option<Ipv4Addr> {
        let siit = self.config.siit.as_ref()?;
        let address = extracted(siit.prefix?, to)?;
        let is_mapped = mapped(siit, bits6(to), network6).is_some();
        let has = mapped(siit, bits4(address), network4)?;
        let is_inside = has.side == Side::Inside && is_host(address);
        (!is_mapped && is_inside && !forbids(siit.prefix?, address)).then_some(address)
    }

    /// The IPv6 address of an IPv4 one.
    fn six_of(&self, of: Ipv4Addr) -> Known<Ipv6Addr> {
        let siit = self.siit()?;
        if !is_host(of) {
            return Err("martian");
        }
        if let Some(mapping) = mapped(siit, bits4(of), network4) {
            let bits = network6(mapping) + &bits4(of)[usize::from(mapping.ipv4.len)..];
            let bits = u128::from_str_radix(&format!("{bits:0<128}"), 2);
            return Ok((Ipv6Addr::from_bits(bits.unwrap_or(0)), mapping.side));
        }
        let prefix = siit.prefix.ok_or("no-counterpart")?;
        match forbids(prefix, of) {
            true => Err("martian"),
            false => Ok((embedded(prefix, of), side_of(siit, of))),
        }
    }

    /// The IPv4 address of an IPv6 one.
    fn four_of(&self, of: Ipv6Addr) -> Known<Ipv4Addr> {
        let siit = self.siit()?;
        if let Some(mapping) = mapped(siit, bits6(of), network6) {
            let bits = network4(mapping) + &bits6(of)[usize::from(mapping.ipv6.len)..];
            let address = Ipv4Addr::from_bits(u32::from_str_radix(&bits[..32], 2).unwrap_or(0));
            return if is_host(address) { Ok((address, mapping.side)) } else { Err("martian") };
        }
        let prefix = siit.prefix.ok_or("no-counterpart")?;
        let address = extracted(prefix, of).ok_or("no-counterpart")?;
        match forbids(prefix, address) || !is_host(address) {
            true => Err("martian"),
            false => Ok((address, side_of(siit, address))),
        }
    }

    /// RFC 4459 section 3.2, for an IPv4 packet on its way to or from IPv6.
    fn clamped_segment(&self, packet: Vec<u8>) -> Vec<u8> {
        let transport = usize::from(packet[0] % 16) * 4;
        let segment = &packet[transport..];
        let is_whole = packet[9] == 6 && word(&packet, 6) & 0x3fff == 0 && segment.len() >= 20;
        if !is_whole || !(20..=segment.len()).contains(&(usize::from(segment[12] >> 4) * 4)) {
            return packet;
        }
        let [source, destination] = [12, 16].map(|at| (address(&packet, at), 0));
        let packet = Packet { bytes: packet, protocol: 6, source, destination, transport };
        packet.clamped(self.clamp_ipv6()).bytes
    }

    fn siit(&self) -> Result<&SiitConfig, &'static str> {
        self.config.siit.as_ref().ok_or("unhandled")
    }

    fn siit_rules(&self) -> Result<Rules, &'static str> {
        let SiitConfig { ipv4_mtu, ipv6_mtu, .. } = *self.siit()?;
        let (keep_traffic_class, compute_udp_checksum) = (true, true);
        Ok(Rules { ipv4_mtu, ipv6_mtu, keep_traffic_class, compute_udp_checksum })
    }
}

/// Who sends must be where the packet came from.
fn from_side<A>(known: Known<A>, port: PortId) -> Result<A, &'static str> {
    let is_inside = port == INSIDE;
    match known {
        Ok((it, side)) if (side == Side::Inside) == is_inside => Ok(it),
        Ok(_) if is_inside => Err("not-inside"),
        Ok(_) => Err("loop"),
        Err("no-counterpart") if is_inside => Err("not-inside"),
        Err(other) => Err(other),
    }
}

/// Who receives must be on the other side.
fn to_side<A>(known: Known<A>, port: PortId) -> Result<A, &'static str> {
    let is_inside = port == INSIDE;
    match known {
        Ok((it, side)) if (side == Side::Outside) == is_inside => Ok(it),
        Ok(_) if is_inside => Err("loop"),
        Ok(_) => Err("no-address"),
        Err("no-counterpart") if !is_inside => Err("no-address"),
        Err(other) => Err(other),
    }
}

/// The longest mapping that an address begins with.
fn mapped(
    siit: &SiitConfig,
    bits: String,
    network: impl Fn(&AddressMapping) -> String,
) -> Option<&AddressMapping> {
    let covers = siit.mappings.iter().filter(|one| bits.starts_with(&network(one)));
    covers.max_by_key(|one| network(one).len())
}

fn network4(mapping: &AddressMapping) -> String {
    bits4(mapping.ipv4.address)[..usize::from(mapping.ipv4.len)].to_owned()
}

fn network6(mapping: &AddressMapping) -> String {
    bits6(mapping.ipv6.address)[..usize::from(mapping.ipv6.len)].to_owned()
}

fn bits4(address: Ipv4Addr) -> String {
    format!("{:032b}", address.to_bits())
}

fn bits6(address: Ipv6Addr) -> String {
    format!("{:0128b}", address.to_bits())
}

/// Where the host of an embedded address is.
fn side_of(siit: &SiitConfig, address: Ipv4Addr) -> Side {
    match siit.embedded.iter().any(|network| holds(*network, address)) {
        true => Side::Inside,
        false => Side::Outside,
    }
}

/// The name of the reason for which a packet is dropped that cannot be translated.
fn why(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::QuoteEnds => "no-counterpart",
        other => reason(other),
    }
}
