//! The Internet Protocol, version 4 (RFC 791; a router's duties from RFC 1812).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |Version|  IHL  |   DSCP    |ECN|         Total length          |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |        Identification         |0|D|M|     Fragment offset     |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! | Time to live  |   Protocol    |        Header checksum        |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                            Source                             |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                          Destination                          |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                    Options (IHL - 5 words)                    |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! A checked packet ends where its total length says; bytes after it are link-layer padding.
//! Every setter keeps the header checksum right by RFC 1624. **Not supported:** emitting options
//! and reassembly.

use std::hint::black_box;
use std::net::Ipv4Addr;

use crate::bytes;
use crate::checksum::{self, Sum};
use crate::{Law, Malformed};

/// Length of the header without options, in bytes.
pub const HEADER_LEN: usize = 20;
/// The longest header, with options, in bytes.
pub const HEADER_LEN_MAX: usize = 60;
/// The version field.
pub const VERSION: u8 = 4;
/// The first byte of a header without options.
pub const VERSION_IHL: u8 = 0x45;

/// "Do not fragment" in the flags and fragment offset field.
pub const FLAG_DONT_FRAGMENT: u16 = 0x4000;
/// "More fragments follow" in the flags and fragment offset field.
pub const FLAG_MORE_FRAGMENTS: u16 = 0x2000;
/// The fragment offset in the flags and fragment offset field, in units of 8 bytes.
pub const FRAGMENT_OFFSET_MASK: u16 = 0x1fff;

/// Option: end of the list (RFC 791 section 3.1).
pub const OPTION_END: u8 = 0;
/// Option: padding of one byte.
pub const OPTION_NO_OPERATION: u8 = 1;
/// Option: router alert, every router must examine the packet (RFC 2113).
pub const OPTION_ROUTER_ALERT: u8 = 148;

/// Offsets of the fields, in bytes from the start of the header.
pub mod offset {
    /// Version and header length in words, 1 byte.
    pub const VERSION_IHL: usize = 0;
    /// Differentiated services and congestion notification, 1 byte.
    pub const DSCP_ECN: usize = 1;
    /// Total length in bytes, 2 bytes.
    pub const TOTAL_LEN: usize = 2;
    /// Identification, 2 bytes.
    pub const IDENTIFICATION: usize = 4;
    /// Flags and fragment offset, 2 bytes.
    pub const FLAGS_FRAGMENT: usize = 6;
    /// Time to live, 1 byte.
    pub const TTL: usize = 8;
    /// Protocol of the payload, 1 byte.
    pub const PROTOCOL: usize = 9;
    /// Header checksum, 2 bytes.
    pub const CHECKSUM: usize = 10;
    /// Source address, 4 bytes.
    pub const SOURCE: usize = 12;
    /// Destination address, 4 bytes.
    pub const DESTINATION: usize = 16;
}

/// A validated packet.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    header: &'a [u8; HEADER_LEN],
    options: &'a [u8],
    payload: &'a [u8],
}

impl<'a> View<'a> {
    /// Makes all checks that RFC 1812 section 5.2.2 requires of a router.
    ///
    /// # Errors
    /// [`Malformed::Truncated`], [`Malformed::BadVersion`],
    /// [`Malformed::BadHeaderLength`], [`Malformed::BadTotalLength`], [`Malformed::BadChecksum`].
    #[inline]
    pub fn parse(packet: &'a [u8]) -> Result<Self, Malformed> {
        let view = Self::parse_without_checksum(packet)?;
        if !view.checksum_is_valid() {
            return Err(Malformed::BadChecksum);
        }
        Ok(view)
    }

    /// Makes the checks of [`parse`](Self::parse) except that of the checksum, for packets whose
    /// checksum the network card had not filled in yet.
    ///
    /// # Errors
    /// Those of [`parse`](Self::parse) except [`Malformed::BadChecksum`].
    #[inline]
    pub fn parse_without_checksum(packet: &'a [u8]) -> Result<Self, Malformed> {
        let (header, rest) =
            packet.split_first_chunk::<HEADER_LEN>().ok_or(Malformed::Truncated)?;
        let version_ihl = header[offset::VERSION_IHL];
        if version_ihl >> 4 != VERSION {
            return Err(Malformed::BadVersion);
        }
        let options_len =
            header_len(version_ihl).checked_sub(HEADER_LEN).ok_or(Malformed::BadHeaderLength)?;
        let total_len = usize::from(bytes::u16_at(header, offset::TOTAL_LEN));
        let payload_len =
            total_len.checked_sub(HEADER_LEN + options_len).ok_or(Malformed::BadTotalLength)?;
        let (options, rest) = rest.split_at_checked(options_len).ok_or(Malformed::Truncated)?;
        let payload = rest.get(..payload_len).ok_or(Malformed::Truncated)?;
        Ok(Self { header, options, payload })
    }

    /// Length of the header with its options, in bytes.
    #[inline]
    pub fn header_len(&self) -> usize {
        HEADER_LEN + self.options.len()
    }

    /// The differentiated services code point (RFC 2474), 6 bits.
    #[inline]
    pub fn dscp(&self) -> u8 {
        self.header[offset::DSCP_ECN] >> 2
    }

    /// The explicit congestion notification (RFC 3168), 2 bits.
    #[inline]
    pub fn ecn(&self) -> u8 {
        self.header[offset::DSCP_ECN] & 0x03
    }

    /// Length of header, options and payload, in bytes.
    #[inline]
    pub fn total_len(&self) -> u16 {
        bytes::u16_at(self.header, offset::TOTAL_LEN)
    }

    /// Identification, which is common to the fragments of a packet.
    #[inline]
    pub fn identification(&self) -> u16 {
        bytes::u16_at(self.header, offset::IDENTIFICATION)
    }

    /// True if routers must not fragment the packet.
    #[inline]
    pub fn dont_fragment(&self) -> bool {
        self.flags_fragment() & FLAG_DONT_FRAGMENT != 0
    }

    /// True if more fragments follow.
    #[inline]
    pub fn more_fragments(&self) -> bool {
        self.flags_fragment() & FLAG_MORE_FRAGMENTS != 0
    }

    /// Fragment offset, in units of 8 bytes.
    #[inline]
    pub fn fragment_offset(&self) -> u16 {
        self.flags_fragment() & FRAGMENT_OFFSET_MASK
    }

    /// True if the packet is a fragment.
    #[inline]
    pub fn is_fragment(&self) -> bool {
        self.flags_fragment() & (FLAG_MORE_FRAGMENTS | FRAGMENT_OFFSET_MASK) != 0
    }

    /// Time to live.
    #[inline]
    pub fn ttl(&self) -> u8 {
        self.header[offset::TTL]
    }

    /// The protocol of the payload.
    #[inline]
    pub fn protocol(&self) -> u8 {
        self.header[offset::PROTOCOL]
    }

    /// Checksum field of the header.
    #[inline]
    pub fn checksum(&self) -> u16 {
        bytes::u16_at(self.header, offset::CHECKSUM)
    }

    /// Returns true if the checksum of the header and its options is correct.
    #[inline]
    pub fn checksum_is_valid(&self) -> bool {
        if self.options.is_empty() {
            return checksum::header_is_valid(self.header);
        }
        Sum::ZERO.add_header(self.header).add_bytes(self.options).fold() == 0xffff
    }

    /// Source address.
    #[inline]
    pub fn source(&self) -> Ipv4Addr {
        bytes::array_at::<4>(self.header, offset::SOURCE).into()
    }

    /// Destination address.
    #[inline]
    pub fn destination(&self) -> Ipv4Addr {
        bytes::array_at::<4>(self.header, offset::DESTINATION).into()
    }

    /// True if the header has options.
    #[inline]
    pub fn has_options(&self) -> bool {
        !self.options.is_empty()
    }

    /// Iterates over the options, which are checked on the way.
    #[inline]
    pub fn options(&self) -> Options<'a> {
        Options { rest: self.options }
    }

    /// Payload after the header, without link-layer padding.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// The header as values, without its options and the reserved flag.
    #[inline]
    pub fn fields(&self) -> Fields {
        Fields {
            dscp: self.dscp(),
            ecn: self.ecn(),
            total_len: self.total_len(),
            identification: self.identification(),
            dont_fragment: self.dont_fragment(),
            more_fragments: self.more_fragments(),
            fragment_offset: self.fragment_offset(),
            ttl: self.ttl(),
            protocol: self.protocol(),
            source: self.source(),
            destination: self.destination(),
        }
    }

    #[inline]
    fn flags_fragment(&self) -> u16 {
        bytes::u16_at(self.header, offset::FLAGS_FRAGMENT)
    }
}

/// An option of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeaderOption<'a> {
    /// The type, with its copied flag and class.
    pub kind: u8,
    /// Data after the length byte; empty for options of one byte.
    pub data: &'a [u8],
}

/// Iterator over options until the end of the list or the first malformed one.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Options<'a> {
    type Item = Result<HeaderOption<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        let (&kind, rest) = std::mem::take(&mut self.rest).split_first()?;
        match kind {
            OPTION_END => return None,
            OPTION_NO_OPERATION => {
                self.rest = rest;
                return Some(Ok(HeaderOption { kind, data: &[] }));
            }
            _ => {}
        }
        // The length counts the type and itself.
        let data_len = rest.first().and_then(|&len| usize::from(len).checked_sub(2));
        let split = data_len.and_then(|len| rest.get(1..)?.split_at_checked(len));
        Some(split.ok_or(Malformed::BadOption).map(|(data, rest)| {
            self.rest = rest;
            HeaderOption { kind, data }
        }))
    }
}

/// A validated packet that can be changed; every setter updates the checksum.
#[derive(Debug)]
pub struct ViewMut<'a> {
    header: &'a mut [u8; HEADER_LEN],
    options: &'a mut [u8],
    payload: &'a mut [u8],
}

impl<'a> ViewMut<'a> {
    /// Checks the packet like [`View::parse`], with the same errors.
    #[inline]
    pub fn parse(packet: &'a mut [u8]) -> Result<Self, Malformed> {
        let view = View::parse(packet)?;
        let (options_len, payload_len) = (view.options.len(), view.payload.len());
        let (header, rest) = packet.split_first_chunk_mut().ok_or(Malformed::Truncated)?;
        let (options, rest) = rest.split_at_mut(options_len);
        let (payload, _padding) = rest.split_at_mut(payload_len);
        Ok(Self { header, options, payload })
    }

    /// Returns a read-only view of the packet.
    #[inline]
    pub fn as_view(&self) -> View<'_> {
        View { header: self.header, options: self.options, payload: self.payload }
    }

    /// Sets the code point; only its lower 6 bits are used.
    #[inline]
    pub fn set_dscp(&mut self, dscp: u8) {
        let old = bytes::u16_at(self.header, offset::VERSION_IHL);
        self.header[offset::DSCP_ECN] = dscp << 2 | self.header[offset::DSCP_ECN] & 0x03;
        let new = bytes::u16_at(self.header, offset::VERSION_IHL);
        self.update_checksum(checksum::update_u16, old, new);
    }

    /// Decrements the time to live like [`decrement_ttl`].
    #[inline]
    pub fn decrement_ttl(&mut self) -> bool {
        decrement_ttl(self.header)
    }

    /// Sets the source address. The caller must update a checksum in the payload.
    #[inline]
    pub fn set_source(&mut self, source: Ipv4Addr) {
        self.set_address(offset::SOURCE, source);
    }

    /// Sets the destination address. The caller must update a checksum in the payload.
    #[inline]
    pub fn set_destination(&mut self, destination: Ipv4Addr) {
        self.set_address(offset::DESTINATION, destination);
    }

    /// Payload after the header, mutable.
    #[inline]
    pub fn payload_mut(&mut self) -> &mut [u8] {
        self.payload
    }

    #[inline]
    fn set_address(&mut self, at: usize, address: Ipv4Addr) {
        let old = bytes::u32_at(self.header, at);
        bytes::put_array(self.header, at, address.octets());
        self.update_checksum(checksum::update_u32, old, address.to_bits());
    }

    #[inline]
    fn update_checksum<T>(&mut self, update: fn(u16, T, T) -> u16, old: T, new: T) {
        let sum = bytes::u16_at(self.header, offset::CHECKSUM);
        bytes::put_u16(self.header, offset::CHECKSUM, update(sum, old, new));
    }
}

/// Decrements the time to live and updates the checksum; returns true if the packet may be
/// forwarded. With a time to live of 0 or 1 it must not be (RFC 1812 section 5.3.1), and nothing is
/// changed.
#[inline]
#[must_use]
pub fn decrement_ttl(header: &mut [u8; HEADER_LEN]) -> bool {
    if header[offset::TTL] <= 1 {
        return false;
    }
    // Time to live, protocol and checksum are one word, read and written as such. Taking 0x0100
    // from its upper half adds as much to the checksum, with the carry around its end (RFC 1624).
    let old = bytes::u32_at(header, offset::TTL);
    let sum = old as u16;
    let sum = sum.wrapping_add(0x0100 + u16::from(sum >= 0xfeff));
    bytes::put_u32(header, offset::TTL, (old - 0x0100_0000) & 0xffff_0000 | u32::from(sum));
    true
}

/// A header without options as values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields {
    /// Differentiated services code point; only the lower 6 bits are written.
    pub dscp: u8,
    /// Explicit congestion notification; only the lower 2 bits are written.
    pub ecn: u8,
    /// Length of header and payload, in bytes.
    pub total_len: u16,
    /// Identification, which is common to the fragments of a packet.
    pub identification: u16,
    /// True if routers must not fragment the packet.
    pub dont_fragment: bool,
    /// True if more fragments follow.
    pub more_fragments: bool,
    /// Fragment offset, in units of 8 bytes; 13 bits are written.
    pub fragment_offset: u16,
    /// Time to live.
    pub ttl: u8,
    /// The protocol of the payload.
    pub protocol: u8,
    /// Source address.
    pub source: Ipv4Addr,
    /// Destination address.
    pub destination: Ipv4Addr,
}

impl Fields {
    /// Writes the complete header with its checksum.
    #[inline]
    pub fn emit(&self, header: &mut [u8; HEADER_LEN]) {
        let dont_fragment = u16::from(self.dont_fragment) * FLAG_DONT_FRAGMENT;
        let more_fragments = u16::from(self.more_fragments) * FLAG_MORE_FRAGMENTS;
        let fragment_offset = self.fragment_offset & FRAGMENT_OFFSET_MASK;
        header[offset::VERSION_IHL] = VERSION_IHL;
        header[offset::DSCP_ECN] = self.dscp << 2 | self.ecn & 0x03;
        bytes::put_u16(header, offset::TOTAL_LEN, self.total_len);
        bytes::put_u16(header, offset::IDENTIFICATION, self.identification);
        let flags_fragment = dont_fragment | more_fragments | fragment_offset;
        bytes::put_u16(header, offset::FLAGS_FRAGMENT, flags_fragment);
        header[offset::TTL] = self.ttl;
        header[offset::PROTOCOL] = self.protocol;
        bytes::put_u16(header, offset::CHECKSUM, 0);
        bytes::put_array(header, offset::SOURCE, self.source.octets());
        bytes::put_array(header, offset::DESTINATION, self.destination.octets());
        let sum = checksum::header_checksum(header);
        bytes::put_u16(header, offset::CHECKSUM, sum);
    }
}

/// Length of the header with its options, in bytes, from its first byte.
#[inline]
const fn header_len(version_ihl: u8) -> usize {
    (version_ihl & 0x0f) as usize * 4
}

/// The law of this module.
pub const LAW: Law = Law { name: "ipv4", holds: law, examples: &[] };

/// IPv4: what is accepted is written back the same, and setters keep the checksum right.
fn law(data: &[u8]) {
    let Ok(view) = View::parse_without_checksum(data) else { return };
    assert_eq!(view.header_len() + view.payload().len(), usize::from(view.total_len()));
    assert!(view.options().count() <= HEADER_LEN_MAX);
    black_box((view.is_fragment(), view.has_options(), view.checksum()));
    let is_valid = view.checksum_is_valid();
    assert_eq!(View::parse(data).is_ok(), is_valid);

    // A right checksum makes the rest of the code reachable.
    let mut packet = data.to_vec();
    packet[offset::CHECKSUM..][..2].fill(0);
    let sum = checksum::checksum(&packet[..view.header_len()]);
    packet[offset::CHECKSUM..][..2].copy_from_slice(&sum.to_be_bytes());
    let view = View::parse(&packet).expect("only the checksum was wrong");
    let has_reserved_flag = packet[offset::FLAGS_FRAGMENT] & 0x80 != 0;
    if !view.has_options() && !has_reserved_flag {
        let mut written = [0; HEADER_LEN];
        view.fields().emit(&mut written);
        assert_eq!(written, packet[..HEADER_LEN]);
    }

    let (source, destination, ttl) = (view.source(), view.destination(), view.ttl());
    let mut changed = ViewMut::parse(&mut packet).expect("accepted before");
    changed.set_source(destination);
    changed.set_destination(Ipv4Addr::BROADCAST);
    changed.set_source(source);
    changed.set_dscp(46);
    assert_eq!(changed.decrement_ttl(), ttl > 1);
    assert!(changed.as_view().checksum_is_valid());
    changed.set_destination(destination);
    assert!(View::parse(&packet).is_ok());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol;

    /// A UDP packet from 192.168.0.1 to 192.168.0.199 with two bytes of payload and one of padding.
    const PACKET: [u8; 23] = [
        0x45, 0xb9, 0x00, 0x16, 0x12, 0x34, 0x40, 0x00, 0x40, 0x11, 0xa5, 0xd1, 0xc0, 0xa8, 0x00,
        0x01, 0xc0, 0xa8, 0x00, 0xc7, 0xca, 0xfe, 0x00,
    ];

    /// Returns the packet with options in front of its payload and updated lengths.
    fn with_options(options: &[u8]) -> Vec<u8> {
        let mut packet = [&PACKET[..HEADER_LEN], options, &PACKET[HEADER_LEN..22]].concat();
        packet[offset::VERSION_IHL] += (options.len() / 4) as u8;
        packet[offset::TOTAL_LEN + 1] += options.len() as u8;
        bytes::put_u16(&mut packet, offset::CHECKSUM, 0);
        let sum = checksum::checksum(&packet[..HEADER_LEN + options.len()]);
        bytes::put_u16(&mut packet, offset::CHECKSUM, sum);
        packet
    }

    /// Returns the error of the packet with one byte changed.
    fn error_with(at: usize, value: u8) -> Malformed {
        let mut packet = PACKET;
        packet[at] = value;
        View::parse(&packet).unwrap_err()
    }

    #[test]
    fn reads_every_field() {
        let view = View::parse(&PACKET).unwrap();
        assert_eq!(view.header_len(), HEADER_LEN);
        assert_eq!((view.dscp(), view.ecn()), (46, 1));
        assert_eq!(view.total_len(), 22);
        assert_eq!(view.identification(), 0x1234);
        assert!(view.dont_fragment() && !view.more_fragments() && !view.is_fragment());
        assert_eq!(view.fragment_offset(), 0);
        assert_eq!((view.ttl(), view.protocol()), (64, protocol::UDP));
        assert_eq!(view.checksum(), 0xa5d1);
        assert_eq!(view.source(), Ipv4Addr::new(192, 168, 0, 1));
        assert_eq!(view.destination(), Ipv4Addr::new(192, 168, 0, 199));
        assert!(!view.has_options());
        assert_eq!(view.options().count(), 0);
        assert_eq!(view.payload(), [0xca, 0xfe]);
    }

    #[test]
    fn names_what_is_wrong() {
        for len in 0..22 {
            assert_eq!(View::parse(&PACKET[..len]).unwrap_err(), Malformed::Truncated);
        }
        assert_eq!(error_with(offset::VERSION_IHL, 0x65), Malformed::BadVersion);
        assert_eq!(error_with(offset::VERSION_IHL, 0x44), Malformed::BadHeaderLength);
        assert_eq!(error_with(offset::VERSION_IHL, 0x46), Malformed::BadTotalLength);
        assert_eq!(error_with(offset::TOTAL_LEN + 1, 19), Malformed::BadTotalLength);
        assert_eq!(error_with(offset::TOTAL_LEN + 1, 24), Malformed::Truncated);
        assert_eq!(error_with(offset::TTL, 63), Malformed::BadChecksum);
        let mut packet = PACKET;
        packet[offset::CHECKSUM] = 0;
        assert!(View::parse_without_checksum(&packet).is_ok());
    }

    #[test]
    fn reads_fragments() {
        let mut fields = View::parse(&PACKET).unwrap().fields();
        for (more_fragments, fragment_offset) in [(true, 0), (true, 185), (false, 0x1fff)] {
            fields = Fields { more_fragments, fragment_offset, ..fields };
            let mut packet = PACKET;
            fields.emit(packet.first_chunk_mut().unwrap());
            let view = View::parse(&packet).unwrap();
            assert!(view.is_fragment());
            assert_eq!(view.fields(), fields);
        }
    }

    #[test]
    fn reads_options() {
        let packet = with_options(&[1, 148, 4, 0, 0, 7, 3, 4, 0, 9, 9, 9]);
        let view = View::parse(&packet).unwrap();
        assert!(view.has_options());
        assert_eq!(view.header_len(), 32);
        assert_eq!(view.payload(), [0xca, 0xfe]);
        let options: Result<Vec<_>, _> = view.options().collect();
        let expected = [
            HeaderOption { kind: OPTION_NO_OPERATION, data: &[] },
            HeaderOption { kind: OPTION_ROUTER_ALERT, data: &[0, 0] },
            HeaderOption { kind: 7, data: &[4] },
        ];
        assert_eq!(options.unwrap(), expected);
    }

    #[test]
    fn stops_at_a_malformed_option() {
        for options in [[1, 1, 1, 7], [7, 0, 1, 1], [7, 1, 1, 1], [7, 5, 1, 1]] {
            let packet = with_options(&options);
            let last = View::parse(&packet).unwrap().options().last();
            assert_eq!(last, Some(Err(Malformed::BadOption)));
        }
    }

    #[test]
    fn setters_keep_the_checksum_right() {
        for mut packet in [PACKET.to_vec(), with_options(&[1, 1, 1, 0])] {
            let mut view = ViewMut::parse(&mut packet).unwrap();
            view.set_dscp(10);
            view.set_source(Ipv4Addr::new(3, 3, 0, 1));
            view.set_destination(Ipv4Addr::new(2, 0, 1, 2));
            assert!(view.decrement_ttl());
            view.payload_mut().fill(7);
            let view = View::parse(&packet).unwrap();
            assert_eq!((view.dscp(), view.ecn(), view.ttl()), (10, 1, 63));
            assert_eq!(view.source(), Ipv4Addr::new(3, 3, 0, 1));
            assert_eq!(view.destination(), Ipv4Addr::new(2, 0, 1, 2));
            assert_eq!(view.payload(), [7, 7]);
        }
    }

    #[test]
    fn time_to_live_ends_at_one() {
        let mut header = *PACKET.first_chunk().unwrap();
        for left in (1..64).rev() {
            assert!(decrement_ttl(&mut header));
            assert_eq!(header[offset::TTL], left);
            assert!(checksum::header_is_valid(&header));
        }
        let last = header;
        assert!(!decrement_ttl(&mut header));
        assert_eq!(header, last);
        header[offset::TTL] = 0;
        assert!(!decrement_ttl(&mut header));
    }

    #[test]
    fn a_hop_changes_every_checksum_as_rfc_1624_says() {
        for sum in 0..=u16::MAX {
            for ttl in [2, 3, 64, 255] {
                let mut header: [u8; HEADER_LEN] = *PACKET.first_chunk().unwrap();
                header[offset::TTL] = ttl;
                bytes::put_u16(&mut header, offset::CHECKSUM, sum);
                let old = bytes::u16_at(&header, offset::TTL);
                let mut expected = header;
                expected[offset::TTL] -= 1;
                let new = bytes::u16_at(&expected, offset::TTL);
                let updated = checksum::update_u16(sum, old, new);
                bytes::put_u16(&mut expected, offset::CHECKSUM, updated);
                assert!(decrement_ttl(&mut header));
                assert_eq!(header, expected, "{sum:#x}, {ttl}");
            }
        }
    }

    #[test]
    fn emits_what_it_read() {
        let mut header = [0xff; HEADER_LEN];
        View::parse(&PACKET).unwrap().fields().emit(&mut header);
        assert_eq!(header, PACKET[..HEADER_LEN]);
    }
}
