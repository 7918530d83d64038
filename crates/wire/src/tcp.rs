//! The Transmission Control Protocol: its header (RFC 9293 section 3.1).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |          Source port          |       Destination port        |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                        Sequence number                        |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                    Acknowledgment number                      |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! | Offset| Rsrvd |C|E|U|A|P|R|S|F|            Window             |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |           Checksum            |        Urgent pointer         |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                  Options (offset - 5 words)                   |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! The checksum covers a pseudo-header too, so making a view does not check it; the `verify`
//! functions do. A segment ends where the packet around it ends: it states no length of its own.
//! **Not supported:** the reserved bits and emitting options.

use std::hint::black_box;
use std::net::{Ipv4Addr, Ipv6Addr};

use crate::bytes;
use crate::checksum::{self, Sum};
use crate::protocol;
use crate::{Law, Malformed};

/// Length of the header without options, in bytes.
pub const HEADER_LEN: usize = 20;
/// The longest header, with options, in bytes.
pub const HEADER_LEN_MAX: usize = 60;

/// Control bit FIN: no more data from the sender.
pub const FLAG_FIN: u8 = 0x01;
/// Control bit SYN: synchronize sequence numbers.
pub const FLAG_SYN: u8 = 0x02;
/// Control bit RST: reset the connection.
pub const FLAG_RST: u8 = 0x04;
/// Control bit PSH: push function.
pub const FLAG_PSH: u8 = 0x08;
/// Control bit ACK: the acknowledgment number is valid.
pub const FLAG_ACK: u8 = 0x10;
/// Control bit URG: the urgent pointer is valid.
pub const FLAG_URG: u8 = 0x20;
/// Control bit ECE: ECN-echo (RFC 3168).
pub const FLAG_ECE: u8 = 0x40;
/// Control bit CWR: congestion window reduced (RFC 3168).
pub const FLAG_CWR: u8 = 0x80;

/// Option: end of the list (section 3.2).
pub const OPTION_END: u8 = 0;
/// Option: padding of one byte.
pub const OPTION_NO_OPERATION: u8 = 1;
/// Option: maximum segment size, 2 bytes (section 3.7.1).
pub const OPTION_MAXIMUM_SEGMENT_SIZE: u8 = 2;

/// Offsets of the fields, in bytes from the start of the header.
pub mod offset {
    /// Source port, 2 bytes.
    pub const SOURCE_PORT: usize = 0;
    /// Destination port, 2 bytes.
    pub const DESTINATION_PORT: usize = 2;
    /// Sequence number, 4 bytes.
    pub const SEQUENCE: usize = 4;
    /// Acknowledgment number, 4 bytes.
    pub const ACKNOWLEDGMENT: usize = 8;
    /// Header length in words and reserved bits, 1 byte.
    pub const DATA_OFFSET: usize = 12;
    /// Control bits, 1 byte.
    pub const FLAGS: usize = 13;
    /// Window, 2 bytes.
    pub const WINDOW: usize = 14;
    /// Checksum, 2 bytes.
    pub const CHECKSUM: usize = 16;
    /// Urgent pointer, 2 bytes.
    pub const URGENT: usize = 18;
}

/// A validated segment; the checksum is not checked.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    header: &'a [u8; HEADER_LEN],
    options: &'a [u8],
    payload: &'a [u8],
}

impl<'a> View<'a> {
    /// Checks that the header with its options is complete.
    ///
    /// # Errors
    /// [`Malformed::Truncated`], [`Malformed::BadHeaderLength`].
    #[inline]
    pub fn parse(segment: &'a [u8]) -> Result<Self, Malformed> {
        let (header, rest) =
            segment.split_first_chunk::<HEADER_LEN>().ok_or(Malformed::Truncated)?;
        let options_len =
            header_len(header).checked_sub(HEADER_LEN).ok_or(Malformed::BadHeaderLength)?;
        let (options, payload) = rest.split_at_checked(options_len).ok_or(Malformed::Truncated)?;
        Ok(Self { header, options, payload })
    }

    /// Length of the header with its options, in bytes.
    #[inline]
    pub fn header_len(&self) -> usize {
        HEADER_LEN + self.options.len()
    }

    /// Source port.
    #[inline]
    pub fn source_port(&self) -> u16 {
        bytes::u16_at(self.header, offset::SOURCE_PORT)
    }

    /// Destination port.
    #[inline]
    pub fn destination_port(&self) -> u16 {
        bytes::u16_at(self.header, offset::DESTINATION_PORT)
    }

    /// The sequence number of the first byte, or of the SYN.
    #[inline]
    pub fn sequence(&self) -> u32 {
        bytes::u32_at(self.header, offset::SEQUENCE)
    }

    /// Acknowledgment number: the next expected sequence number; valid with [`FLAG_ACK`] only.
    #[inline]
    pub fn acknowledgment(&self) -> u32 {
        bytes::u32_at(self.header, offset::ACKNOWLEDGMENT)
    }

    /// The control bits.
    #[inline]
    pub fn flags(&self) -> u8 {
        self.header[offset::FLAGS]
    }

    /// Window in bytes, before scaling (RFC 7323).
    #[inline]
    pub fn window(&self) -> u16 {
        bytes::u16_at(self.header, offset::WINDOW)
    }

    /// Checksum field.
    #[inline]
    pub fn checksum(&self) -> u16 {
        bytes::u16_at(self.header, offset::CHECKSUM)
    }

    /// Urgent pointer: the end of urgent data; valid with [`FLAG_URG`] only.
    #[inline]
    pub fn urgent(&self) -> u16 {
        bytes::u16_at(self.header, offset::URGENT)
    }

    /// Iterates over the options, which are checked on the way.
    #[inline]
    pub fn options(&self) -> Options<'a> {
        Options { at: 0, options: self.options }
    }

    /// Returns the maximum segment size, if the option is present and well-formed.
    #[inline]
    pub fn maximum_segment_size(&self) -> Option<u16> {
        let at = maximum_segment_size_at(self.options)?;
        Some(bytes::u16_at(self.options, at))
    }

    /// Payload after the header.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// Verifies the checksum over IPv4.
    ///
    /// # Errors
    /// [`Malformed::BadChecksum`].
    #[inline]
    pub fn verify_ipv4(&self, source: Ipv4Addr, destination: Ipv4Addr) -> Result<(), Malformed> {
        self.verify(addresses_ipv4(source, destination))
    }

    /// Verifies the checksum over IPv6.
    ///
    /// # Errors
    /// [`Malformed::BadChecksum`].
    #[inline]
    pub fn verify_ipv6(&self, source: Ipv6Addr, destination: Ipv6Addr) -> Result<(), Malformed> {
        self.verify(addresses_ipv6(source, destination))
    }

    /// The header as values, without its options and reserved bits.
    #[inline]
    pub fn fields(&self) -> Fields {
        Fields {
            source_port: self.source_port(),
            destination_port: self.destination_port(),
            sequence: self.sequence(),
            acknowledgment: self.acknowledgment(),
            header_len: self.header_len() as u8,
            flags: self.flags(),
            window: self.window(),
            checksum: self.checksum(),
            urgent: self.urgent(),
        }
    }

    #[inline]
    fn verify(&self, addresses: Sum) -> Result<(), Malformed> {
        let len = self.header_len() + self.payload.len();
        let sum = pseudo_header(addresses, len)
            .add_header(self.header)
            .add_bytes(self.options)
            .add_bytes(self.payload);
        if sum.fold() == 0xffff { Ok(()) } else { Err(Malformed::BadChecksum) }
    }
}

/// An option of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeaderOption<'a> {
    /// The kind.
    pub kind: u8,
    /// Data after the length byte; empty for options of one byte.
    pub data: &'a [u8],
}

/// Iterator over at most 40 options until the end of the list or the first malformed one.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    /// Offset of the next option.
    at: usize,
    options: &'a [u8],
}

impl<'a> Iterator for Options<'a> {
    type Item = Result<HeaderOption<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.options.get(self.at..)?;
        let (&kind, behind) = rest.split_first()?;
        if kind == OPTION_NO_OPERATION {
            self.at += 1;
            return Some(Ok(HeaderOption { kind, data: &[] }));
        }
        self.at = self.options.len();
        if kind == OPTION_END {
            return None;
        }
        // The length counts the kind and itself.
        let data_len = behind.first().and_then(|&len| usize::from(len).checked_sub(2));
        let data = data_len.and_then(|len| behind.get(1..)?.get(..len));
        Some(data.ok_or(Malformed::BadOption).map(|data| {
            self.at -= rest.len() - 2 - data.len();
            HeaderOption { kind, data }
        }))
    }
}

/// A validated segment that can be changed. The caller must update the checksum after a change of
/// ports; [`set_maximum_segment_size`](Self::set_maximum_segment_size) updates it.
#[derive(Debug)]
pub struct ViewMut<'a> {
    header: &'a mut [u8; HEADER_LEN],
    options: &'a mut [u8],
    payload: &'a mut [u8],
}

impl<'a> ViewMut<'a> {
    /// Checks the segment like [`View::parse`], with the same errors.
    #[inline]
    pub fn parse(segment: &'a mut [u8]) -> Result<Self, Malformed> {
        let options_len = View::parse(segment)?.options.len();
        let (header, rest) = segment.split_first_chunk_mut().ok_or(Malformed::Truncated)?;
        let (options, payload) = rest.split_at_mut(options_len);
        Ok(Self { header, options, payload })
    }

    /// Returns a read-only view of the segment.
    #[inline]
    pub fn as_view(&self) -> View<'_> {
        View { header: self.header, options: self.options, payload: self.payload }
    }

    /// Sets the source port.
    #[inline]
    pub fn set_source_port(&mut self, port: u16) {
        bytes::put_u16(self.header, offset::SOURCE_PORT, port);
    }

    /// Sets the destination port.
    #[inline]
    pub fn set_destination_port(&mut self, port: u16) {
        bytes::put_u16(self.header, offset::DESTINATION_PORT, port);
    }

    /// Sets the checksum.
    #[inline]
    pub fn set_checksum(&mut self, checksum: u16) {
        bytes::put_u16(self.header, offset::CHECKSUM, checksum);
    }

    /// Sets the maximum segment size and updates the checksum. Returns false, without any change,
    /// if there is no such option.
    #[inline]
    pub fn set_maximum_segment_size(&mut self, size: u16) -> bool {
        let Some(at) = maximum_segment_size_at(self.options) else { return false };
        let (mut old, mut new) = (bytes::u16_at(self.options, at), size);
        bytes::put_u16(self.options, at, size);
        if !at.is_multiple_of(2) {
            // Across two words of the sum, its bytes have each other's places.
            (old, new) = (old.swap_bytes(), new.swap_bytes());
        }
        let sum = bytes::u16_at(self.header, offset::CHECKSUM);
        self.set_checksum(checksum::update_u16(sum, old, new));
        true
    }

    /// Payload after the header, mutable.
    #[inline]
    pub fn payload_mut(&mut self) -> &mut [u8] {
        self.payload
    }
}

/// A header as values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields {
    /// Source port.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
    /// The sequence number of the first byte, or of the SYN.
    pub sequence: u32,
    /// Acknowledgment number: the next expected sequence number.
    pub acknowledgment: u32,
    /// Length of the header with the options that follow, in bytes: 20, 24 … 60.
    pub header_len: u8,
    /// The control bits.
    pub flags: u8,
    /// Window in bytes, before scaling.
    pub window: u16,
    /// The checksum, from [`checksum_ipv4`] or [`checksum_ipv6`].
    pub checksum: u16,
    /// Urgent pointer: the end of urgent data.
    pub urgent: u16,
}

impl Fields {
    /// Writes the header up to its options, the reserved bits as zero.
    #[inline]
    pub fn emit(&self, header: &mut [u8; HEADER_LEN]) {
        bytes::put_u16(header, offset::SOURCE_PORT, self.source_port);
        bytes::put_u16(header, offset::DESTINATION_PORT, self.destination_port);
        bytes::put_u32(header, offset::SEQUENCE, self.sequence);
        bytes::put_u32(header, offset::ACKNOWLEDGMENT, self.acknowledgment);
        header[offset::DATA_OFFSET] = (self.header_len / 4) << 4;
        header[offset::FLAGS] = self.flags;
        bytes::put_u16(header, offset::WINDOW, self.window);
        bytes::put_u16(header, offset::CHECKSUM, self.checksum);
        bytes::put_u16(header, offset::URGENT, self.urgent);
    }
}

/// Returns the checksum of a whole segment over IPv4 whose checksum field is zero.
#[inline]
pub fn checksum_ipv4(source: Ipv4Addr, destination: Ipv4Addr, segment: &[u8]) -> u16 {
    let sum = pseudo_header(addresses_ipv4(source, destination), segment.len());
    sum.add_bytes(segment).checksum()
}

/// Returns the checksum of a whole segment over IPv6 whose checksum field is zero.
#[inline]
pub fn checksum_ipv6(source: Ipv6Addr, destination: Ipv6Addr, segment: &[u8]) -> u16 {
    let sum = pseudo_header(addresses_ipv6(source, destination), segment.len());
    sum.add_bytes(segment).checksum()
}

/// Returns the sum of the addresses of the pseudo header of section 3.1.
#[inline]
fn addresses_ipv4(source: Ipv4Addr, destination: Ipv4Addr) -> Sum {
    Sum::ZERO.add_u32(source.to_bits()).add_u32(destination.to_bits())
}

/// Returns the sum of the addresses of the pseudo header of RFC 8200 section 8.1.
#[inline]
fn addresses_ipv6(source: Ipv6Addr, destination: Ipv6Addr) -> Sum {
    Sum::ZERO.add_bytes(&source.octets()).add_bytes(&destination.octets())
}

/// Returns the sum of the pseudo header: addresses, length and protocol.
#[inline]
fn pseudo_header(addresses: Sum, len: usize) -> Sum {
    addresses.add_u32(len as u32).add_u16(u16::from(protocol::TCP))
}

/// Returns the offset of the value of the first maximum segment size option.
#[inline]
fn maximum_segment_size_at(options: &[u8]) -> Option<usize> {
    // Most senders write it first.
    if let Some([OPTION_MAXIMUM_SEGMENT_SIZE, 4, _, _]) = options.first_chunk::<4>() {
        return Some(2);
    }
    let mut all = Options { at: 0, options };
    while let Some(Ok(option)) = all.next() {
        if option.kind == OPTION_MAXIMUM_SEGMENT_SIZE && option.data.len() == 2 {
            return Some(all.at - 2);
        }
    }
    None
}

/// Length of the header with its options, in bytes.
#[inline]
const fn header_len(header: &[u8; HEADER_LEN]) -> usize {
    (header[offset::DATA_OFFSET] >> 4) as usize * 4
}

/// The law of this module.
pub const LAW: Law = Law { name: "tcp", holds: law, examples: &[] };

/// TCP: what is accepted is written back the same, a size that is set can be read, and a computed
/// checksum is right and stays so.
fn law(data: &[u8]) {
    let Ok(view) = View::parse(data) else { return };
    let mut written = [0; HEADER_LEN];
    view.fields().emit(&mut written);
    // The reserved bits are written as zero and need not have been.
    written[offset::DATA_OFFSET] |= data[offset::DATA_OFFSET] & 0x0f;
    assert_eq!(written, data[..HEADER_LEN]);
    assert_eq!(view.header_len() + view.payload().len(), data.len());
    assert!(view.options().count() <= HEADER_LEN_MAX - HEADER_LEN);

    let (ipv4, ipv6) = (Ipv4Addr::LOCALHOST, Ipv6Addr::LOCALHOST);
    let _ = black_box((view.verify_ipv4(ipv4, ipv4), view.verify_ipv6(ipv6, ipv6)));
    black_box(view.maximum_segment_size());
    let mut segment = data.to_vec();
    segment[offset::CHECKSUM..][..2].fill(0);
    let sums = [checksum_ipv4(ipv4, ipv4, &segment), checksum_ipv6(ipv6, ipv6, &segment)];
    let mut changed = ViewMut::parse(&mut segment).expect("accepted before");
    changed.set_checksum(sums[0]);
    assert_eq!(changed.as_view().verify_ipv4(ipv4, ipv4), Ok(()));
    changed.set_checksum(sums[1]);
    let is_set = changed.set_maximum_segment_size(1220);
    let view = changed.as_view();
    assert_eq!(view.verify_ipv6(ipv6, ipv6), Ok(()));
    assert_eq!(view.maximum_segment_size(), is_set.then_some(1220));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SOURCE: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
    const DESTINATION: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 2);
    const FIELDS: Fields = Fields {
        source_port: 49152,
        destination_port: 443,
        sequence: 0x0102_0304,
        acknowledgment: 0x0506_0708,
        header_len: 20,
        flags: FLAG_SYN | FLAG_ECE,
        window: 65535,
        checksum: 0xcafe,
        urgent: 9,
    };

    fn segment(options: &[u8], payload: &[u8]) -> Vec<u8> {
        let mut header = [0; HEADER_LEN];
        let header_len = (HEADER_LEN + options.len()) as u8;
        Fields { header_len, checksum: 0, ..FIELDS }.emit(&mut header);
        let mut segment = [&header[..], options, payload].concat();
        let sum = checksum_ipv4(SOURCE, DESTINATION, &segment);
        bytes::put_u16(&mut segment, offset::CHECKSUM, sum);
        segment
    }

    #[test]
    fn a_header_comes_back_as_it_was_written() {
        let mut header = [0xff; HEADER_LEN];
        FIELDS.emit(&mut header);
        let expected = [
            0xc0, 0x00, 0x01, 0xbb, 1, 2, 3, 4, 5, 6, 7, 8, 0x50, 0x42, 0xff, 0xff, 0xca, 0xfe, 0,
            9,
        ];
        assert_eq!(header, expected);
        let view = View::parse(&header).unwrap();
        assert_eq!((view.fields(), view.payload()), (FIELDS, &[][..]));
        assert_eq!((view.options().count(), view.maximum_segment_size()), (0, None));
    }

    #[test]
    fn names_what_is_wrong() {
        let segment = segment(&[2, 4, 5, 0xb4], &[]);
        for len in 0..24 {
            assert_eq!(View::parse(&segment[..len]).unwrap_err(), Malformed::Truncated);
        }
        let mut short = segment.clone();
        short[offset::DATA_OFFSET] = 0x4f;
        assert_eq!(View::parse(&short).unwrap_err(), Malformed::BadHeaderLength);
        let mut damaged = segment;
        damaged[7] ^= 1;
        let view = View::parse(&damaged).unwrap();
        assert_eq!(view.verify_ipv4(SOURCE, DESTINATION), Err(Malformed::BadChecksum));
    }

    #[test]
    fn reads_options_until_one_is_wrong() {
        let list = [1, 2, 4, 5, 0xb4, 8, 3, 7, 0, 9, 9, 9];
        let segment = segment(&list, &[0xaa]);
        let view = View::parse(&segment).unwrap();
        let kinds: Vec<_> = view.options().map(|option| option.unwrap().kind).collect();
        assert_eq!((kinds, view.payload()), (vec![1, 2, 8], &[0xaa][..]));
        assert_eq!(view.options().nth(2).unwrap().unwrap().data, [7]);
        assert_eq!(view.maximum_segment_size(), Some(1460));
        for bad in [[5, 0, 0, 0], [5, 1, 0, 0], [5, 5, 0, 0], [1, 1, 1, 5]] {
            let list = Options { at: 0, options: &bad };
            assert_eq!(list.clone().last(), Some(Err(Malformed::BadOption)), "{bad:?}");
            assert!(list.count() <= 4);
        }
    }

    #[test]
    fn a_size_that_is_not_there_is_not_set() {
        for options in [&[][..], &[0, 2, 4, 1], &[2, 3, 1, 1], &[3, 0, 2, 4, 1, 1, 0, 0]] {
            let mut segment = segment(options, &[]);
            let before = segment.clone();
            assert!(!ViewMut::parse(&mut segment).unwrap().set_maximum_segment_size(1));
            assert_eq!(segment, before);
        }
    }

    #[test]
    fn changes_what_is_set_and_nothing_else() {
        let mut segment = segment(&[], &[5]);
        let before = segment.clone();
        let mut view = ViewMut::parse(&mut segment).unwrap();
        view.set_source_port(1);
        view.set_destination_port(2);
        view.set_checksum(3);
        view.payload_mut().fill(4);
        assert_eq!(view.as_view().destination_port(), 2);
        let expected = [&[0, 1, 0, 2], &before[4..16], &[0, 3], &before[18..20], &[4]].concat();
        assert_eq!(segment, expected);
    }

    proptest! {
        #[test]
        fn a_size_set_leaves_the_checksum_right(
            padding in 0usize..4,
            old in any::<u16>(),
            new in any::<u16>(),
            payload in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let mut options = vec![OPTION_NO_OPERATION; padding];
            options.extend([OPTION_MAXIMUM_SEGMENT_SIZE, 4, (old >> 8) as u8, old as u8]);
            options.resize(8, OPTION_END);
            let mut segment = segment(&options, &payload);
            prop_assert_eq!(View::parse(&segment).unwrap().maximum_segment_size(), Some(old));
            let mut view = ViewMut::parse(&mut segment).unwrap();
            prop_assert!(view.set_maximum_segment_size(new));
            prop_assert_eq!(view.as_view().maximum_segment_size(), Some(new));
            prop_assert_eq!(view.as_view().verify_ipv4(SOURCE, DESTINATION), Ok(()));
        }

        #[test]
        fn a_checksum_over_ipv6_is_right(
            source in any::<Ipv6Addr>(),
            destination in any::<Ipv6Addr>(),
            payload in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let mut segment = segment(&[2, 4, 5, 0xb4], &payload);
            bytes::put_u16(&mut segment, offset::CHECKSUM, 0);
            let sum = checksum_ipv6(source, destination, &segment);
            bytes::put_u16(&mut segment, offset::CHECKSUM, sum);
            let view = View::parse(&segment).unwrap();
            prop_assert_eq!(view.verify_ipv6(source, destination), Ok(()));
        }
    }
}
