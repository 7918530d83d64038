//! By which member of a group the tester's packets must leave.
//!
//! The tester knows the groups as they are configured, and the hash. In a scenario with a next hop
//! that is watched, flows move with it by the history of the group, so that it tells by which
//! member a packet has left, and any will do; elsewhere a member that comes or goes at run time
//! counts what moves as misdelivered. The functional check has an oracle of its own, which knows
//! every flow's.
use crate::ports::Numbered;
use function_l3_router::config::{Config, NextHop};
use function_l3_router::flow;
use function_l3_router::groups::Groups;
use packet::PortId;
use wire::MacAddr;
use wire::bytes::u16_at;
use wire::ethernet;

use crate::far_end::watched;

/// The groups of the configuration, and how frames to each next hop look.
pub(super) struct Paths {
    groups: Groups,
    /// The next hop that is watched.
    watched: Option<u32>,
    /// By the number of the next hop.
    macs: Vec<[u8; 12]>,
    ports: Vec<PortId>,
}

/// The member by which a frame has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// The next hop that is watched.
    Watched,
    /// Another one, which the frame may take.
    Other,
    /// None that it may take.
    None,
}

impl Paths {
    /// Those of a configuration; none where it has no groups.
    pub fn new(config: &Config) -> Option<Paths> {
        let mut groups = Groups::new(config).ok().flatten().filter(|_| config.groups() > 0)?;
        let (mut macs, mut ports) = (Vec::new(), Vec::new());
        for (number, hop) in config.all_next_hops() {
            groups.arrive(number);
            let place = number as usize;
            macs.resize(macs.len().max(place + 1), [0; 12]);
            macs[place] = macs_of(&hop, own_mac(config, &hop).0);
            ports.resize(macs.len(), PortId::HOST);
            ports[place] = config.number_of(hop.port);
        }
        let watched = watched(config).map(|(number, _)| number);
        Some(Paths { groups, watched, macs, ports })
    }

    /// Destination and source of a frame that left by the route to a group.
    #[inline(always)]
    pub fn macs_out(&self, group: u32, frame: &[u8]) -> [u8; 12] {
        let hop = self.groups.pick(group, self.hash(frame));
        self.macs.get(hop as usize).copied().unwrap_or([0; 12])
    }

    /// By which member of the group to which a route leads a frame has left a port.
    pub fn taken(&self, group: u32, port: PortId, frame: &[u8]) -> Taken {
        let has_left_by = |hop: &u32| {
            let place = *hop as usize;
            self.ports.get(place) == Some(&port) && frame.starts_with(&self.macs[place])
        };
        match self.groups.present(group).find(has_left_by) {
            Some(hop) if Some(hop) == self.watched => Taken::Watched,
            Some(_) => Taken::Other,
            None => Taken::None,
        }
    }

    fn hash(&self, frame: &[u8]) -> u32 {
        let seed = self.groups.seed();
        let is_ipv6 = frame.len() >= ethernet::HEADER_LEN
            && u16_at(frame, ethernet::offset::TYPE) == ethernet::TYPE_IPV6;
        match is_ipv6 {
            true => flow::hash_ipv6(frame, seed),
            false => flow::hash_ipv4(frame, seed),
        }
    }
}

/// Destination and source of frames to a next hop.
pub(super) fn macs_of(hop: &NextHop, own: [u8; 6]) -> [u8; 12] {
    let mut macs = [0; 12];
    macs[..6].copy_from_slice(&hop.mac.0.0);
    macs[6..].copy_from_slice(&hop.source.map_or(own, |mac| mac.0.0));
    macs
}

/// The Ethernet address of the port behind which a next hop is.
pub(super) fn own_mac(config: &Config, hop: &NextHop) -> MacAddr {
    config.mac(config.number_of(hop.port))
}
