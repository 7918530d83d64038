//! A packet of IPv4, read for translation, and the header of IPv6 that it gets (RFC 7915 section
//! 4.1).

use std::net::{Ipv4Addr, Ipv6Addr};

use wire::bytes::{array_at, put_u16, put_u32, u16_at, u32_at};
use wire::checksum::Sum;
use wire::{ipv4, ipv6, protocol};

use super::{Ends, Refusal, Rules};

/// A packet, or what an ICMP error quotes of it.
#[derive(Clone, Copy)]
pub(super) struct Packet<'a> {
    header: &'a [u8; ipv4::HEADER_LEN],
    options: &'a [u8],
    /// What is there of the bytes behind the header.
    pub body: &'a [u8],
    /// How many there are of them in the whole packet.
    pub body_len: usize,
}

impl<'a> Packet<'a> {
    /// A packet that is all there.
    pub fn whole(bytes: &'a [u8]) -> Result<Self, Refusal> {
        let packet = Self::quoted(bytes).map_err(|_| Refusal::Malformed)?;
        if packet.body.len() < packet.body_len { Err(Refusal::Malformed) } else { Ok(packet) }
    }

    /// A packet of which an ICMP error quotes at least the header.
    pub fn quoted(bytes: &'a [u8]) -> Result<Self, Refusal> {
        let (header, rest) = bytes.split_first_chunk().ok_or(Refusal::Quote)?;
        let header_len = usize::from(header[0] & 0x0f) * 4;
        let options_len = header_len.checked_sub(ipv4::HEADER_LEN).ok_or(Refusal::Quote)?;
        let total_len = usize::from(u16_at(header, ipv4::offset::TOTAL_LEN));
        let body_len = total_len.checked_sub(header_len).ok_or(Refusal::Quote)?;
        let (options, body) = rest.split_at_checked(options_len).ok_or(Refusal::Quote)?;
        if header[0] >> 4 != ipv4::VERSION {
            return Err(Refusal::Quote);
        }
        let body = &body[..body.len().min(body_len)];
        Ok(Self { header, options, body, body_len })
    }

    pub fn header_len(&self) -> usize {
        ipv4::HEADER_LEN + self.options.len()
    }

    pub fn total_len(&self) -> usize {
        self.header_len() + self.body_len
    }

    pub fn ttl(&self) -> u8 {
        self.header[ipv4::offset::TTL]
    }

    pub fn protocol(&self) -> u8 {
        self.header[ipv4::offset::PROTOCOL]
    }

    pub fn source(&self) -> Ipv4Addr {
        array_at::<4>(self.header, ipv4::offset::SOURCE).into()
    }

    pub fn destination(&self) -> Ipv4Addr {
        array_at::<4>(self.header, ipv4::offset::DESTINATION).into()
    }

    /// The same packet with a body of another length, for its header alone.
    pub fn resized(self, body_len: usize) -> Self {
        Self { body_len, ..self }
    }

    /// Whether it is a part of a larger packet.
    pub fn is_fragment(&self) -> bool {
        self.place() & (ipv4::FLAG_MORE_FRAGMENTS | ipv4::FRAGMENT_OFFSET_MASK) != 0
    }

    /// Whether its body begins with a transport header.
    pub fn has_transport(&self) -> bool {
        self.place() & ipv4::FRAGMENT_OFFSET_MASK == 0
    }

    /// Whether its protocol means something else, or nothing, behind a header of IPv6.
    pub fn is_foreign(&self) -> bool {
        matches!(
            self.protocol(),
            protocol::IPV6_HOP_BY_HOP
                | protocol::IPV6_ROUTING
                | protocol::IPV6_FRAGMENT
                | protocol::IPV6_DESTINATION_OPTIONS
                | protocol::ICMPV6
        )
    }

    /// Whether the sender chose a way that the packet has not come to the end of.
    pub fn has_source_route(&self) -> bool {
        let mut rest = self.options;
        while let Some((&kind, behind)) = rest.split_first() {
            match kind {
                ipv4::OPTION_END => return false,
                ipv4::OPTION_NO_OPERATION => rest = behind,
                _ => {
                    // The length counts the type and itself, the pointer counts from the type.
                    let len = behind.first().map_or(0, |&len| usize::from(len));
                    let Some((option, behind)) = rest.split_at_checked(len.max(2)) else {
                        return false;
                    };
                    let is_route = matches!(kind, LOOSE_SOURCE_ROUTE | STRICT_SOURCE_ROUTE);
                    let pointer = option.get(2).map_or(0, |&pointer| usize::from(pointer));
                    match len {
                        0 | 1 => return false,
                        _ if is_route && pointer <= len => return true,
                        _ => rest = behind,
                    }
                }
            }
        }
        false
    }

    /// The new header for a body of as many bytes.
    pub fn head(&self, ends: &Ends<Ipv6Addr>, hop_limit: u8, rules: &Rules) -> Head {
        let next = match self.protocol() {
            protocol::ICMP => protocol::ICMPV6,
            next => next,
        };
        let extension_len = if self.is_fragment() { ipv6::FRAGMENT_HEADER_LEN } else { 0 };
        let keeps_class = rules.keep_traffic_class;
        let fields = ipv6::Fields {
            traffic_class: if keeps_class { self.header[ipv4::offset::DSCP_ECN] } else { 0 },
            flow_label: 0,
            payload_len: (self.body_len + extension_len) as u16,
            next_header: if extension_len > 0 { protocol::IPV6_FRAGMENT } else { next },
            hop_limit,
            source: ends.source,
            destination: ends.destination,
        };
        let mut head = Head { bytes: [0; HEAD_LEN_MAX], len: ipv6::HEADER_LEN + extension_len };
        let (header, fragment) = head.bytes.split_at_mut(ipv6::HEADER_LEN);
        if let Some(header) = header.first_chunk_mut() {
            fields.emit(header);
        }
        if extension_len > 0 {
            let place = self.place();
            let more = u16::from(place & ipv4::FLAG_MORE_FRAGMENTS != 0);
            fragment[0] = next;
            put_u16(fragment, 2, (place & ipv4::FRAGMENT_OFFSET_MASK) << 3 | more);
            let identification = u16_at(self.header, ipv4::offset::IDENTIFICATION);
            put_u32(fragment, 4, identification.into());
        }
        head
    }

    /// What other addresses add to a checksum that covers them.
    pub fn change(&self, ends: &Ends<Ipv6Addr>) -> Sum {
        Sum::ZERO
            .add_u32(!u32_at(self.header, ipv4::offset::SOURCE))
            .add_u32(!u32_at(self.header, ipv4::offset::DESTINATION))
            .add_u128(ends.source.to_bits())
            .add_u128(ends.destination.to_bits())
    }

    fn place(&self) -> u16 {
        u16_at(self.header, ipv4::offset::FLAGS_FRAGMENT)
    }
}

/// A header of IPv6, with a fragment header behind it or without.
pub(super) struct Head {
    bytes: [u8; HEAD_LEN_MAX],
    len: usize,
}

impl Head {
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// Bytes of the longest new header.
const HEAD_LEN_MAX: usize = ipv6::HEADER_LEN + ipv6::FRAGMENT_HEADER_LEN;

/// Option: the sender names some of the routers (RFC 791 section 3.1).
const LOOSE_SOURCE_ROUTE: u8 = 131;
/// Option: the sender names all of them.
const STRICT_SOURCE_ROUTE: u8 = 137;
