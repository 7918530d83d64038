//! Packets of IP read byte by byte, each sum added up word by word.

use std::net::{IpAddr, Ipv6Addr};

use model_kit::host::{internet_sum, set_ipv4_checksum, word};

/// A packet without padding.
#[derive(Clone)]
pub(super) struct Packet {
    pub bytes: Vec<u8>,
    pub source: IpAddr,
    pub destination: IpAddr,
}

impl Packet {
    /// RFC 1812 section 5.2.2, RFC 8200 section 3; no options, and no hop-by-hop ones.
    pub fn of(is_ipv4: bool, bytes: &[u8]) -> Result<Packet, &'static str> {
        if is_ipv4 { Packet::ipv4(bytes) } else { Packet::ipv6(bytes) }
    }

    fn ipv4(bytes: &[u8]) -> Result<Packet, &'static str> {
        if bytes.len() < 20 || bytes[0] >> 4 != 4 {
            return Err("ip-malformed");
        }
        let header_len = usize::from(bytes[0] & 15) * 4;
        let total_len = usize::from(word(bytes, 2));
        if header_len < 20 || total_len < header_len || bytes.len() < total_len {
            return Err("ip-malformed");
        }
        if internet_sum(&bytes[..header_len]) != 0xffff {
            return Err("ip-checksum");
        }
        if header_len > 20 {
            return Err("ip-options");
        }
        let address = |at: usize| [0, 1, 2, 3].map(|part| bytes[at + part]).into();
        let (source, destination) = (address(12), address(16));
        Ok(Packet { bytes: bytes[..total_len].to_vec(), source, destination })
    }

    fn ipv6(bytes: &[u8]) -> Result<Packet, &'static str> {
        if bytes.len() < 40 || bytes[0] >> 4 != 6 {
            return Err("ip-malformed");
        }
        let len = 40 + usize::from(word(bytes, 4));
        let bytes = bytes.get(..len).ok_or("ip-malformed")?;
        if bytes[6] == 0 {
            return Err("ip-options");
        }
        let address = |at: usize| {
            let mut octets = [0; 16];
            octets.copy_from_slice(&bytes[at..at + 16]);
            octets.into()
        };
        Ok(Packet { bytes: bytes.to_vec(), source: address(8), destination: address(24) })
    }

    pub fn is_ipv4(&self) -> bool {
        self.source.is_ipv4()
    }

    pub fn ether_type(&self) -> u16 {
        if self.is_ipv4() { 0x0800 } else { 0x86dd }
    }

    /// RFC 1812 section 5.3.1: whether it may not go on.
    pub fn is_spent(&self) -> bool {
        self.bytes[if self.is_ipv4() { 8 } else { 7 }] <= 1
    }

    /// RFC 791 section 2.3: whether a router may cut it.
    pub fn may_be_cut(&self) -> bool {
        self.is_ipv4() && word(&self.bytes, 6) & 0x4000 == 0
    }

    /// RFC 2474: the upper six bits of IPv4's second octet and of IPv6's traffic class.
    pub fn dscp(&self) -> u8 {
        match self.is_ipv4() {
            true => self.bytes[1] >> 2,
            false => (word(&self.bytes, 0) >> 6 & 63) as u8,
        }
    }

    /// The packet with another code point.
    pub fn marked(mut self, dscp: u8) -> Packet {
        let bytes = &mut self.bytes;
        if self.source.is_ipv4() {
            bytes[1] = bytes[1] & 3 | dscp << 2;
            set_ipv4_checksum(bytes);
        } else {
            bytes[0] = 0x60 | dscp >> 2;
            bytes[1] = bytes[1] & 0x3f | dscp << 6;
        }
        self
    }

    /// The packet with one hop less to go.
    pub fn after_a_hop(mut self) -> Packet {
        if self.source.is_ipv4() {
            self.bytes[8] -= 1;
            set_ipv4_checksum(&mut self.bytes);
        } else {
            self.bytes[7] -= 1;
        }
        self
    }

    /// Its UDP ports, if it is a whole datagram right behind the header.
    pub fn udp_ports(&self) -> Option<(u16, u16)> {
        let (protocol, at) = if self.is_ipv4() { (self.bytes[9], 20) } else { (self.bytes[6], 40) };
        let is_whole = !self.is_ipv4() || word(&self.bytes, 6) & 0x3fff == 0;
        let is_read = protocol == 17 && is_whole && self.bytes.len() >= at + 4;
        is_read.then(|| (word(&self.bytes, at), word(&self.bytes, at + 2)))
    }

    /// The type of ICMPv6 that is right behind the header.
    pub fn icmpv6(&self) -> Option<u8> {
        let is_one = !self.is_ipv4() && self.bytes[6] == 58;
        self.bytes.get(40).copied().filter(|_| is_one)
    }
}

/// Whether an address is nobody's beyond a link, to send to or from: of nobody, of a group, of a
/// host itself, of all of a link, of no use yet (RFC 1812 section 5.3.7, RFC 4291 section 2).
pub(super) fn stays_here(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => matches!(address.octets()[0], 0 | 127 | 224..),
        IpAddr::V6(address) => {
            address.is_unspecified()
                || address == Ipv6Addr::LOCALHOST
                || address.octets()[0] == 0xff
                || is_of_neighbour(address.into())
        }
    }
}

/// Whether an address is one by which neighbours on a link speak to each other (RFC 4291 section
/// 2.5.6).
pub(super) fn is_of_neighbour(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(one) if one.segments()[0] & 0xffc0 == 0xfe80)
}
