//! Which outside ends are another worker's, found by walking through what is configured, and what
//! is handed over to it.
use std::net::Ipv4Addr;

use engine::steering::worker_of;
use function_cgnat::types::sides::OUTSIDE;
use model_kit::check::Expected;
use packet::PortId;

use super::state::Model;
use super::tables::End;

impl Model {
    /// Whether packets to an outside end come to this worker.
    pub(super) fn is_here(&self, protocol: u8, end: End) -> bool {
        self.worker_of_end(protocol, end) == self.shard.index
    }

    /// The worker to which packets to an outside end come: to that of the host inside whose end it
    /// is by a rule.
    pub(super) fn worker_of_end(&self, protocol: u8, end: End) -> u32 {
        let forwarded = self.inside_of(protocol, end).map(|(inside, _)| inside);
        let hosts = self.config.port_forwarding.iter().filter(|rule| rule.outside == end.0);
        let dynamic = hosts.flat_map(|rule| &rule.hosts).find_map(|host| {
            let ports = host.dynamic_ports?;
            (ports.first_port..=ports.last_port).contains(&end.1).then_some(host.inside)
        });
        let planned = self.plan.reverse(end.0, end.1);
        match forwarded.or(dynamic).or(planned) {
            Some(inside) => self.worker(self.steering.bits(inside.to_bits().into(), 0)),
            None => self.giver(end),
        }
    }

    /// Whether this worker is the one that gives away a port that is no single subscriber's.
    pub(super) fn gives_away(&self, end: End) -> bool {
        self.giver(end) == self.shard.index
    }

    /// The worker that gives it away: all of a block, or 64 that follow one another, are of one.
    fn giver(&self, (address, port): (Ipv4Addr, u16)) -> u32 {
        let together = match self.config.port_block.size {
            0 => 64,
            size => size,
        };
        let group = u64::from(port / together);
        self.worker(self.steering.bits(address.to_bits().into(), group + 1))
    }

    fn worker(&self, bits: u32) -> u32 {
        if self.shard.count == 1 { 0 } else { worker_of(bits, self.shard.count) }
    }

    /// A packet with its outside ends on its way to another worker.
    pub(super) fn handed_over(&self, worker: u32, packet: &[u8]) -> Expected {
        self.frame(PortId(OUTSIDE.0 + 1 + worker as u8), packet)
    }
}
