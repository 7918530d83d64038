//! A packet of IPv6, read for translation, and the header of IPv4 that it gets (RFC 7915 section
//! 5.1).

use std::net::{Ipv4Addr, Ipv6Addr};

use wire::bytes::{array_at, u16_at, u32_at};
use wire::checksum::Sum;
use wire::ipv6::{EXTENSION_HEADERS_MAX, FRAGMENT_HEADER_LEN};
use wire::{ipv4, ipv6, protocol};

use super::{Ends, LEN_MAX_FRAGMENTABLE, Refusal, Rules};

/// A packet, or what an ICMP error quotes of it.
#[derive(Clone, Copy)]
pub struct Packet<'a> {
    header: &'a [u8; ipv6::HEADER_LEN],
    /// The length of the header with its extension headers, in bytes.
    pub header_len: usize,
    /// What stands behind them.
    pub protocol: u8,
    /// What is there of its bytes.
    pub body: &'a [u8],
    /// How many there are of them in the whole packet.
    pub body_len: usize,
    fragment: Option<Fragment>,
}

/// What a fragment header says.
#[derive(Clone, Copy)]
struct Fragment {
    /// Offset in units of 8 bytes, two reserved bits and the flag for more.
    place: u16,
    identification: u32,
}

impl<'a> Packet<'a> {
    /// A packet that is all there.
    pub fn whole(bytes: &'a [u8]) -> Result<Self, Refusal> {
        let end = end_of(bytes).ok_or(Refusal::Malformed)?;
        let bytes = bytes.get(..end).ok_or(Refusal::Malformed)?;
        let packet = Self::walk(bytes, end, true)?;
        if packet.body_len > BODY_LEN_MAX { Err(Refusal::TooLong) } else { Ok(packet) }
    }

    /// A packet of which an ICMP error quotes at least the headers of IPv6.
    pub fn quoted(bytes: &'a [u8]) -> Result<Self, Refusal> {
        let end = end_of(bytes).ok_or(Refusal::Quote)?;
        Self::walk(&bytes[..bytes.len().min(end)], end, false).map_err(|_| Refusal::Quote)
    }

    /// Goes over the extension headers, of which there may be a few.
    fn walk(bytes: &'a [u8], end: usize, is_whole: bool) -> Result<Self, Refusal> {
        let header: &[u8; ipv6::HEADER_LEN] = bytes.first_chunk().ok_or(Refusal::Malformed)?;
        let mut fragment = None;
        let (mut next, mut at) = (header[ipv6::offset::NEXT_HEADER], ipv6::HEADER_LEN);
        for _ in 0..=EXTENSION_HEADERS_MAX {
            if !is_extension(next) || fragment.is_some() {
                if fragment.is_some() && is_extension_or_opaque(next) {
                    return Err(Refusal::FragmentedExtension);
                }
                let body = bytes.get(at..).ok_or(Refusal::Malformed)?;
                let (header_len, body_len) = (at, end - at);
                return Ok(Self { header, header_len, protocol: next, body, body_len, fragment });
            }
            let start: &[u8; FRAGMENT_HEADER_LEN] =
                bytes.get(at..).and_then(<[u8]>::first_chunk).ok_or(Refusal::Malformed)?;
            let mut len = (usize::from(start[1]) + 1) * 8;
            if next == protocol::IPV6_FRAGMENT {
                len = FRAGMENT_HEADER_LEN;
                let (place, identification) = (u16_at(start, 2), u32_at(start, 4));
                fragment = Some(Fragment { place, identification });
            }
            if next == protocol::IPV6_ROUTING && start[SEGMENTS_LEFT] != 0 && is_whole {
                return Err(Refusal::SegmentsLeft { pointer: (at + SEGMENTS_LEFT) as u16 });
            }
            (next, at) = (start[0], at + len);
        }
        Err(Refusal::Malformed)
    }

    pub fn hop_limit(&self) -> u8 {
        self.header[ipv6::offset::HOP_LIMIT]
    }

    pub fn source(&self) -> Ipv6Addr {
        array_at::<16>(self.header, ipv6::offset::SOURCE).into()
    }

    pub fn destination(&self) -> Ipv6Addr {
        array_at::<16>(self.header, ipv6::offset::DESTINATION).into()
    }

    /// The same packet with a body of another length, for its header alone.
    pub fn resized(self, body_len: usize) -> Self {
        Self { body_len, ..self }
    }

    /// Whether it is a part of a larger packet; one that is alone in its fragment header is whole.
    pub fn is_fragment(&self) -> bool {
        self.fragment.is_some_and(|fragment| fragment.place & !RESERVED != 0)
    }

    /// Of a fragment: where its body begins in the whole, in bytes, whether others follow, and the
    /// identification.
    pub fn place(&self) -> Option<(u16, bool, u32)> {
        let fragment = self.fragment?;
        let Fragment { place, identification } = fragment;
        Some((place & !(RESERVED | 1), place & 1 != 0, identification))
    }

    /// Whether its body begins with a transport header.
    pub fn has_transport(&self) -> bool {
        self.fragment.is_none_or(|fragment| fragment.place >> 3 == 0)
    }

    /// Whether its protocol means something else behind a header of IPv4.
    pub fn is_foreign(&self) -> bool {
        self.protocol == protocol::ICMP
    }

    /// Whether the packet that it becomes may be cut by routers, and by whoever makes it (section
    /// 5.1).
    pub fn may_be_cut(&self) -> bool {
        let len = ipv4::HEADER_LEN + self.body_len.min(BODY_LEN_MAX);
        self.fragment.is_some() || len <= usize::from(LEN_MAX_FRAGMENTABLE)
    }

    /// The new header for a body of as many bytes; of a longer quoted one it says the most it can.
    pub fn head(
        &self,
        ends: &Ends<Ipv4Addr>,
        identification: u16,
        ttl: u8,
        rules: &Rules,
    ) -> [u8; ipv4::HEADER_LEN] {
        let class = (u16_at(self.header, 0) >> 4) as u8;
        let class = if rules.keep_traffic_class { class } else { 0 };
        let total_len = (ipv4::HEADER_LEN + self.body_len.min(BODY_LEN_MAX)) as u16;
        let place = self.fragment.map_or(0, |fragment| fragment.place);
        let fields = ipv4::Fields {
            dscp: class >> 2,
            ecn: class & 3,
            total_len,
            identification: self
                .fragment
                .map_or(identification, |fragment| fragment.identification as u16),
            dont_fragment: self.fragment.is_none() && total_len > LEN_MAX_FRAGMENTABLE,
            more_fragments: place & 1 != 0,
            fragment_offset: place >> 3,
            ttl,
            protocol: match self.protocol {
                protocol::ICMPV6 => protocol::ICMP,
                other => other,
            },
            source: ends.source,
            destination: ends.destination,
        };
        let mut header = [0; ipv4::HEADER_LEN];
        fields.emit(&mut header);
        header
    }

    /// What other addresses add to a checksum that covers them.
    pub fn change(&self, ends: &Ends<Ipv4Addr>) -> Sum {
        self.without_addresses().add_u32(ends.source.to_bits()).add_u32(ends.destination.to_bits())
    }

    /// What it adds to a checksum that it covers addresses no longer.
    pub fn without_addresses(&self) -> Sum {
        Sum::ZERO.add_u128(!self.source().to_bits()).add_u128(!self.destination().to_bits())
    }
}

/// Where a packet ends that is whole.
fn end_of(bytes: &[u8]) -> Option<usize> {
    let header = bytes.first_chunk::<{ ipv6::HEADER_LEN }>()?;
    let payload_len = usize::from(u16_at(header, ipv6::offset::PAYLOAD_LEN));
    (header[0] >> 4 == ipv6::VERSION).then_some(ipv6::HEADER_LEN + payload_len)
}

/// Whether it is an extension header that is gone over (section 5.1).
const fn is_extension(next: u8) -> bool {
    matches!(
        next,
        protocol::IPV6_HOP_BY_HOP
            | protocol::IPV6_ROUTING
            | protocol::IPV6_FRAGMENT
            | protocol::IPV6_DESTINATION_OPTIONS
    )
}

/// Whether it is an extension header but that of ESP (IANA "IPv6 Extension Header Types").
const fn is_extension_or_opaque(next: u8) -> bool {
    const MOBILITY: u8 = 135;
    const HOST_IDENTITY: u8 = 139;
    const SHIM6: u8 = 140;
    is_extension(next)
        || matches!(next, protocol::AUTHENTICATION | MOBILITY | HOST_IDENTITY | SHIM6)
}

/// The longest body of an IPv4 packet, in bytes.
const BODY_LEN_MAX: usize = u16::MAX as usize - ipv4::HEADER_LEN;
/// Where a routing header says how many segments are left.
const SEGMENTS_LEFT: usize = 3;
/// Reserved bits beside the offset of a fragment.
const RESERVED: u16 = 0b110;
