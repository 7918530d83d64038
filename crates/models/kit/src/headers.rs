//! The model of what stands behind the headers of IP: a list of them, from the first to the last.
//! Written from the texts, and used by no pipeline.

use crate::host::word;

/// What a packet bears, as its headers tell it.
pub struct Headers {
    /// The transport protocol, or the header at which one has to stop.
    pub protocol: u8,
    /// Where it begins; none of what is no beginning of a datagram.
    pub behind: Option<usize>,
    /// Whether there was nothing that one has to know and cannot.
    pub are_read: bool,
    /// Each header of IPv6 that says which one follows: its kind, and where it begins.
    pub chain: Vec<(u8, usize)>,
}

impl Headers {
    /// Of a packet of IPv4, with a sound header and without padding (RFC 791 section 3.1).
    pub fn of_ipv4(packet: &[u8]) -> Headers {
        let (protocol, start) = (packet[9], 8 * usize::from(word(packet, 6) & 0x1fff));
        let behind = 4 * usize::from(packet[0] & 15);
        let are_read = match start {
            0 => packet.len() - behind >= needed(protocol),
            start => protocol != 6 || start >= 16,
        };
        let behind = (start == 0).then_some(behind);
        Headers { protocol, behind, are_read, chain: Vec::new() }
    }

    /// Of one of IPv6 (RFC 8200 section 4): so many extension headers at most, each whole, and none
    /// behind a later fragment, nor a second part of a datagram in a part of one (section 4.1).
    pub fn of_ipv6(packet: &[u8], most: usize) -> Headers {
        let (mut protocol, mut at, mut chain) = (packet[6], 40, Vec::new());
        let (mut is_part, mut is_doubtful) = (false, false);
        while is_extension(protocol) {
            if chain.len() == most || packet.len() < at + 8 {
                return Headers { protocol, behind: Some(at), are_read: false, chain };
            }
            chain.push((protocol, at));
            let (next, units) = (packet[at], usize::from(packet[at + 1]));
            let place = word(packet, at + 2);
            if protocol == 44 && place >= 8 {
                let are_read = !is_part && (next != 6 || place >= 16);
                return Headers { protocol: next, behind: None, are_read, chain };
            }
            if protocol == 44 {
                is_doubtful |= is_part;
                is_part |= place % 2 == 1;
            }
            at += match protocol {
                44 => 8,
                // RFC 4302 section 2.2: words of four bytes, less two.
                51 => 8 + 4 * units,
                _ => 8 + 8 * units,
            };
            // What is nothing but this header.
            if next == 59 && [135, 139, 140, 253, 254].contains(&protocol) {
                break;
            }
            protocol = next;
        }
        let are_read = !is_doubtful && packet.len() >= at + needed(protocol);
        Headers { protocol, behind: Some(at), are_read, chain }
    }

    /// The ports, if there are such.
    pub fn ports(&self, packet: &[u8]) -> Option<(u16, u16)> {
        let at = self.behind.filter(|at| has_ports(self.protocol) && packet.len() >= at + 4)?;
        Some((word(packet, at), word(packet, at + 2)))
    }
}

/// What is looked at of a transport protocol, in bytes: TCP's flags, ports, ICMP's type (RFC 1858
/// section 3.1, RFC 7112 section 5).
pub fn needed(protocol: u8) -> usize {
    match protocol {
        6 => 16,
        1 | 58 => 8,
        other if has_ports(other) => 8,
        _ => 0,
    }
}

/// Whether it begins with two ports: TCP, UDP, DCCP, SCTP, UDP-Lite.
pub fn has_ports(protocol: u8) -> bool {
    [6, 17, 33, 132, 136].contains(&protocol)
}

/// The registry of extension headers (RFC 7045 section 4), without what encrypts the rest.
pub fn is_extension(next: u8) -> bool {
    [0, 43, 44, 51, 60, 135, 139, 140, 253, 254].contains(&next)
}
