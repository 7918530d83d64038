//! ICMP errors about packets of sessions (RFC 5508 section 4).

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use function_cgnat::types::sides::{INSIDE, OUTSIDE};
use packet::PortId;

use super::hairpins::met;
use super::packets::{Packet, address, mend_ip, sum, word};
use super::state::{Judgement, Model};
use super::tables::{End, Own};

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
            (1, 0 | 8 | 13 | 14) if port == INSIDE => destination.1 = word(transport, 4),
            (1, 0 | 8 | 13 | 14) => source.1 = word(transport, 4),
            _ => return Err("icmp-no-session"),
        }
        // RFC 1122 section 3.2.2: it goes to whom the packet came from.
        if address(packet, 16) != source.0 {
            return Err("icmp-no-session");
        }
        if packet[8] <= 1 {
            return Err("ttl-expired");
        }
        if self.is_bogon(port, address(packet, 12)) {
            return Err("bogon");
        }
        match port == INSIDE {
            false => self.error_to_inside(packet, (message, header, protocol), source, destination),
            true => self.error_to_outside(packet, (message, header, protocol), source, destination),
        }
    }

    fn error_to_inside(&self, packet: &[u8], at: Place, outside: End, far: End) -> Judgement {
        let own = self.tables.owner(at.2, outside).ok_or("icmp-no-session")?;
        let mapping = self.tables.mappings.get(&own).ok_or("icmp-no-session")?;
        if !mapping.sessions.contains_key(&far) {
            return Err("icmp-no-session");
        }
        self.error_in(packet, at, own, far)
    }

    /// An error about a packet to `far` as the subscriber gets it.
    fn error_in(&self, packet: &[u8], at: Place, own: Own, far: End) -> Judgement {
        match own.1.0.address {
            IpAddr::V4(inside) => {
                let bytes = rewrite(packet, at, (16, inside), (12, (inside, own.1.1)));
                Ok(self.frame_in(own.1.0.realm, &bytes))
            }
            IpAddr::V6(inside) => self.error_in_ipv6(packet, (inside, own.1.1), far),
        }
    }

    fn error_to_outside(&self, packet: &[u8], at: Place, far: End, inside: End) -> Judgement {
        let (outside, sender) = self.subject((at.2, (self.who(inside.0), inside.1)), far)?;
        let bytes = rewrite(packet, at, (12, outside.0), (16, outside));
        self.error_onward(&bytes, at, (outside, sender))
    }

    /// The outside end of a mapping that got a packet from `far`, and who sent it.
    pub(super) fn subject(&self, own: Own, far: End) -> Result<(End, Sender), &'static str> {
        let mapping = self.tables.mappings.get(&own).ok_or("icmp-no-session")?;
        if !mapping.sessions.contains_key(&far) {
            return Err("icmp-no-session");
        }
        if !self.is_outside(far.0) {
            return Ok((mapping.outside, Sender::Outside));
        }
        // RFC 5508 REQ-7: the packet came from another subscriber.
        if !self.config.hairpinning {
            return Err("hairpin-off");
        }
        let (outside, far) = met(own.0, mapping.outside, far);
        let worker = self.worker_of_end(own.0, far);
        if worker != self.shard.index {
            return Ok((mapping.outside, Sender::OfWorker(worker)));
        }
        let sender = self.tables.owner(own.0, far).ok_or("icmp-no-session")?;
        let known = self.tables.mappings.get(&sender).ok_or("icmp-no-session")?;
        match known.sessions.contains_key(&outside) {
            true => Ok((mapping.outside, Sender::Here(sender))),
            false => Err("icmp-no-session"),
        }
    }

    /// An error as the outside sees it leaves, or goes to the other subscriber.
    pub(super) fn error_onward(
        &self,
        packet: &[u8],
        at: Place,
        (outside, sender): (End, Sender),
    ) -> Judgement {
        match sender {
            Sender::Outside => Ok(self.frame(OUTSIDE, packet)),
            _ if packet[8] <= 1 => Err("ttl-expired"),
            Sender::OfWorker(worker) => Ok(self.handed_over(worker, packet)),
            Sender::Here(sender) => self.error_in(packet, at, sender, outside),
        }
    }
}

/// Who sent the packet that an error quotes: a subscriber of this worker or of another one, or
/// somebody outside.
pub(super) enum Sender {
    Here(Own),
    OfWorker(u32),
    Outside,
}

/// Where an error's message begins, how long the header of the packet is that it quotes, and that
/// one's protocol.
pub(super) type Place = (usize, usize, u8);

/// The error with another address outside, and another end in the packet that it quotes.
fn rewrite(
    packet: &[u8],
    (message, header, protocol): Place,
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
