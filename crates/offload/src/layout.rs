//! Where the headers of a TCP segment or UDP datagram stand in a frame.

use wire::bytes::{put_u16, u16_at};
use wire::{checksum::Sum, ethernet, ipv4, ipv6, protocol, tcp, udp};

use crate::header::Gso;

/// Offsets in bytes from the start of the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub is_ipv6: bool,
    pub is_udp: bool,
    /// Of the IP header, behind VLAN tags.
    pub ip: usize,
    /// Of the header of TCP or UDP.
    pub transport: usize,
    pub payload: usize,
    /// Of what is behind the packet: padding.
    pub end: usize,
}

impl Layout {
    /// Finds a whole, unfragmented segment or datagram; checksums are not looked at.
    pub fn of(frame: &[u8]) -> Option<Layout> {
        let mut ip = ethernet::HEADER_LEN;
        let kind = |ip: usize| frame.get(ip - 2..ip).map(|bytes| u16_at(bytes, 0));
        for _ in 0..TAGS_MAX {
            if let ethernet::TYPE_VLAN | ethernet::TYPE_SERVICE_VLAN = kind(ip)? {
                ip += ethernet::TAG_LEN;
            }
        }
        let packet = frame.get(ip..)?;
        let (is_ipv6, end, (number, segment)) = match kind(ip)? {
            ethernet::TYPE_IPV4 => {
                let view = ipv4::View::parse_without_checksum(packet).ok()?;
                let is_whole = !view.is_fragment();
                let upper = (view.protocol(), is_whole.then(|| view.payload())?);
                (false, view.total_len().into(), upper)
            }
            ethernet::TYPE_IPV6 => {
                let view = ipv6::View::parse(packet).ok()?;
                let upper = view.upper_layer().ok()?;
                let is_whole = upper.fragment.is_none();
                let end = ipv6::HEADER_LEN + usize::from(view.payload_len());
                (true, end, (upper.protocol, is_whole.then_some(upper.payload)?))
            }
            _ => return None,
        };
        let end = ip + end;
        let transport = end.checked_sub(segment.len())?;
        let payload_len = match number {
            protocol::TCP => tcp::View::parse(segment).ok()?.payload().len(),
            // The length of a datagram in many pieces says nothing.
            protocol::UDP => segment.len().checked_sub(udp::HEADER_LEN)?,
            _ => return None,
        };
        let payload = end - payload_len;
        let is_udp = number == protocol::UDP;
        Some(Layout { is_ipv6, is_udp, ip, transport, payload, end })
    }

    /// What a card would be told to cut it into.
    pub fn gso(&self) -> Gso {
        match (self.is_udp, self.is_ipv6) {
            (true, _) => Gso::Udp,
            (false, false) => Gso::TcpIpv4,
            (false, true) => Gso::TcpIpv6,
        }
    }

    /// Whether no router may cut the packet into fragments.
    pub fn stays_whole(&self, frame: &[u8]) -> bool {
        let flags = self.ip + ipv4::offset::FLAGS_FRAGMENT;
        self.is_ipv6 || u16_at(frame, flags) & ipv4::FLAG_DONT_FRAGMENT != 0
    }

    /// Offset of the checksum, from the transport header.
    pub fn checksum_offset(&self) -> usize {
        if self.is_udp { udp::offset::CHECKSUM } else { tcp::offset::CHECKSUM }
    }

    /// The sum over the pseudo-header of a segment of this length with its header
    /// (RFC 9293 section 3.1, RFC 768, RFC 8200 section 8.1).
    pub fn pseudo_header(&self, head: &[u8], segment_len: usize) -> Sum {
        let (from, len) = match self.is_ipv6 {
            false => (ipv4::offset::SOURCE, 8),
            true => (ipv6::offset::SOURCE, 32),
        };
        let addresses = &head[self.ip + from..self.ip + from + len];
        let number = u16::from(if self.is_udp { protocol::UDP } else { protocol::TCP });
        Sum::ZERO.add_bytes(addresses).add_u16(number).add_u32(segment_len as u32)
    }

    /// Writes the length of the packet, and what follows from it in the headers of IPv4 and UDP.
    pub fn set_len(&self, head: &mut [u8], payload_len: usize) {
        let len = self.payload - self.ip + payload_len;
        let ip = &mut head[self.ip..self.transport];
        match self.is_ipv6 {
            false => {
                put_u16(ip, ipv4::offset::TOTAL_LEN, len as u16);
                put_u16(ip, ipv4::offset::CHECKSUM, 0);
                let sum = wire::checksum::checksum(ip);
                put_u16(ip, ipv4::offset::CHECKSUM, sum);
            }
            true => put_u16(ip, ipv6::offset::PAYLOAD_LEN, (len - ipv6::HEADER_LEN) as u16),
        }
        if self.is_udp {
            let len = self.payload - self.transport + payload_len;
            put_u16(head, self.transport + udp::offset::LENGTH, len as u16);
        }
    }

    /// Writes the checksum of a segment whose payload is this.
    pub fn set_checksum(&self, head: &mut [u8], payload: &[u8]) {
        let place = self.transport + self.checksum_offset();
        put_u16(head, place, 0);
        let sum = self.pseudo_header(head, self.payload - self.transport + payload.len());
        let sum = sum.add_bytes(&head[self.transport..]).add_bytes(payload).checksum();
        // Zero would say that UDP has none.
        put_u16(head, place, if self.is_udp && sum == 0 { 0xffff } else { sum });
    }
}

/// Most VLAN tags: two of a sender, and as many again that a switch puts before them.
const TAGS_MAX: usize = 4;
