//! Where the headers of a TCP segment stand in a frame.

use wire::bytes::u16_at;
use wire::{checksum::Sum, ethernet, ipv4, ipv6, protocol, tcp};

/// Offsets in bytes from the start of the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub is_ipv6: bool,
    /// Of the IP header, behind up to two VLAN tags.
    pub ip: usize,
    pub tcp: usize,
    pub payload: usize,
    /// Of what is behind the packet: padding.
    pub end: usize,
}

impl Layout {
    /// Finds a whole, unfragmented segment; checksums are not looked at.
    pub fn of(frame: &[u8]) -> Option<Layout> {
        let mut ip = ethernet::HEADER_LEN;
        let kind = |ip: usize| frame.get(ip - 2..ip).map(|bytes| u16_at(bytes, 0));
        for _ in 0..TAGS_MAX {
            if let ethernet::TYPE_VLAN | ethernet::TYPE_SERVICE_VLAN = kind(ip)? {
                ip += ethernet::TAG_LEN;
            }
        }
        let packet = frame.get(ip..)?;
        let (is_ipv6, end, segment) = match kind(ip)? {
            ethernet::TYPE_IPV4 => {
                let view = ipv4::View::parse_without_checksum(packet).ok()?;
                let is_whole = view.protocol() == protocol::TCP && !view.is_fragment();
                (false, view.total_len().into(), is_whole.then(|| view.payload())?)
            }
            ethernet::TYPE_IPV6 => {
                let view = ipv6::View::parse(packet).ok()?;
                let upper = view.upper_layer().ok()?;
                let is_whole = upper.protocol == protocol::TCP && upper.fragment.is_none();
                let end = ipv6::HEADER_LEN + usize::from(view.payload_len());
                (true, end, is_whole.then_some(upper.payload)?)
            }
            _ => return None,
        };
        let end = ip + end;
        let tcp = end.checked_sub(segment.len())?;
        let payload = end - tcp::View::parse(segment).ok()?.payload().len();
        Some(Layout { is_ipv6, ip, tcp, payload, end })
    }

    /// The sum over the pseudo-header of a segment of this length with its header
    /// (RFC 9293 section 3.1, RFC 8200 section 8.1).
    pub fn pseudo_header(&self, head: &[u8], segment_len: usize) -> Sum {
        let (from, len) = match self.is_ipv6 {
            false => (ipv4::offset::SOURCE, 8),
            true => (ipv6::offset::SOURCE, 32),
        };
        let addresses = &head[self.ip + from..self.ip + from + len];
        let number = u16::from(protocol::TCP);
        Sum::ZERO.add_bytes(addresses).add_u16(number).add_u32(segment_len as u32)
    }

    /// Writes the length of the packet, and what follows from it in the header of IPv4.
    pub fn set_len(&self, head: &mut [u8], payload_len: usize) {
        let len = self.payload - self.ip + payload_len;
        let ip = &mut head[self.ip..self.tcp];
        match self.is_ipv6 {
            false => {
                ip[ipv4::offset::TOTAL_LEN..][..2].copy_from_slice(&(len as u16).to_be_bytes());
                let place = ipv4::offset::CHECKSUM..ipv4::offset::CHECKSUM + 2;
                ip[place.clone()].fill(0);
                let sum = wire::checksum::checksum(ip);
                ip[place].copy_from_slice(&sum.to_be_bytes());
            }
            true => {
                let len = (len - ipv6::HEADER_LEN) as u16;
                ip[ipv6::offset::PAYLOAD_LEN..][..2].copy_from_slice(&len.to_be_bytes());
            }
        }
    }
}

const TAGS_MAX: usize = 2;
