//! The NAT as a host: echo replies, and ICMP errors of its own.

use std::net::Ipv4Addr;
use std::time::Duration;

use packet::PortId;

use super::packets::{address, mend_ip, sum, word};
use super::{Config, Expected, INSIDE, Judgement, Model};

/// A token bucket as it is drawn: tokens that come with time and are never more than the burst.
#[derive(Clone, Debug)]
pub(super) struct Bucket {
    rate_per_s: f64,
    burst: f64,
    tokens: f64,
    then: Duration,
}

impl Bucket {
    /// A full one.
    pub fn new(config: &Config) -> Bucket {
        let burst = f64::from(config.icmp_error_burst.max(1));
        let rate_per_s = config.icmp_errors_per_s.into();
        Bucket { rate_per_s, burst, tokens: burst, then: Duration::ZERO }
    }

    /// Takes a token, if there is one. Half a token is as good as a whole one, for a device counts in
    /// time and rounds.
    fn takes(&mut self, now: Duration) -> bool {
        let come = (now - self.then).as_secs_f64() * self.rate_per_s;
        self.tokens = (self.tokens + come).min(self.burst);
        self.then = now;
        let has = self.tokens >= 0.5;
        self.tokens -= if has { 1.0 } else { 0.0 };
        has
    }
}

impl Model {
    /// What becomes of a frame that is dropped: an error about it where its sender may be told
    /// (RFC 1812 section 4.3.2.7) and is to be (RFC 5508 REQ-8 and REQ-10, RFC 6888 REQ-11).
    pub(super) fn tell(
        &mut self,
        port: PortId,
        frame: &[u8],
        reason: &'static str,
        now: Duration,
    ) -> Expected {
        let dropped = Expected::Drop(reason);
        let (kind, code) = match reason {
            "ttl-expired" => (11, 0),
            _ if port != INSIDE => return dropped,
            "hairpin-off" => (3, 13),
            "session-limit" | "block-limit" | "ports-exhausted" | "pool-exhausted"
            | "sessions-full" | "mappings-full" | "subscribers-full" => (3, 1),
            _ => return dropped,
        };
        if word(frame, 12) != 0x0800 {
            return dropped;
        }
        let packet = &frame[14..];
        let [header, len] = [usize::from(packet[0] % 16) * 4, usize::from(word(packet, 2))];
        let hosts = [12, 16].iter().all(|&at| is_host(address(packet, at)));
        let is_first = word(packet, 6) & 0x1fff == 0;
        let queries = [0, 8, 9, 10, 13, 14, 15, 16, 17, 18];
        let is_query = header < len && queries.contains(&packet[header]);
        let is_error = packet[9] == 1 && !is_query;
        if self.config.icmp_errors_per_s == 0 || !hosts || !is_first || is_error {
            return dropped;
        }
        if frame[6] % 2 == 1 || !self.errors.takes(now) {
            return dropped;
        }
        // RFC 1812 section 4.3.2.3: as much of it as makes 576 bytes in all.
        let quoted = &packet[..len.min(576 - 28)];
        let mut message = [&[kind, code, 0, 0, 0, 0, 0, 0], quoted].concat();
        let right = !sum(&message);
        message[2..4].copy_from_slice(&right.to_be_bytes());
        let total = (20 + message.len() as u16).to_be_bytes();
        let fixed = [0x45, 0xc0, total[0], total[1], 0, 0, 0x40, 0, 64, 1, 0, 0];
        let own = self.own(port).octets();
        let mut ip = [&fixed[..], &own, &packet[12..16]].concat();
        mend_ip(&mut ip);
        let frame = [&frame[6..12], &self.mac(port), &[8, 0], &ip, &message].concat();
        Expected::Forward { port, frame }
    }

    /// RFC 792, RFC 1122 section 3.2.2.6: the same data back, by whoever is a single host.
    pub(super) fn judge_local(&self, port: PortId, frame: &[u8]) -> Judgement {
        let packet = &frame[14..14 + usize::from(word(frame, 16))];
        let options = usize::from(packet[0] % 16) * 4;
        let asker = address(packet, 12);
        let is_whole = word(packet, 6) & 0x3fff == 0;
        if packet[9] != 1 || !is_whole || !is_host(asker) || asker == self.own(port) {
            return Err("local");
        }
        let message = &packet[options..];
        if message.len() < 8 || sum(message) != 0xffff {
            return Err("transport-malformed");
        }
        if options > 20 || message[..2] != [8, 0] {
            return Err("local");
        }
        let mut message = [&[0, 0, 0, 0], &message[4..]].concat();
        let right = !sum(&message);
        message[2..4].copy_from_slice(&right.to_be_bytes());
        let mut ip = packet[..20].to_vec();
        // Flags are kept but for the reserved one.
        ip[6] &= 0x7f;
        ip[8] = 64;
        ip[12..16].copy_from_slice(&packet[16..20]);
        ip[16..20].copy_from_slice(&asker.octets());
        mend_ip(&mut ip);
        let frame = [&frame[6..12], &self.mac(port), &[8, 0], &ip, &message].concat();
        Ok(Expected::Forward { port, frame })
    }

    /// Whether a frame is one in the NAT's own name.
    pub(super) fn is_own(&self, port: PortId, frame: &[u8]) -> bool {
        frame.len() >= 34 && word(frame, 12) == 0x0800 && address(frame, 26) == self.own(port)
    }

    /// The address of a port.
    pub(super) fn own(&self, port: PortId) -> Ipv4Addr {
        if port == INSIDE { self.config.inside_ip } else { self.config.outside_ip }
    }
}

/// Whether an address can be a single host's.
fn is_host(address: Ipv4Addr) -> bool {
    !matches!(address.octets()[0], 0 | 127 | 224..)
}
