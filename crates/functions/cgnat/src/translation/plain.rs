//! The straight way: TCP, and UDP with a checksum, without options, extension headers and
//! fragments.
//!
//! Whatever is out of the ordinary is left as it is, and the caller told so: `rare.rs` finds out
//! what it is. Everything is read and decided before the first byte changes.

use std::net::{Ipv4Addr, Ipv6Addr};

use packet::{Batch, Slot};
use wire::bytes::{array_at, put_array, put_u16, put_u32, u16_at, u32_at};
use wire::checksum::{Sum, header_checksum};
use wire::{ethernet, ipv4, ipv6, protocol, tcp, udp};

use super::{Ends, LEN_MAX_FRAGMENTABLE, Port, Rules};

/// Whether the packet was one of these, and is IPv6 now.
#[inline]
pub(super) fn to_ipv6(batch: &mut Batch, slot: Slot, ends: &Ends<Ipv6Addr>, rules: &Rules) -> bool {
    const IP: usize = ethernet::HEADER_LEN;
    const TRANSPORT: usize = IP + ipv4::HEADER_LEN;
    let frame = batch.frame(slot);
    let Some(head) = frame.first_chunk::<{ TRANSPORT + udp::HEADER_LEN }>() else { return false };
    let first = u32_at(head, IP);
    let [total_len, place] =
        [ipv4::offset::TOTAL_LEN, ipv4::offset::FLAGS_FRAGMENT].map(|at| u16_at(head, IP + at));
    let (ttl, next) = (head[IP + ipv4::offset::TTL], head[IP + ipv4::offset::PROTOCOL]);
    let Some(kind) = Kind::of(next) else { return false };
    let len = usize::from(total_len);
    let is_plain = (first >> 24) as u8 == ipv4::VERSION_IHL
        && place & !ipv4::FLAG_DONT_FRAGMENT == 0
        && ttl > 1
        && len >= ipv4::HEADER_LEN + kind.header_len
        && len + IP <= frame.len();
    if !is_plain {
        return false;
    }
    let old = u16_at(frame, TRANSPORT + kind.checksum_at);
    if kind.is_udp && old == udp::CHECKSUM_NONE {
        return false;
    }
    let change = Sum::ZERO
        .add_u32(!u32_at(head, IP + ipv4::offset::SOURCE))
        .add_u32(!u32_at(head, IP + ipv4::offset::DESTINATION))
        .add_u128(ends.source.to_bits())
        .add_u128(ends.destination.to_bits())
        .add_u16(!old);
    let macs = array_at::<12>(head, 0);
    let class = if rules.keep_traffic_class { (first & 0x00ff_0000) << 4 } else { 0 };

    let Some(frame) = batch.push_front(slot, GROWTH) else { return false };
    let Some(head) = frame.first_chunk_mut::<{ IP + ipv6::HEADER_LEN }>() else { return false };
    put_array(head, 0, macs);
    put_u16(head, ethernet::offset::TYPE, ethernet::TYPE_IPV6);
    put_u32(head, IP, u32::from(ipv6::VERSION) << 28 | class);
    // Payload length, next header and hop limit are one word.
    let payload_len = u32::from(total_len) - ipv4::HEADER_LEN as u32;
    let word = payload_len << 16 | u32::from(next) << 8 | u32::from(ttl - 1);
    put_u32(head, IP + ipv6::offset::PAYLOAD_LEN, word);
    put_array(head, IP + ipv6::offset::SOURCE, ends.source.octets());
    put_array(head, IP + ipv6::offset::DESTINATION, ends.destination.octets());
    change_transport(&mut frame[IP + ipv6::HEADER_LEN..], kind, change, ends.port);
    batch.truncate(slot, IP + len + GROWTH);
    true
}

/// Whether the packet was one of these, and is IPv4 now.
#[inline]
pub(super) fn to_ipv4(
    batch: &mut Batch,
    slot: Slot,
    ends: &Ends<Ipv4Addr>,
    identification: u16,
    rules: &Rules,
) -> bool {
    const IP: usize = ethernet::HEADER_LEN;
    const TRANSPORT: usize = IP + ipv6::HEADER_LEN;
    let frame = batch.frame(slot);
    let Some(head) = frame.first_chunk::<{ TRANSPORT + udp::HEADER_LEN }>() else { return false };
    let (first, word) = (u32_at(head, IP), u32_at(head, IP + ipv6::offset::PAYLOAD_LEN));
    let (payload_len, next, hop_limit) = ((word >> 16) as u16, (word >> 8) as u8, word as u8);
    let Some(kind) = Kind::of(next) else { return false };
    let len = usize::from(payload_len);
    let is_plain = first >> 28 == u32::from(ipv6::VERSION)
        && hop_limit > 1
        && len >= kind.header_len
        && len + TRANSPORT <= frame.len()
        && len <= usize::from(u16::MAX) - ipv4::HEADER_LEN;
    if !is_plain {
        return false;
    }
    let old = u16_at(frame, TRANSPORT + kind.checksum_at);
    if kind.is_udp && old == udp::CHECKSUM_NONE {
        return false;
    }
    let change = Sum::ZERO
        .add_u128(!u128::from_be_bytes(array_at(head, IP + ipv6::offset::SOURCE)))
        .add_u128(!u128::from_be_bytes(array_at(head, IP + ipv6::offset::DESTINATION)))
        .add_u32(ends.source.to_bits())
        .add_u32(ends.destination.to_bits())
        .add_u16(!old);
    let macs = array_at::<12>(head, 0);
    let class = if rules.keep_traffic_class { (first >> 4) & 0x00ff_0000 } else { 0 };

    batch.pull_front(slot, GROWTH);
    let total_len = payload_len + ipv4::HEADER_LEN as u16;
    let place =
        if total_len > LEN_MAX_FRAGMENTABLE { u32::from(ipv4::FLAG_DONT_FRAGMENT) } else { 0 };
    let mut header = [0; ipv4::HEADER_LEN];
    put_u32(&mut header, 0, u32::from(ipv4::VERSION_IHL) << 24 | class | u32::from(total_len));
    put_u32(&mut header, ipv4::offset::IDENTIFICATION, u32::from(identification) << 16 | place);
    put_u32(&mut header, ipv4::offset::TTL, u32::from(hop_limit - 1) << 24 | u32::from(next) << 16);
    put_array(&mut header, ipv4::offset::SOURCE, ends.source.octets());
    put_array(&mut header, ipv4::offset::DESTINATION, ends.destination.octets());
    let sum = header_checksum(&header);
    put_u16(&mut header, ipv4::offset::CHECKSUM, sum);
    let frame = batch.frame_mut(slot);
    let Some(head) = frame.first_chunk_mut::<{ IP + ipv4::HEADER_LEN }>() else { return false };
    put_array(head, 0, macs);
    put_u16(head, ethernet::offset::TYPE, ethernet::TYPE_IPV4);
    put_array(head, IP, header);
    change_transport(&mut frame[IP + ipv4::HEADER_LEN..], kind, change, ends.port);
    batch.truncate(slot, IP + usize::from(total_len));
    true
}

/// What is to be known of a transport protocol.
#[derive(Clone, Copy)]
struct Kind {
    is_udp: bool,
    checksum_at: usize,
    header_len: usize,
}

impl Kind {
    #[inline(always)]
    const fn of(next: u8) -> Option<Kind> {
        match next {
            protocol::TCP => Some(Kind {
                is_udp: false,
                checksum_at: tcp::offset::CHECKSUM,
                header_len: tcp::HEADER_LEN,
            }),
            protocol::UDP => Some(Kind {
                is_udp: true,
                checksum_at: udp::offset::CHECKSUM,
                header_len: udp::HEADER_LEN,
            }),
            _ => None,
        }
    }
}

/// Writes the port and the checksum that follows from all changes.
#[inline(always)]
fn change_transport(transport: &mut [u8], kind: Kind, mut change: Sum, port: Port) {
    if let Some((at, new)) = port.place() {
        change = change.add_u16(!u16_at(transport, at)).add_u16(new);
        put_u16(transport, at, new);
    }
    let mut sum = change.checksum();
    if kind.is_udp && sum == udp::CHECKSUM_NONE {
        sum = 0xffff;
    }
    put_u16(transport, kind.checksum_at, sum);
}

/// How much longer the header of IPv6 is, in bytes.
const GROWTH: usize = ipv6::HEADER_LEN - ipv4::HEADER_LEN;
