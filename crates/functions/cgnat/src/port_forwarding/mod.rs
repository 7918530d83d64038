//! Port forwarding rules, ready to look up: whose a port of a shared outside address is, and what a
//! host's port becomes.
//!
//! Forwarded ports are a fixed part of the rules, the same both ways; of a host's other ports the
//! rules say only among which outside ports theirs are. What is in use is not known here.

pub(crate) mod config;

use crate::config::PortForwarding;
use crate::deterministic::Block;

#[cfg(test)]
mod tests;
pub(crate) mod validate;

/// All hosts of a configuration.
#[derive(Clone, Debug, Default)]
pub struct Hosts {
    /// By inside address.
    hosts: Vec<Host>,
    /// By protocol and inside end.
    by_inside: Vec<Run>,
    /// By protocol and outside end.
    by_outside: Vec<Run>,
    /// Those with ports for others than forwarded ones, by outside address and the first of these.
    by_dynamic: Vec<Host>,
}

/// A host that shares an outside address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Host {
    inside: u32,
    /// Its outside address.
    pub outside: u32,
    /// Outside ports for those of its ports that are not forwarded; none for none.
    pub dynamic: Option<Block>,
}

/// Forwarded ports that follow one another on both sides.
#[derive(Clone, Copy, Debug)]
struct Run {
    protocol: u8,
    inside: (u32, u16),
    outside: (u32, u16),
    /// How many there are behind the first.
    more: u16,
}

impl Host {
    /// Where the ports begin that it has for others than forwarded ones.
    fn first_dynamic(&self) -> (u32, u16) {
        (self.outside, self.dynamic.map_or(0, |block| block.first_port))
    }
}

impl Hosts {
    /// Those of validated rules.
    pub fn new(rules: &[PortForwarding]) -> Hosts {
        let mut all = Hosts::default();
        for (rule, host) in
            rules.iter().flat_map(|rule| rule.hosts.iter().map(move |host| (rule, host)))
        {
            let (inside, outside) = (host.inside.to_bits(), rule.outside.to_bits());
            let dynamic = host.dynamic_ports.map(|ports| Block {
                outside: rule.outside,
                first_port: ports.first_port,
                len: ports.last_port - ports.first_port + 1,
                step: 1,
            });
            all.hosts.push(Host { inside, outside, dynamic });
            for forward in &host.forwards {
                let runs = forward.protocol.numbers().iter().map(|&protocol| Run {
                    protocol,
                    inside: (inside, forward.inside_first()),
                    outside: (outside, forward.first_port),
                    more: forward.last() - forward.first_port,
                });
                all.by_inside.extend(runs);
            }
        }
        all.by_outside = all.by_inside.clone();
        all.by_dynamic = all.hosts.iter().copied().filter(|host| host.dynamic.is_some()).collect();
        all.by_dynamic.sort_unstable_by_key(Host::first_dynamic);
        all.hosts.sort_unstable_by_key(|host| host.inside);
        all.by_inside.sort_unstable_by_key(|run| (run.protocol, run.inside));
        all.by_outside.sort_unstable_by_key(|run| (run.protocol, run.outside));
        all
    }

    /// The host of an inside address, if it is one.
    #[inline]
    pub fn host(&self, inside: u32) -> Option<&Host> {
        let place = self.hosts.binary_search_by_key(&inside, |host| host.inside).ok()?;
        self.hosts.get(place)
    }

    /// Some outside address.
    pub fn first_outside(&self) -> Option<u32> {
        self.hosts.first().map(|host| host.outside)
    }

    /// The outside port of a host's port that is forwarded.
    pub fn outside_port(&self, protocol: u8, inside: (u32, u16)) -> Option<u16> {
        let (run, offset) = find(&self.by_inside, (protocol, inside), |run| run.inside)?;
        Some(run.outside.1 + offset)
    }

    /// The inside end of a forwarded port.
    pub fn inside_end(&self, protocol: u8, outside: (u32, u16)) -> Option<(u32, u16)> {
        let (run, offset) = find(&self.by_outside, (protocol, outside), |run| run.outside)?;
        Some((run.inside.0, run.inside.1 + offset))
    }

    /// The inside address of the host that has an outside end, forwarded or for its other ports.
    pub fn owner(&self, protocol: u8, outside: (u32, u16)) -> Option<u32> {
        if let Some((inside, _)) = self.inside_end(protocol, outside) {
            return Some(inside);
        }
        let behind = self.by_dynamic.partition_point(|host| host.first_dynamic() <= outside);
        let host = self.by_dynamic[..behind].last().filter(|host| host.outside == outside.0)?;
        host.dynamic.filter(|block| block.holds(outside.1)).map(|_| host.inside)
    }
}

/// The run of an end, and its place in it.
fn find(
    sorted: &[Run],
    (protocol, end): (u8, (u32, u16)),
    side: impl Fn(&Run) -> (u32, u16),
) -> Option<(&Run, u16)> {
    let behind = sorted.partition_point(|run| (run.protocol, side(run)) <= (protocol, end));
    let run = sorted[..behind].last()?;
    let (address, first) = side(run);
    let offset = end.1.wrapping_sub(first);
    (run.protocol == protocol && address == end.0 && offset <= run.more).then_some((run, offset))
}
