//! The User Datagram Protocol (RFC 768; over IPv6 RFC 8200 section 8.1).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |          Source port          |       Destination port        |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |            Length             |           Checksum            |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! The checksum covers a pseudo-header too, so making a view does not check it; the `verify`
//! functions do. The rules of zero: a checksum of 0 means "none", and one that comes out as 0 is
//! sent as 0xffff. Over IPv4 a sender may leave it out (RFC 768); over IPv6 it must not (RFC 8200),
//! but for a tunnel between nodes that agreed on it (RFC 6935 and 6936), as GTP-U and VXLAN do.
//!
//! A checked datagram ends where its length says. **Not supported:** the length 0 of jumbograms.

use std::hint::black_box;
use std::net::{Ipv4Addr, Ipv6Addr};

use crate::bytes;
use crate::checksum::{self, Sum};
use crate::protocol;
use crate::{Law, Malformed};

/// Length of the header in bytes.
pub const HEADER_LEN: usize = 8;
/// The checksum field of a datagram without checksum.
pub const CHECKSUM_NONE: u16 = 0;

/// Offsets of the fields, in bytes from the start of the header.
pub mod offset {
    /// Source port, 2 bytes.
    pub const SOURCE_PORT: usize = 0;
    /// Destination port, 2 bytes.
    pub const DESTINATION_PORT: usize = 2;
    /// Length of header and payload in bytes, 2 bytes.
    pub const LENGTH: usize = 4;
    /// Checksum, 2 bytes.
    pub const CHECKSUM: usize = 6;
}

/// A validated datagram; the checksum is not checked.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    header: &'a [u8; HEADER_LEN],
    payload: &'a [u8],
}

impl<'a> View<'a> {
    /// Checks that the length covers the header and does not exceed the available bytes.
    ///
    /// # Errors
    /// [`Malformed::Truncated`], [`Malformed::BadTotalLength`].
    #[inline]
    pub fn parse(datagram: &'a [u8]) -> Result<Self, Malformed> {
        let (header, rest) =
            datagram.split_first_chunk::<HEADER_LEN>().ok_or(Malformed::Truncated)?;
        let length = usize::from(bytes::u16_at(header, offset::LENGTH));
        let payload_len = length.checked_sub(HEADER_LEN).ok_or(Malformed::BadTotalLength)?;
        let payload = rest.get(..payload_len).ok_or(Malformed::Truncated)?;
        Ok(Self { header, payload })
    }

    /// Source port; 0 if no answer is expected.
    #[inline]
    pub fn source_port(&self) -> u16 {
        bytes::u16_at(self.header, offset::SOURCE_PORT)
    }

    /// Destination port.
    #[inline]
    pub fn destination_port(&self) -> u16 {
        bytes::u16_at(self.header, offset::DESTINATION_PORT)
    }

    /// Length of header and payload, in bytes.
    #[inline]
    pub fn length(&self) -> u16 {
        bytes::u16_at(self.header, offset::LENGTH)
    }

    /// Checksum field; [`CHECKSUM_NONE`] if the sender did not compute it.
    #[inline]
    pub fn checksum(&self) -> u16 {
        bytes::u16_at(self.header, offset::CHECKSUM)
    }

    /// Verifies the checksum over IPv4, where a datagram without checksum is valid.
    ///
    /// # Errors
    /// [`Malformed::BadChecksum`].
    #[inline]
    pub fn verify_ipv4(&self, source: Ipv4Addr, destination: Ipv4Addr) -> Result<(), Malformed> {
        self.verify_or_none(|| pseudo_header_ipv4(source, destination))
    }

    /// Verifies the checksum over IPv6, where it must be present.
    ///
    /// # Errors
    /// [`Malformed::BadChecksum`].
    #[inline]
    pub fn verify_ipv6(&self, source: Ipv6Addr, destination: Ipv6Addr) -> Result<(), Malformed> {
        self.verify(pseudo_header_ipv6(source, destination))
    }

    /// Verifies the checksum over IPv6 of a tunnel, in which it is optional (RFC 6936 section 4).
    ///
    /// # Errors
    /// [`Malformed::BadChecksum`].
    #[inline]
    pub fn verify_ipv6_tunnel(
        &self,
        source: Ipv6Addr,
        destination: Ipv6Addr,
    ) -> Result<(), Malformed> {
        self.verify_or_none(|| pseudo_header_ipv6(source, destination))
    }

    /// Payload after the header.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// The header as values.
    #[inline]
    pub fn fields(&self) -> Fields {
        Fields {
            source_port: self.source_port(),
            destination_port: self.destination_port(),
            length: self.length(),
            checksum: self.checksum(),
        }
    }

    #[inline]
    fn verify_or_none(&self, pseudo_header: impl FnOnce() -> Sum) -> Result<(), Malformed> {
        if self.checksum() == CHECKSUM_NONE {
            return Ok(());
        }
        self.verify(pseudo_header())
    }

    #[inline]
    fn verify(&self, pseudo_header: Sum) -> Result<(), Malformed> {
        let sum = sum_without_checksum(pseudo_header, self.header, self.payload);
        // A checksum of 0 fails by itself: the sum would have to be 0xffff, which is sent as
        // 0xffff and not as 0.
        if sum_to_field(sum) != self.checksum() {
            return Err(Malformed::BadChecksum);
        }
        Ok(())
    }
}

/// A validated datagram that can be changed. Only [`set_checksum`](Self::set_checksum) changes the
/// checksum; [`update_u16`] and [`update_u32`] compute it.
#[derive(Debug)]
pub struct ViewMut<'a> {
    header: &'a mut [u8; HEADER_LEN],
    payload: &'a mut [u8],
}

impl<'a> ViewMut<'a> {
    /// Checks the datagram like [`View::parse`], with the same errors.
    #[inline]
    pub fn parse(datagram: &'a mut [u8]) -> Result<Self, Malformed> {
        let payload_len = View::parse(datagram)?.payload.len();
        let (header, rest) = datagram.split_first_chunk_mut().ok_or(Malformed::Truncated)?;
        let (payload, _surplus) = rest.split_at_mut(payload_len);
        Ok(Self { header, payload })
    }

    /// Returns a read-only view of the datagram.
    #[inline]
    pub fn as_view(&self) -> View<'_> {
        View { header: self.header, payload: self.payload }
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
    /// Length of header and payload, in bytes.
    pub length: u16,
    /// The checksum, from [`checksum_ipv4`] or [`checksum_ipv6`], or [`CHECKSUM_NONE`].
    pub checksum: u16,
}

impl Fields {
    /// Writes the complete header.
    #[inline]
    pub fn emit(&self, header: &mut [u8; HEADER_LEN]) {
        bytes::put_u16(header, offset::SOURCE_PORT, self.source_port);
        bytes::put_u16(header, offset::DESTINATION_PORT, self.destination_port);
        bytes::put_u16(header, offset::LENGTH, self.length);
        bytes::put_u16(header, offset::CHECKSUM, self.checksum);
    }
}

/// Returns the checksum of a datagram over IPv4; its present checksum field is ignored.
#[inline]
pub fn checksum_ipv4(
    source: Ipv4Addr,
    destination: Ipv4Addr,
    header: &[u8; HEADER_LEN],
    payload: &[u8],
) -> u16 {
    let pseudo_header = pseudo_header_ipv4(source, destination);
    sum_to_field(sum_without_checksum(pseudo_header, header, payload))
}

/// Returns the checksum of a datagram over IPv6; its present checksum field is ignored.
#[inline]
pub fn checksum_ipv6(
    source: Ipv6Addr,
    destination: Ipv6Addr,
    header: &[u8; HEADER_LEN],
    payload: &[u8],
) -> u16 {
    let pseudo_header = pseudo_header_ipv6(source, destination);
    sum_to_field(sum_without_checksum(pseudo_header, header, payload))
}

/// Returns the checksum field after a covered 16-bit word changed; [`CHECKSUM_NONE`] is unchanged.
#[inline]
#[must_use]
pub const fn update_u16(checksum: u16, old: u16, new: u16) -> u16 {
    match checksum {
        CHECKSUM_NONE => CHECKSUM_NONE,
        _ => never_none(checksum::update_u16(checksum, old, new)),
    }
}

/// Returns the checksum field after a covered, aligned 32-bit field changed; [`CHECKSUM_NONE`] is
/// unchanged.
#[inline]
#[must_use]
pub const fn update_u32(checksum: u16, old: u32, new: u32) -> u16 {
    match checksum {
        CHECKSUM_NONE => CHECKSUM_NONE,
        _ => never_none(checksum::update_u32(checksum, old, new)),
    }
}

/// Returns the sum of addresses and protocol of the pseudo header of RFC 768, without the length.
#[inline]
fn pseudo_header_ipv4(source: Ipv4Addr, destination: Ipv4Addr) -> Sum {
    let addresses = Sum::ZERO.add_u32(source.to_bits()).add_u32(destination.to_bits());
    addresses.add_u16(u16::from(protocol::UDP))
}

/// Returns the sum of addresses and protocol of the pseudo header of RFC 8200 section 8.1, without
/// the length.
#[inline]
fn pseudo_header_ipv6(source: Ipv6Addr, destination: Ipv6Addr) -> Sum {
    let addresses = Sum::ZERO.add_bytes(&source.octets()).add_bytes(&destination.octets());
    addresses.add_u16(u16::from(protocol::UDP))
}

/// Returns the sum of all bytes that the checksum covers, without the checksum itself.
#[inline]
fn sum_without_checksum(pseudo_header: Sum, header: &[u8; HEADER_LEN], payload: &[u8]) -> Sum {
    let length = bytes::u16_at(header, offset::LENGTH);
    // The length stands in the pseudo-header and in the header.
    let numbers = pseudo_header.add_u16(length).add_u16(length);
    numbers.add_u32(bytes::u32_at(header, offset::SOURCE_PORT)).add_bytes(payload)
}

/// Returns the value of the checksum field for this sum.
#[inline]
fn sum_to_field(sum: Sum) -> u16 {
    never_none(sum.checksum())
}

/// Returns 0xffff for a computed checksum of zero, because zero means that there is no checksum.
#[inline]
const fn never_none(checksum: u16) -> u16 {
    if checksum == CHECKSUM_NONE { 0xffff } else { checksum }
}

/// The law of this module.
pub const LAW: Law = Law { name: "udp", holds: law, examples: &[] };

/// UDP: what is accepted is written back the same, and a computed checksum is right.
fn law(data: &[u8]) {
    let Ok(view) = View::parse(data) else { return };
    let mut written = [0; HEADER_LEN];
    view.fields().emit(&mut written);
    assert_eq!(written, data[..HEADER_LEN]);
    assert_eq!(HEADER_LEN + view.payload().len(), usize::from(view.length()));

    let (ipv4, ipv6) = (Ipv4Addr::LOCALHOST, Ipv6Addr::LOCALHOST);
    let _ = black_box((view.verify_ipv4(ipv4, ipv4), view.verify_ipv6(ipv6, ipv6)));
    let _ = black_box(view.verify_ipv6_tunnel(ipv6, ipv6));
    let mut datagram = data.to_vec();
    let mut changed = ViewMut::parse(&mut datagram).expect("accepted before");
    changed.set_checksum(checksum_ipv4(ipv4, ipv4, &written, view.payload()));
    assert_eq!(changed.as_view().verify_ipv4(ipv4, ipv4), Ok(()));
    changed.set_checksum(checksum_ipv6(ipv6, ipv6, &written, view.payload()));
    assert_eq!(changed.as_view().verify_ipv6(ipv6, ipv6), Ok(()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SOURCE: Ipv4Addr = Ipv4Addr::new(152, 1, 51, 27);
    const DESTINATION: Ipv4Addr = Ipv4Addr::new(152, 14, 94, 75);
    /// A datagram whose checksum was computed by hand, with one surplus byte.
    const DATAGRAM: [u8; 11] = [0xa0, 0x8f, 0x26, 0x94, 0x00, 0x0a, 0x14, 0xde, 0x62, 0x62, 0xff];

    /// Returns the checksum of pseudo header and datagram, computed from all their bytes.
    fn slow_checksum(addresses: &[u8], datagram: &[u8]) -> u16 {
        let mut message = addresses.to_vec();
        message.extend((datagram.len() as u32).to_be_bytes());
        message.extend([0, 0, 0, protocol::UDP]);
        message.extend(datagram);
        let mut sum = 0u32;
        for pair in message.chunks(2) {
            sum += u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0));
            sum = (sum >> 16) + (sum & 0xffff);
        }
        if sum == 0xffff { 0xffff } else { !(sum as u16) }
    }

    #[test]
    fn reads_every_field() {
        let view = View::parse(&DATAGRAM).unwrap();
        assert_eq!((view.source_port(), view.destination_port()), (41103, 9876));
        assert_eq!((view.length(), view.checksum()), (10, 0x14de));
        assert_eq!(view.payload(), [0x62, 0x62]);
        assert_eq!(view.verify_ipv4(SOURCE, DESTINATION), Ok(()));
        assert_eq!(view.verify_ipv4(SOURCE, SOURCE), Err(Malformed::BadChecksum));
    }

    #[test]
    fn names_what_is_wrong() {
        for len in 0..10 {
            assert_eq!(View::parse(&DATAGRAM[..len]).unwrap_err(), Malformed::Truncated);
        }
        let mut datagram = DATAGRAM;
        for length in 0..8 {
            datagram[5] = length;
            assert_eq!(View::parse(&datagram).unwrap_err(), Malformed::BadTotalLength);
        }
        datagram[5] = 12;
        assert_eq!(View::parse(&datagram).unwrap_err(), Malformed::Truncated);
    }

    #[test]
    fn no_checksum_is_right_where_it_may_be_left_out() {
        let mut datagram = DATAGRAM;
        ViewMut::parse(&mut datagram).unwrap().set_checksum(CHECKSUM_NONE);
        let view = View::parse(&datagram).unwrap();
        let [source, destination] = [SOURCE, DESTINATION].map(|a| a.to_ipv6_mapped());
        assert_eq!(view.verify_ipv4(SOURCE, DESTINATION), Ok(()));
        assert_eq!(view.verify_ipv6_tunnel(source, destination), Ok(()));
        assert_eq!(view.verify_ipv6(source, destination), Err(Malformed::BadChecksum));
        assert_eq!(update_u16(CHECKSUM_NONE, 1, 2), CHECKSUM_NONE);
        assert_eq!(update_u32(CHECKSUM_NONE, 1, 2), CHECKSUM_NONE);
    }

    #[test]
    fn zero_is_sent_as_all_ones() {
        // 17 + 8 + 8 + port must fold to 0xffff.
        let any = Ipv4Addr::UNSPECIFIED;
        let mut header = [0; HEADER_LEN];
        let source_port = 0xffff - 17 - 8 - 8;
        Fields { source_port, destination_port: 0, length: 8, checksum: 0 }.emit(&mut header);
        assert_eq!(checksum_ipv4(any, any, &header, &[]), 0xffff);
        assert_eq!(
            checksum_ipv6(any.to_ipv6_compatible(), Ipv6Addr::UNSPECIFIED, &header, &[]),
            0xffff
        );
        bytes::put_u16(&mut header, offset::CHECKSUM, 0xffff);
        assert_eq!(View::parse(&header).unwrap().verify_ipv4(any, any), Ok(()));
        // From a port one higher, the update comes out as zero.
        header[1] += 1;
        let sum = checksum_ipv4(any, any, &header, &[]);
        assert_eq!(update_u16(sum, source_port + 1, source_port), 0xffff);
    }

    #[test]
    fn changes_what_is_set_and_nothing_else() {
        let mut datagram = DATAGRAM;
        let mut view = ViewMut::parse(&mut datagram).unwrap();
        view.set_source_port(1);
        view.set_destination_port(2);
        view.set_checksum(3);
        view.payload_mut().fill(4);
        assert_eq!(view.as_view().destination_port(), 2);
        assert_eq!(datagram, [0, 1, 0, 2, 0, 10, 0, 3, 4, 4, 0xff]);
    }

    #[test]
    fn emits_what_it_read() {
        let mut header = [0; HEADER_LEN];
        View::parse(&DATAGRAM).unwrap().fields().emit(&mut header);
        assert_eq!(header, DATAGRAM[..HEADER_LEN]);
    }

    proptest! {
        #[test]
        fn checksum_equals_the_slow_checksum(
            source in any::<Ipv6Addr>(),
            destination in any::<Ipv6Addr>(),
            ports in any::<(u16, u16)>(),
            payload in prop::collection::vec(any::<u8>(), 0..80),
        ) {
            let length = (HEADER_LEN + payload.len()) as u16;
            let (source_port, destination_port) = ports;
            let mut header = [0; HEADER_LEN];
            Fields { source_port, destination_port, length, checksum: 0 }.emit(&mut header);
            let datagram = [&header[..], &payload].concat();

            let addresses = [source.octets(), destination.octets()].concat();
            let sum = checksum_ipv6(source, destination, &header, &payload);
            prop_assert_eq!(sum, slow_checksum(&addresses, &datagram));

            let [a, b] = [source, destination].map(|ip| Ipv4Addr::from_bits(ip.to_bits() as u32));
            let addresses = [a.octets(), b.octets()].concat();
            let sum = checksum_ipv4(a, b, &header, &payload);
            prop_assert_eq!(sum, slow_checksum(&addresses, &datagram));
        }

        #[test]
        fn incremental_equals_recomputed(
            addresses in any::<(Ipv4Addr, Ipv4Addr, Ipv4Addr)>(),
            mut header in any::<[u8; HEADER_LEN]>(),
            new_port in any::<u16>(),
            payload in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let (source, destination, new_source) = addresses;
            let before = checksum_ipv4(source, destination, &header, &payload);
            let updated = update_u32(before, source.to_bits(), new_source.to_bits());
            prop_assert_eq!(updated, checksum_ipv4(new_source, destination, &header, &payload));

            let old_port = bytes::u16_at(&header, offset::SOURCE_PORT);
            bytes::put_u16(&mut header, offset::SOURCE_PORT, new_port);
            let updated = update_u16(updated, old_port, new_port);
            prop_assert_eq!(updated, checksum_ipv4(new_source, destination, &header, &payload));
        }
    }
}
