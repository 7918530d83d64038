//! The fast path of recognition: plain frames in a few comparisons.
//!
//! A plain uplink frame is a G-PDU without optional fields, carried over IPv4 and UDP without
//! options, fragments or checksum, around an IPv4 packet without options. A plain downlink frame is
//! an IPv4 packet without options. All header checks of the full parser are made here too, joined
//! without branches, because on the common path all of them hold.

use wire::bytes::{array_at, u16_at, u32_at};
use wire::gtpu::{self, GTPU_PORT};
use wire::{checksum, ethernet, ipv4, protocol, udp};

use super::config::Tunnel;
use super::gateway::Gateway;
use super::parse::{Addresses, Inner};

/// What a frame is, if it is plain.
pub(super) enum Plain {
    /// A G-PDU.
    Uplink {
        /// The bearer's identifier.
        teid: u32,
        /// The user's packet.
        inner: Inner,
    },
    /// An IPv4 packet for somebody else than the gateway.
    Downlink(Inner),
    /// Anything else.
    Not,
}

/// What plain frames look like to this gateway.
#[derive(Clone, Copy)]
pub(super) struct PlainFrames {
    /// The gateway's MAC address in the upper 48 bits.
    station: u64,
    gateway_ip: u32,
    /// UDP destination port of the tunnel; 0 where the full parser has to look.
    tunnel_port: u16,
}

impl PlainFrames {
    /// For this gateway.
    pub fn new(gateway: &Gateway) -> PlainFrames {
        let [a, b, c, d, e, f] = gateway.mac.0;
        PlainFrames {
            station: u64::from_be_bytes([a, b, c, d, e, f, 0, 0]),
            gateway_ip: gateway.ip.to_bits(),
            tunnel_port: match gateway.tunnel {
                Tunnel::GtpU => GTPU_PORT,
                Tunnel::Vxlan => 0,
            },
        }
    }

    /// Looks at one frame.
    #[inline(always)]
    pub fn recognise(&self, frame: &[u8]) -> Plain {
        let Some(head) = frame.first_chunk::<DOWNLINK_LEN_MIN>() else { return Plain::Not };
        let station = u64::from_be_bytes(array_at(head, 0)) >> 16 == self.station >> 16;
        let is_ipv4 = u16_at(head, 12) == ethernet::TYPE_IPV4;
        let ip: &[u8; ipv4::HEADER_LEN] = &array_at(head, ethernet::HEADER_LEN);
        let space = frame.len() - ethernet::HEADER_LEN;
        if !(station & is_ipv4 & is_sound(ip, space)) {
            return Plain::Not;
        }
        let destination = u32_at(ip, ipv4::offset::DESTINATION);
        if destination == self.gateway_ip {
            return self.recognise_tunnel(frame, ip);
        }
        if ip[ipv4::offset::TTL] <= 1 {
            return Plain::Not;
        }
        Plain::Downlink(inner(ip, ethernet::HEADER_LEN))
    }

    #[inline(always)]
    fn recognise_tunnel(&self, frame: &[u8], outer: &[u8; ipv4::HEADER_LEN]) -> Plain {
        let Some(head) = frame.first_chunk::<UPLINK_LEN_MIN>() else { return Plain::Not };
        let outer_len = u16_at(outer, ipv4::offset::TOTAL_LEN);
        let whole = u16_at(outer, ipv4::offset::FLAGS_FRAGMENT) & NOT_WHOLE == 0;
        let is_udp = outer[ipv4::offset::PROTOCOL] == protocol::UDP;
        let port = u16_at(head, UDP + udp::offset::DESTINATION_PORT) == self.tunnel_port;
        // The UDP length and no checksum, as one word.
        let udp_len = outer_len.wrapping_sub(ipv4::HEADER_LEN as u16);
        let datagram = u32_at(head, UDP + udp::offset::LENGTH) == u32::from(udp_len) << 16;
        // Flags, message type and length of a G-PDU without options, as one word.
        let payload_len = udp_len.wrapping_sub((udp::HEADER_LEN + gtpu::HEADER_LEN) as u16);
        let g_pdu = u32_at(head, TUNNEL) == G_PDU << 16 | u32::from(payload_len);
        let ip: &[u8; ipv4::HEADER_LEN] = &array_at(head, INNER);
        let lives = ip[ipv4::offset::TTL] > 1;
        let sound = is_sound(ip, usize::from(payload_len));
        if !(whole & is_udp & port & datagram & g_pdu & lives & sound) {
            return Plain::Not;
        }
        Plain::Uplink { teid: u32_at(head, TUNNEL + gtpu::offset::TEID), inner: inner(ip, INNER) }
    }
}

/// Whether an IPv4 header without options is sound and its packet fits into the space there is.
#[inline(always)]
fn is_sound(ip: &[u8; ipv4::HEADER_LEN], space: usize) -> bool {
    let len = usize::from(u16_at(ip, ipv4::offset::TOTAL_LEN));
    let fits = (len >= ipv4::HEADER_LEN) & (len <= space);
    (ip[0] == ipv4::VERSION_IHL) & fits & checksum::header_is_valid(ip)
}

#[inline(always)]
fn inner(ip: &[u8; ipv4::HEADER_LEN], offset: usize) -> Inner {
    Inner {
        offset: offset as u16,
        len: u16_at(ip, ipv4::offset::TOTAL_LEN),
        addresses: Addresses::V4 {
            source: u32_at(ip, ipv4::offset::SOURCE),
            destination: u32_at(ip, ipv4::offset::DESTINATION),
        },
    }
}

const NOT_WHOLE: u16 = ipv4::FLAG_MORE_FRAGMENTS | ipv4::FRAGMENT_OFFSET_MASK;
const G_PDU: u32 = (gtpu::FLAGS as u32) << 8 | gtpu::MESSAGE_G_PDU as u32;

const UDP: usize = ethernet::HEADER_LEN + ipv4::HEADER_LEN;
const TUNNEL: usize = UDP + udp::HEADER_LEN;
const INNER: usize = TUNNEL + gtpu::HEADER_LEN;

const DOWNLINK_LEN_MIN: usize = ethernet::HEADER_LEN + ipv4::HEADER_LEN;
const UPLINK_LEN_MIN: usize = INNER + ipv4::HEADER_LEN;
