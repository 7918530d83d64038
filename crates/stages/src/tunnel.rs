//! Putting a packet into a tunnel over IPv4 and UDP: GTP-U or VXLAN.
//!
//! The outer headers are a template made once; a packet adds its lengths, the other end and the
//! identifier, and a header checksum that is completed from the template's sum. UDP carries no
//! checksum, as IPv4 allows (RFC 768) and RFC 7348 section 5 recommends. Packets are not fragmented
//! and say so; the identification is then free to be 0 (RFC 6864 section 4.1).

use std::net::Ipv4Addr;

use packet::{Batch, Slot};
use wire::bytes::{put_u16, put_u32};
use wire::checksum::Sum;
use wire::gtpu::{self, GTPU_PORT};
use wire::vxlan::{self, VXLAN_PORT};
use wire::{MacAddr, ethernet, ipv4, protocol, udp};

/// The near end of tunnels, ready to encapsulate.
#[derive(Clone, Debug)]
pub struct Encapsulation {
    /// Outer IPv4, UDP, tunnel and for VXLAN inner Ethernet header.
    template: [u8; TEMPLATE_LEN_MAX],
    kind: Kind,
    /// One's complement sum of the outer IPv4 header without its length and destination.
    sum: Sum,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Gtpu,
    Vxlan,
}

impl Encapsulation {
    /// GTP-U G-PDUs from `source`.
    pub fn gtpu(source: Ipv4Addr, ttl: u8) -> Encapsulation {
        let mut encapsulation = Encapsulation::new(Kind::Gtpu, source, ttl, GTPU_PORT);
        let header = gtpu::Fields { message_type: gtpu::MESSAGE_G_PDU, length: 0, teid: 0 };
        if let Some(place) = encapsulation.template[TUNNEL..].first_chunk_mut() {
            header.emit(place);
        }
        encapsulation
    }

    /// VXLAN from `source`, with inner Ethernet headers between `station` and the broadcast
    /// address: the far end is a tunnel, not a bridge.
    pub fn vxlan(source: Ipv4Addr, station: MacAddr, ttl: u8) -> Encapsulation {
        let mut encapsulation = Encapsulation::new(Kind::Vxlan, source, ttl, VXLAN_PORT);
        if let Some(place) = encapsulation.template[TUNNEL..].first_chunk_mut() {
            vxlan::Fields { vni: 0 }.emit(place);
        }
        let inner = ethernet::Fields {
            destination: MacAddr::BROADCAST,
            source: station,
            ether_type: ethernet::TYPE_IPV4,
        };
        if let Some(place) = encapsulation.template[TUNNEL + 8..].first_chunk_mut() {
            inner.emit(place);
        }
        encapsulation
    }

    fn new(kind: Kind, source: Ipv4Addr, ttl: u8, port: u16) -> Encapsulation {
        let mut template = [0; TEMPLATE_LEN_MAX];
        let ip = ipv4::Fields {
            dscp: 0,
            ecn: 0,
            total_len: 0,
            identification: 0,
            dont_fragment: true,
            more_fragments: false,
            fragment_offset: 0,
            ttl,
            protocol: protocol::UDP,
            source,
            destination: Ipv4Addr::UNSPECIFIED,
        };
        let mut sum = Sum::ZERO;
        if let Some(header) = template.first_chunk_mut::<{ ipv4::HEADER_LEN }>() {
            ip.emit(header);
            put_u16(header, ipv4::offset::CHECKSUM, 0);
            sum = sum.add_header(header);
        }
        let datagram = udp::Fields {
            source_port: port,
            destination_port: port,
            length: 0,
            checksum: udp::CHECKSUM_NONE,
        };
        if let Some(header) = template[UDP..].first_chunk_mut() {
            datagram.emit(header);
        }
        Encapsulation { template, kind, sum }
    }

    /// Puts the packet behind the frame's Ethernet header into a tunnel to `far_end` and lends the
    /// packet; the Ethernet header in front is new, with type IPv4 and no addresses yet. None, and
    /// nothing changed, where there is no room or the result is longer than IPv4 allows.
    #[inline(always)]
    pub fn push<'b>(
        &self,
        batch: &'b mut Batch,
        slot: Slot,
        far_end: u32,
        id: u32,
        ipv6: bool,
    ) -> Option<&'b mut [u8]> {
        match self.kind {
            Kind::Gtpu => self.push_gtpu(batch, slot, far_end, id),
            Kind::Vxlan => self.push_vxlan(batch, slot, far_end, id, ipv6),
        }
    }

    #[inline(always)]
    fn push_gtpu<'b>(
        &self,
        batch: &'b mut Batch,
        slot: Slot,
        far_end: u32,
        teid: u32,
    ) -> Option<&'b mut [u8]> {
        let (header, packet) = self.push_outer::<GTPU_LEN>(batch, slot, far_end)?;
        let length = packet.len() as u16;
        put_u16(header, ethernet::HEADER_LEN + TUNNEL + gtpu::offset::LENGTH, length);
        put_u32(header, ethernet::HEADER_LEN + TUNNEL + gtpu::offset::TEID, teid);
        Some(packet)
    }

    #[inline(always)]
    fn push_vxlan<'b>(
        &self,
        batch: &'b mut Batch,
        slot: Slot,
        far_end: u32,
        vni: u32,
        ipv6: bool,
    ) -> Option<&'b mut [u8]> {
        let (header, packet) = self.push_outer::<VXLAN_LEN>(batch, slot, far_end)?;
        put_u32(header, ethernet::HEADER_LEN + TUNNEL + vxlan::offset::VNI, vni << 8);
        let ether_type = if ipv6 { ethernet::TYPE_IPV6 } else { ethernet::TYPE_IPV4 };
        put_u16(header, VXLAN_LEN - 2, ether_type);
        Some(packet)
    }

    /// Makes the first `LEN` bytes new, Ethernet header included, and fills in all but the tunnel's
    /// own fields; lends them and the packet behind them.
    #[inline(always)]
    fn push_outer<'b, const LEN: usize>(
        &self,
        batch: &'b mut Batch,
        slot: Slot,
        far_end: u32,
    ) -> Option<(&'b mut [u8; LEN], &'b mut [u8])> {
        // The old Ethernet header is overwritten: the new headers begin where its space allows.
        let grow = LEN - ethernet::HEADER_LEN;
        let total_len = u16::try_from(batch.frame_len(slot) + grow - ethernet::HEADER_LEN).ok()?;
        let frame = batch.push_front(slot, grow)?;
        let (header, packet) = frame.split_first_chunk_mut::<LEN>()?;
        header[12..14].copy_from_slice(&ethernet::TYPE_IPV4.to_be_bytes());
        header[ethernet::HEADER_LEN..].copy_from_slice(&self.template[..grow]);
        const IP: usize = ethernet::HEADER_LEN;
        let sum = self.sum.add_u16(total_len).add_u32(far_end).checksum();
        put_u16(header, IP + ipv4::offset::TOTAL_LEN, total_len);
        put_u16(header, IP + ipv4::offset::CHECKSUM, sum);
        put_u32(header, IP + ipv4::offset::DESTINATION, far_end);
        put_u16(header, IP + UDP + udp::offset::LENGTH, total_len - ipv4::HEADER_LEN as u16);
        Some((header, packet))
    }
}

/// Offsets behind the new Ethernet header.
const UDP: usize = ipv4::HEADER_LEN;
const TUNNEL: usize = UDP + udp::HEADER_LEN;

/// Ethernet, outer IPv4, UDP and GTP-U header.
const GTPU_LEN: usize = ethernet::HEADER_LEN + TUNNEL + gtpu::HEADER_LEN;

/// Ethernet, outer IPv4, UDP, VXLAN and inner Ethernet header.
const VXLAN_LEN: usize = ethernet::HEADER_LEN + TUNNEL + vxlan::HEADER_LEN + ethernet::HEADER_LEN;

const TEMPLATE_LEN_MAX: usize = VXLAN_LEN - ethernet::HEADER_LEN;
