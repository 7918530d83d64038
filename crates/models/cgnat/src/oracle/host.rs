//! The NAT as a host: answers to ARP, echo replies, ICMP errors of its own.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use function_cgnat::types::sides::OUTSIDE;
use model_kit::check::Expected;
use model_kit::host::error_ipv6;
use packet::PortId;

use super::networks::is_host;
use super::packets::{address, mend_ip, sum, word};
use super::state::{Judgement, Model};

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
        if let Some(reset) = self.reset((port, frame), reason, now) {
            return reset;
        }
        let is_ipv6 = frame.len() >= 14 && word(frame, 12) == 0x86dd;
        // The same in the words of both versions (RFC 6146 section 3.5.1.1).
        let (kind, code, rest) = match (reason, is_ipv6) {
            ("ttl-expired", false) => (11, 0, 0),
            ("ttl-expired", true) => (3, 0, 0),
            ("too-big", _) => match self.too_big(port, frame) {
                Some(told) => told,
                None => return dropped,
            },
            ("untranslatable", _) => match self.refused(port, frame) {
                Some(told) => told,
                None => return dropped,
            },
            _ if port == OUTSIDE => return dropped,
            // RFC 7915 sections 4.4 and 5.4.
            ("no-counterpart", false) => (3, 13, 0),
            ("no-counterpart", true) => (1, 1, 0),
            ("hairpin-off", false) => (3, 13, 0),
            ("hairpin-off", true) => (1, 1, 0),
            (
                "session-limit" | "block-limit" | "ports-exhausted" | "pool-exhausted"
                | "sessions-full" | "mappings-full" | "subscribers-full",
                is_ipv6,
            ) => {
                if is_ipv6 {
                    (1, 3, 0)
                } else {
                    (3, 1, 0)
                }
            }
            _ => return dropped,
        };
        let [high, low] = u16::to_be_bytes(rest);
        let message = [kind, code, 0, 0, 0, 0, high, low];
        if is_ipv6 && self.config.nat64.is_none() && self.config.siit.is_none() {
            return dropped;
        }
        if is_ipv6 {
            return self.tell_ipv6((port, frame), message, now).unwrap_or(dropped);
        }
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
        let mut message = [&message, quoted].concat();
        let right = !sum(&message);
        message[2..4].copy_from_slice(&right.to_be_bytes());
        let total = (20 + message.len() as u16).to_be_bytes();
        let fixed = [0x45, 0xc0, total[0], total[1], 0, 0, 0x40, 0, 64, 1, 0, 0];
        let own = self.own_of_realm(port).octets();
        let mut ip = [&fixed[..], &own, &packet[12..16]].concat();
        mend_ip(&mut ip);
        self.reply(port, [&frame[6..12], &self.mac(port), &[8, 0], &ip, &message].concat())
    }

    /// RFC 4443 section 2.4: an error about an IPv6 packet to its sender, none where that may not
    /// be told.
    fn tell_ipv6(
        &mut self,
        (port, frame): (PortId, &[u8]),
        message: [u8; 8],
        now: Duration,
    ) -> Option<Expected> {
        let len = frame.get(18..20).map(|len| usize::from(word(len, 0)))?;
        let packet = frame.get(14..54 + len)?;
        let [kind, code, ..] = message;
        let rest = u32::from_be_bytes([message[4], message[5], message[6], message[7]]);
        let error = error_ipv6(packet, self.own_ipv6(port), (kind, code, rest))?;
        let may = self.config.icmp_errors_per_s > 0 && frame[6] % 2 == 0;
        if !may || !self.errors.takes(now) {
            return None;
        }
        let frame = [&frame[6..12], &self.mac(port), &[0x86, 0xdd], &error].concat();
        Some(Expected::Forward { port, frame })
    }

    /// RFC 826: who asks for an address of the port is answered, at the hardware address in the
    /// packet.
    pub(super) fn judge_arp(&self, port: PortId, frame: &[u8]) -> Judgement {
        let arp = &frame[14..];
        let is_question = arp.len() >= 28 && arp[..8] == [0, 1, 8, 0, 6, 4, 0, 1];
        if !is_question {
            return Err("arp-ignored");
        }
        let target = address(arp, 24);
        let is_other = port == OUTSIDE && (self.is_outside(target) || self.stands_for(target));
        if target != self.own(port) && !is_other {
            return Err("arp-ignored");
        }
        let mac = self.mac(port);
        let mut reply = [&arp[8..14], &mac, &frame[12..14], &arp[..6], &[0, 2]].concat();
        reply.extend_from_slice(&mac);
        reply.extend_from_slice(&arp[24..28]);
        reply.extend_from_slice(&arp[8..18]);
        Ok(self.reply(port, reply))
    }

    /// RFC 792, RFC 1122 section 3.2.2.6: the same data back, by whoever is a single host. RFC
    /// 6887: what is asked for.
    pub(super) fn judge_local(&mut self, port: PortId, frame: &[u8], now: Duration) -> Judgement {
        let packet = &frame[14..14 + usize::from(word(frame, 16))];
        if let Some(message) = self.request(port, packet) {
            let judged = message.and_then(|message| self.judge_request(packet, message, now));
            return judged.map(|packet| {
                let head = [&frame[6..12], &self.mac(port), &[8, 0]].concat();
                self.reply(port, [head, packet].concat())
            });
        }
        let options = usize::from(packet[0] % 16) * 4;
        let asker = address(packet, 12);
        let is_whole = word(packet, 6) & 0x3fff == 0;
        if packet[9] != 1 || !is_whole || !is_host(asker) || asker == address(packet, 16) {
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
        Ok(self.reply(port, frame))
    }

    /// Whether a frame is one in the NAT's own name.
    pub(super) fn is_own(&self, port: PortId, frame: &[u8]) -> bool {
        match frame.len() >= 54 && word(frame, 12) == 0x86dd {
            true => frame[22..38] == self.own_ipv6(port).octets(),
            false => {
                frame.len() >= 34
                    && word(frame, 12) == 0x0800
                    && (address(frame, 26) == self.own(port)
                        || self.is_of_aftr(port, address(frame, 26)))
            }
        }
    }

    /// The Ethernet address of a side's interface in hand.
    pub(super) fn mac(&self, port: PortId) -> [u8; 6] {
        self.here(port).mac
    }

    /// Its IPv6 address.
    pub(super) fn own_ipv6(&self, port: PortId) -> Ipv6Addr {
        self.here(port).ipv6.unwrap_or(Ipv6Addr::UNSPECIFIED)
    }

    /// Its IPv4 address.
    pub(super) fn own(&self, port: PortId) -> Ipv4Addr {
        self.here(port).ipv4.unwrap_or(Ipv4Addr::UNSPECIFIED)
    }
}
