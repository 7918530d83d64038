//! Packets of subscribers on their way onward: out, or back in to another subscriber (RFC 4787
//! REQ-9).

use std::net::Ipv4Addr;
use std::time::Duration;

use function_cgnat::config::Filtering;
use function_cgnat::types::sides::OUTSIDE;

use super::packets::Packet;
use super::state::{Judgement, Left, Model};
use super::tables::{Begun, End};

impl Model {
    /// A packet that has its outside ends leaves, or turns around.
    pub(super) fn onward(
        &mut self,
        begun: &Begun,
        packet: &Packet,
        now: Duration,
        left: Left<'_>,
    ) -> Judgement {
        if !self.is_outside(packet.destination.0) {
            let way = (begun.own, packet.destination, true);
            let packet = self.by_gateway(packet.clone(), way, now, left);
            let leaves = self.passing(self.frame(OUTSIDE, &packet.bytes));
            if leaves.is_err() && begun.is_new {
                self.tables.undo(begun.own, packet.destination, now);
            }
            return leaves;
        }
        let turned = self.turn_around(begun, packet, now, left);
        let turned = turned.and_then(|leaves| self.passing(leaves));
        // RFC 5128 section 3.3: a packet that the other one's filter drops opens one's own.
        let is_known = self.tables.mappings.get(&begun.own).is_some_and(|one| one.count() > 1);
        let is_punched = is_known && matches!(turned, Err("filtered"));
        if turned.is_err() && begun.is_new && !is_punched {
            self.tables.undo(begun.own, packet.destination, now);
        }
        turned
    }

    /// RFC 4787 REQ-9: back in, and the other one sees the outside address of the first.
    fn turn_around(
        &mut self,
        begun: &Begun,
        packet: &Packet,
        now: Duration,
        left: Left<'_>,
    ) -> Judgement {
        if !self.config.hairpinning {
            return Err("hairpin-off");
        }
        if packet.ttl() <= 1 {
            return Err("ttl-expired");
        }
        if packet.protocol == 1 && packet.source.0 == packet.destination.0 {
            return Err("no-mapping");
        }
        let (source, destination) = met(packet.protocol, packet.source, packet.destination);
        let worker = self.worker_of_end(packet.protocol, destination);
        // A query's first identifier, by which it finds a worker, is the device's choice. Where
        // nothing left, nobody has seen which one that was, and it was not another worker's.
        let is_seen = self.tables.mappings.get(&begun.own).is_some_and(|one| one.count() > 1);
        let is_unseen = packet.protocol == 1 && begun.is_new && !is_seen && left.is_empty();
        if worker != self.shard.index && !is_unseen {
            return Ok(self.handed_over(worker, &packet.bytes));
        }
        if self.reading.is_stranger && self.may_be_stranger(begun, packet, now) {
            return Err("filtered");
        }
        self.arriving(&Packet { source, destination, ..packet.clone() }, now, left)
    }

    /// Whether a subscriber's first packet, which has not left, may have got an outside address
    /// from which the mapping that it is for takes nothing.
    fn may_be_stranger(&self, begun: &Begun, packet: &Packet, now: Duration) -> bool {
        let (own, far) = (begun.own, packet.destination);
        let to = self.tables.owner(own.0, far).and_then(|to| self.tables.mappings.get(&to));
        let Some(to) = to.filter(|to| to.granted.is_none()) else { return false };
        let takes = |from: Ipv4Addr| match self.config.filtering {
            Filtering::EndpointIndependent => true,
            Filtering::AddressDependent if to.sessions.keys().any(|far| far.0 == from) => true,
            _ => [None, Some(from)].iter().any(|who| to.expected.contains_key(who)),
        };
        let is_first = begun.is_new && self.tables.ends_of(own.1.0).len() == 1;
        let mut before = self.clone();
        before.tables.undo(own, far, now);
        is_first
            && !before.tables.mappings.contains_key(&own)
            && before.may_get(own, now, |from| !takes(from))
    }
}

/// The ends of a packet that left one subscriber as they are for the other one: of a query (RFC
/// 5508 section 3) the identifier is on the side of whoever gets it.
pub(super) fn met(protocol: u8, source: End, destination: End) -> (End, End) {
    match protocol {
        1 => ((source.0, 0), (destination.0, source.1)),
        _ => (source, destination),
    }
}
