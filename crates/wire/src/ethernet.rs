//! Ethernet II frames (IEEE 802.3 clause 3, with a type), without the frame check sequence.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                          Destination                          |
//! +                               +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                               |                               |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+            Source             +
//! |                                                               |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |             Type              |            Payload            |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! The payload may end in padding; the format inside says how long it is. **Not supported:** tags
//! (a tagged frame is a frame of type 0x8100 here) and 802.3 frames with a length, which are
//! [`Malformed::BadEtherType`].

use crate::bytes;
use crate::{Law, Malformed};

pub use crate::mac::MacAddr;

/// Length of the header in bytes.
pub const HEADER_LEN: usize = 14;

/// Length of a VLAN tag in bytes (IEEE 802.1Q clause 9.3).
pub const TAG_LEN: usize = 4;

/// The type of IPv4.
pub const TYPE_IPV4: u16 = 0x0800;
/// The type of ARP.
pub const TYPE_ARP: u16 = 0x0806;
/// The type of a customer VLAN tag (IEEE 802.1Q).
pub const TYPE_VLAN: u16 = 0x8100;
/// The type of IPv6.
pub const TYPE_IPV6: u16 = 0x86dd;
/// The type of a service VLAN tag (IEEE 802.1ad).
pub const TYPE_SERVICE_VLAN: u16 = 0x88a8;
/// Smallest value that is a type and not a length (IEEE 802.3 clause 3.2.6).
pub const TYPE_MIN: u16 = 0x0600;

/// Offsets of the fields, in bytes from the start of the header.
pub mod offset {
    /// Destination address, 6 bytes.
    pub const DESTINATION: usize = 0;
    /// Source address, 6 bytes.
    pub const SOURCE: usize = 6;
    /// Type of the payload, 2 bytes.
    pub const TYPE: usize = 12;
}

/// A validated frame.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    header: &'a [u8; HEADER_LEN],
    payload: &'a [u8],
}

impl<'a> View<'a> {
    /// Checks that the header is complete and its type is an EtherType.
    ///
    /// # Errors
    /// [`Malformed::Truncated`], [`Malformed::BadEtherType`].
    #[inline]
    pub fn parse(frame: &'a [u8]) -> Result<Self, Malformed> {
        let (header, payload) = frame.split_first_chunk().ok_or(Malformed::Truncated)?;
        let view = Self { header, payload };
        if view.ether_type() < TYPE_MIN {
            return Err(Malformed::BadEtherType);
        }
        Ok(view)
    }

    /// Destination address.
    #[inline]
    pub fn destination(&self) -> MacAddr {
        MacAddr(bytes::array_at(self.header, offset::DESTINATION))
    }

    /// Source address.
    #[inline]
    pub fn source(&self) -> MacAddr {
        MacAddr(bytes::array_at(self.header, offset::SOURCE))
    }

    /// The type of the payload.
    #[inline]
    pub fn ether_type(&self) -> u16 {
        bytes::u16_at(self.header, offset::TYPE)
    }

    /// Payload after the header, including padding.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// The header as values.
    #[inline]
    pub fn fields(&self) -> Fields {
        Fields {
            destination: self.destination(),
            source: self.source(),
            ether_type: self.ether_type(),
        }
    }
}

/// A validated frame whose addresses can be changed.
#[derive(Debug)]
pub struct ViewMut<'a> {
    header: &'a mut [u8; HEADER_LEN],
    payload: &'a mut [u8],
}

impl<'a> ViewMut<'a> {
    /// Checks the frame like [`View::parse`], with the same errors.
    #[inline]
    pub fn parse(frame: &'a mut [u8]) -> Result<Self, Malformed> {
        View::parse(frame)?;
        let (header, payload) = frame.split_first_chunk_mut().ok_or(Malformed::Truncated)?;
        Ok(Self { header, payload })
    }

    /// Returns a read-only view of the frame.
    #[inline]
    pub fn as_view(&self) -> View<'_> {
        View { header: self.header, payload: self.payload }
    }

    /// Sets the destination address.
    #[inline]
    pub fn set_destination(&mut self, mac: MacAddr) {
        bytes::put_array(self.header, offset::DESTINATION, mac.0);
    }

    /// Sets the source address.
    #[inline]
    pub fn set_source(&mut self, mac: MacAddr) {
        bytes::put_array(self.header, offset::SOURCE, mac.0);
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
    /// Destination address.
    pub destination: MacAddr,
    /// Source address.
    pub source: MacAddr,
    /// The type of the payload, at least [`TYPE_MIN`].
    pub ether_type: u16,
}

impl Fields {
    /// Writes the complete header.
    #[inline]
    pub fn emit(&self, header: &mut [u8; HEADER_LEN]) {
        debug_assert!(self.ether_type >= TYPE_MIN, "{:#06x} is a length", self.ether_type);
        bytes::put_array(header, offset::DESTINATION, self.destination.0);
        bytes::put_array(header, offset::SOURCE, self.source.0);
        bytes::put_u16(header, offset::TYPE, self.ether_type);
    }
}

/// The law of this module.
pub const LAW: Law = Law { name: "ethernet", holds: law, examples: &[] };

/// Ethernet: what is accepted is written back the same, and addresses are kept.
fn law(data: &[u8]) {
    let Ok(view) = View::parse(data) else { return };
    let mut written = [0; HEADER_LEN];
    view.fields().emit(&mut written);
    assert_eq!([&written[..], view.payload()].concat(), data);

    let (source, destination) = (view.source(), view.destination());
    let mut frame = data.to_vec();
    let mut changed = ViewMut::parse(&mut frame).expect("accepted before");
    changed.set_source(destination);
    changed.set_destination(source);
    let view = changed.as_view();
    assert_eq!((view.source(), view.destination()), (destination, source));
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: [u8; 16] = [
        0xaa, 0x22, 0xbb, 0x44, 0xcc, 0x66, 0xdd, 0xdd, 0xdd, 0xdd, 0x00, 0x01, 0x08, 0x00, 0x45,
        0x00,
    ];

    #[test]
    fn reads_every_field() {
        let view = View::parse(&FRAME).unwrap();
        assert_eq!(view.destination(), MacAddr([0xaa, 0x22, 0xbb, 0x44, 0xcc, 0x66]));
        assert_eq!(view.source(), MacAddr([0xdd, 0xdd, 0xdd, 0xdd, 0x00, 0x01]));
        assert_eq!(view.ether_type(), TYPE_IPV4);
        assert_eq!(view.payload(), [0x45, 0x00]);
    }

    #[test]
    fn rejects_short_frames_and_lengths() {
        assert_eq!(View::parse(&FRAME[..13]).unwrap_err(), Malformed::Truncated);
        let mut spanning_tree = FRAME;
        bytes::put_u16(&mut spanning_tree, offset::TYPE, 0x0026);
        assert_eq!(View::parse(&spanning_tree).unwrap_err(), Malformed::BadEtherType);
        bytes::put_u16(&mut spanning_tree, offset::TYPE, TYPE_MIN);
        assert!(View::parse(&spanning_tree).is_ok());
    }

    #[test]
    fn changes_what_is_set_and_nothing_else() {
        let mut frame = FRAME;
        let mut view = ViewMut::parse(&mut frame).unwrap();
        view.set_destination(MacAddr([1; 6]));
        view.set_source(MacAddr([2; 6]));
        view.payload_mut()[1] = 3;
        assert_eq!(view.as_view().source(), MacAddr([2; 6]));
        assert_eq!(frame, [1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 8, 0, 0x45, 3]);
    }

    #[test]
    fn emits_what_it_read() {
        let mut header = [0; HEADER_LEN];
        View::parse(&FRAME).unwrap().fields().emit(&mut header);
        assert_eq!(header, FRAME[..HEADER_LEN]);
    }
}
