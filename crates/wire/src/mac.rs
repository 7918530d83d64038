//! The 48-bit Ethernet address (IEEE 802 EUI-48).
//!
//! Written as six groups of two hexadecimal digits, in either case, joined by `:` or by `-`;
//! printed in lower case with `:`. It deliberately knows no serialisation framework.

use std::fmt;
use std::str::FromStr;

use crate::Law;

/// An Ethernet address, in network order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MacAddr(pub [u8; 6]);

impl MacAddr {
    /// The length in bytes.
    pub const LEN: usize = 6;
    /// All bits zero: no station; in ARP also an unknown address.
    pub const ZERO: Self = Self([0; 6]);
    /// All bits one: broadcast to all stations.
    pub const BROADCAST: Self = Self([0xff; 6]);

    /// Returns the bytes in network order.
    #[inline]
    pub const fn octets(self) -> [u8; 6] {
        self.0
    }

    /// Returns true if the group bit is set, also for broadcast.
    #[inline]
    pub const fn is_multicast(self) -> bool {
        self.0[0] & 0x01 != 0
    }

    /// Returns true for the broadcast address.
    #[inline]
    pub const fn is_broadcast(self) -> bool {
        matches!(self.0, [0xff, 0xff, 0xff, 0xff, 0xff, 0xff])
    }

    /// Returns true if the locally-administered bit is set, so that no vendor assigned the address.
    #[inline]
    pub const fn is_local(self) -> bool {
        self.0[0] & 0x02 != 0
    }
}

impl From<[u8; 6]> for MacAddr {
    #[inline]
    fn from(octets: [u8; 6]) -> Self {
        Self(octets)
    }
}

impl From<MacAddr> for [u8; 6] {
    #[inline]
    fn from(mac: MacAddr) -> Self {
        mac.0
    }
}

impl fmt::Display for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// A text that is not an Ethernet address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseMacAddrError {
    text: String,
}

impl fmt::Display for ParseMacAddrError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a MAC address; write it like aa:22:bb:44:cc:66", self.text)
    }
}

impl std::error::Error for ParseMacAddrError {}

impl FromStr for MacAddr {
    type Err = ParseMacAddrError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text.as_bytes()).ok_or_else(|| ParseMacAddrError { text: text.to_owned() })
    }
}

/// Parses a text that consists of one address only.
fn parse(text: &[u8]) -> Option<MacAddr> {
    let text: &[u8; TEXT_LEN] = text.try_into().ok()?;
    let separator = text[2];
    if separator != b':' && separator != b'-' {
        return None;
    }
    let mut octets = [0; MacAddr::LEN];
    for (group, octet) in text.chunks(GROUP_LEN).zip(&mut octets) {
        if group.get(2).is_some_and(|&byte| byte != separator) {
            return None;
        }
        *octet = digit(group[0])? << 4 | digit(group[1])?;
    }
    Some(MacAddr(octets))
}

/// Returns the value of a hexadecimal digit.
fn digit(byte: u8) -> Option<u8> {
    let value = char::from(byte).to_digit(16)?;
    u8::try_from(value).ok()
}

/// Length of two digits and the separator, which the last group lacks.
const GROUP_LEN: usize = 3;
/// Length of the only accepted form.
const TEXT_LEN: usize = MacAddr::LEN * GROUP_LEN - 1;

/// The law of this module.
pub const LAW: Law = Law { name: "mac", holds: law, examples: &[] };

/// Ethernet addresses: what is accepted is printed as an address that is the same.
fn law(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let Ok(mac) = text.parse::<MacAddr>() else { return };
    assert_eq!(mac.to_string(), text.to_lowercase().replace('-', ":"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_both_cases_and_both_separators() {
        let mac = MacAddr([0xac, 0xdc, 0xac, 0xdc, 0x00, 0x01]);
        for text in ["ac:dc:ac:dc:00:01", "AC:DC:aC:Dc:00:01", "ac-dc-ac-dc-00-01"] {
            assert_eq!(text.parse(), Ok(mac));
        }
        assert_eq!(mac.to_string(), "ac:dc:ac:dc:00:01");
    }

    #[test]
    fn rejects_what_is_not_exactly_an_address() {
        let texts = [
            "",
            "ac:dc:ac:dc:00",
            "ac:dc:ac:dc:00:1",
            "ac:dc:ac:dc:00:01:02",
            "ac:dc-ac:dc:00:01",
            "acxdcxacxdcx00x01",
            "ac:dc:ac:dc:00:0g",
            "+c:dc:ac:dc:00:01",
            "ac:dc:ac:dc:00:01 ",
            "äc:dc:ac:dc:00:1",
        ];
        for text in texts {
            let error = text.parse::<MacAddr>().expect_err(text);
            assert!(error.to_string().contains(text));
        }
    }

    #[test]
    fn knows_the_bits_of_the_first_octet() {
        assert!(MacAddr::BROADCAST.is_broadcast() && MacAddr::BROADCAST.is_multicast());
        assert!(MacAddr([0x01, 0, 0x5e, 0, 0, 1]).is_multicast());
        assert!(!MacAddr([0x01, 0, 0x5e, 0, 0, 1]).is_broadcast());
        assert!(MacAddr([0xaa, 0x22, 0xbb, 0x44, 0xcc, 0x66]).is_local());
        assert!(!MacAddr([0x00, 0x1b, 0x21, 0, 0, 1]).is_local());
    }
}
