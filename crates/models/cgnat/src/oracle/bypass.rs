//! Packets to destinations to which nothing is translated, and from there (RFC 6888 REQ-6).

use std::net::Ipv4Addr;

use function_cgnat::types::sides::{INSIDE, OUTSIDE};
use packet::PortId;

use super::networks::holds;
use super::packets::{address, mend_ip, word};
use super::state::{Judgement, Model};

impl Model {
    /// Whether a sound packet is one of them.
    pub(super) fn is_bypassed(&self, port: PortId, packet: &[u8]) -> bool {
        let bypassed =
            |host: Ipv4Addr| self.config.bypass.iter().any(|network| holds(*network, host));
        let [from, to] = [12, 16].map(|at| address(packet, at));
        if port == INSIDE {
            return bypassed(to);
        }
        let message = &packet[usize::from(packet[0] % 16) * 4..];
        let is_error = packet[9] == 1
            && word(packet, 6) & 0x1fff == 0
            && message.len() >= 28
            && [3, 11, 12].contains(&message[0]);
        let is_about = is_error && address(message, 20) == to && bypassed(address(message, 24));
        self.has_inside(0, to) && (bypassed(from) || is_about)
    }

    /// It goes on as it is, a hop older.
    pub(super) fn judge_bypassed(&self, port: PortId, packet: &[u8]) -> Judgement {
        if port == INSIDE && !self.has_inside(0, address(packet, 12)) {
            return Err("not-inside");
        }
        if packet[8] <= 1 {
            return Err("ttl-expired");
        }
        let mut packet = packet.to_vec();
        packet[8] -= 1;
        mend_ip(&mut packet);
        Ok(self.frame(if port == INSIDE { OUTSIDE } else { INSIDE }, &packet))
    }
}
