//! Which outside ends are another worker's, found by walking through what is configured.

use std::net::Ipv4Addr;

use traffic::Random;
use traffic::workload::worker_of;

use super::super::deterministic::Owner;
use super::Model;
use super::tables::End;

impl Model {
    /// Whether packets to an outside end come to this worker: to that of the host inside whose end it is by a rule.
    pub(super) fn is_here(&self, protocol: u8, end: End) -> bool {
        let forwarded = self.inside_of(protocol, end).map(|(inside, _)| inside);
        let hosts = self.config.one_to_many.iter().filter(|rule| rule.outside == end.0);
        let dynamic = hosts.flat_map(|rule| &rule.hosts).find_map(|host| {
            let ports = host.dynamic_ports?;
            (ports.first_port..=ports.last_port).contains(&end.1).then_some(host.inside)
        });
        let planned = match self.plan.reverse(end.0, end.1) {
            Some(Owner::Subscriber { inside, .. }) => Some(inside),
            _ => None,
        };
        match forwarded.or(dynamic).or(planned) {
            Some(inside) => self.is_mine((mixed(inside.to_bits().into()) >> 32) as u32),
            None => self.gives_away(end),
        }
    }

    /// Whether this worker is the one that gives away a port that is no single subscriber's: all of a block, or 64 that
    /// follow one another, are of one.
    pub(super) fn gives_away(&self, (address, port): (Ipv4Addr, u16)) -> bool {
        let together = match self.config.port_block.size {
            0 => 64,
            size => size,
        };
        let place = u64::from(address.to_bits()) * 65_536 + u64::from(port / together);
        self.is_mine(mixed(place) as u32)
    }

    fn is_mine(&self, bits: u32) -> bool {
        self.shard.count == 1 || worker_of(bits, self.shard.count) == self.shard.index
    }
}

/// The mixing of bits that whoever steers has in common with the workers.
fn mixed(bits: u64) -> u64 {
    Random::rehash(bits)
}
