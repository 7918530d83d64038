//! The bytes of test frames.
//!
//! ```text
//! uplink    Ethernet | tags | PPPoE, PPP | packet
//! downlink  Ethernet |                     packet
//! packet    IPv4 or IPv6 | UDP | zeroes | stamp
//! ```
//! What stands in front of the packet on a line is made as one word after the other, and compared
//! with what comes back in one go.

use function_bng::config::{Config, OuterTag};
use model_kit::test_packets::{ECHO_PORT, Ends, TestPackets};
use traffic::Stamp;
use traffic::stamp::STAMP_LEN;
use wire::bytes::{array_at, put_array, put_u16, u16_at, u32_at};
use wire::{MacAddr, ethernet, ipv4, ipv6, udp};

use crate::catalogue::{self, Subscriber};
use crate::generated;
use crate::given::Given;
use crate::section::{Kind, Section, SetUp, Vlans};

/// What a frame's number decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Whether it goes from subscriber to server.
    pub uplink: bool,
    /// Whether it is IPv6, and of which of the subscriber's addresses then.
    pub version: Version,
    /// Its code point.
    pub dscp: u8,
    /// The subscriber's UDP port.
    pub port: u16,
    /// Length of the frame towards the Internet without check sequence, in bytes.
    pub plain_len: u16,
    /// The subscriber; numbers from the generated ones on come and go.
    pub subscriber: u32,
    /// The server.
    pub server: u32,
}

/// Version of IP, and which address of the subscriber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// IPv4.
    Ipv4,
    /// IPv6 with the address by DHCPv6.
    Na,
    /// IPv6 with one of the delegated prefix.
    Delegated,
}

/// What frames of one section have in common.
pub(crate) struct Frames {
    section: Section,
    packets: TestPackets,
    pub access_mac: MacAddr,
    core_mac: MacAddr,
    /// The type of the outer one of two tags.
    outer_type: u16,
    /// Bytes of the tags of a line.
    tags_len: usize,
    /// What clients were given, where they bring the sessions up; else all have what they have in
    /// the catalogue.
    pub given: Option<Given>,
}

/// What stands in front of a packet on a line.
pub(crate) struct Head {
    bytes: [u8; HEAD_LEN_MAX],
    len: usize,
}

impl Head {
    fn put(&mut self, word: u16) {
        put_u16(&mut self.bytes, self.len, word);
        self.len += 2;
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl Frames {
    pub fn new(section: &Section) -> Frames {
        let Config { access_mac, core_mac, outer_tag, .. } = generated::config(section);
        let tags = match section.generated.vlans {
            Vlans::None => 0,
            Vlans::One => 1,
            Vlans::Two => 2,
        };
        Frames {
            section: section.clone(),
            packets: TestPackets::new(),
            access_mac,
            core_mac,
            outer_type: outer_type(outer_tag),
            tags_len: tags * ethernet::TAG_LEN,
            given: match section.generated.set_up {
                SetUp::Configured => None,
                SetUp::Protocol => Some(Given::new(section.generated.subscribers)),
            },
        }
    }

    /// Bytes in front of the EtherType of what a line carries.
    #[inline(always)]
    pub fn tagged_len(&self) -> usize {
        2 * MacAddr::ZERO.0.len() + self.tags_len
    }

    /// Writes what stands there in a frame of a subscriber to a station.
    #[inline]
    pub fn write_tagged(&self, to: MacAddr, subscriber: &Subscriber, frame: &mut [u8]) {
        copy(&self.tagged([to, subscriber.mac], subscriber), frame);
    }

    /// Writes what stands in front of a packet of a subscriber to a group of its link, whose frames
    /// go to the gateway alone over PPPoE; where the packet begins.
    #[inline]
    pub fn write_head(
        &self,
        group: MacAddr,
        subscriber: &Subscriber,
        (version, packet_len): (Version, usize),
        frame: &mut [u8],
    ) -> usize {
        let to = if subscriber.pppoe == 0 { group } else { self.access_mac };
        let head = self.head([to, subscriber.mac], subscriber, (version, packet_len as u16));
        copy(&head, frame)
    }

    /// What a line carries, from the EtherType on, in a frame that came to this subscriber.
    #[inline]
    pub fn to_subscriber<'a>(&self, subscriber: &Subscriber, frame: &'a [u8]) -> Option<&'a [u8]> {
        let head = self.tagged([subscriber.mac, self.access_mac], subscriber);
        frame.strip_prefix(head.bytes())
    }

    /// What a line adds to a frame, in bytes.
    #[inline(always)]
    pub fn line_len(&self, subscriber: u32) -> usize {
        let is_pppoe = match self.section.generated.kind {
            Kind::Ipoe => false,
            Kind::Pppoe => true,
            Kind::Mixed => subscriber % 2 == 1,
        };
        self.tags_len + if is_pppoe { PPPOE_LEN } else { 0 }
    }

    /// Writes the whole frame.
    #[inline(always)]
    pub fn write(&self, packet: &Packet, stamp: Stamp, frame: &mut [u8]) {
        let subscriber = Subscriber::new(&self.section, packet.subscriber);
        let ends = self.ends(packet, &subscriber);
        let ports = in_direction(packet.uplink, packet.port, ECHO_PORT);
        let class = packet.dscp << 2;
        let at = match packet.uplink {
            true => {
                let macs = [self.access_mac, subscriber.mac];
                copy(&self.head(macs, &subscriber, of(packet)), frame)
            }
            false => {
                put_array(frame, 0, macs(self.core_mac, catalogue::ROUTER_MAC));
                put_u16(frame, ethernet::offset::TYPE, ends.ether_type());
                ethernet::HEADER_LEN
            }
        };
        self.packets.write_packet(class, ends, ports, stamp, &mut frame[at..]);
    }

    /// What stands in front of a packet on its subscriber's line.
    #[inline(always)]
    fn head(
        &self,
        macs: [MacAddr; 2],
        subscriber: &Subscriber,
        (version, packet_len): (Version, u16),
    ) -> Head {
        let mut head = self.tagged(macs, subscriber);
        let is_ipv4 = version == Version::Ipv4;
        if subscriber.pppoe != 0 {
            let given = self.given.as_ref().map(|given| given.get(subscriber.number).pppoe);
            head.put(TYPE_PPPOE);
            head.put(PPPOE_VERSION);
            head.put(given.unwrap_or(subscriber.pppoe));
            head.put(packet_len + 2);
            head.put(if is_ipv4 { PPP_IPV4 } else { PPP_IPV6 });
        } else {
            head.put(if is_ipv4 { ethernet::TYPE_IPV4 } else { ethernet::TYPE_IPV6 });
        }
        head
    }

    /// Addresses, destination first, and tags.
    #[inline(always)]
    fn tagged(&self, [to, from]: [MacAddr; 2], subscriber: &Subscriber) -> Head {
        let mut head = Head { bytes: [0; HEAD_LEN_MAX], len: 12 };
        put_array(&mut head.bytes, 0, macs(to, from));
        let line = subscriber.line;
        if line.outer != 0 {
            head.put(self.outer_type);
            head.put(line.outer);
        }
        if line.inner != 0 {
            head.put(ethernet::TYPE_VLAN);
            head.put(line.inner);
        }
        head
    }

    /// Whether an uplink frame came out of the gateway as it must.
    #[inline(always)]
    pub fn is_routed(&self, packet: &Packet, frame: &[u8]) -> bool {
        let hop = packet.server % self.section.generated.nhop;
        let subscriber = Subscriber::new(&self.section, packet.subscriber);
        frame.len() == usize::from(packet.plain_len)
            && array_at::<12>(frame, 0) == macs(catalogue::next_hop_mac(hop), self.core_mac)
            && self.is_a_hop_further(packet, &subscriber, &frame[ethernet::HEADER_LEN..])
    }

    /// Whether a downlink frame came out of the gateway as it must.
    #[inline(always)]
    pub fn is_on_its_line(&self, packet: &Packet, frame: &[u8]) -> bool {
        let subscriber = Subscriber::new(&self.section, packet.subscriber);
        let head = self.head([subscriber.mac, self.access_mac], &subscriber, of(packet));
        let rest = frame.strip_prefix(head.bytes());
        rest.is_some_and(|rest| {
            rest.len() + ethernet::HEADER_LEN == usize::from(packet.plain_len)
                && self.is_a_hop_further(packet, &subscriber, rest)
        })
    }

    /// Whether a packet has the ends, the class and the time to live that it must have.
    #[inline(always)]
    fn is_a_hop_further(&self, packet: &Packet, subscriber: &Subscriber, bytes: &[u8]) -> bool {
        let class = packet.dscp << 2;
        match self.ends(packet, subscriber) {
            Ends::V4 { source, destination } => {
                bytes.len() >= ipv4::HEADER_LEN
                    && bytes[ipv4::offset::DSCP_ECN] == class
                    && bytes[ipv4::offset::TTL] == LATER_TTL
                    && u32_at(bytes, ipv4::offset::SOURCE) == source
                    && u32_at(bytes, ipv4::offset::DESTINATION) == destination
            }
            Ends::V6 { source, destination } => {
                bytes.len() >= ipv6::HEADER_LEN
                    && u16_at(bytes, 0) == 0x6000 | u16::from(class) << 4
                    && bytes[ipv6::offset::HOP_LIMIT] == LATER_TTL
                    && u128::from_be_bytes(array_at(bytes, ipv6::offset::SOURCE)) == source
                    && u128::from_be_bytes(array_at(bytes, ipv6::offset::DESTINATION))
                        == destination
            }
        }
    }

    /// Source and destination of a packet.
    #[inline(always)]
    fn ends(&self, packet: &Packet, subscriber: &Subscriber) -> Ends {
        let of_ipv6 = |own| {
            let server = catalogue::server_ipv6(packet.server);
            let (source, destination) = in_direction(packet.uplink, own, server);
            Ends::V6 { source, destination }
        };
        match packet.version {
            Version::Ipv4 => {
                let server = catalogue::server_ipv4(packet.server);
                let own = match &self.given {
                    None => subscriber.ipv4(),
                    Some(given) => given.get(subscriber.number).ipv4,
                };
                let (source, destination) = in_direction(packet.uplink, own, server);
                Ends::V4 { source, destination }
            }
            Version::Na => of_ipv6(match &self.given {
                None => subscriber.na(),
                Some(given) => given.get(subscriber.number).na,
            }),
            Version::Delegated => of_ipv6(match &self.given {
                None => subscriber.delegated_host(),
                Some(given) => catalogue::host_in(given.get(subscriber.number).delegated),
            }),
        }
    }
}

/// Version and length of a packet.
#[inline(always)]
fn of(packet: &Packet) -> (Version, u16) {
    (packet.version, packet.plain_len - ethernet::HEADER_LEN as u16)
}

/// Writes what stands in front of a packet; where the packet begins.
#[inline(always)]
fn copy(head: &Head, frame: &mut [u8]) -> usize {
    let len = head.len.min(frame.len());
    frame[..len].copy_from_slice(&head.bytes[..len]);
    len
}

/// The type of the outer one of two tags (IEEE 802.1Q section 9.6).
pub(crate) fn outer_type(outer: OuterTag) -> u16 {
    match outer {
        OuterTag::Service => ethernet::TYPE_SERVICE_VLAN,
        OuterTag::Customer => ethernet::TYPE_VLAN,
    }
}

#[inline(always)]
fn macs(to: MacAddr, from: MacAddr) -> [u8; 12] {
    let mut macs = [0; 12];
    put_array(&mut macs, 0, to.0);
    put_array(&mut macs, 6, from.0);
    macs
}

#[inline(always)]
fn in_direction<T>(uplink: bool, subscriber: T, server: T) -> (T, T) {
    if uplink { (subscriber, server) } else { (server, subscriber) }
}

/// Length of a frame towards the Internet for a size that counts the check sequence.
#[inline(always)]
pub(crate) fn plain_len(size: u16, version: Version) -> u16 {
    let shortest = if version == Version::Ipv4 { LEN_MIN_IPV4 } else { LEN_MIN_IPV6 };
    (size - CHECK_SEQUENCE_LEN).max(shortest)
}

/// Length of the Ethernet frame check sequence, which frames in memory do not hold.
const CHECK_SEQUENCE_LEN: u16 = 4;

/// The shortest frame that holds the headers and a stamp: 60 bytes, the Ethernet minimum.
pub(crate) const LEN_MIN_IPV4: u16 =
    (ethernet::HEADER_LEN + ipv4::HEADER_LEN + udp::HEADER_LEN + STAMP_LEN) as u16;
/// 86 bytes with the check sequence, as in the published mix of a gateway's report.
pub(crate) const LEN_MIN_IPV6: u16 = 82;

/// Time to live of packets as they leave: one less than as they were sent.
const LATER_TTL: u8 = model_kit::test_packets::TTL - 1;

/// A frame of a session of PPPoE (RFC 2516 section 5): version 1, type 1, code 0.
pub(crate) const TYPE_PPPOE: u16 = 0x8864;
const PPPOE_VERSION: u16 = 0x1100;
/// Protocols of PPP (RFC 1332, RFC 5072).
pub(crate) const PPP_IPV4: u16 = 0x0021;
pub(crate) const PPP_IPV6: u16 = 0x0057;

/// Header of PPPoE, and the protocol of PPP.
const PPPOE_LEN: usize = 8;
const HEAD_LEN_MAX: usize = ethernet::HEADER_LEN + 2 * ethernet::TAG_LEN + PPPOE_LEN;
