//! Virtual eXtensible Local Area Network (RFC 7348 section 5).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |R|R|R|R|I|R|R|R|                   Reserved                    |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |            VXLAN network identifier           |   Reserved    |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! The payload is an Ethernet frame without frame check sequence. Reserved bits are sent as zero
//! and ignored when received, as the RFC says. **Not supported:** the generic protocol extension
//! and group policies, which give meaning to reserved bits.

use crate::bytes;
use crate::{Law, Malformed};

/// Length of the header in bytes.
pub const HEADER_LEN: usize = 8;
/// The UDP port that IANA assigned.
pub const VXLAN_PORT: u16 = 4789;
/// Flag: the network identifier is valid.
pub const FLAG_VNI: u8 = 0x08;
/// Largest network identifier.
pub const VNI_MAX: u32 = 0x00ff_ffff;

/// Offsets of the fields, in bytes from the start of the header.
pub mod offset {
    /// Flags, 1 byte.
    pub const FLAGS: usize = 0;
    /// Network identifier, the upper 3 bytes of a 4-byte number.
    pub const VNI: usize = 4;
}

/// A validated packet.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    header: &'a [u8; HEADER_LEN],
    payload: &'a [u8],
}

impl<'a> View<'a> {
    /// Checks that the header is complete and its identifier valid.
    ///
    /// # Errors
    /// [`Malformed::Truncated`], [`Malformed::BadFlags`].
    #[inline]
    pub fn parse(packet: &'a [u8]) -> Result<Self, Malformed> {
        let (header, payload) =
            packet.split_first_chunk::<HEADER_LEN>().ok_or(Malformed::Truncated)?;
        if header[offset::FLAGS] & FLAG_VNI == 0 {
            return Err(Malformed::BadFlags);
        }
        Ok(Self { header, payload })
    }

    /// The network identifier, 24 bits.
    #[inline]
    pub fn vni(&self) -> u32 {
        bytes::u32_at(self.header, offset::VNI) >> 8
    }

    /// The Ethernet frame inside.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// The header as values.
    #[inline]
    pub fn fields(&self) -> Fields {
        Fields { vni: self.vni() }
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
        View::parse(packet)?;
        let (header, payload) = packet.split_first_chunk_mut().ok_or(Malformed::Truncated)?;
        Ok(Self { header, payload })
    }

    /// Returns a read-only view of the packet.
    #[inline]
    pub fn as_view(&self) -> View<'_> {
        View { header: self.header, payload: self.payload }
    }

    /// Sets the network identifier; only its lower 24 bits are used. The reserved byte after it
    /// becomes zero.
    #[inline]
    pub fn set_vni(&mut self, vni: u32) {
        bytes::put_u32(self.header, offset::VNI, vni << 8);
    }

    /// The Ethernet frame inside, mutable.
    #[inline]
    pub fn payload_mut(&mut self) -> &mut [u8] {
        self.payload
    }
}

/// A header as values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields {
    /// The network identifier; only the lower 24 bits are written.
    pub vni: u32,
}

impl Fields {
    /// Writes the complete header.
    #[inline]
    pub fn emit(&self, header: &mut [u8; HEADER_LEN]) {
        bytes::put_u32(header, offset::FLAGS, u32::from(FLAG_VNI) << 24);
        bytes::put_u32(header, offset::VNI, self.vni << 8);
    }
}

/// The law of this module.
pub const LAW: Law = Law { name: "vxlan", holds: law, examples: &[] };

/// VXLAN: what is accepted keeps its identifier and its payload.
fn law(data: &[u8]) {
    let Ok(view) = View::parse(data) else { return };
    let mut written = [0; HEADER_LEN];
    view.fields().emit(&mut written);
    let packet = [&written[..], view.payload()].concat();
    let again = View::parse(&packet).expect("what is emitted can be read");
    assert_eq!((again.fields(), again.payload()), (view.fields(), view.payload()));
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: [u8; 10] = [0x08, 0, 0, 0, 0x00, 0x02, 0x9a, 0, 0xaa, 0x22];

    #[test]
    fn reads_every_field() {
        let view = View::parse(&PACKET).unwrap();
        assert_eq!(view.vni(), 666);
        assert_eq!(view.payload(), [0xaa, 0x22]);
    }

    #[test]
    fn rejects_short_packets_and_a_clear_flag() {
        assert_eq!(View::parse(&PACKET[..7]).unwrap_err(), Malformed::Truncated);
        let mut packet = PACKET;
        packet[offset::FLAGS] = !FLAG_VNI;
        assert_eq!(View::parse(&packet).unwrap_err(), Malformed::BadFlags);
    }

    #[test]
    fn ignores_reserved_bits() {
        let packet = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe, 0xff];
        assert_eq!(View::parse(&packet).unwrap().vni(), VNI_MAX - 1);
    }

    #[test]
    fn changes_what_is_set_and_nothing_else() {
        let mut packet = PACKET;
        let mut view = ViewMut::parse(&mut packet).unwrap();
        view.set_vni(0x0102_0304);
        view.payload_mut().fill(9);
        assert_eq!(view.as_view().vni(), 0x0002_0304);
        assert_eq!(packet, [0x08, 0, 0, 0, 2, 3, 4, 0, 9, 9]);
    }

    #[test]
    fn emits_what_it_read() {
        let mut header = [0xff; HEADER_LEN];
        View::parse(&PACKET).unwrap().fields().emit(&mut header);
        assert_eq!(header, PACKET[..HEADER_LEN]);
    }
}
