//! Address resolution for IPv4 over Ethernet (RFC 826).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |       Hardware type = 1       |    Protocol type = 0x0800     |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! | Hw length = 6 | Pr length = 4 |           Operation           |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                          Sender MAC                           |
//! +                               +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                               |           Sender IP           |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |           Sender IP           |                               |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+          Target MAC           +
//! |                                                               |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                           Target IP                           |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! The format has no payload; bytes after it are padding. **Not supported:** other hardware or
//! protocol addresses. Operations other than request and reply are read and left to the caller.

use std::net::Ipv4Addr;

use crate::ethernet::TYPE_IPV4;
use crate::{Law, MacAddr, Malformed, bytes};

/// Length of the packet in bytes.
pub const HEADER_LEN: usize = 28;

/// The hardware type of Ethernet.
pub const HARDWARE_ETHERNET: u16 = 1;
/// Operation: request for the Ethernet address of the target IP.
pub const OPERATION_REQUEST: u16 = 1;
/// Operation: reply; the sender has the requested IP address.
pub const OPERATION_REPLY: u16 = 2;

/// Offsets of the fields, in bytes from the start of the packet.
pub mod offset {
    /// Hardware type, 2 bytes.
    pub const HARDWARE_TYPE: usize = 0;
    /// Protocol type, 2 bytes.
    pub const PROTOCOL_TYPE: usize = 2;
    /// Length of a hardware address, 1 byte.
    pub const HARDWARE_LEN: usize = 4;
    /// Length of a protocol address, 1 byte.
    pub const PROTOCOL_LEN: usize = 5;
    /// Operation, 2 bytes.
    pub const OPERATION: usize = 6;
    /// Sender's hardware address, 6 bytes.
    pub const SENDER_MAC: usize = 8;
    /// Sender's protocol address, 4 bytes.
    pub const SENDER_IP: usize = 14;
    /// Target's hardware address, 6 bytes.
    pub const TARGET_MAC: usize = 18;
    /// Target's protocol address, 4 bytes.
    pub const TARGET_IP: usize = 24;
}

/// A validated packet.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    header: &'a [u8; HEADER_LEN],
}

impl<'a> View<'a> {
    /// Checks that the packet is complete and has addresses of IPv4 over Ethernet.
    ///
    /// # Errors
    /// [`Malformed::Truncated`], [`Malformed::BadAddressFormat`].
    #[inline]
    pub fn parse(packet: &'a [u8]) -> Result<Self, Malformed> {
        let header: &[u8; HEADER_LEN] = packet.first_chunk().ok_or(Malformed::Truncated)?;
        if bytes::array_at(header, 0) != ADDRESS_FORMAT {
            return Err(Malformed::BadAddressFormat);
        }
        Ok(Self { header })
    }

    /// Operation of the packet.
    #[inline]
    pub fn operation(&self) -> u16 {
        bytes::u16_at(self.header, offset::OPERATION)
    }

    /// The sender's Ethernet address.
    #[inline]
    pub fn sender_mac(&self) -> MacAddr {
        MacAddr(bytes::array_at(self.header, offset::SENDER_MAC))
    }

    /// The sender's IPv4 address.
    #[inline]
    pub fn sender_ip(&self) -> Ipv4Addr {
        bytes::array_at::<4>(self.header, offset::SENDER_IP).into()
    }

    /// The target's Ethernet address; meaningless in a request.
    #[inline]
    pub fn target_mac(&self) -> MacAddr {
        MacAddr(bytes::array_at(self.header, offset::TARGET_MAC))
    }

    /// The target's IPv4 address.
    #[inline]
    pub fn target_ip(&self) -> Ipv4Addr {
        bytes::array_at::<4>(self.header, offset::TARGET_IP).into()
    }

    /// The packet as values.
    #[inline]
    pub fn fields(&self) -> Fields {
        Fields {
            operation: self.operation(),
            sender_mac: self.sender_mac(),
            sender_ip: self.sender_ip(),
            target_mac: self.target_mac(),
            target_ip: self.target_ip(),
        }
    }
}

/// A validated packet that can be changed.
#[derive(Debug)]
pub struct ViewMut<'a> {
    header: &'a mut [u8; HEADER_LEN],
}

impl<'a> ViewMut<'a> {
    /// Checks the packet like [`View::parse`], with the same errors.
    #[inline]
    pub fn parse(packet: &'a mut [u8]) -> Result<Self, Malformed> {
        View::parse(packet)?;
        let header = packet.first_chunk_mut().ok_or(Malformed::Truncated)?;
        Ok(Self { header })
    }

    /// Returns a read-only view of the packet.
    #[inline]
    pub fn as_view(&self) -> View<'_> {
        View { header: self.header }
    }

    /// Turns a request for an address of `mac` into the reply, in place: the sender becomes the
    /// target, and the address asked for becomes the sender (RFC 826, "Packet Reception").
    #[inline]
    pub fn turn_into_reply(&mut self, mac: MacAddr) {
        self.as_view().fields().answer(mac).emit(self.header);
    }
}

/// A packet as values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields {
    /// Operation of the packet.
    pub operation: u16,
    /// The sender's Ethernet address.
    pub sender_mac: MacAddr,
    /// The sender's IPv4 address.
    pub sender_ip: Ipv4Addr,
    /// The target's Ethernet address; [`MacAddr::ZERO`] in a request.
    pub target_mac: MacAddr,
    /// The target's IPv4 address.
    pub target_ip: Ipv4Addr,
}

impl Fields {
    /// Returns the reply to this request from the station `mac`, which has the target's IPv4
    /// address.
    #[inline]
    #[must_use]
    pub fn answer(&self, mac: MacAddr) -> Self {
        Self {
            operation: OPERATION_REPLY,
            sender_mac: mac,
            sender_ip: self.target_ip,
            target_mac: self.sender_mac,
            target_ip: self.sender_ip,
        }
    }

    /// Writes the complete packet.
    #[inline]
    pub fn emit(&self, header: &mut [u8; HEADER_LEN]) {
        bytes::put_array(header, 0, ADDRESS_FORMAT);
        bytes::put_u16(header, offset::OPERATION, self.operation);
        bytes::put_array(header, offset::SENDER_MAC, self.sender_mac.0);
        bytes::put_array(header, offset::SENDER_IP, self.sender_ip.octets());
        bytes::put_array(header, offset::TARGET_MAC, self.target_mac.0);
        bytes::put_array(header, offset::TARGET_IP, self.target_ip.octets());
    }
}

/// The first six bytes: types and lengths of IPv4 over Ethernet.
const ADDRESS_FORMAT: [u8; 6] = {
    let hardware = HARDWARE_ETHERNET.to_be_bytes();
    let protocol = TYPE_IPV4.to_be_bytes();
    [hardware[0], hardware[1], protocol[0], protocol[1], MacAddr::LEN as u8, 4]
};

/// The law of this module.
pub const LAW: Law = Law { name: "arp", holds: law, examples: &[] };

/// ARP: what is accepted is written back the same, and a reply goes back to the sender.
fn law(data: &[u8]) {
    let Ok(view) = View::parse(data) else { return };
    let mut written = [0; HEADER_LEN];
    view.fields().emit(&mut written);
    assert_eq!(written, data[..HEADER_LEN]);

    let mac = MacAddr([0x02, 0, 0, 0, 0, 1]);
    let mut packet = data.to_vec();
    ViewMut::parse(&mut packet).expect("accepted before").turn_into_reply(mac);
    let reply = View::parse(&packet).expect("a reply can be read");
    assert_eq!(reply.fields(), view.fields().answer(mac));
    assert_eq!((reply.target_mac(), reply.target_ip()), (view.sender_mac(), view.sender_ip()));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A request for 200.0.0.1 from 200.0.0.222.
    const REQUEST: [u8; HEADER_LEN] = [
        0, 1, 8, 0, 6, 4, 0, 1, 0xaa, 0x22, 0xbb, 0x44, 0xcc, 0x67, 200, 0, 0, 222, 0, 0, 0, 0, 0,
        0, 200, 0, 0, 1,
    ];
    const GATEWAY: MacAddr = MacAddr([0xaa, 0x22, 0xbb, 0x44, 0xcc, 0x66]);

    #[test]
    fn reads_every_field() {
        let view = View::parse(&REQUEST).unwrap();
        assert_eq!(view.operation(), OPERATION_REQUEST);
        assert_eq!(view.sender_mac(), MacAddr([0xaa, 0x22, 0xbb, 0x44, 0xcc, 0x67]));
        assert_eq!(view.sender_ip(), Ipv4Addr::new(200, 0, 0, 222));
        assert_eq!(view.target_mac(), MacAddr::ZERO);
        assert_eq!(view.target_ip(), Ipv4Addr::new(200, 0, 0, 1));
    }

    #[test]
    fn rejects_short_packets_and_other_addresses() {
        assert_eq!(View::parse(&REQUEST[..27]).unwrap_err(), Malformed::Truncated);
        for at in 0..offset::OPERATION {
            let mut other = REQUEST;
            other[at] ^= 0x10;
            assert_eq!(View::parse(&other).unwrap_err(), Malformed::BadAddressFormat);
        }
    }

    #[test]
    fn answers_in_place() {
        let mut packet = REQUEST;
        ViewMut::parse(&mut packet).unwrap().turn_into_reply(GATEWAY);
        let expected = [
            0, 1, 8, 0, 6, 4, 0, 2, 0xaa, 0x22, 0xbb, 0x44, 0xcc, 0x66, 200, 0, 0, 1, 0xaa, 0x22,
            0xbb, 0x44, 0xcc, 0x67, 200, 0, 0, 222,
        ];
        assert_eq!(packet, expected);
    }

    #[test]
    fn emits_what_it_read() {
        let mut packet = [0xff; HEADER_LEN];
        View::parse(&REQUEST).unwrap().fields().emit(&mut packet);
        assert_eq!(packet, REQUEST);
    }
}
