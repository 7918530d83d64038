//! The bytes of test frames: templates made once, and what a packet changes in them.
//!
//! ```text
//! uplink    Ethernet | IPv4 base station > gateway | UDP | GTP-U | user's packet
//!                                                          VXLAN | Ethernet | user's packet
//! downlink  Ethernet |                                            packet for the user
//! packet    IPv4 or IPv6 | UDP | zeroes | stamp
//! ```
use crate::catalogue;
use crate::section::Section;
use function_mobile_gateway::config::Tunnel;
use wire::bytes::{array_at, put_array, put_u16, put_u32, u16_at, u32_at};
use wire::checksum::Sum;
use wire::gtpu::{self, GTPU_PORT};
use wire::vxlan::{self, VXLAN_PORT};
use wire::{MacAddr, ethernet, ipv4, ipv6, protocol, udp};

/// What a frame's number decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Whether it goes from user to server.
    pub uplink: bool,
    /// Whether it is IPv6.
    pub ipv6: bool,
    /// The user's UDP port.
    pub port: u16,
    /// Length of the frame without tunnel and check sequence, in bytes.
    pub plain_len: u16,
    /// The user; numbers from the configured users on are passing ones.
    pub user: u32,
    /// The server; numbers from the configured servers on are passing ones.
    pub server: u32,
    /// The base station the user is believed to be behind.
    pub base_station: u32,
}

/// The templates of one configuration.
pub(super) struct Frames {
    tunnel: Tunnel,
    /// Everything in front of an uplink user's packet.
    outer: [u8; VXLAN_HEAD_LEN],
    outer_sum: Sum,
    /// The Ethernet header of downlink frames.
    plain: [u8; ethernet::HEADER_LEN],
    /// One's complement sum of what all users' IPv4 headers have in common.
    inner_sum: Sum,
}

impl Frames {
    pub fn new(config: &Section) -> Frames {
        let mut frames = Frames {
            tunnel: config.tunnel(),
            outer: [0; VXLAN_HEAD_LEN],
            outer_sum: Sum::ZERO,
            plain: ethernet_header(config.gw_mac, config.downlink_default_gw_mac),
            inner_sum: Sum::ZERO.add_header(&ipv4_header(0, 0)),
        };
        let base_station = catalogue::base_station_mac(0);
        put_array(&mut frames.outer, 0, ethernet_header(config.gw_mac, base_station));
        let outer = ipv4_header(0, config.gw_ip.to_bits());
        frames.outer_sum = Sum::ZERO.add_header(&outer);
        put_array(&mut frames.outer, ethernet::HEADER_LEN, outer);
        let port = match frames.tunnel {
            Tunnel::GtpU => GTPU_PORT,
            Tunnel::Vxlan => VXLAN_PORT,
        };
        put_u16(&mut frames.outer, UDP + udp::offset::SOURCE_PORT, port);
        put_u16(&mut frames.outer, UDP + udp::offset::DESTINATION_PORT, port);
        match frames.tunnel {
            Tunnel::GtpU => {
                frames.outer[TUNNEL] = gtpu::FLAGS;
                frames.outer[TUNNEL + 1] = gtpu::MESSAGE_G_PDU;
            }
            Tunnel::Vxlan => {
                frames.outer[TUNNEL] = vxlan::FLAG_VNI;
                let inner = ethernet_header(config.gw_mac, base_station);
                put_array(&mut frames.outer, TUNNEL + vxlan::HEADER_LEN, inner);
            }
        }
        frames
    }

    /// What the tunnel adds to a frame, in bytes.
    #[inline(always)]
    pub fn tunnel_len(&self) -> usize {
        match self.tunnel {
            Tunnel::GtpU => GTPU_HEAD_LEN - ethernet::HEADER_LEN,
            Tunnel::Vxlan => VXLAN_HEAD_LEN - ethernet::HEADER_LEN,
        }
    }

    /// Writes everything but the stamp, and for IPv6 the UDP checksum over it.
    #[inline(always)]
    pub fn write(&self, packet: &Packet, users: u32, servers: u32, frame: &mut [u8]) {
        match (packet.uplink, self.tunnel) {
            (true, Tunnel::GtpU) => self.write_tunnel::<GTPU_HEAD_LEN>(packet, frame),
            (true, Tunnel::Vxlan) => self.write_tunnel::<VXLAN_HEAD_LEN>(packet, frame),
            (false, _) => put_array(frame, 0, self.plain),
        }
        let inner = self.inner_offset(packet.uplink);
        if packet.ipv6 {
            write_ipv6(packet, users, servers, frame, inner);
        } else {
            self.write_ipv4(packet, users, servers, &mut frame[inner..]);
        }
    }

    #[inline(always)]
    fn write_tunnel<const HEAD: usize>(&self, packet: &Packet, frame: &mut [u8]) {
        let total_len = (frame.len() - ethernet::HEADER_LEN) as u16;
        let Some(head) = frame.first_chunk_mut::<HEAD>() else { return };
        head.copy_from_slice(&self.outer[..HEAD]);
        let source = catalogue::base_station_ipv4(packet.base_station).to_bits();
        let sum = self.outer_sum.add_u16(total_len).add_u32(source).checksum();
        const IP: usize = ethernet::HEADER_LEN;
        put_array(head, 6, catalogue::base_station_mac(packet.base_station).0);
        put_u16(head, IP + ipv4::offset::TOTAL_LEN, total_len);
        put_u16(head, IP + ipv4::offset::CHECKSUM, sum);
        put_u32(head, IP + ipv4::offset::SOURCE, source);
        put_u16(head, UDP + udp::offset::LENGTH, total_len - ipv4::HEADER_LEN as u16);
        let teid = packet.user + 1;
        match self.tunnel {
            Tunnel::GtpU => {
                let payload_len = packet.plain_len - ethernet::HEADER_LEN as u16;
                put_u16(head, TUNNEL + gtpu::offset::LENGTH, payload_len);
                put_u32(head, TUNNEL + gtpu::offset::TEID, teid);
            }
            Tunnel::Vxlan => {
                put_u32(head, TUNNEL + vxlan::offset::VNI, teid << 8);
                let ether_type =
                    if packet.ipv6 { ethernet::TYPE_IPV6 } else { ethernet::TYPE_IPV4 };
                put_u16(head, HEAD - 2, ether_type);
            }
        }
    }

    /// The headers as four words: the frame is written once, not copied and patched.
    #[inline(always)]
    fn write_ipv4(&self, packet: &Packet, users: u32, servers: u32, inner: &mut [u8]) {
        const HEAD: usize = ipv4::HEADER_LEN + udp::HEADER_LEN;
        let Some((head, payload)) = inner.split_first_chunk_mut::<HEAD>() else { return };
        let total_len = packet.plain_len - ethernet::HEADER_LEN as u16;
        let udp_len = total_len - ipv4::HEADER_LEN as u16;
        let (user, server) = ipv4_ends(packet, users, servers);
        let (source, destination) = in_direction(packet.uplink, user, server);
        let (from, to) = in_direction(packet.uplink, packet.port, ECHO_PORT);
        let sum = self.inner_sum.add_u16(total_len).add_u32(source).add_u32(destination);
        let word = |high: u32, low: u32| (u64::from(high) << 32 | u64::from(low)).to_be_bytes();
        let pair = |high: u16, low: u16| u32::from(high) << 16 | u32::from(low);
        put_array(head, 0, word(VERSION_AND_CLASS | u32::from(total_len), NO_FRAGMENT));
        put_array(head, 8, word(TTL_AND_UDP | u32::from(sum.checksum()), source));
        put_array(head, 16, word(destination, pair(from, to)));
        put_u32(head, 24, pair(udp_len, udp::CHECKSUM_NONE));
        clear(payload);
    }

    /// Completes an IPv6 frame whose stamp is in place: UDP needs a checksum there.
    pub fn finish_ipv6(&self, packet: &Packet, frame: &mut [u8]) {
        let at = self.inner_offset(packet.uplink);
        let Ok(view) = ipv6::View::parse(&frame[at..]) else { return };
        let (source, destination) = (view.source(), view.destination());
        let datagram = &mut frame[at + ipv6::HEADER_LEN..];
        let Some((header, payload)) = datagram.split_first_chunk_mut::<{ udp::HEADER_LEN }>()
        else {
            return;
        };
        let sum = udp::checksum_ipv6(source, destination, header, payload);
        put_u16(header, udp::offset::CHECKSUM, sum);
    }

    /// Whether an uplink frame came out of the gateway with the ends that it went in with.
    #[inline(always)]
    pub fn is_plain(&self, packet: &Packet, users: u32, servers: u32, frame: &[u8]) -> bool {
        const IP: usize = ethernet::HEADER_LEN;
        if packet.ipv6 {
            let (user, server) = ipv6_ends(packet, users, servers);
            return frame.len() >= IP + ipv6::HEADER_LEN
                && u128::from_be_bytes(array_at(frame, IP + ipv6::offset::SOURCE)) == user
                && u128::from_be_bytes(array_at(frame, IP + ipv6::offset::DESTINATION)) == server;
        }
        let (user, server) = ipv4_ends(packet, users, servers);
        frame.len() >= IP + ipv4::HEADER_LEN
            && u32_at(frame, IP + ipv4::offset::SOURCE) == user
            && u32_at(frame, IP + ipv4::offset::DESTINATION) == server
    }

    /// The identifier of a tunnelled frame; None where there is no tunnel header of the right kind.
    #[inline(always)]
    pub fn teid(&self, frame: &[u8]) -> Option<u32> {
        if frame.len() < GTPU_HEAD_LEN {
            return None;
        }
        match self.tunnel {
            Tunnel::GtpU => {
                let is_g_pdu = u16_at(frame, TUNNEL) == G_PDU;
                is_g_pdu.then(|| u32_at(frame, TUNNEL + gtpu::offset::TEID))
            }
            Tunnel::Vxlan => {
                let has_vni = frame[TUNNEL] & vxlan::FLAG_VNI != 0;
                has_vni.then(|| u32_at(frame, TUNNEL + vxlan::offset::VNI) >> 8)
            }
        }
    }

    #[inline(always)]
    fn inner_offset(&self, uplink: bool) -> usize {
        ethernet::HEADER_LEN + if uplink { self.tunnel_len() } else { 0 }
    }
}

fn write_ipv6(packet: &Packet, users: u32, servers: u32, frame: &mut [u8], at: usize) {
    if !packet.uplink {
        put_u16(frame, 12, ethernet::TYPE_IPV6);
    }
    let inner = &mut frame[at..];
    let Some((head, rest)) = inner.split_first_chunk_mut::<{ ipv6::HEADER_LEN }>() else { return };
    let (user, server) = ipv6_ends(packet, users, servers);
    let (source, destination) = in_direction(packet.uplink, user, server);
    let payload_len = packet.plain_len - (ethernet::HEADER_LEN + ipv6::HEADER_LEN) as u16;
    ipv6::Fields {
        traffic_class: 0,
        flow_label: 0,
        payload_len,
        next_header: protocol::UDP,
        hop_limit: TTL,
        source: source.into(),
        destination: destination.into(),
    }
    .emit(head);
    put_ports(packet, rest);
    put_u16(rest, udp::offset::LENGTH, payload_len);
    put_u16(rest, udp::offset::CHECKSUM, 0);
    clear(&mut rest[udp::HEADER_LEN..]);
}

#[inline(always)]
fn put_ports(packet: &Packet, datagram: &mut [u8]) {
    let (source, destination) = in_direction(packet.uplink, packet.port, ECHO_PORT);
    put_u16(datagram, udp::offset::SOURCE_PORT, source);
    put_u16(datagram, udp::offset::DESTINATION_PORT, destination);
}

/// Zeroes between the headers and the stamp; the shortest packet has none.
#[inline(always)]
fn clear(payload: &mut [u8]) {
    if payload.len() > traffic::stamp::STAMP_LEN {
        payload.fill(0);
    }
}

/// User's and server's address.
#[inline(always)]
fn ipv4_ends(packet: &Packet, users: u32, servers: u32) -> (u32, u32) {
    let user = match packet.user.checked_sub(users) {
        None => catalogue::user_ipv4(packet.user),
        Some(passing) => catalogue::passing_user(passing, users, 1).ipv4,
    };
    let server = match packet.server.checked_sub(servers) {
        None => catalogue::server_ipv4(packet.server),
        Some(passing) => catalogue::passing_server_ipv4(passing),
    };
    (user.to_bits(), server.to_bits())
}

/// User's and server's address; passing servers have none in IPv6.
fn ipv6_ends(packet: &Packet, users: u32, servers: u32) -> (u128, u128) {
    let user = match packet.user.checked_sub(users) {
        None => catalogue::user(packet.user, 1).ipv6_prefix,
        Some(passing) => catalogue::passing_user(passing, users, 1).ipv6_prefix,
    };
    let server = catalogue::server_ipv6_prefix(packet.server % servers);
    (
        catalogue::ipv6_host(user, USER_HOST).to_bits(),
        catalogue::ipv6_host(server, SERVER_HOST).to_bits(),
    )
}

#[inline(always)]
fn in_direction<T>(uplink: bool, user: T, server: T) -> (T, T) {
    if uplink { (user, server) } else { (server, user) }
}

fn ethernet_header(destination: MacAddr, source: MacAddr) -> [u8; ethernet::HEADER_LEN] {
    let mut header = [0; ethernet::HEADER_LEN];
    ethernet::Fields { destination, source, ether_type: ethernet::TYPE_IPV4 }.emit(&mut header);
    header
}

/// An IPv4 header for UDP without length and checksum.
fn ipv4_header(source: u32, destination: u32) -> [u8; ipv4::HEADER_LEN] {
    let mut header = [0; ipv4::HEADER_LEN];
    ipv4::Fields {
        dscp: 0,
        ecn: 0,
        total_len: 0,
        identification: 0,
        dont_fragment: true,
        more_fragments: false,
        fragment_offset: 0,
        ttl: TTL,
        protocol: protocol::UDP,
        source: source.into(),
        destination: destination.into(),
    }
    .emit(&mut header);
    put_u16(&mut header, ipv4::offset::CHECKSUM, 0);
    header
}

/// UDP port 7, echo: the server's end of test traffic, as RFC 2544 appendix C.2.6.4 has it.
/// Analysers know it, so that they do not guess at what a random port of the user might mean.
const ECHO_PORT: u16 = 7;
/// The user's interface identifier in its /64.
const USER_HOST: u64 = 1;
/// The server's interface identifier in its /64.
const SERVER_HOST: u64 = 2;
/// Time to live of packets as they are sent.
const TTL: u8 = 64;

/// The words of an IPv4 header without options and fragments: version and header length, the flag
/// that forbids fragments, time to live and protocol.
const VERSION_AND_CLASS: u32 = (ipv4::VERSION_IHL as u32) << 24;
const NO_FRAGMENT: u32 = ipv4::FLAG_DONT_FRAGMENT as u32;
const TTL_AND_UDP: u32 = (TTL as u32) << 24 | (protocol::UDP as u32) << 16;

const G_PDU: u16 = (gtpu::FLAGS as u16) << 8 | gtpu::MESSAGE_G_PDU as u16;

const UDP: usize = ethernet::HEADER_LEN + ipv4::HEADER_LEN;
const TUNNEL: usize = UDP + udp::HEADER_LEN;
const GTPU_HEAD_LEN: usize = TUNNEL + gtpu::HEADER_LEN;
const VXLAN_HEAD_LEN: usize = TUNNEL + vxlan::HEADER_LEN + ethernet::HEADER_LEN;
