//! Calls of PPTP (RFC 2637 section 4): packets with the identifier that their receiver has for a
//! call.

use std::net::Ipv4Addr;
use std::time::Duration;

use function_cgnat::types::sides::{INSIDE, OUTSIDE};
use packet::PortId;

use super::packets::{Packet, address, word};
use super::state::{Judgement, Left, Model};
use super::tables::{End, Own, Session, Who};

impl Model {
    /// Enhanced GRE: version 1, with a key, and with neither checksum nor route.
    pub(super) fn judge_call(
        &mut self,
        port: PortId,
        packet: &[u8],
        now: Duration,
        left: Left<'_>,
    ) -> Judgement {
        let header = usize::from(packet[0] % 16) * 4;
        let message = &packet[header..];
        let is_enhanced = message.len() >= 8
            && [0x80, 0x40, 0x08].iter().all(|flag| message[0] & flag == 0)
            && message[0] & 0x20 != 0
            && message[1] % 8 == 1
            && word(message, 2) == 0x880b;
        if !is_enhanced {
            return Err("protocol-unsupported");
        }
        if packet[8] <= 1 {
            return Err("ttl-expired");
        }
        let call = word(message, 6);
        let one = Packet {
            bytes: packet.to_vec(),
            protocol: 47,
            source: (address(packet, 12), 0),
            destination: (address(packet, 16), call),
            transport: header,
        };
        if port != INSIDE {
            return self.coming(port, &one, now, left);
        }
        let (own, far) = self.call_of(self.who(one.source.0), one.destination.0, call)?;
        let mapping = self.tables.mappings.get_mut(&own).ok_or("unhandled")?;
        let outside = mapping.outside;
        mapping.sessions.get_mut(&far).ok_or("unhandled")?.leaves(0, now);
        Ok(self.frame(OUTSIDE, &one.with_ends(outside, one.destination).bytes))
    }

    /// The session of a subscriber's call by the identifier that the other end has for it.
    fn call_of(
        &mut self,
        who: Who,
        remote: Ipv4Addr,
        call: u16,
    ) -> Result<(Own, End), &'static str> {
        let mut all = self.tables.calls();
        let found = all.find(|(own, far, session)| {
            own.1.0 == who && far.0 == remote && session.call == Some(call)
        });
        found.map(|(own, far, _)| (own, far)).ok_or("no-call")
    }

    /// A call of a subscriber is connected: it has a session, and the other end's identifier names
    /// no other call of the two any more.
    pub(super) fn connect(
        &mut self,
        (own, far): (Own, End),
        call: u16,
        now: Duration,
        left: Left<'_>,
    ) {
        let Some(mapping) = self.tables.mappings.get(&own) else { return };
        if !mapping.sessions.contains_key(&far) {
            if self.check_limits(own.1.0, false, left).is_err() {
                return;
            }
            self.tables.join(own, far, Session::new(now));
        }
        for (other, remote, session) in self.tables.calls() {
            let is_same = other.1.0 == own.1.0 && remote == far && session.call == Some(call);
            if is_same || (other, remote) == (own, far) {
                session.call = None;
            }
        }
        if self.tables.calls().count() >= self.connections {
            return;
        }
        let mapping = self.tables.mappings.get_mut(&own);
        if let Some(session) = mapping.and_then(|mapping| mapping.sessions.get_mut(&far)) {
            session.call = Some(call);
        }
    }
}
