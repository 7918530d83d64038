//! By which member of a group the tester's packets must leave.
//!
//! The tester knows the groups as they are configured, and the hash; a member that comes or goes at
//! run time it does not know, so a scenario in which that happens counts what moves as
//! misdelivered. The functional check has an oracle of its own.
use crate::ports::Numbered;
use function_l3_router::config::{Config, NextHop};
use function_l3_router::flow;
use function_l3_router::groups::Groups;
use wire::MacAddr;
use wire::bytes::u16_at;
use wire::ethernet;

/// The groups of the configuration, and how frames to each next hop look.
pub(super) struct Paths {
    groups: Groups,
    /// By the number of the next hop.
    macs: Vec<[u8; 12]>,
}

impl Paths {
    /// Those of a configuration; none where it has no groups.
    pub fn new(config: &Config) -> Option<Paths> {
        let mut groups = Groups::new(config).ok().flatten().filter(|_| config.groups() > 0)?;
        let mut macs = Vec::new();
        for (number, hop) in config.all_next_hops() {
            groups.arrive(number);
            let place = number as usize;
            macs.resize(macs.len().max(place + 1), [0; 12]);
            macs[place] = macs_of(&hop, own_mac(config, &hop).0);
        }
        Some(Paths { groups, macs })
    }

    /// Destination and source of a frame that left by the route to a group.
    #[inline(always)]
    pub fn macs_out(&self, group: u32, frame: &[u8]) -> [u8; 12] {
        let seed = self.groups.seed();
        let is_ipv6 = frame.len() >= ethernet::HEADER_LEN
            && u16_at(frame, ethernet::offset::TYPE) == ethernet::TYPE_IPV6;
        let hash = match is_ipv6 {
            true => flow::hash_ipv6(frame, seed),
            false => flow::hash_ipv4(frame, seed),
        };
        let hop = self.groups.pick(group, hash);
        self.macs.get(hop as usize).copied().unwrap_or([0; 12])
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
