//! Reading and building packets byte by byte, checksums from scratch.

use std::net::Ipv4Addr;

/// What a packet of a session says.
#[derive(Clone, Debug)]
pub struct Packet {
    /// The IPv4 packet without padding.
    pub bytes: Vec<u8>,
    pub protocol: u8,
    pub source: (Ipv4Addr, u16),
    pub destination: (Ipv4Addr, u16),
    /// Where the transport header begins.
    pub transport: usize,
}

impl Packet {
    pub fn ttl(&self) -> u8 {
        self.bytes[8]
    }

    /// The control bits of a TCP segment; of an answer to a query that of ACK, too.
    pub fn flags(&self) -> u8 {
        match (self.protocol, self.bytes[self.transport]) {
            (6, _) => self.bytes[self.transport + 13],
            (1, 0 | 14) => 16,
            _ => 0,
        }
    }

    /// The same packet with other ends and a hop less to live.
    pub fn with_ends(&self, source: (Ipv4Addr, u16), destination: (Ipv4Addr, u16)) -> Packet {
        let mut bytes = self.bytes.clone();
        let damage = self.damage();
        bytes[8] -= 1;
        bytes[12..16].copy_from_slice(&source.0.octets());
        bytes[16..20].copy_from_slice(&destination.0.octets());
        let at = self.transport;
        match self.protocol {
            // The identifier is the port of whoever is the subscriber: the other one has none.
            1 => {
                let identifier = if source.1 != 0 { source.1 } else { destination.1 };
                bytes[at + 4..at + 6].copy_from_slice(&identifier.to_be_bytes());
            }
            // RFC 2637 section 4.1: the identifier of the receiver.
            47 => bytes[at + 6..at + 8].copy_from_slice(&destination.1.to_be_bytes()),
            _ => {
                bytes[at..at + 2].copy_from_slice(&source.1.to_be_bytes());
                bytes[at + 2..at + 4].copy_from_slice(&destination.1.to_be_bytes());
            }
        }
        let mut packet = Packet { bytes, source, destination, ..self.clone() };
        packet.finish(damage);
        packet
    }

    /// The same packet with another transport header and payload of its kind, lengths and checksums
    /// made right.
    pub fn with_message(&self, message: Vec<u8>) -> Packet {
        let mut bytes = self.bytes[..self.transport].to_vec();
        bytes.extend(message);
        let len = bytes.len() as u16;
        bytes[2..4].copy_from_slice(&len.to_be_bytes());
        if self.protocol == 17 {
            let len = len - self.transport as u16;
            bytes[self.transport + 4..self.transport + 6].copy_from_slice(&len.to_be_bytes());
        }
        let mut packet = Packet { bytes, ..self.clone() };
        packet.finish(0);
        packet
    }

    /// The same as another packet quotes it: with another address at `field`, and that one's port.
    /// It may be cut, so that its checksums are changed by what became different.
    pub fn with_quoted_end(&self, field: usize, (address, port): (Ipv4Addr, u16)) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        let is_source = field == 12;
        let at = match (self.protocol, is_source) {
            (1, _) => self.transport + 4,
            (_, true) => self.transport,
            (_, false) => self.transport + 2,
        };
        let old_address = u64::from(sum(&bytes[field..field + 4]));
        let old_port = u64::from(word(&bytes, at));
        bytes[field..field + 4].copy_from_slice(&address.octets());
        bytes[at..at + 2].copy_from_slice(&port.to_be_bytes());
        let new_address = u64::from(sum(&address.octets()));
        let shift = |bytes: &mut [u8], field: usize, old: u64, new: u64| {
            let held = u64::from(!word(bytes, field));
            let held = !ones(held + 0x1_fffe - old + new);
            bytes[field..field + 2].copy_from_slice(&held.to_be_bytes());
        };
        shift(&mut bytes, 10, old_address, new_address);
        let field = self.transport
            + match self.protocol {
                1 => 2,
                6 => 16,
                _ => 6,
            };
        let is_there = field + 2 <= bytes.len();
        if is_there && !(self.protocol == 17 && word(&bytes, field) == 0) {
            let addresses = if self.protocol == 1 { [0, 0] } else { [old_address, new_address] };
            let [old, new] = [old_port + addresses[0], u64::from(port) + addresses[1]];
            shift(&mut bytes, field, old, new);
        }
        bytes
    }

    /// RFC 4459 section 3.2: a SYN does not promise more than fits.
    pub fn clamped(mut self, limit: u16) -> Packet {
        if limit == 0 || self.flags() & 2 == 0 {
            return self;
        }
        let end = self.transport + usize::from(self.bytes[self.transport + 12] >> 4) * 4;
        let mut at = self.transport + 20;
        while at + 1 < end {
            match self.bytes[at] {
                0 => break,
                1 => at += 1,
                2 if self.bytes[at + 1] == 4 && at + 4 <= end => {
                    if word(&self.bytes, at + 2) > limit {
                        self.change_word(at + 2, limit);
                    }
                    break;
                }
                _ if self.bytes[at + 1] < 2 => break,
                _ => at += usize::from(self.bytes[at + 1]),
            }
        }
        self
    }

    /// Changes a word of a TCP header, its checksum with it.
    pub fn change_word(&mut self, at: usize, value: u16) {
        let damage = self.damage();
        self.bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
        self.finish(damage);
    }

    /// Sets the checksums; the transport's is wrong by as much as it was before.
    fn finish(&mut self, damage: u32) {
        mend_ip(&mut self.bytes);
        let Some(field) = self.checksum_field() else { return };
        let old = word(&self.bytes, field);
        if self.protocol == 17 && old == 0 {
            return;
        }
        let right = self.transport_checksum();
        // Of the two zeroes, only the one of all ones is a sum in UDP, and the other one elsewhere.
        let mut sum = ((u32::from(right) + damage) % 0xffff) as u16;
        if self.protocol == 17 && sum == 0 {
            sum = 0xffff;
        }
        self.bytes[field..field + 2].copy_from_slice(&sum.to_be_bytes());
    }

    /// By how much the transport's checksum is wrong, of 65535.
    pub fn damage(&self) -> u32 {
        let Some(field) = self.checksum_field() else { return 0 };
        let is = u32::from(word(&self.bytes, field));
        let right = u32::from(self.transport_checksum());
        (is % 0xffff + 0xffff - right % 0xffff) % 0xffff
    }

    fn checksum_field(&self) -> Option<usize> {
        let field = self.transport
            + match self.protocol {
                1 => 2,
                6 => 16,
                47 => return None,
                _ => 6,
            };
        (field + 2 <= self.bytes.len()).then_some(field)
    }

    /// What the transport's checksum would have to be.
    fn transport_checksum(&self) -> u16 {
        let Some(field) = self.checksum_field() else { return 0 };
        let mut message = self.bytes[self.transport..].to_vec();
        message[field - self.transport..field - self.transport + 2].fill(0);
        let mut pseudo = Vec::new();
        if self.protocol != 1 {
            pseudo.extend_from_slice(&self.bytes[12..20]);
            pseudo.extend_from_slice(&[0, self.protocol]);
            pseudo.extend_from_slice(&(message.len() as u16).to_be_bytes());
        }
        pseudo.extend(message);
        !sum(&pseudo)
    }
}

/// Makes the checksum of an IPv4 header right.
pub fn mend_ip(packet: &mut [u8]) {
    let len = usize::from(packet[0] & 0x0f) * 4;
    packet[10..12].fill(0);
    let right = !sum(&packet[..len]);
    packet[10..12].copy_from_slice(&right.to_be_bytes());
}

/// The ones'-complement sum of bytes (RFC 1071), word by word.
pub fn sum(bytes: &[u8]) -> u16 {
    let words = bytes
        .chunks(2)
        .map(|pair| u64::from(pair[0]) << 8 | pair.get(1).copied().map_or(0, u64::from));
    ones(words.sum())
}

/// A sum brought to sixteen bits, carries added; only nothing is zero.
fn ones(sum: u64) -> u16 {
    match sum {
        0 => 0,
        sum => ((sum - 1) % 0xffff + 1) as u16,
    }
}

/// The 16-bit number at a place.
pub fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// The address at a place.
pub fn address(bytes: &[u8], at: usize) -> Ipv4Addr {
    Ipv4Addr::new(bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3])
}

/// The VLAN of a frame with a tag, and the frame without.
pub fn without_tag(frame: &[u8]) -> (u16, Vec<u8>) {
    (word(frame, 14) % 4096, [&frame[..12], &frame[16..]].concat())
}

/// A frame towards a realm.
pub fn with_tag(realm: u16, frame: Vec<u8>) -> Vec<u8> {
    match realm {
        0 => frame,
        vlan => [&frame[..12], &[0x81, 0], &vlan.to_be_bytes(), &frame[12..]].concat(),
    }
}
