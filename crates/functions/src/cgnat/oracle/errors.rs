//! ICMP errors about packets of sessions (RFC 5508 section 4).

use std::net::Ipv4Addr;
use std::time::Duration;

use packet::PortId;

use super::packets::{Packet, address, mend_ip, sum, word};
use super::tables::End;
use super::{INSIDE, Judgement, Model, OUTSIDE};

impl Model {
    /// An error about a packet of a session is told to whom that packet came from, as it sent it.
    pub(super) fn judge_error(&mut self, port: PortId, packet: &[u8], _now: Duration) -> Judgement {
        let message = usize::from(packet[0] & 0x0f) * 4;
        let quoted = packet.get(message + 8..).unwrap_or_default();
        if quoted.len() < 20 || quoted[0] >> 4 != 4 {
            return Err("transport-malformed");
        }
        let header = usize::from(quoted[0] & 0x0f) * 4;
        if header < 20 {
            return Err("transport-malformed");
        }
        if word(quoted, 6) & 0x1fff != 0 {
            return Err("icmp-no-session");
        }
        let Some(transport) = quoted.get(header..header + 8) else {
            return Err("transport-malformed");
        };
        let protocol = quoted[9];
        let [mut source, mut destination] = [12, 16].map(|at| (address(quoted, at), 0u16));
        match (protocol, transport[0]) {
            (6 | 17, _) => (source.1, destination.1) = (word(transport, 0), word(transport, 2)),
            (1, 8 | 13) => source.1 = word(transport, 4),
            (1, 0 | 14) => destination.1 = word(transport, 4),
            _ => return Err("icmp-no-session"),
        }
        if packet[8] <= 1 {
            return Err("ttl-expired");
        }
        match port == INSIDE {
            false => self.error_to_inside(packet, (message, header, protocol), source, destination),
            true => self.error_to_outside(packet, (message, header, protocol), source, destination),
        }
    }

    fn error_to_inside(
        &self,
        packet: &[u8],
        at: (usize, usize, u8),
        outside: End,
        far: End,
    ) -> Judgement {
        let own = self.tables.owner(at.2, outside).ok_or("icmp-no-session")?;
        let mapping = self.tables.mappings.get(&own).ok_or("icmp-no-session")?;
        if !mapping.sessions.contains_key(&far) {
            return Err("icmp-no-session");
        }
        let bytes = rewrite(packet, at, (16, own.1.0), (12, own.1));
        Ok(self.frame(INSIDE, &bytes))
    }

    fn error_to_outside(
        &self,
        packet: &[u8],
        at: (usize, usize, u8),
        far: End,
        inside: End,
    ) -> Judgement {
        let mapping = self.tables.mappings.get(&(at.2, inside)).ok_or("icmp-no-session")?;
        if !mapping.sessions.contains_key(&far) {
            return Err("icmp-no-session");
        }
        let bytes = rewrite(packet, at, (12, mapping.outside.0), (16, mapping.outside));
        if !self.is_outside(far.0) {
            return Ok(self.frame(OUTSIDE, &bytes));
        }
        // RFC 5508 REQ-7: the packet came from another subscriber.
        if !self.config.hairpinning {
            return Err("hairpin-off");
        }
        let outside = mapping.outside;
        let sender = self.tables.owner(at.2, far).ok_or("icmp-no-session")?;
        let known = self.tables.mappings.get(&sender).ok_or("icmp-no-session")?;
        if !known.sessions.contains_key(&outside) {
            return Err("icmp-no-session");
        }
        if packet[8] <= 2 {
            return Err("ttl-expired");
        }
        let bytes = rewrite(&bytes, at, (16, sender.1.0), (12, sender.1));
        Ok(self.frame(INSIDE, &bytes))
    }
}

/// The error with another address outside, and another end in the packet that it quotes.
fn rewrite(
    packet: &[u8],
    (message, header, protocol): (usize, usize, u8),
    outer: (usize, Ipv4Addr),
    quoted_end: (usize, End),
) -> Vec<u8> {
    let mut bytes = packet.to_vec();
    bytes[8] -= 1;
    bytes[outer.0..outer.0 + 4].copy_from_slice(&outer.1.octets());
    mend_ip(&mut bytes);
    let quoted = message + 8;
    let inner = &bytes[quoted..];
    let packet = Packet {
        bytes: inner.to_vec(),
        protocol,
        source: (address(inner, 12), 0),
        destination: (address(inner, 16), 0),
        transport: header,
    };
    let new = packet.with_quoted_end(quoted_end.0, quoted_end.1);
    bytes.truncate(quoted);
    bytes.extend(new);
    bytes[message + 2..message + 4].fill(0);
    let right = !sum(&bytes[message..]);
    bytes[message + 2..message + 4].copy_from_slice(&right.to_be_bytes());
    bytes
}
