//! Advertisements of VRRP version 3 (RFC 9568 section 5.2).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |Version| Type  | Virtual Rtr ID|   Priority    |   Addresses   |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |  Rsv  | Max advertise interval|           Checksum            |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |       Virtual addresses, of 4 or of 16 bytes each ...         |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! An advertisement is the whole payload of its IP packet. Which family its addresses are of, the
//! IP packet tells. **Not supported:** version 2 (RFC 3768) and its authentication.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use wire::checksum::Sum;

/// An advertisement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Number of the virtual router, 1 to 255.
    pub vrid: u8,
    /// Priority of the sender: 0 if it resigns, 255 if it owns the addresses.
    pub priority: u8,
    /// Time between its advertisements at the most, in hundredths of a second, 1 to 4095.
    pub interval_cs: u16,
    /// Its virtual addresses.
    pub addresses: Addresses<'a>,
}

/// Virtual addresses in an advertisement, at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses<'a> {
    is_v6: bool,
    bytes: &'a [u8],
}

/// Between which addresses a packet goes: both are of one family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// Its source.
    pub from: IpAddr,
    /// Its destination.
    pub to: IpAddr,
}

/// What the checksum covers in a packet over IPv4. RFC 5798 left it open, RFC 9568 section 5.2.8
/// decides for the message alone; implementations of before add the pseudo-header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Coverage {
    /// The message alone, as the standard has it. Over IPv6 the pseudo-header belongs to it anyway.
    #[default]
    Message,
    /// The message and the pseudo-header.
    PseudoHeader,
}

/// Why bytes are no advertisement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Too short, or not as long as the number of addresses says.
    Length,
    /// Another version than 3.
    Version,
    /// Another type than an advertisement.
    Kind,
    /// The checksum is wrong.
    Checksum,
    /// The number of the virtual router is 0.
    Vrid,
    /// The interval is 0.
    Interval,
}

impl<'a> Packet<'a> {
    /// Checks everything that RFC 9568 section 7.1 asks for, but for what the receiver is
    /// configured with. Over IPv4 a checksum is right with and without the pseudo-header.
    ///
    /// # Errors
    /// What is wrong.
    pub fn parse(bytes: &'a [u8], ends: Ends) -> Result<Packet<'a>, Malformed> {
        let (header, list) = bytes.split_first_chunk::<HEADER_LEN>().ok_or(Malformed::Length)?;
        let [version_type, vrid, priority, count, high, low, _, _] = *header;
        if version_type >> 4 != VERSION {
            return Err(Malformed::Version);
        }
        if version_type & 0x0f != ADVERTISEMENT {
            return Err(Malformed::Kind);
        }
        let is_v6 = ends.from.is_ipv6();
        if count == 0 || list.len() != usize::from(count) * address_len(is_v6) {
            return Err(Malformed::Length);
        }
        let is_right = |coverage| sum(bytes, ends, coverage).fold() == 0xffff;
        if ![Coverage::Message, Coverage::PseudoHeader].into_iter().any(is_right) {
            return Err(Malformed::Checksum);
        }
        let interval_cs = u16::from_be_bytes([high & 0x0f, low]);
        if vrid == 0 {
            return Err(Malformed::Vrid);
        }
        if interval_cs == 0 {
            return Err(Malformed::Interval);
        }
        Ok(Packet { vrid, priority, interval_cs, addresses: Addresses { is_v6, bytes: list } })
    }

    /// Writes it, for a packet between these addresses.
    pub fn emit(&self, ends: Ends, coverage: Coverage) -> Vec<u8> {
        let [high, low] = (self.interval_cs & INTERVAL_CS_MAX).to_be_bytes();
        let count = self.addresses.count() as u8;
        let mut bytes = vec![VERSION << 4 | ADVERTISEMENT, self.vrid, self.priority, count];
        bytes.extend([high, low, 0, 0]);
        bytes.extend(self.addresses.bytes);
        seal(&mut bytes, ends, coverage);
        bytes
    }
}

impl<'a> Addresses<'a> {
    /// Addresses as they are written, one behind the other.
    ///
    /// # Panics
    /// If these are not 1 to 255 addresses.
    pub fn new(is_v6: bool, bytes: &'a [u8]) -> Addresses<'a> {
        let addresses = Addresses { is_v6, bytes };
        let is_whole = bytes.len().is_multiple_of(address_len(is_v6));
        assert!(is_whole && (1..=255).contains(&addresses.count()), "addresses of 1 to 255");
        addresses
    }

    /// Returns their number, 1 to 255.
    pub fn count(&self) -> usize {
        self.bytes.len() / address_len(self.is_v6)
    }

    /// Iterates over them.
    pub fn iter(&self) -> impl Iterator<Item = IpAddr> + 'a {
        let v4 = (!self.is_v6).then_some(self.bytes.as_chunks::<4>().0);
        let v6 = self.is_v6.then_some(self.bytes.as_chunks::<16>().0);
        let v4 = v4.into_iter().flatten().map(|octets| Ipv4Addr::from(*octets).into());
        v4.chain(v6.into_iter().flatten().map(|octets| Ipv6Addr::from(*octets).into()))
    }
}

/// Writes addresses one behind the other.
pub fn octets(addresses: &[IpAddr]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for address in addresses {
        match address {
            IpAddr::V4(address) => bytes.extend(address.octets()),
            IpAddr::V6(address) => bytes.extend(address.octets()),
        }
    }
    bytes
}

/// Writes the checksum of a message that has a whole header.
pub(crate) fn seal(bytes: &mut [u8], ends: Ends, coverage: Coverage) {
    bytes[CHECKSUM..][..2].fill(0);
    let checksum = sum(bytes, ends, coverage).checksum();
    bytes[CHECKSUM..][..2].copy_from_slice(&checksum.to_be_bytes());
}

/// The sum that a checksum makes 0xffff.
fn sum(bytes: &[u8], ends: Ends, coverage: Coverage) -> Sum {
    let message = Sum::ZERO.add_bytes(bytes);
    if coverage == Coverage::Message && ends.from.is_ipv4() {
        return message;
    }
    // RFC 8200 section 8.1; for IPv4 the same fields, whose widths do not change the sum.
    let addresses = octets(&[ends.from, ends.to]);
    message.add_bytes(&addresses).add_u32(bytes.len() as u32).add_u16(u16::from(PROTOCOL_NUMBER))
}

fn address_len(is_v6: bool) -> usize {
    if is_v6 { 16 } else { 4 }
}

/// The protocol number of VRRP in IPv4 and IPv6 (RFC 9568 section 5.1).
pub const PROTOCOL_NUMBER: u8 = 112;

/// Length of an advertisement without its addresses, in bytes.
pub const HEADER_LEN: usize = 8;

/// The longest interval, in hundredths of a second: 12 bits.
pub const INTERVAL_CS_MAX: u16 = 4095;

const VERSION: u8 = 3;
const ADVERTISEMENT: u8 = 1;
const CHECKSUM: usize = 6;

/// The law of the format: what is accepted is written back as it was read, but for the reserved
/// bits, which are ignored, and what is written is read.
///
/// # Panics
/// When it is not.
pub fn law(bytes: &[u8], ends: Ends) {
    let Ok(packet) = Packet::parse(bytes, ends) else { return };
    assert_eq!(packet.addresses.iter().count(), packet.addresses.count());
    let has_reserved = bytes[4] & 0xf0 != 0;
    let coverages = [Coverage::Message, Coverage::PseudoHeader];
    let written = coverages.map(|coverage| packet.emit(ends, coverage));
    for one in &written {
        assert_eq!(Packet::parse(one, ends), Ok(packet));
    }
    // A sum has two ways to write zero, of which a sender uses one.
    let is_same = |one: &Vec<u8>| one[..CHECKSUM] == bytes[..CHECKSUM] && one[8..] == bytes[8..];
    assert!(has_reserved || written.iter().all(is_same));
}

#[cfg(test)]
mod tests {
    use super::*;

    const V4: Ends = Ends {
        from: IpAddr::V4(Ipv4Addr::new(192, 168, 0, 30)),
        to: IpAddr::V4(Ipv4Addr::new(224, 0, 0, 18)),
    };

    /// Virtual router 1 of priority 100 with 192.168.0.1 and .2, every 10 ms.
    const MESSAGE: [u8; 16] = [0x31, 1, 100, 2, 0, 1, 0xe9, 0xa6, 192, 168, 0, 1, 192, 168, 0, 2];

    fn read(bytes: &[u8]) -> Result<(u8, u8, u16, Vec<IpAddr>), Malformed> {
        let Packet { vrid, priority, interval_cs, addresses } = Packet::parse(bytes, V4)?;
        Ok((vrid, priority, interval_cs, addresses.iter().collect()))
    }

    #[test]
    fn reads_and_writes_every_field() {
        let listed: Vec<IpAddr> = vec![[192, 168, 0, 1].into(), [192, 168, 0, 2].into()];
        assert_eq!(read(&MESSAGE), Ok((1, 100, 1, listed.clone())));
        let bytes = octets(&listed);
        let addresses = Addresses::new(false, &bytes);
        let packet = Packet { vrid: 1, priority: 100, interval_cs: 1, addresses };
        assert_eq!(packet.emit(V4, Coverage::Message), MESSAGE);
        let older = packet.emit(V4, Coverage::PseudoHeader);
        assert_eq!(older[CHECKSUM..8], [0x48, 0x4d]);
        assert_eq!(read(&older), read(&MESSAGE), "both are read");
        let slow = Packet { vrid: 255, priority: 0, interval_cs: 4095, addresses };
        let written = slow.emit(V4, Coverage::Message);
        assert_eq!(written[..6], [0x31, 255, 0, 2, 0x0f, 0xff]);
        assert_eq!(Packet::parse(&written, V4), Ok(slow));
    }

    #[test]
    fn over_ipv6_the_pseudo_header_belongs_to_the_checksum() {
        let ends = Ends {
            from: "fe80::1".parse().expect("an address"),
            to: "ff02::12".parse().expect("an address"),
        };
        let bytes = octets(&["fe80::254".parse().expect("an address")]);
        let addresses = Addresses::new(true, &bytes);
        let packet = Packet { vrid: 1, priority: 100, interval_cs: 100, addresses };
        let written = packet.emit(ends, Coverage::Message);
        assert_eq!(written, packet.emit(ends, Coverage::PseudoHeader));
        assert_eq!(Packet::parse(&written, ends), Ok(packet));
        let other = Ends { to: "fe80::2".parse().expect("an address"), ..ends };
        assert_eq!(Packet::parse(&written, other), Err(Malformed::Checksum));
    }

    #[test]
    fn each_check_of_the_rfc_refuses() {
        let changed = |at: usize, value: u8| {
            let mut bytes = MESSAGE;
            bytes[at] = value;
            seal(&mut bytes, V4, Coverage::Message);
            read(&bytes).map(|(vrid, ..)| vrid)
        };
        assert_eq!(changed(0, 0x21), Err(Malformed::Version));
        assert_eq!(changed(0, 0x32), Err(Malformed::Kind));
        assert_eq!(changed(1, 0), Err(Malformed::Vrid));
        assert_eq!(changed(3, 0), Err(Malformed::Length));
        assert_eq!(changed(3, 1), Err(Malformed::Length), "longer than it says");
        assert_eq!(changed(3, 3), Err(Malformed::Length), "shorter than it says");
        assert_eq!(changed(5, 0), Err(Malformed::Interval));
        assert_eq!(changed(4, 0xf0), Ok(1), "reserved bits are ignored");
        assert_eq!(read(&MESSAGE[..7]), Err(Malformed::Length));
        let mut damaged = MESSAGE;
        damaged[15] ^= 1;
        assert_eq!(read(&damaged), Err(Malformed::Checksum));
    }
}
