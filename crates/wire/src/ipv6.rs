//! The Internet Protocol, version 6 (RFC 8200).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |Version| Traffic class |              Flow label               |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |        Payload length         |  Next header  |   Hop limit   |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                       Source (16 bytes)                       |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                    Destination (16 bytes)                     |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! A checked packet ends where its payload length says; bytes after it are link-layer padding.
//! Making a view does not look at extension headers, as a router need not (section 4);
//! [`View::upper_layer`] walks them, bounded. **Not supported:** jumbograms (RFC 2675), emitting
//! extension headers, reading their options, and reassembly.

use std::net::Ipv6Addr;

use crate::bytes;
use crate::protocol;
use crate::{Law, MacAddr, Malformed};

/// Length of the header in bytes.
pub const HEADER_LEN: usize = 40;

/// Length of a fragment header in bytes (RFC 8200 section 4.5).
pub const FRAGMENT_HEADER_LEN: usize = 8;
/// The version field.
pub const VERSION: u8 = 6;
/// Largest number of extension headers that are parsed. Section 4.1 lists six kinds, one of them
/// twice.
pub const EXTENSION_HEADERS_MAX: usize = 8;

/// Offsets of the fields, in bytes from the start of the header.
pub mod offset {
    /// Version, traffic class and flow label, 4 bytes.
    pub const VERSION_CLASS_FLOW: usize = 0;
    /// Length of everything after the header, 2 bytes.
    pub const PAYLOAD_LEN: usize = 4;
    /// Next header, 1 byte.
    pub const NEXT_HEADER: usize = 6;
    /// Hop limit, 1 byte.
    pub const HOP_LIMIT: usize = 7;
    /// Source address, 16 bytes.
    pub const SOURCE: usize = 8;
    /// Destination address, 16 bytes.
    pub const DESTINATION: usize = 24;
}

/// A validated packet.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    header: &'a [u8; HEADER_LEN],
    payload: &'a [u8],
}

impl<'a> View<'a> {
    /// Checks the version and that the packet has the length of its payload length field.
    ///
    /// # Errors
    /// [`Malformed::Truncated`], [`Malformed::BadVersion`].
    #[inline]
    pub fn parse(packet: &'a [u8]) -> Result<Self, Malformed> {
        let (header, rest) =
            packet.split_first_chunk::<HEADER_LEN>().ok_or(Malformed::Truncated)?;
        if header[0] >> 4 != VERSION {
            return Err(Malformed::BadVersion);
        }
        let payload_len = usize::from(bytes::u16_at(header, offset::PAYLOAD_LEN));
        let payload = rest.get(..payload_len).ok_or(Malformed::Truncated)?;
        Ok(Self { header, payload })
    }

    /// The traffic class: code point and congestion notification (section 7).
    #[inline]
    pub fn traffic_class(&self) -> u8 {
        (self.version_class_flow() >> 20) as u8
    }

    /// The flow label (RFC 6437), 20 bits.
    #[inline]
    pub fn flow_label(&self) -> u32 {
        self.version_class_flow() & FLOW_LABEL_MASK
    }

    /// Length of everything after the header, extension headers included, in bytes.
    #[inline]
    pub fn payload_len(&self) -> u16 {
        bytes::u16_at(self.header, offset::PAYLOAD_LEN)
    }

    /// Next header: the type of an extension header or the upper-layer protocol.
    #[inline]
    pub fn next_header(&self) -> u8 {
        self.header[offset::NEXT_HEADER]
    }

    /// Hop limit.
    #[inline]
    pub fn hop_limit(&self) -> u8 {
        self.header[offset::HOP_LIMIT]
    }

    /// Source address.
    #[inline]
    pub fn source(&self) -> Ipv6Addr {
        bytes::array_at::<16>(self.header, offset::SOURCE).into()
    }

    /// Destination address.
    #[inline]
    pub fn destination(&self) -> Ipv6Addr {
        bytes::array_at::<16>(self.header, offset::DESTINATION).into()
    }

    /// Payload after the header, including extension headers, without link-layer padding.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// Skips the extension headers (section 4) and returns the upper layer. In a fragment other
    /// than the first one, the payload is a part of a packet and only the protocol is meaningful.
    ///
    /// # Errors
    /// [`Malformed::BadExtensionHeader`] when one extends beyond the packet,
    /// [`Malformed::TooManyExtensionHeaders`] for more than [`EXTENSION_HEADERS_MAX`].
    #[inline]
    pub fn upper_layer(&self) -> Result<UpperLayer<'a>, Malformed> {
        let mut upper =
            UpperLayer { protocol: self.next_header(), payload: self.payload, fragment: None };
        for _ in 0..=EXTENSION_HEADERS_MAX {
            if !upper.is_extension_header() {
                return Ok(upper);
            }
            upper = upper.step()?;
        }
        Err(Malformed::TooManyExtensionHeaders)
    }

    /// The header as values.
    #[inline]
    pub fn fields(&self) -> Fields {
        Fields {
            traffic_class: self.traffic_class(),
            flow_label: self.flow_label(),
            payload_len: self.payload_len(),
            next_header: self.next_header(),
            hop_limit: self.hop_limit(),
            source: self.source(),
            destination: self.destination(),
        }
    }

    #[inline]
    fn version_class_flow(&self) -> u32 {
        bytes::u32_at(self.header, offset::VERSION_CLASS_FLOW)
    }
}

/// Upper layer after the extension headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpperLayer<'a> {
    /// Protocol of the upper layer.
    pub protocol: u8,
    /// Bytes of the upper layer.
    pub payload: &'a [u8],
    /// The fragment header, if there was one.
    pub fragment: Option<Fragment>,
}

impl UpperLayer<'_> {
    /// Returns true if the next bytes are an extension header that can be skipped. The rest of a
    /// fragment other than the first one is not a header.
    #[inline]
    fn is_extension_header(&self) -> bool {
        let is_middle = self.fragment.is_some_and(|fragment| fragment.offset != 0);
        !is_middle
            && matches!(
                self.protocol,
                protocol::IPV6_HOP_BY_HOP
                    | protocol::IPV6_ROUTING
                    | protocol::IPV6_FRAGMENT
                    | protocol::AUTHENTICATION
                    | protocol::IPV6_DESTINATION_OPTIONS
            )
    }

    /// Returns the part after the next extension header.
    #[inline]
    fn step(self) -> Result<Self, Malformed> {
        let start: &[u8; EXTENSION_LEN_MIN] =
            self.payload.first_chunk().ok_or(Malformed::BadExtensionHeader)?;
        let stated_len = usize::from(start[1]);
        let (len, fragment) = match self.protocol {
            protocol::IPV6_FRAGMENT => (FRAGMENT_HEADER_LEN, Some(Fragment::read(start))),
            // RFC 4302 section 2.2: words of 4 bytes, minus 2.
            protocol::AUTHENTICATION => ((stated_len + 2) * 4, self.fragment),
            // RFC 8200 section 4.3: words of 8 bytes, without the first.
            _ => ((stated_len + 1) * 8, self.fragment),
        };
        let payload = self.payload.get(len..).ok_or(Malformed::BadExtensionHeader)?;
        Ok(Self { protocol: start[0], payload, fragment })
    }
}

/// A fragment header (section 4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// Fragment offset, in units of 8 bytes.
    pub offset: u16,
    /// True if more fragments follow.
    pub more_fragments: bool,
    /// Identification, which is common to the fragments of a packet.
    pub identification: u32,
}

impl Fragment {
    #[inline]
    fn read(header: &[u8; FRAGMENT_HEADER_LEN]) -> Self {
        let offset_flags = bytes::u16_at(header, 2);
        Self {
            offset: offset_flags >> 3,
            more_fragments: offset_flags & 1 != 0,
            identification: bytes::u32_at(header, 4),
        }
    }
}

/// A validated packet that can be changed.
#[derive(Debug)]
pub struct ViewMut<'a> {
    header: &'a mut [u8; HEADER_LEN],
    payload: &'a mut [u8],
}

impl<'a> ViewMut<'a> {
    /// Checks the packet like [`View::parse`], with the same errors.
    #[inline]
    pub fn parse(packet: &'a mut [u8]) -> Result<Self, Malformed> {
        let payload_len = View::parse(packet)?.payload.len();
        let (header, rest) = packet.split_first_chunk_mut().ok_or(Malformed::Truncated)?;
        let (payload, _padding) = rest.split_at_mut(payload_len);
        Ok(Self { header, payload })
    }

    /// Returns a read-only view of the packet.
    #[inline]
    pub fn as_view(&self) -> View<'_> {
        View { header: self.header, payload: self.payload }
    }

    /// Sets the traffic class.
    #[inline]
    pub fn set_traffic_class(&mut self, traffic_class: u8) {
        let others = self.as_view().version_class_flow() & !TRAFFIC_CLASS_MASK;
        let word = others | u32::from(traffic_class) << 20;
        bytes::put_u32(self.header, offset::VERSION_CLASS_FLOW, word);
    }

    /// Decrements the hop limit like [`decrement_hop_limit`].
    #[inline]
    pub fn decrement_hop_limit(&mut self) -> bool {
        decrement_hop_limit(self.header)
    }

    /// Sets the source address. The caller must update a checksum in the payload.
    #[inline]
    pub fn set_source(&mut self, source: Ipv6Addr) {
        bytes::put_array(self.header, offset::SOURCE, source.octets());
    }

    /// Sets the destination address. The caller must update a checksum in the payload.
    #[inline]
    pub fn set_destination(&mut self, destination: Ipv6Addr) {
        bytes::put_array(self.header, offset::DESTINATION, destination.octets());
    }

    /// Payload after the header, mutable.
    #[inline]
    pub fn payload_mut(&mut self) -> &mut [u8] {
        self.payload
    }
}

/// The link-local address that follows from an Ethernet address (RFC 4291 appendix A).
pub fn link_local(mac: MacAddr) -> Ipv6Addr {
    let [a, b, c, d, e, f] = mac.0;
    let identifier = u64::from_be_bytes([a ^ 2, b, c, 0xff, 0xfe, d, e, f]);
    Ipv6Addr::from_bits(0xfe80 << 112 | u128::from(identifier))
}

/// Decrements the hop limit; returns true if the packet may be forwarded. With a hop limit of 0 or
/// 1 it must not be (section 3), and nothing is changed.
#[inline]
#[must_use]
pub fn decrement_hop_limit(header: &mut [u8; HEADER_LEN]) -> bool {
    if header[offset::HOP_LIMIT] <= 1 {
        return false;
    }
    header[offset::HOP_LIMIT] -= 1;
    true
}

/// A header as values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields {
    /// Code point and congestion notification.
    pub traffic_class: u8,
    /// The flow label; only the lower 20 bits are written.
    pub flow_label: u32,
    /// Length of everything after the header, in bytes.
    pub payload_len: u16,
    /// Next header.
    pub next_header: u8,
    /// Hop limit.
    pub hop_limit: u8,
    /// Source address.
    pub source: Ipv6Addr,
    /// Destination address.
    pub destination: Ipv6Addr,
}

impl Fields {
    /// Writes the complete header.
    #[inline]
    pub fn emit(&self, header: &mut [u8; HEADER_LEN]) {
        let version_class_flow = u32::from(VERSION) << 28
            | u32::from(self.traffic_class) << 20
            | self.flow_label & FLOW_LABEL_MASK;
        bytes::put_u32(header, offset::VERSION_CLASS_FLOW, version_class_flow);
        bytes::put_u16(header, offset::PAYLOAD_LEN, self.payload_len);
        header[offset::NEXT_HEADER] = self.next_header;
        header[offset::HOP_LIMIT] = self.hop_limit;
        bytes::put_array(header, offset::SOURCE, self.source.octets());
        bytes::put_array(header, offset::DESTINATION, self.destination.octets());
    }
}

/// The flow label in the first word.
const FLOW_LABEL_MASK: u32 = 0x000f_ffff;
/// The traffic class in the first word.
const TRAFFIC_CLASS_MASK: u32 = 0x0ff0_0000;
/// The shortest extension header, in bytes.
const EXTENSION_LEN_MIN: usize = 8;

/// The law of this module.
pub const LAW: Law = Law { name: "ipv6", holds: law, examples: &[] };

/// IPv6: what is accepted is written back the same, and the walk stays inside the packet.
fn law(data: &[u8]) {
    let Ok(view) = View::parse(data) else { return };
    let mut written = [0; HEADER_LEN];
    view.fields().emit(&mut written);
    assert_eq!(written, data[..HEADER_LEN]);
    assert_eq!(view.payload().len(), usize::from(view.payload_len()));
    if let Ok(upper) = view.upper_layer() {
        assert!(view.payload().ends_with(upper.payload));
    }

    let mut packet = data.to_vec();
    let mut changed = ViewMut::parse(&mut packet).expect("accepted before");
    changed.set_traffic_class(!view.traffic_class());
    assert_eq!(changed.decrement_hop_limit(), view.hop_limit() > 1);
    let changed = changed.as_view();
    assert_eq!(changed.traffic_class(), !view.traffic_class());
    assert_eq!(changed.flow_label(), view.flow_label());
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
    const DESTINATION: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2);

    /// Returns the packet with this payload and one byte of padding.
    fn packet(next_header: u8, payload: &[u8]) -> Vec<u8> {
        let mut packet = vec![0x6b, 0x91, 0x23, 0x45, 0, payload.len() as u8, next_header, 64];
        packet.extend(SOURCE.octets());
        packet.extend(DESTINATION.octets());
        packet.extend(payload);
        packet.push(0xff);
        packet
    }

    #[test]
    fn reads_every_field() {
        let packet = packet(protocol::UDP, &[0xca, 0xfe]);
        let view = View::parse(&packet).unwrap();
        assert_eq!(view.traffic_class(), 0xb9);
        assert_eq!(view.flow_label(), 0x12345);
        assert_eq!(view.payload_len(), 2);
        assert_eq!((view.next_header(), view.hop_limit()), (protocol::UDP, 64));
        assert_eq!((view.source(), view.destination()), (SOURCE, DESTINATION));
        assert_eq!(view.payload(), [0xca, 0xfe]);
        let upper = view.upper_layer().unwrap();
        let expected =
            UpperLayer { protocol: protocol::UDP, payload: &[0xca, 0xfe], fragment: None };
        assert_eq!(upper, expected);
    }

    #[test]
    fn names_what_is_wrong() {
        let mut packet = packet(protocol::UDP, &[0xca, 0xfe]);
        for len in 0..42 {
            assert_eq!(View::parse(&packet[..len]).unwrap_err(), Malformed::Truncated);
        }
        packet[0] = 0x45;
        assert_eq!(View::parse(&packet).unwrap_err(), Malformed::BadVersion);
    }

    #[test]
    fn walks_extension_headers() {
        let mut payload = vec![protocol::IPV6_ROUTING, 0, 1, 4, 0, 0, 0, 0];
        payload.extend([protocol::AUTHENTICATION, 1]);
        payload.extend([0; 14]);
        payload.extend([protocol::IPV6_FRAGMENT, 1]);
        payload.extend([0; 10]);
        payload.extend([protocol::IPV6_DESTINATION_OPTIONS, 0, 0, 1, 0, 0, 0, 7]);
        payload.extend([protocol::UDP, 0, 1, 4, 0, 0, 0, 0, 0xca]);
        let packet = packet(protocol::IPV6_HOP_BY_HOP, &payload);
        let upper = View::parse(&packet).unwrap().upper_layer().unwrap();
        let fragment = Fragment { offset: 0, more_fragments: true, identification: 7 };
        assert_eq!(upper.protocol, protocol::UDP);
        assert_eq!(upper.payload, [0xca]);
        assert_eq!(upper.fragment, Some(fragment));
    }

    #[test]
    fn does_not_read_the_middle_of_a_packet() {
        let payload = [protocol::IPV6_DESTINATION_OPTIONS, 0, 0, 8, 0, 0, 0, 7, 6, 0xff];
        let packet = packet(protocol::IPV6_FRAGMENT, &payload);
        let upper = View::parse(&packet).unwrap().upper_layer().unwrap();
        assert_eq!(upper.fragment.unwrap().offset, 1);
        assert_eq!(upper.payload, [6, 0xff]);
    }

    #[test]
    fn bounds_the_walk() {
        let link = [protocol::IPV6_DESTINATION_OPTIONS, 0, 1, 4, 0, 0, 0, 0];
        let last = [protocol::IPV6_NO_NEXT_HEADER, 0, 1, 4, 0, 0, 0, 0];
        let most = [[link; EXTENSION_HEADERS_MAX - 1].as_flattened(), &last].concat();
        let packet_of = |payload: &[u8]| packet(protocol::IPV6_DESTINATION_OPTIONS, payload);
        let upper_of = |payload: &[u8]| {
            let packet = packet_of(payload);
            View::parse(&packet).unwrap().upper_layer().map(|upper| upper.protocol)
        };
        assert_eq!(upper_of(&most), Ok(protocol::IPV6_NO_NEXT_HEADER));
        let more = [&link[..], &most].concat();
        assert_eq!(upper_of(&more), Err(Malformed::TooManyExtensionHeaders));
        assert_eq!(upper_of(&link), Err(Malformed::BadExtensionHeader));
        assert_eq!(upper_of(&last[..7]), Err(Malformed::BadExtensionHeader));
        let long = [protocol::UDP, 1, 1, 4, 0, 0, 0, 0];
        assert_eq!(upper_of(&long), Err(Malformed::BadExtensionHeader));
    }

    #[test]
    fn changes_what_is_set_and_nothing_else() {
        let mut bytes = packet(protocol::UDP, &[1, 2]);
        let before = View::parse(&bytes).unwrap().fields();
        let mut view = ViewMut::parse(&mut bytes).unwrap();
        view.set_traffic_class(0x28);
        view.set_source(DESTINATION);
        view.set_destination(SOURCE);
        assert!(view.decrement_hop_limit());
        view.payload_mut().fill(9);
        let expected = Fields {
            traffic_class: 0x28,
            hop_limit: 63,
            source: DESTINATION,
            destination: SOURCE,
            ..before
        };
        let view = View::parse(&bytes).unwrap();
        assert_eq!(view.fields(), expected);
        assert_eq!(view.payload(), [9, 9]);
    }

    #[test]
    fn hop_limit_ends_at_one() {
        let mut header = *packet(protocol::UDP, &[]).first_chunk().unwrap();
        for hop_limit in [0, 1] {
            header[offset::HOP_LIMIT] = hop_limit;
            assert!(!decrement_hop_limit(&mut header));
            assert_eq!(header[offset::HOP_LIMIT], hop_limit);
        }
    }

    #[test]
    fn emits_what_it_read() {
        let packet = packet(protocol::TCP, &[1]);
        let mut header = [0xff; HEADER_LEN];
        View::parse(&packet).unwrap().fields().emit(&mut header);
        assert_eq!(header, packet[..HEADER_LEN]);
    }

    #[test]
    fn follows_from_the_address_of_the_appendix() {
        let mac = MacAddr([0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde]);
        let address = Ipv6Addr::new(0xfe80, 0, 0, 0, 0x3656, 0x78ff, 0xfe9a, 0xbcde);
        assert_eq!(link_local(mac), address);
    }
}
