//! Packets of all kinds, drawn from a seed, with right checksums; and the translator on one of
//! them.

use std::net::{Ipv4Addr, Ipv6Addr};

use function_cgnat::translation::{self, Ends, Port, Quote, Refusal, Rules};
use packet::{Batch, PortId, Room};
use testkit::random::Random;
use wire::embedded::Prefix;
use wire::{checksum, ethernet, icmp, ipv4, ipv6, protocol, tcp, udp};

/// Stations of both families that stand for each other.
pub fn prefix() -> Prefix {
    Prefix::new("2001:db8:64::".parse().expect("an address"), 96).expect("a prefix")
}

pub fn up(address: Ipv4Addr) -> Ipv6Addr {
    prefix().embed(address)
}

pub fn down(address: Ipv6Addr) -> Ipv4Addr {
    prefix().extract(address).unwrap_or(Ipv4Addr::new(192, 0, 2, 254))
}

pub fn any_ipv4(random: &mut Random) -> Ipv4Addr {
    Ipv4Addr::from_bits(0xc633_6400 | random.below(1 << 8) as u32)
}

/// What the ends of a packet and of what it quotes become.
pub fn port(random: &mut Random) -> Port {
    match random.below(3) {
        0 => Port::Kept,
        1 => Port::Source(random.bits() as u16),
        _ => Port::Destination(random.bits() as u16),
    }
}

pub fn rules(random: &mut Random) -> Rules {
    let mtus = [1280, 1400, 1500, 9000, u16::MAX];
    Rules {
        ipv4_mtu: *random.one_of(&mtus),
        ipv6_mtu: *random.one_of(&mtus),
        keep_traffic_class: random.below(4) > 0,
        compute_udp_checksum: random.below(4) > 0,
    }
}

/// A payload, often of odd length, sometimes of zeros.
fn payload(random: &mut Random) -> Vec<u8> {
    let len = *random.one_of(&[0, 1, 2, 7, 8, 33, 100, 512, 1241, 1242, 1400]);
    if random.below(8) == 0 { vec![0; len] } else { (0..len).map(|_| random.byte()).collect() }
}

/// A transport protocol with its bytes, whose checksum is right under this pseudo-header.
pub fn transport(
    random: &mut Random,
    is_ipv6: bool,
    pseudo: &dyn Fn(u8, usize) -> Vec<u8>,
) -> (u8, Vec<u8>) {
    let kinds =
        [protocol::TCP, protocol::UDP, 33, 136, ICMP, ICMP, protocol::GRE, protocol::SCTP, 50];
    let kind = *random.one_of(&kinds);
    let payload = payload(random);
    let mut bytes = match kind {
        protocol::TCP => segment(random),
        ICMP => echo(random, is_ipv6),
        33 => (0..16).map(|_| random.byte()).collect(),
        _ => (0..8).map(|_| random.byte()).collect(),
    };
    bytes.extend(payload);
    if matches!(kind, protocol::UDP | 136) {
        let len = bytes.len() as u16;
        bytes[4..6].copy_from_slice(&len.to_be_bytes());
    }
    let (next, at) = match kind {
        protocol::TCP => (kind, tcp::offset::CHECKSUM),
        protocol::UDP | 33 | 136 => (kind, udp::offset::CHECKSUM),
        ICMP if is_ipv6 => (protocol::ICMPV6, icmp::offset::CHECKSUM),
        ICMP => (protocol::ICMP, icmp::offset::CHECKSUM),
        _ => return (kind, bytes),
    };
    bytes[at..at + 2].fill(0);
    let pseudo = if next == protocol::ICMP { Vec::new() } else { pseudo(next, bytes.len()) };
    let mut sum = checksum::checksum(&[&pseudo[..], &bytes].concat());
    if sum == 0 && matches!(next, protocol::UDP | 136) {
        sum = 0xffff;
    }
    if next == protocol::UDP && !is_ipv6 && random.below(6) == 0 {
        sum = 0;
    }
    bytes[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    (next, bytes)
}

fn segment(random: &mut Random) -> Vec<u8> {
    let options = 4 * random.below(11);
    let mut bytes: Vec<u8> = (0..tcp::HEADER_LEN + options).map(|_| random.byte()).collect();
    bytes[tcp::offset::DATA_OFFSET] = (5 + options as u8 / 4) << 4;
    bytes
}

fn echo(random: &mut Random, is_ipv6: bool) -> Vec<u8> {
    let kind = *random.one_of(if is_ipv6 { &[128, 129] } else { &[8, 0] });
    if random.below(8) == 0 {
        return vec![kind, 0, 0, 0, 0, 0, 0, 0];
    }
    vec![kind, 0, 0, 0, random.byte(), random.byte(), random.byte(), random.byte()]
}

/// A packet of IPv4 that is no ICMP error.
pub fn ipv4_packet(random: &mut Random) -> Vec<u8> {
    let (source, destination) = (any_ipv4(random), any_ipv4(random));
    let pseudo = |next: u8, len: usize| {
        let addresses = [source.octets(), destination.octets()].concat();
        [&addresses[..], &[0, next], &(len as u16).to_be_bytes()].concat()
    };
    let (protocol, body) = transport(random, false, &pseudo);
    ipv4_around(random, source, destination, protocol, &body)
}

/// A header of IPv4, sometimes with options or a fragment's, before a body.
pub fn ipv4_around(
    random: &mut Random,
    source: Ipv4Addr,
    destination: Ipv4Addr,
    protocol: u8,
    body: &[u8],
) -> Vec<u8> {
    let lists: [&[u8]; 6] = [
        &[],
        &[],
        &[148, 4, 0, 0],
        &[1, 1, 7, 4, 4, 0, 0, 0],
        &[131, 7, 8, 1, 2, 3, 4, 0],
        &[137, 7, 4, 1, 2, 3, 4, 0],
    ];
    let options = random.one_of(&lists);
    let mut header = [0; ipv4::HEADER_LEN];
    let is_fragment = random.below(6) == 0 && protocol != protocol::ICMP;
    let fields = ipv4::Fields {
        dscp: random.byte() & 63,
        ecn: random.byte() & 3,
        total_len: (ipv4::HEADER_LEN + options.len() + body.len()) as u16,
        identification: random.bits() as u16,
        dont_fragment: random.below(2) == 0,
        more_fragments: is_fragment && random.below(2) == 0,
        fragment_offset: if is_fragment { random.below(3) as u16 } else { 0 },
        ttl: *random.one_of(&[1, 2, 64, 255]),
        protocol,
        source,
        destination,
    };
    fields.emit(&mut header);
    header[0] += options.len() as u8 / 4;
    header[10..12].fill(0);
    let mut packet = [&header[..], options, body].concat();
    let sum = checksum::checksum(&packet[..ipv4::HEADER_LEN + options.len()]);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet
}

/// A packet of IPv6 that is no ICMP error.
pub fn ipv6_packet(random: &mut Random) -> Vec<u8> {
    let (source, destination) = (up(any_ipv4(random)), up(any_ipv4(random)));
    let pseudo = |next: u8, len: usize| {
        let addresses = [source.octets(), destination.octets()].concat();
        [&addresses[..], &(len as u32).to_be_bytes(), &[0, 0, 0, next]].concat()
    };
    let (protocol, body) = transport(random, true, &pseudo);
    ipv6_around(random, source, destination, protocol, &body)
}

/// A header of IPv6, sometimes with extension headers, before a body.
pub fn ipv6_around(
    random: &mut Random,
    source: Ipv6Addr,
    destination: Ipv6Addr,
    protocol: u8,
    body: &[u8],
) -> Vec<u8> {
    let mut kinds = Vec::new();
    if random.below(3) == 0 {
        for _ in 0..random.below(4) {
            kinds.push(*random.one_of(&[protocol::IPV6_HOP_BY_HOP, 60, protocol::IPV6_ROUTING]));
        }
    }
    if random.below(6) == 0 {
        kinds.push(protocol::IPV6_FRAGMENT);
    }
    let mut extensions = Vec::new();
    for (index, &kind) in kinds.iter().enumerate() {
        let next = kinds.get(index + 1).copied().unwrap_or(protocol);
        match kind {
            protocol::IPV6_FRAGMENT => {
                let offset =
                    if protocol == protocol::ICMPV6 { 0 } else { random.below(3) as u8 * 8 };
                let more = if protocol == protocol::ICMPV6 { 0 } else { random.byte() & 1 };
                extensions.extend([next, 0, 0, offset | more]);
                extensions.extend((random.bits() as u32).to_be_bytes());
            }
            _ => {
                let words = random.below(3);
                let segments = u8::from(random.below(8) == 0 && kind == protocol::IPV6_ROUTING);
                extensions.extend([next, words as u8, 1, segments, 0, 0, 0, 0]);
                extensions.extend(vec![0; words * 8]);
            }
        }
    }
    let mut header = [0; ipv6::HEADER_LEN];
    let fields = ipv6::Fields {
        traffic_class: random.byte(),
        flow_label: random.bits() as u32 & 0xf_ffff,
        payload_len: (extensions.len() + body.len()) as u16,
        next_header: kinds.first().copied().unwrap_or(protocol),
        hop_limit: *random.one_of(&[1, 2, 64, 255]),
        source,
        destination,
    };
    fields.emit(&mut header);
    [&header[..], &extensions, body].concat()
}

/// An ICMPv4 error about some packet, whole or cut off, sometimes with extensions.
pub fn ipv4_error(random: &mut Random) -> Vec<u8> {
    let quoted = if random.below(12) == 0 { ipv4_error(random) } else { ipv4_packet(random) };
    let kind = *random.one_of(&[3, 3, 11, 12, 5]);
    let code = random.below(if kind == 3 { 17 } else { 3 }) as u8;
    let mut header = [kind, code, 0, 0, 0, 0, 0, 0];
    let pointer = if kind == 12 { random.below(22) as u8 } else { 0 };
    let mtu = *random.one_of(&[0u16, 576, 1400, 1500]);
    header[4] = pointer;
    header[6..8].copy_from_slice(&if kind == 3 && code == 4 { mtu } else { 0 }.to_be_bytes());
    let (quoted, units) = quote(random, quoted, 28, 4, true);
    header[5] = units;
    let mut message = [&header[..], &quoted].concat();
    let sum = checksum::checksum(&message);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    let (source, destination) = (any_ipv4(random), any_ipv4(random));
    ipv4_around(random, source, destination, protocol::ICMP, &message)
}

/// The same of ICMPv6.
pub fn ipv6_error(random: &mut Random) -> Vec<u8> {
    let quoted = if random.below(12) == 0 { ipv6_error(random) } else { ipv6_packet(random) };
    let kind = *random.one_of(&[1, 1, 2, 3, 4, 100]);
    let code = random.below(6) as u8;
    let rest = match kind {
        2 => *random.one_of(&[0, 1280, 1400, 1500, 70_000]),
        4 => random.below(45) as u32,
        _ => 0,
    };
    let mut header = [kind, code, 0, 0, 0, 0, 0, 0];
    header[4..].copy_from_slice(&rest.to_be_bytes());
    let (quoted, units) = quote(random, quoted, 48, 8, matches!(kind, 1 | 3));
    header[4] |= units;
    let mut message = [&header[..], &quoted].concat();
    let (source, destination) = (up(any_ipv4(random)), up(any_ipv4(random)));
    let sum = icmp::checksum_ipv6(source, destination, &message);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    ipv6_around(random, source, destination, protocol::ICMPV6, &message)
}

/// As much of a packet as is quoted, and the units of it if extensions follow.
fn quote(
    random: &mut Random,
    mut packet: Vec<u8>,
    least: usize,
    unit: usize,
    has_length: bool,
) -> (Vec<u8>, u8) {
    match random.below(if has_length { 4 } else { 3 }) {
        0 => (packet, 0),
        1 => {
            packet.truncate(least + random.below(40));
            (packet, 0)
        }
        2 => {
            packet.truncate(548);
            (packet, 0)
        }
        _ => {
            packet.truncate((unit * *random.one_of(&[16, 32, 64, 255])).max(128));
            packet.resize(packet.len().max(128).next_multiple_of(unit), 0);
            let units = (packet.len() / unit) as u8;
            let extension = [0x20, 0, 0xdf, 0xff, 0, 8, 0, 0, 1, 2, 3, 4];
            packet.extend(extension.repeat(*random.one_of(&[1, 1, 20, 100])));
            (packet, units)
        }
    }
}

/// A translator with its memory.
pub struct Translator {
    batch: Batch,
}

impl Translator {
    pub fn new() -> Self {
        let room = Room { headroom: 128, frame: 9018, long: 0 };
        Self { batch: Batch::new(1, room).expect("memory for a batch") }
    }

    /// What becomes of an IPv4 packet.
    pub fn translate_up(
        &mut self,
        packet: &[u8],
        ends: &Ends<Ipv6Addr>,
        rules: &Rules,
        quoted: impl FnMut(&Quote<Ipv4Addr>) -> Option<Ends<Ipv6Addr>>,
    ) -> Result<Vec<u8>, Refusal> {
        self.put(packet, ethernet::TYPE_IPV4);
        let done = translation::to_ipv6(&mut self.batch, 0, ends, rules, quoted);
        self.take(done, packet, [ethernet::TYPE_IPV4, ethernet::TYPE_IPV6])
    }

    /// What becomes of an IPv6 packet.
    pub fn translate_down(
        &mut self,
        packet: &[u8],
        ends: &Ends<Ipv4Addr>,
        identification: u16,
        rules: &Rules,
        quoted: impl FnMut(&Quote<Ipv6Addr>) -> Option<Ends<Ipv4Addr>>,
    ) -> Result<Vec<u8>, Refusal> {
        self.put(packet, ethernet::TYPE_IPV6);
        let done = translation::to_ipv4(&mut self.batch, 0, ends, identification, rules, quoted);
        self.take(done, packet, [ethernet::TYPE_IPV6, ethernet::TYPE_IPV4])
    }

    fn put(&mut self, packet: &[u8], ether_type: u16) {
        self.batch.clear();
        let len = ethernet::HEADER_LEN + packet.len();
        let frame = self.batch.append(PortId(0), len).expect("it fits");
        frame[..12].copy_from_slice(&MACS);
        frame[12..14].copy_from_slice(&ether_type.to_be_bytes());
        frame[14..].copy_from_slice(packet);
    }

    /// The packet that is there now; a refused one is as before.
    fn take(
        &self,
        done: Result<(), Refusal>,
        before: &[u8],
        types: [u16; 2],
    ) -> Result<Vec<u8>, Refusal> {
        let frame = self.batch.frame(0);
        let ether_type = if done.is_ok() { types[1] } else { types[0] };
        assert_eq!(frame[..12], MACS);
        assert_eq!(frame[12..14], ether_type.to_be_bytes());
        done.inspect_err(|_| assert_eq!(&frame[14..], before, "changed though refused"))?;
        Ok(frame[14..].to_vec())
    }
}

const MACS: [u8; 12] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
/// ICMP of either version.
const ICMP: u8 = 1;
