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

use crate::Malformed;
use crate::bytes;

pub use crate::mac::MacAddr;

/// The length of the header in bytes.
pub const HEADER_LEN: usize = 14;

/// The length of a VLAN tag in bytes (IEEE 802.1Q clause 9.3).
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
/// The least value that is a type and not a length (IEEE 802.3 clause 3.2.6).
pub const TYPE_MIN: u16 = 0x0600;

/// Where the fields begin, in bytes from the start of the header.
pub mod offset {
    /// Destination address, 6 bytes.
    pub const DESTINATION: usize = 0;
    /// Source address, 6 bytes.
    pub const SOURCE: usize = 6;
    /// Type of the payload, 2 bytes.
    pub const TYPE: usize = 12;
}

/// A frame that was checked.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    header: &'a [u8; HEADER_LEN],
    payload: &'a [u8],
}

impl<'a> View<'a> {
    /// Checks that the header is whole and its type is a type.
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

    /// The address the frame goes to.
    #[inline]
    pub fn destination(&self) -> MacAddr {
        MacAddr(bytes::array_at(self.header, offset::DESTINATION))
    }

    /// The address the frame comes from.
    #[inline]
    pub fn source(&self) -> MacAddr {
        MacAddr(bytes::array_at(self.header, offset::SOURCE))
    }

    /// The type of the payload.
    #[inline]
    pub fn ether_type(&self) -> u16 {
        bytes::u16_at(self.header, offset::TYPE)
    }

    /// What follows the header, padding included.
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

/// A checked frame whose addresses can be changed.
#[derive(Debug)]
pub struct ViewMut<'a> {
    header: &'a mut [u8; HEADER_LEN],
    payload: &'a mut [u8],
}

impl<'a> ViewMut<'a> {
    /// Checks the frame as [`View::parse`] does, with the same errors.
    #[inline]
    pub fn parse(frame: &'a mut [u8]) -> Result<Self, Malformed> {
        View::parse(frame)?;
        let (header, payload) = frame.split_first_chunk_mut().ok_or(Malformed::Truncated)?;
        Ok(Self { header, payload })
    }

    /// The same frame for reading.
    #[inline]
    pub fn as_view(&self) -> View<'_> {
        View { header: self.header, payload: self.payload }
    }

    /// Changes the address the frame goes to.
    #[inline]
    pub fn set_destination(&mut self, mac: MacAddr) {
        bytes::put_array(self.header, offset::DESTINATION, mac.0);
    }

    /// Changes the address the frame comes from.
    #[inline]
    pub fn set_source(&mut self, mac: MacAddr) {
        bytes::put_array(self.header, offset::SOURCE, mac.0);
    }

    /// What follows the header, to be changed.
    #[inline]
    pub fn payload_mut(&mut self) -> &mut [u8] {
        self.payload
    }
}

/// A header as values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields {
    /// The address the frame goes to.
    pub destination: MacAddr,
    /// The address the frame comes from.
    pub source: MacAddr,
    /// The type of the payload, at least [`TYPE_MIN`].
    pub ether_type: u16,
}

impl Fields {
    /// Writes the whole header.
    #[inline]
    pub fn emit(&self, header: &mut [u8; HEADER_LEN]) {
        debug_assert!(self.ether_type >= TYPE_MIN, "{:#06x} is a length", self.ether_type);
        bytes::put_array(header, offset::DESTINATION, self.destination.0);
        bytes::put_array(header, offset::SOURCE, self.source.0);
        bytes::put_u16(header, offset::TYPE, self.ether_type);
    }
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
