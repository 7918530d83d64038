//! IPv6 subscribers: RFC 6146 over the sessions of everybody, packets by the slow twin of RFC 7915.
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use function_cgnat::config::{Nat64, Prefixed};
use function_cgnat::types::sides::{INSIDE, OUTSIDE};
use model_kit::check::Expected;
use packet::PortId;

use super::packets::{Packet, sum, word};
use super::state::{Judgement, Left, Model};
use super::tables::{End, Own};
use crate::translation::oracle::{Ends, Port, Refusal, Rules, Taken, take_ipv6, to_ipv4, to_ipv6};

mod fragments;

impl Model {
    /// An IPv6 frame from inside.
    pub(super) fn judge_ipv6(&mut self, frame: &[u8], now: Duration, left: Left<'_>) -> Judgement {
        let packet = whole_ipv6(&frame[14..]);
        if packet.is_some_and(is_discovery) {
            return self.judge_discovery((INSIDE, self.own_ipv6(INSIDE)), frame);
        }
        if frame[..6] != self.mac(INSIDE) {
            return Err("other-station");
        }
        let packet = packet.ok_or("ip-malformed")?;
        let taken = taken_of(packet)?;
        if taken.destination == self.own_ipv6(INSIDE) {
            return Err("local");
        }
        let far = self.extract(taken.destination).ok_or("not-embedded")?;
        if self.is_forbidden(far) {
            return Err("martian");
        }
        if taken.fragment.is_some_and(|fragment| fragment.offset > 0 || fragment.more_fragments) {
            return self.judge_fragment(INSIDE, packet, now, left);
        }
        let body = &taken.body[..];
        let malformed = Err("transport-malformed");
        let (protocol, ports) = match taken.protocol {
            17 if body.len() < 8 || usize::from(word(body, 4)) != body.len() => return malformed,
            6 if body.len() < 20 => return malformed,
            6 if !(20..=body.len()).contains(&(usize::from(body[12] >> 4) * 4)) => {
                return malformed;
            }
            protocol @ (6 | 17) => (protocol, [word(body, 0), word(body, 2)]),
            58 if body.len() < 8 || !is_right(&taken) => return malformed,
            58 => match body[0] {
                128 | 129 => (1, [word(body, 4), 0]),
                1..=4 => return self.judge_error_ipv6(packet, &taken, (far, left)),
                _ => return Err("protocol-unsupported"),
            },
            _ => return Err("protocol-unsupported"),
        };
        if taken.hops <= 1 {
            return Err("ttl-expired");
        }
        if taken.source.octets()[..8] == [0; 8] {
            return Err("not-inside");
        }
        let len = 20 + body.len();
        let is_cut = taken.fragment.is_some() || len <= 1260;
        if len > usize::from(self.nat64()?.ipv4_mtu) && !is_cut {
            return Err("too-big");
        }
        let leaves = self.leaving_ipv6((packet, &taken), (protocol, ports), far, now, left)?;
        match leaves {
            leaves @ Expected::Forward { port: OUTSIDE, .. } => Ok(self.cut(leaves, 0)),
            turned => Ok(turned),
        }
    }

    /// A packet of an IPv6 subscriber, or the first piece of one, on its way out.
    fn leaving_ipv6(
        &mut self,
        (whole, taken): (&[u8], &Taken<Ipv6Addr>),
        (protocol, ports): (u8, [u16; 2]),
        far: Ipv4Addr,
        now: Duration,
        left: Left<'_>,
    ) -> Judgement {
        let body = &taken.body;
        let tcp_flags = match (protocol, body[0]) {
            (6, _) => body[13],
            (1, 129) => 16,
            _ => 0,
        };
        let own = (protocol, (self.who(taken.source), ports[0]));
        let far = (far, ports[1]);
        let begun = self.begin(own, far, tcp_flags, now, left)?;
        let ends = Ends {
            source: begun.outside.0,
            destination: far.0,
            port: Port::Source(begun.outside.1),
        };
        let number = identification(left);
        let bytes = to_ipv4(whole, &ends, number, &self.rules()?, &mut |_| None).map_err(reason)?;
        let translated =
            Packet { bytes, protocol, source: begun.outside, destination: far, transport: 20 };
        self.onward(&begun, &translated.clamped(self.clamp_ipv6()), now, left)
    }

    /// A packet with its outside ends, as an IPv6 subscriber gets it.
    pub(super) fn arriving_ipv6(&mut self, packet: &Packet, inside: (Ipv6Addr, u16)) -> Judgement {
        let is_part = word(&packet.bytes, 6) & 0x3fff != 0;
        let header = if is_part { 48 } else { 40 };
        let len = header + packet.bytes.len() - packet.transport;
        let stays_whole = packet.bytes[6] & 0x40 != 0;
        if len > usize::from(self.nat64()?.ipv6_mtu) && stays_whole {
            return Err("too-big");
        }
        let ends = Ends {
            source: self.embed(packet.source.0)?,
            destination: inside.0,
            port: Port::Destination(inside.1),
        };
        let packet = packet.clone().clamped(self.clamp_ipv6());
        let bytes = to_ipv6(&packet.bytes, &ends, &self.rules()?, &mut |_| None);
        let whole = self.frame(INSIDE, &bytes.map_err(reason)?);
        Ok(if is_part { whole } else { self.cut(whole, word(&packet.bytes, 4)) })
    }

    /// An ICMPv6 error about a packet that went to a subscriber.
    fn judge_error_ipv6(
        &self,
        packet: &[u8],
        taken: &Taken<Ipv6Addr>,
        (to, left): (Ipv4Addr, Left<'_>),
    ) -> Judgement {
        let malformed = "transport-malformed";
        let quoted = take_ipv6(&taken.body[8..], false).map_err(|_| malformed)?;
        let is_part = quoted.fragment.is_some_and(|it| it.offset > 0 || it.more_fragments);
        let is_first = quoted.fragment.is_none_or(|it| it.offset == 0);
        let is_echo = !is_part && quoted.there >= 8 && matches!(quoted.body[0], 128 | 129);
        let body = &quoted.body;
        let (protocol, ports) = match quoted.protocol {
            1 => return Err(malformed),
            58 if !is_echo => return Err(malformed),
            58 => (1, Some([0, word(body, 4)])),
            protocol @ (6 | 17) if is_first && quoted.there >= 4 => {
                (protocol, Some([word(body, 0), word(body, 2)]))
            }
            protocol => (protocol, None),
        };
        let known = self.extract(quoted.source).zip(ports);
        let (far, [far_port, port]) = known.ok_or("icmp-no-session")?;
        if quoted.source != taken.destination {
            return Err("icmp-no-session");
        }
        if taken.hops <= 1 {
            let is_subscriber = quoted.destination.octets()[..8] != [0; 8];
            return Err(if is_subscriber { "ttl-expired" } else { "icmp-no-session" });
        }
        let own = (protocol, (self.who(quoted.destination), port));
        let (outside, sender) = self.subject(own, (far, far_port))?;
        let ends = |source, destination, port| Ends { source, destination, port };
        let outer = ends(outside.0, to, Port::Kept);
        let inner = ends(far, outside.0, Port::Destination(outside.1));
        let number = identification(left);
        let bytes = to_ipv4(packet, &outer, number, &self.rules()?, &mut |_| Some(inner));
        self.error_onward(&bytes.map_err(reason)?, (20, 20, protocol), (outside, sender))
    }

    /// An error about a packet to `far`, as an IPv6 subscriber gets it.
    pub(super) fn error_in_ipv6(
        &self,
        packet: &[u8],
        (inside, port): (Ipv6Addr, u16),
        far: End,
    ) -> Judgement {
        let router = Ipv4Addr::new(packet[12], packet[13], packet[14], packet[15]);
        if self.is_forbidden(router) {
            return Err("martian");
        }
        let outer = Ends { source: self.embed(router)?, destination: inside, port: Port::Kept };
        let inner =
            Ends { source: inside, destination: self.embed(far.0)?, port: Port::Source(port) };
        let bytes = to_ipv6(packet, &outer, &self.rules()?, &mut |_| Some(inner));
        Ok(self.frame(INSIDE, &bytes.map_err(reason)?))
    }

    /// RFC 4861 sections 7.1.1 and 7.2.4: who asks for an address of a port is answered.
    pub(super) fn judge_discovery(
        &self,
        (port, own): (PortId, Ipv6Addr),
        frame: &[u8],
    ) -> Judgement {
        let (ignored, packet) = (Err("nd-ignored"), &frame[14..]);
        let message = &packet[40..40 + usize::from(word(packet, 4))];
        let (own, mac) = (own.octets(), self.mac(port));
        let group_mac = [0x33, 0x33, 0xff, own[13], own[14], own[15]];
        let all_mac = [0x33, 0x33, 0, 0, 0, 1];
        let is_for_us = [mac, group_mac, all_mac].iter().any(|mac| frame[..6] == mac[..]);
        let Ok(taken) = take_ipv6(packet, true) else { return ignored };
        if !is_for_us || packet[7] != 255 || message.len() < 24 || message[..2] != [135, 0] {
            return ignored;
        }
        let Some(says_mac) = source_option(&message[24..]) else { return ignored };
        let is_unspecified = packet[8..24] == [0; 16];
        let mut group = [0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, own[13], own[14], own[15]];
        let probes = !says_mac && packet[24..40] == group;
        if !is_right(&taken)
            || message[8..24] != own
            || packet[8] == 0xff
            || is_unspecified && !probes
        {
            return ignored;
        }
        let mut to = &frame[6..12];
        let mut asking = &packet[8..24];
        let mut flags = 0xe0;
        if is_unspecified {
            (to, flags) = (&all_mac, 0xa0);
            group = [0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
            asking = &group;
        }
        let mut reply = [to, &mac, &[0x86, 0xdd, 0x60, 0, 0, 0, 0, 32, 58, 255]].concat();
        reply.extend(
            [&own[..], asking, &[136, 0, 0, 0, flags, 0, 0, 0], &own, &[2, 1], &mac].concat(),
        );
        let right = !sum(&[&reply[22..54], &[0, 0, 0, 32, 0, 0, 0, 58], &reply[54..]].concat());
        reply[56..58].copy_from_slice(&right.to_be_bytes());
        Ok(Expected::Forward { port, frame: reply })
    }

    /// Whether an IPv6 address is a subscriber's.
    pub(super) fn is_subscriber(&self, address: Ipv6Addr) -> bool {
        let Some(nat64) = &self.config.nat64 else { return false };
        let mut networks = nat64.inside.iter();
        let is_inside = networks.any(|net| begins(address, net.address, net.len));
        is_inside && self.extract(address).is_none()
    }

    /// RFC 6052 section 3.1: whether an IPv6 subscriber may not speak with a host.
    pub(super) fn check_far(&self, own: Own, far: Ipv4Addr) -> Result<(), &'static str> {
        match own.1.0.address.is_ipv6() && self.is_forbidden(far) {
            true => Err("martian"),
            false => Ok(()),
        }
    }

    fn is_forbidden(&self, address: Ipv4Addr) -> bool {
        let prefix = self.config.nat64.as_ref().map(|nat64| nat64.prefix);
        prefix.is_some_and(|prefix| forbids(prefix, address))
    }

    /// RFC 6052 section 2.3: behind the prefix, around the ninth octet.
    fn extract(&self, address: Ipv6Addr) -> Option<Ipv4Addr> {
        extracted(self.config.nat64.as_ref()?.prefix, address)
    }

    fn embed(&self, address: Ipv4Addr) -> Result<Ipv6Addr, &'static str> {
        Ok(embedded(self.nat64()?.prefix, address))
    }

    /// The source of a packet of a session in an IPv6 frame that left, as the outside would see it.
    pub(super) fn source_ipv6(&self, frame: &[u8], protocol: u8) -> Option<End> {
        let packet = frame.get(14..).filter(|_| frame[12..14] == [0x86, 0xdd])?;
        let taken = take(frame).filter(|taken| taken.fragment.is_none_or(|it| it.offset == 0))?;
        let (at, next) = if protocol == 1 { (4, 58) } else { (0, protocol) };
        let source: [u8; 16] = packet.get(8..24)?.try_into().ok()?;
        let port = taken.body.get(at..at + 2).filter(|_| taken.protocol == next)?;
        Some((self.extract(source.into())?, word(port, 0)))
    }

    fn nat64(&self) -> Result<&Nat64, &'static str> {
        self.config.nat64.as_ref().ok_or("unhandled")
    }

    fn rules(&self) -> Result<Rules, &'static str> {
        let nat64 = self.nat64()?;
        let (ipv4_mtu, ipv6_mtu) = (nat64.ipv4_mtu, nat64.ipv6_mtu);
        let (keep_traffic_class, compute_udp_checksum) = (true, true);
        Ok(Rules { ipv4_mtu, ipv6_mtu, keep_traffic_class, compute_udp_checksum })
    }

    /// Segments have 20 bytes less where they have 20 bytes more of headers.
    pub(super) fn clamp_ipv6(&self) -> u16 {
        self.config.mss_clamp.saturating_sub(20)
    }
}

/// An IPv6 packet without what pads its frame; none where it is not whole.
pub(super) fn whole_ipv6(bytes: &[u8]) -> Option<&[u8]> {
    let header = bytes.get(..40).filter(|header| header[0] >> 4 == 6)?;
    bytes.get(..40 + usize::from(word(header, 4)))
}

/// Whether it is a message of Neighbor Discovery about an address.
pub(super) fn is_discovery(packet: &[u8]) -> bool {
    packet[6] == 58 && packet.get(40).is_some_and(|kind| matches!(kind, 135 | 136))
}

/// What is in it.
pub(super) fn taken_of(packet: &[u8]) -> Result<Taken<Ipv6Addr>, &'static str> {
    take_ipv6(packet, true).map_err(|refusal| match refusal {
        Refusal::Malformed => "ip-malformed",
        other => reason(other),
    })
}

/// The IPv6 packet of a frame, taken apart.
pub(super) fn take(frame: &[u8]) -> Option<Taken<Ipv6Addr>> {
    let is_it = frame.len() >= 54 && word(frame, 12) == 0x86dd;
    take_ipv6(frame.get(14..).filter(|_| is_it)?, true).ok()
}

/// Whether the checksum of an ICMPv6 message is right.
fn is_right(taken: &Taken<Ipv6Addr>) -> bool {
    let [source, destination] = [taken.source, taken.destination].map(|it| it.octets());
    let len = (taken.body.len() as u32).to_be_bytes();
    sum(&[&source[..], &destination, &len, &[0, 0, 0, 58], &taken.body].concat()) == 0xffff
}

/// Whether options behind a solicitation say an Ethernet address; none where one of them is broken.
fn source_option(mut options: &[u8]) -> Option<bool> {
    let mut says_mac = false;
    while !options.is_empty() {
        let len = 8 * usize::from(*options.get(1)?);
        if len == 0 || len > options.len() {
            return None;
        }
        says_mac |= options[..2] == [1, 1];
        options = &options[len..];
    }
    Some(says_mac)
}

/// Whether an address begins with so many bits of another one.
fn begins(address: Ipv6Addr, other: Ipv6Addr, len: u8) -> bool {
    let bit = |of: Ipv6Addr, at: usize| of.octets()[at / 8] >> (7 - at % 8) & 1;
    (0..usize::from(len)).all(|at| bit(address, at) == bit(other, at))
}

/// RFC 6052 section 2.3: behind the prefix, around the ninth octet.
pub(super) fn extracted(prefix: Prefixed<Ipv6Addr>, address: Ipv6Addr) -> Option<Ipv4Addr> {
    let octets = places(prefix.len).map(|at| address.octets()[at]);
    begins(address, prefix.address, prefix.len).then(|| octets.into())
}

/// The other way.
pub(super) fn embedded(prefix: Prefixed<Ipv6Addr>, address: Ipv4Addr) -> Ipv6Addr {
    let mut octets = [0; 16];
    let len = usize::from(prefix.len / 8);
    octets[..len].copy_from_slice(&prefix.address.octets()[..len]);
    for (at, octet) in places(prefix.len).into_iter().zip(address.octets()) {
        octets[at] = octet;
    }
    octets.into()
}

/// RFC 6052 section 3.1: whether a prefix does not stand for an address.
pub(super) fn forbids(prefix: Prefixed<Ipv6Addr>, address: Ipv4Addr) -> bool {
    let well_known = Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0);
    prefix.len == 96
        && begins(prefix.address, well_known, 96)
        && matches!(
            address.octets(),
            [0 | 10 | 127 | 224..=255, ..]
                | [100, 64..=127, ..]
                | [169, 254, ..]
                | [172, 16..=31, ..]
                | [192, 0, 0 | 2, _]
                | [192, 88, 99, _]
                | [192, 168, ..]
                | [198, 18 | 19, ..]
                | [198, 51, 100, _]
                | [203, 0, 113, _]
        )
}

/// Where an IPv4 address stands behind a prefix.
fn places(len: u8) -> [usize; 4] {
    let mut places = (usize::from(len / 8)..16).filter(|&at| at != 8);
    std::array::from_fn(|_| places.next().unwrap_or(15))
}

/// What the device chose to tell an IPv4 packet from others (RFC 7915 section 5.1).
pub(super) fn identification(left: Left<'_>) -> u16 {
    let frame = left.iter().map(|(_, frame)| *frame).find(|frame| frame.len() >= 34);
    frame.filter(|frame| frame[12..14] == [8, 0]).map_or(0, |frame| word(frame, 18))
}

/// The name of the reason for which a packet is dropped that cannot be translated.
pub(super) fn reason(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::Malformed | Refusal::Quote | Refusal::IcmpChecksum => "transport-malformed",
        Refusal::Expired => "ttl-expired",
        Refusal::IcmpFragment | Refusal::FragmentedExtension => "fragment",
        Refusal::QuoteEnds => "icmp-no-session",
        Refusal::TooLong => "too-big",
        _ => "untranslatable",
    }
}
