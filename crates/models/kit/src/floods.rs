//! Floods against a router's own address, and the pings that show whether it still answers.
//!
//! Frames of a flood are alike but for a number in each (and its checksum), so that one is made at
//! the start and the others from it. They come from a neighbour on the link, to whom answers find
//! back without a look-up of addresses. Not here: floods against what stands behind the router.

use std::net::{Ipv4Addr, Ipv6Addr};

use packet::PortId;
use traffic::workload::FloodKind;
use wire::bytes::{array_at, put_array, put_u16, u16_at};
use wire::checksum::{self, Sum};
use wire::{MacAddr, arp, ethernet, ipv4, ipv6, protocol};

/// Whom the floods are against, and where they come from.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Where they enter.
    pub port: PortId,
    /// The router's Ethernet address there.
    pub mac: MacAddr,
    /// Its IPv4 address there.
    pub ipv4: Ipv4Addr,
    /// Its IPv6 address there.
    pub ipv6: Option<Ipv6Addr>,
    /// The neighbour that floods.
    pub neighbour: Neighbour,
    /// A host beyond the router, to which packets go whose time to live ends in it.
    pub beyond_ipv4: Ipv4Addr,
    /// The IPv6 address of such a host.
    pub beyond_ipv6: Option<Ipv6Addr>,
}

/// A station on the link.
#[derive(Clone, Copy, Debug)]
pub struct Neighbour {
    /// Its Ethernet address.
    pub mac: MacAddr,
    /// Its IPv4 address.
    pub ipv4: Ipv4Addr,
    /// Its IPv6 address.
    pub ipv6: Option<Ipv6Addr>,
}

/// The floods of a workload; their order is that of [`FloodFrames::kinds`].
#[derive(Clone, Debug)]
pub struct FloodFrames {
    kinds: Vec<FloodKind>,
    frames: Vec<(What, Vec<u8>)>,
    target: Target,
}

/// A kind of flood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Echo { identifier: u16 },
    EchoReply,
    Arp,
    Fragments,
    Ttl,
    EchoV6,
    Solicitation,
    HopLimit,
}

impl FloodFrames {
    /// All floods that an address can suffer.
    pub fn new(target: Target) -> FloodFrames {
        let ipv6 = target.ipv6.is_some() && target.neighbour.ipv6.is_some();
        let chosen = ALL.iter().filter(|(_, what)| ipv6 || !what.is_ipv6());
        let (kinds, frames) = chosen
            .map(|&(name, what)| {
                let kind = FloodKind { name, from: target.port };
                (kind, (what, what.frame(&target)))
            })
            .unzip();
        FloodFrames { kinds, frames, target }
    }

    /// What there is.
    pub fn kinds(&self) -> &[FloodKind] {
        &self.kinds
    }

    /// The length of frames of a kind, without check sequence.
    pub fn len(&self, kind: usize) -> usize {
        self.frames.get(kind).map_or(0, |(_, frame)| frame.len())
    }

    /// Writes frame `number` of a kind.
    pub fn write(&self, kind: usize, number: u64, frame: &mut [u8]) {
        let Some((what, first)) = self.frames.get(kind) else { return };
        frame.copy_from_slice(first);
        let number = number as u16;
        match what {
            What::Arp => {}
            What::Fragments => {
                change(
                    frame,
                    IP + ipv4::offset::IDENTIFICATION,
                    IP + ipv4::offset::CHECKSUM,
                    number,
                );
            }
            What::Echo { .. } | What::EchoReply | What::Ttl => {
                change(frame, ICMP + SEQUENCE, ICMP + CHECKSUM, number);
            }
            What::EchoV6 | What::HopLimit => {
                change(frame, ICMPV6 + SEQUENCE, ICMPV6 + CHECKSUM, number);
            }
            What::Solicitation => {}
        }
    }

    /// Whether a frame is the router's own answer to a kind.
    pub fn is_answer(&self, kind: usize, frame: &[u8]) -> bool {
        let Some((what, _)) = self.frames.get(kind) else { return false };
        if frame.len() < ANSWER_BYTES_MIN {
            return false;
        }
        let ether_type = u16_at(frame, ethernet::offset::TYPE);
        match what {
            What::Arp => {
                ether_type == ethernet::TYPE_ARP
                    && arp::View::parse(&frame[IP..]).is_ok_and(|reply| {
                        reply.operation() == arp::OPERATION_REPLY
                            && reply.sender_ip() == self.target.ipv4
                    })
            }
            What::Echo { identifier } => {
                self.is_icmp(frame, ECHO_REPLY) && u16_at(frame, ICMP + IDENTIFIER) == *identifier
            }
            What::Ttl | What::Fragments => self.is_icmp(frame, TIME_EXCEEDED),
            // Nobody answers an answer.
            What::EchoReply => false,
            What::EchoV6 => is_icmpv6(frame, ECHO_REPLY_V6),
            What::Solicitation => is_icmpv6(frame, NEIGHBOUR_ADVERTISEMENT),
            What::HopLimit => is_icmpv6(frame, TIME_EXCEEDED_V6),
        }
    }

    /// Whether a frame is ICMP of a type from the router.
    fn is_icmp(&self, frame: &[u8], kind: u8) -> bool {
        u16_at(frame, ethernet::offset::TYPE) == ethernet::TYPE_IPV4
            && frame[IP] == ipv4::VERSION_IHL
            && frame[IP + ipv4::offset::PROTOCOL] == protocol::ICMP
            && frame[ICMP] == kind
            && array_at::<4>(frame, IP + ipv4::offset::SOURCE) == self.target.ipv4.octets()
    }
}

fn is_icmpv6(frame: &[u8], kind: u8) -> bool {
    u16_at(frame, ethernet::offset::TYPE) == ethernet::TYPE_IPV6
        && frame.len() > ICMPV6 + SEQUENCE
        && frame[IP + ipv6::offset::NEXT_HEADER] == protocol::ICMPV6
        && frame[ICMPV6] == kind
}

/// Writes a number, and corrects the checksum that covers it.
fn change(frame: &mut [u8], at: usize, sum_at: usize, number: u16) {
    let sum = checksum::update_u16(u16_at(frame, sum_at), u16_at(frame, at), number);
    put_u16(frame, at, number);
    put_u16(frame, sum_at, sum);
}

impl What {
    fn is_ipv6(self) -> bool {
        matches!(self, What::EchoV6 | What::Solicitation | What::HopLimit)
    }

    /// The first frame.
    fn frame(self, target: &Target) -> Vec<u8> {
        let mac = target.mac;
        match self {
            What::Arp => arp_request(target),
            What::Echo { identifier } => {
                let message = echo(ECHO_REQUEST, identifier);
                v4(target, target.ipv4, (TTL, Fragment::None), &message)
            }
            What::EchoReply => {
                let message = echo(ECHO_REPLY, FLOOD);
                v4(target, target.ipv4, (TTL, Fragment::None), &message)
            }
            What::Ttl => {
                let message = echo(ECHO_REQUEST, FLOOD);
                v4(target, target.beyond_ipv4, (1, Fragment::None), &message)
            }
            // First fragments of echo requests whose rest never comes.
            What::Fragments => {
                let message = &echo(ECHO_REQUEST, FLOOD)[..FRAGMENT_BYTES];
                v4(target, target.ipv4, (TTL, Fragment::First), message)
            }
            What::EchoV6 => {
                let own = target.ipv6.unwrap_or(Ipv6Addr::UNSPECIFIED);
                v6(target, (mac, own), TTL, &echo(ECHO_REQUEST_V6, FLOOD))
            }
            What::HopLimit => {
                let beyond = target.beyond_ipv6.unwrap_or(Ipv6Addr::UNSPECIFIED);
                v6(target, (mac, beyond), 1, &echo(ECHO_REQUEST_V6, FLOOD))
            }
            What::Solicitation => solicitation(target),
        }
    }
}

/// Which part of a packet it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fragment {
    None,
    First,
}

fn ethernet_header(frame: &mut Vec<u8>, destination: MacAddr, source: MacAddr, ether_type: u16) {
    let mut header = [0; ethernet::HEADER_LEN];
    ethernet::Fields { destination, source, ether_type }.emit(&mut header);
    frame.extend_from_slice(&header);
}

/// Who has the router's address? (RFC 826)
fn arp_request(target: &Target) -> Vec<u8> {
    let mut frame = Vec::new();
    ethernet_header(&mut frame, MacAddr([0xff; 6]), target.neighbour.mac, ethernet::TYPE_ARP);
    let mut packet = [0; arp::HEADER_LEN];
    arp::Fields {
        operation: arp::OPERATION_REQUEST,
        sender_mac: target.neighbour.mac,
        sender_ip: target.neighbour.ipv4,
        target_mac: MacAddr([0; 6]),
        target_ip: target.ipv4,
    }
    .emit(&mut packet);
    frame.extend_from_slice(&packet);
    frame.resize(FRAME_BYTES, 0);
    frame
}

/// An echo message (RFC 792, RFC 4443 section 4.1) as long as fills the shortest frame over IPv4,
/// its checksum that of ICMP.
fn echo(kind: u8, identifier: u16) -> Vec<u8> {
    let mut message = vec![0; FRAME_BYTES - ICMP];
    message[0] = kind;
    put_u16(&mut message, IDENTIFIER, identifier);
    let sum = checksum::checksum(&message);
    put_u16(&mut message, CHECKSUM, sum);
    message
}

fn v4(
    target: &Target,
    destination: Ipv4Addr,
    (ttl, fragment): (u8, Fragment),
    message: &[u8],
) -> Vec<u8> {
    let mut frame = Vec::new();
    ethernet_header(&mut frame, target.mac, target.neighbour.mac, ethernet::TYPE_IPV4);
    let mut header = [0; ipv4::HEADER_LEN];
    ipv4::Fields {
        dscp: 0,
        ecn: 0,
        total_len: (ipv4::HEADER_LEN + message.len()) as u16,
        identification: 0,
        dont_fragment: false,
        more_fragments: fragment == Fragment::First,
        fragment_offset: 0,
        ttl,
        protocol: protocol::ICMP,
        source: target.neighbour.ipv4,
        destination,
    }
    .emit(&mut header);
    frame.extend_from_slice(&header);
    frame.extend_from_slice(message);
    frame.resize(frame.len().max(FRAME_BYTES), 0);
    frame
}

fn v6(
    target: &Target,
    (mac, destination): (MacAddr, Ipv6Addr),
    hop_limit: u8,
    message: &[u8],
) -> Vec<u8> {
    let source = target.neighbour.ipv6.unwrap_or(Ipv6Addr::UNSPECIFIED);
    let mut frame = Vec::new();
    ethernet_header(&mut frame, mac, target.neighbour.mac, ethernet::TYPE_IPV6);
    let mut header = [0; ipv6::HEADER_LEN];
    ipv6::Fields {
        traffic_class: 0,
        flow_label: 0,
        payload_len: message.len() as u16,
        next_header: protocol::ICMPV6,
        hop_limit,
        source,
        destination,
    }
    .emit(&mut header);
    frame.extend_from_slice(&header);
    let mut message = message.to_vec();
    put_u16(&mut message, CHECKSUM, 0);
    // RFC 8200 section 8.1: the pseudo-header is covered, too.
    let sum = Sum::ZERO
        .add_bytes(&source.octets())
        .add_bytes(&destination.octets())
        .add_u32(message.len() as u32)
        .add_u32(protocol::ICMPV6.into())
        .add_bytes(&message)
        .checksum();
    put_u16(&mut message, CHECKSUM, sum);
    frame.extend_from_slice(&message);
    frame
}

/// Who has the router's address? (RFC 4861 section 4.3, with the sender's link-layer address)
fn solicitation(target: &Target) -> Vec<u8> {
    let own = target.ipv6.unwrap_or(Ipv6Addr::UNSPECIFIED).octets();
    // The solicited-node group (RFC 4291 section 2.7.1) and its Ethernet address (RFC 2464 section
    // 7).
    let group = Ipv6Addr::new(
        0xff02,
        0,
        0,
        0,
        0,
        1,
        0xff00 | u16::from(own[13]),
        u16::from_be_bytes([own[14], own[15]]),
    );
    let mac = MacAddr([0x33, 0x33, 0xff, own[13], own[14], own[15]]);
    let mut message = [0; 32];
    message[0] = NEIGHBOUR_SOLICITATION;
    put_array(&mut message, 8, own);
    (message[24], message[25]) = (1, 1);
    put_array(&mut message, 26, target.neighbour.mac.0);
    v6(target, (mac, group), 255, &message)
}

/// All floods by name, the pings last.
const ALL: &[(&str, What)] = &[
    ("icmp-echo", What::Echo { identifier: FLOOD }),
    ("icmp-echo-reply", What::EchoReply),
    ("arp", What::Arp),
    ("fragments", What::Fragments),
    ("ttl-1", What::Ttl),
    ("icmpv6-echo", What::EchoV6),
    ("neighbor-solicitation", What::Solicitation),
    ("hop-limit-1", What::HopLimit),
    ("ping", What::Echo { identifier: PROBE }),
];

/// Identifiers of echo messages, by which floods and pings are told apart.
const FLOOD: u16 = 0xf10d;
const PROBE: u16 = 0x0b0e;

const TTL: u8 = 64;

/// The shortest Ethernet frame without check sequence.
const FRAME_BYTES: usize = 60;

/// What of an echo message is in its first fragment: a multiple of eight.
const FRAGMENT_BYTES: usize = 24;

/// An ARP reply without padding, and an ICMP header over IPv4.
const ANSWER_BYTES_MIN: usize = ethernet::HEADER_LEN + ipv4::HEADER_LEN + 8;

const IP: usize = ethernet::HEADER_LEN;
const ICMP: usize = IP + ipv4::HEADER_LEN;
const ICMPV6: usize = IP + ipv6::HEADER_LEN;

/// Within an ICMP message (RFC 792).
const CHECKSUM: usize = 2;
const IDENTIFIER: usize = 4;
const SEQUENCE: usize = 6;

const ECHO_REPLY: u8 = 0;
const ECHO_REQUEST: u8 = 8;
const TIME_EXCEEDED: u8 = 11;
const TIME_EXCEEDED_V6: u8 = 3;
const ECHO_REQUEST_V6: u8 = 128;
const ECHO_REPLY_V6: u8 = 129;
const NEIGHBOUR_SOLICITATION: u8 = 135;
const NEIGHBOUR_ADVERTISEMENT: u8 = 136;

#[cfg(test)]
mod tests {
    use super::*;

    fn target(ipv6: bool) -> Target {
        let of = |text: &str| ipv6.then(|| text.parse().expect("an address"));
        Target {
            port: PortId(1),
            mac: MacAddr([2, 0, 0, 0, 0, 1]),
            ipv4: Ipv4Addr::new(10, 1, 0, 1),
            ipv6: of("3fff:0:0:1::1"),
            neighbour: Neighbour {
                mac: MacAddr([2, 0, 0, 0, 0, 9]),
                ipv4: Ipv4Addr::new(10, 1, 0, 9),
                ipv6: of("3fff:0:0:1::9"),
            },
            beyond_ipv4: Ipv4Addr::new(150, 0, 0, 1),
            beyond_ipv6: of("3fff:150::1"),
        }
    }

    #[test]
    fn every_frame_of_every_flood_is_sound() {
        let floods = FloodFrames::new(target(true));
        assert_eq!(floods.kinds().len(), ALL.len());
        for (kind, (name, what)) in ALL.iter().enumerate() {
            let mut frame = vec![0xee; floods.len(kind)];
            for number in [0, 1, 77, 65_535, 70_000] {
                floods.write(kind, number, &mut frame);
                let view = ethernet::View::parse(&frame).expect("Ethernet");
                assert_eq!(view.source(), target(true).neighbour.mac, "{name}");
                if *what == What::Arp {
                    let request = arp::View::parse(view.payload()).expect("ARP");
                    assert_eq!(request.target_ip(), target(true).ipv4);
                } else if what.is_ipv6() {
                    let ip = ipv6::View::parse(view.payload()).expect("IPv6");
                    let sum = Sum::ZERO
                        .add_bytes(&ip.source().octets())
                        .add_bytes(&ip.destination().octets())
                        .add_u32(ip.payload().len() as u32)
                        .add_u32(u32::from(protocol::ICMPV6))
                        .add_bytes(ip.payload());
                    assert_eq!(sum.fold(), 0xffff, "{name} {number}");
                } else {
                    let ip = ipv4::View::parse(view.payload()).expect("IPv4 with its checksum");
                    assert_eq!(ip.is_fragment(), *what == What::Fragments, "{name}");
                    if !ip.is_fragment() {
                        let sum = Sum::ZERO.add_bytes(ip.payload()).fold();
                        assert_eq!(sum, 0xffff, "{name} {number}");
                    }
                }
                let own = (0..ALL.len()).filter(|kind| floods.is_answer(*kind, &frame));
                // Replies of the flood come from the neighbour, answers from the router.
                assert_eq!(own.count(), 0, "{name} is no answer");
            }
        }
    }

    #[test]
    fn answers_are_told_apart() {
        let floods = FloodFrames::new(target(false));
        assert!(floods.kinds().iter().all(|kind| !kind.name.contains("v6")));
        let at = |name: &str| floods.kinds().iter().position(|k| k.name == name).expect("there");
        let mut reply = vec![0; floods.len(at("ping"))];
        floods.write(at("ping"), 5, &mut reply);
        // The router turns a request into a reply.
        let addresses: [u8; 8] = array_at(&reply, IP + ipv4::offset::SOURCE);
        put_array(&mut reply, IP + ipv4::offset::SOURCE, array_at::<4>(&addresses, 4));
        put_array(&mut reply, IP + ipv4::offset::DESTINATION, array_at::<4>(&addresses, 0));
        reply[ICMP] = ECHO_REPLY;
        assert!(floods.is_answer(at("ping"), &reply));
        assert!(!floods.is_answer(at("icmp-echo"), &reply) && !floods.is_answer(at("arp"), &reply));
        let mut asked = vec![0; floods.len(at("arp"))];
        floods.write(at("arp"), 0, &mut asked);
        stages::arp::answer(&mut asked, target(false).mac);
        assert!(floods.is_answer(at("arp"), &asked));
        for len in 0..asked.len() {
            // Whatever comes back, however short, is looked at.
            let cut = &asked[..len];
            assert!((0..floods.kinds().len()).all(|k| len >= 42 || !floods.is_answer(k, cut)));
        }
    }
}
