//! Port forwarding rules, ready to look up: whose a port of a shared outside address is, and what a
//! host's port becomes.
//!
//! Forwarded ports are a fixed part of the rules, the same both ways; of a host's other ports the
//! rules say only among which outside ports theirs are. What is in use is not known here.

pub(crate) mod config;

use std::sync::Arc;

use crate::config::{PortForwarding, PortForwardingHost};
use crate::deterministic::Block;

#[cfg(test)]
mod tests;
pub(crate) mod validate;

/// All port forwarding rules, each for its outside address.
#[derive(Clone, Debug, Default)]
pub struct Hosts {
    /// By outside address. Copies have them in common.
    rules: Vec<Arc<Rule>>,
    /// Inside addresses of all hosts, each with the outside one.
    insiders: Vec<(u32, u32)>,
}

/// The rule of an outside address.
#[derive(Debug)]
struct Rule {
    /// As it is configured.
    said: PortForwarding,
    /// By inside address.
    hosts: Vec<Host>,
    /// By protocol and inside end.
    by_inside: Vec<Run>,
    /// By protocol and outside end.
    by_outside: Vec<Run>,
    /// Those with ports for others than forwarded ones, by the first of these.
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
    fn first_dynamic(&self) -> u16 {
        self.dynamic.map_or(0, |block| block.first_port)
    }
}

impl Hosts {
    /// Those of validated rules.
    pub fn new(rules: &[PortForwarding]) -> Hosts {
        let mut rules: Vec<_> = rules.iter().cloned().map(Rule::new).map(Arc::new).collect();
        rules.sort_unstable_by_key(|rule| rule.said.outside);
        let mut insiders: Vec<_> = rules.iter().flat_map(|rule| rule.insiders()).collect();
        insiders.sort_unstable();
        Hosts { rules, insiders }
    }

    /// Makes a rule that of its outside address.
    pub fn set(&mut self, rule: PortForwarding) {
        let rule = Rule::new(rule);
        let outside = rule.said.outside.to_bits();
        self.insiders.retain(|(_, of)| *of != outside);
        self.insiders.extend(rule.insiders());
        // Two sorted runs.
        self.insiders.sort();
        match self.place(outside) {
            Ok(place) => self.rules[place] = Arc::new(rule),
            Err(place) => self.rules.insert(place, Arc::new(rule)),
        }
    }

    /// Takes the rule of an outside address away; whether there was one.
    pub fn remove(&mut self, outside: u32) -> bool {
        let place = self.place(outside);
        if let Ok(place) = place {
            self.rules.remove(place);
            self.insiders.retain(|(_, of)| *of != outside);
        }
        place.is_ok()
    }

    /// All rules, in the order of their outside addresses.
    pub fn rules(&self) -> impl ExactSizeIterator<Item = &PortForwarding> {
        self.rules.iter().map(|rule| &rule.said)
    }

    /// The rule of an outside address.
    pub fn rule(&self, outside: u32) -> Option<&PortForwarding> {
        self.of(outside).map(|rule| &rule.said)
    }

    /// A host whose address is in a network of subscribers, by the first and the last one of that.
    pub fn host_among(&self, (first, last): (u32, u32)) -> Option<&Host> {
        let place = self.insiders.partition_point(|(inside, _)| *inside < first);
        let (inside, _) = *self.insiders.get(place)?;
        self.host(inside).filter(|_| inside <= last)
    }

    /// The host of an inside address, if it is one.
    #[inline]
    pub fn host(&self, inside: u32) -> Option<&Host> {
        let rule = self.of_host(inside)?;
        let place = rule.hosts.binary_search_by_key(&inside, |host| host.inside).ok()?;
        rule.hosts.get(place)
    }

    /// Some outside address.
    pub fn first_outside(&self) -> Option<u32> {
        self.rules.first().map(|rule| rule.said.outside.to_bits())
    }

    /// The outside port of a host's port that is forwarded.
    pub fn outside_port(&self, protocol: u8, inside: (u32, u16)) -> Option<u16> {
        let rule = self.of_host(inside.0)?;
        let (run, offset) = find(&rule.by_inside, (protocol, inside), |run| run.inside)?;
        Some(run.outside.1 + offset)
    }

    /// The inside end of a forwarded port.
    pub fn inside_end(&self, protocol: u8, outside: (u32, u16)) -> Option<(u32, u16)> {
        let rule = self.of(outside.0)?;
        let (run, offset) = find(&rule.by_outside, (protocol, outside), |run| run.outside)?;
        Some((run.inside.0, run.inside.1 + offset))
    }

    /// The inside address of the host that has an outside end, forwarded or for its other ports.
    pub fn owner(&self, protocol: u8, outside: (u32, u16)) -> Option<u32> {
        if let Some((inside, _)) = self.inside_end(protocol, outside) {
            return Some(inside);
        }
        let by_dynamic = &self.of(outside.0)?.by_dynamic;
        let behind = by_dynamic.partition_point(|host| host.first_dynamic() <= outside.1);
        let host = by_dynamic[..behind].last()?;
        host.dynamic.filter(|block| block.holds(outside.1)).map(|_| host.inside)
    }

    fn place(&self, outside: u32) -> Result<usize, usize> {
        self.rules.binary_search_by_key(&outside, |rule| rule.said.outside.to_bits())
    }

    fn of(&self, outside: u32) -> Option<&Rule> {
        self.place(outside).ok().map(|place| &*self.rules[place])
    }

    fn of_host(&self, inside: u32) -> Option<&Rule> {
        let place = self.insiders.binary_search_by_key(&inside, |(inside, _)| *inside).ok()?;
        self.of(self.insiders[place].1)
    }
}

impl Rule {
    fn new(said: PortForwarding) -> Rule {
        let outside = said.outside.to_bits();
        let (mut hosts, mut runs) = (Vec::with_capacity(said.hosts.len()), Vec::new());
        for host in &said.hosts {
            let inside = host.inside.to_bits();
            let dynamic = host.dynamic_ports.map(|ports| Block {
                outside: said.outside,
                first_port: ports.first_port,
                len: ports.last_port - ports.first_port + 1,
                step: 1,
            });
            hosts.push(Host { inside, outside, dynamic });
            for forward in &host.forwards {
                runs.extend(forward.protocol.numbers().iter().map(|&protocol| Run {
                    protocol,
                    inside: (inside, forward.inside_first()),
                    outside: (outside, forward.first_port),
                    more: forward.last() - forward.first_port,
                }));
            }
        }
        let mut rule = Rule {
            by_inside: runs.clone(),
            by_outside: runs,
            by_dynamic: hosts.iter().copied().filter(|host| host.dynamic.is_some()).collect(),
            hosts,
            said,
        };
        rule.by_dynamic.sort_unstable_by_key(Host::first_dynamic);
        rule.hosts.sort_unstable_by_key(|host| host.inside);
        rule.by_inside.sort_unstable_by_key(|run| (run.protocol, run.inside));
        rule.by_outside.sort_unstable_by_key(|run| (run.protocol, run.outside));
        rule
    }

    fn insiders(&self) -> impl Iterator<Item = (u32, u32)> {
        self.hosts.iter().map(|host| (host.inside, host.outside))
    }
}

/// Those of some hosts that are not the same among others.
pub(crate) fn differing<'a>(
    some: &'a [PortForwardingHost],
    others: &'a [PortForwardingHost],
) -> impl Iterator<Item = &'a PortForwardingHost> {
    let mut sorted: Vec<_> = others.iter().collect();
    sorted.sort_unstable_by_key(|host| host.inside);
    some.iter().filter(move |host| {
        let place = sorted.binary_search_by_key(&host.inside, |other| other.inside);
        place.ok().is_none_or(|place| sorted[place] != *host)
    })
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
