//! Interfaces behind a tunnel: routed VXLAN over IPv4 (RFC 7348).
//!
//! ```text
//! Ethernet | IPv4 | UDP, to port 4789 | VXLAN | Ethernet | packet
//! ```
//! What leaves by such an interface is put into the tunnel last, and what comes out of one is taken
//! for a frame of the interface first, so that everything else - ARP, answers, errors, fragments -
//! is the same as on a VLAN. The far end is one station, reached by the main table and by the
//! interface's own port, by a next hop or as a host on the port's link, which is asked for its
//! Ethernet address beforehand; while it is not, frames are dropped as without a next hop. The
//! outer source port comes from the inner addresses and ports, so that a flow keeps its way (RFC
//! 7348 section 5). There is no outer UDP checksum, as that section recommends; outer packets are
//! not to be fragmented, so the interface should have an MTU that is 50 bytes less than the link's.
//!
//! **Not supported:** an underlay of IPv6, several far ends, groups, bridging.

use std::net::Ipv4Addr;

use packet::{Batch, Slot};
use wire::bytes::{array_at, put_array, put_u16, u16_at};
use wire::{ethernet, ipv4, protocol, udp, vxlan};

use super::config::Vxlan;

/// How the far end of a tunnel is reached at present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Underlay {
    /// Destination and source of the outer frame.
    pub macs: [u8; 12],
    /// The outer source address.
    pub source: Ipv4Addr,
}

/// Whether a frame without tag is of a tunnel to `own`, and of which one.
///
/// A packet that is no sound one, a fragment or has options is none.
#[inline(always)]
pub(super) fn inside(frame: &[u8], own: Ipv4Addr) -> Option<(Ipv4Addr, Result<u32, ()>)> {
    let head = frame.first_chunk::<OUTER_LEN>()?;
    if u16_at(head, ethernet::offset::TYPE) != ethernet::TYPE_IPV4
        || head[IP] != ipv4::VERSION_IHL
        || u16_at(head, UDP + udp::offset::DESTINATION_PORT) != vxlan::VXLAN_PORT
        || head[IP + ipv4::offset::PROTOCOL] != protocol::UDP
    {
        return None;
    }
    let view = ipv4::View::parse(&frame[IP..]).ok()?;
    if view.destination() != own || view.is_fragment() {
        return None;
    }
    let datagram = udp::View::parse(view.payload()).ok()?;
    let tunnelled = vxlan::View::parse(datagram.payload());
    Some((view.source(), tunnelled.map(|inner| inner.vni()).map_err(|_| ())))
}

/// Takes a frame out of its tunnel: what is behind the outer packet goes too.
pub(super) fn unwrap(batch: &mut Batch, slot: Slot) {
    let len = u16_at(batch.frame(slot), IP + ipv4::offset::TOTAL_LEN);
    let datagram = u16_at(batch.frame(slot), UDP + udp::offset::LENGTH);
    let end = IP + usize::from(len).min(ipv4::HEADER_LEN + usize::from(datagram));
    batch.truncate(slot, end);
    batch.pull_front(slot, OUTER_LEN);
}

/// Puts a frame into a tunnel; false, and nothing changed, where there is no room.
pub(super) fn wrap(batch: &mut Batch, slot: Slot, tunnel: &Vxlan, by: &Underlay) -> bool {
    let entropy = entropy(batch.frame(slot));
    let Ok(total_len) = u16::try_from(batch.frame_len(slot) + OUTER_LEN - IP) else {
        return false;
    };
    let Some(frame) = batch.push_front(slot, OUTER_LEN) else { return false };
    put_array(frame, 0, by.macs);
    put_u16(frame, ethernet::offset::TYPE, ethernet::TYPE_IPV4);
    let ip = ipv4::Fields {
        dscp: 0,
        ecn: 0,
        total_len,
        identification: 0,
        dont_fragment: true,
        more_fragments: false,
        fragment_offset: 0,
        ttl: 64,
        protocol: protocol::UDP,
        source: by.source,
        destination: tunnel.remote,
    };
    let datagram = udp::Fields {
        source_port: entropy | 0xc000,
        destination_port: vxlan::VXLAN_PORT,
        length: total_len - ipv4::HEADER_LEN as u16,
        checksum: udp::CHECKSUM_NONE,
    };
    frame[IP..].first_chunk_mut().into_iter().for_each(|place| ip.emit(place));
    frame[UDP..].first_chunk_mut().into_iter().for_each(|place| datagram.emit(place));
    let header = vxlan::Fields { vni: tunnel.vni };
    frame[TUNNEL..].first_chunk_mut().into_iter().for_each(|place| header.emit(place));
    true
}

/// All 16-bit words of the inner addresses, one over the other; 0 for what is no IP packet.
fn entropy(frame: &[u8]) -> u16 {
    let (from, len) = match frame.get(ethernet::offset::TYPE..ethernet::HEADER_LEN) {
        Some([0x08, 0x00]) => (IP + ipv4::offset::SOURCE, 8),
        Some([0x86, 0xdd]) => (IP + 8, 32),
        _ => return 0,
    };
    let words = frame.get(from..from + len).unwrap_or_default().chunks_exact(2);
    words.fold(0, |all, word| all ^ u16::from_be_bytes(array_at(word, 0)))
}

const IP: usize = ethernet::HEADER_LEN;
const UDP: usize = IP + ipv4::HEADER_LEN;
const TUNNEL: usize = UDP + udp::HEADER_LEN;

/// Everything in front of the inner frame.
const OUTER_LEN: usize = TUNNEL + vxlan::HEADER_LEN;

/// By how much a packet gets longer in a tunnel, in bytes.
pub(super) const OVERHEAD: u16 = OUTER_LEN as u16;
